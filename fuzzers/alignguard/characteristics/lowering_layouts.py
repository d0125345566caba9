"""Lowering: loops over transposed, strided and expanded tensors."""

from __future__ import annotations

from fuzzers.alignguard.characteristics.declaration import Characteristic, Detector, Stage
from fuzzers.alignguard.characteristics.traits import (
    ARG_REDUCTIONS,
    MATMULS,
    REDUCTIONS,
    SOFTMAXES,
    TRANSPOSES,
    any_step,
    both,
    calls,
    either,
    given,
    not_last,
    straight_from,
    viewed,
)
from fuzzers.alignguard.needs import (
    filled,
    floating,
    known,
    last,
    numeric,
    ordinary,
    rank,
    real,
    typed,
)
from fuzzers.alignguard.reading.call import tensors
from fuzzers.alignguard.reading.notes import Step
from fuzzers.alignguard.reading.reader import Reading
from fuzzers.alignguard.reading.values import Tensor
from fuzzers.alignguard.variants import Variant, any_of

OFFSET = "torch.cat([{e}.detach(), {e}.detach()], 0)[{firstsize}:]{g}"
GAPPED = "torch.stack([{e}.detach(), {e}.detach()], -1)[..., 1]{g}"


def _results_overlap(reading: Reading) -> bool:
    return any(t.overlaps for t in tensors(reading.returned))


def _arguments(*views: str) -> Detector:
    wanted = set(views)

    def detect(reading: Reading) -> bool:
        return any(isinstance(v, Tensor) and wanted & set(v.views) for v in reading.given.values())

    return detect


def _between_layouts(s: Step) -> bool:
    found = [bool(set(t.views) & TRANSPOSES) for t in s.call.tensors]
    return (
        s.call.name in ("add", "sub", "mul", "maximum", "minimum", "bitwise_xor")
        and True in found
        and False in found
    )


LOWERING_LAYOUTS: tuple[Characteristic, ...] = (
    Characteristic(
        "transpose then reduction",
        Stage.LOWERING,
        "A transposed or permuted tensor is reduced over one dimension.",
        "The loops are chosen by strides, and the reduced dimension must be found again in the new order.",
        "return x.transpose(0, 1).sum(0)",
        any_step(both(lambda s: s.call.name in REDUCTIONS, viewed(TRANSPOSES))),
        any_of(
            Variant("{y} = {x}.transpose({dim}, {other}).{reduce}({dim})", (rank(2), filled)),
            Variant("{y} = {x}.permute{perm}.{reduce}({dim})", (rank(2), filled)),
            Variant(
                "{y} = {x}.transpose({dim}, {other}).{reduce}({other}, keepdim=True) + {x}.sum()",
                (rank(2), filled, numeric),
            ),
            Variant("{y} = {x}.movedim(0, -1).sum(-1)", (rank(2),)),
        ),
    ),
    Characteristic(
        "permute then arg-reduction",
        Stage.LOWERING,
        "The position of an extreme value is asked for in a transposed or permuted tensor.",
        "Positions are computed from loop variables, which no longer run in the order of memory.",
        "return x.permute(1, 0).argmax(1)",
        any_step(both(lambda s: s.call.name in ARG_REDUCTIONS, viewed(TRANSPOSES))),
        any_of(
            Variant("{y} = {x}.permute{perm}.{arg}({dim})", (rank(2), filled, numeric)),
            Variant("{y} = {x}.transpose({dim}, {other}).max({dim})", (rank(2), filled, real)),
            Variant("{y} = {x}.transpose({dim}, {other}).{arg}()", (rank(2), filled, numeric)),
            Variant("{v}, {y} = torch.min({x}.permute{perm}, {dim})\n{also} = {v}", (rank(2), filled, real)),
        ),
    ),
    Characteristic(
        "not the last dimension in a fused pattern",
        Stage.LOWERING,
        "A softmax, a normalisation or a running sum goes along a dimension that is not the last one.",
        "Patterns and online algorithms are written for the last dimension and patched for the others.",
        "return torch.softmax(x, 0) * torch.cumsum(x, 0)",
        any_step(both(lambda s: s.call.name in SOFTMAXES, not_last)),
        any_of(
            Variant("{y} = torch.softmax({x}, {notlast})", (floating, rank(2)), same=True),
            Variant("{y} = torch.log_softmax({x}, {notlast}) * {x}", (floating, rank(2)), same=True),
            Variant(
                "{y} = torch.nn.functional.normalize({x}, dim={notlast})\n{also} = {x}.logsumexp({notlast})",
                (ordinary, rank(2), filled),
                same=True,
            ),
            Variant("{y} = {x}.cumsum({notlast})", (floating, rank(2)), same=True),
            Variant(
                "{y} = ({x} - {x}.mean({notlast}, keepdim=True)) * torch.softmax({x}, {notlast})",
                (floating, rank(2), filled),
                same=True,
            ),
        ),
    ),
    Characteristic(
        "result that repeats its memory",
        Stage.LOWERING,
        "An expanded tensor, with strides of 0, is returned.",
        "The compiled result must have the right values at every place, whether it keeps the strides or not.",
        "return x.sum(1, keepdim=True).expand_as(x)",
        _results_overlap,
        any_of(
            Variant("{y} = {x}.unsqueeze(0).expand(3, *{x}.shape)"),
            Variant("{y} = {x}[..., :1].expand({shape})", (rank(1), filled), same=False),
            Variant("{y} = {x}.sum({dim}, keepdim=True).expand({shape})", (rank(1),)),
            Variant("{y} = torch.broadcast_to({x}.unsqueeze(-1), (*{x}.shape, 2))"),
        ),
    ),
    Characteristic(
        "argument that repeats its memory",
        Stage.LOWERING,
        "An argument is expanded: one of its strides is 0.",
        "Loads from it do not depend on every loop variable, and a copy of it must not be dense by accident.",
        "# x is torch.randn(4, 1).expand(4, 6)\nreturn x * 2",
        _arguments("expand", "expand_as", "broadcast_to"),
        any_of(
            Variant(given="{e}.detach()[..., :1].expand({shape}){g}", needs=(rank(1), filled)),
            Variant(given="{e}.detach()[:1].expand({shape}){g}", needs=(rank(1), filled)),
            Variant(
                "{also} = {w} * 2",
                inputs={"w": "torch.randn({somesize}, 1).expand({somesize}, 9)"},
                needs=(filled,),
            ),
        ),
    ),
    Characteristic(
        "argument with permuted strides",
        Stage.LOWERING,
        "An argument has the strides of a transposed tensor or of channels last.",
        "Loops are ordered by strides; a layout that was assumed and not checked gives wrong places.",
        "# x is torch.randn(6, 4).t()\nreturn x.reshape(-1) * 2",
        _arguments(*TRANSPOSES),
        any_of(
            Variant(
                given="{e}.detach().transpose({dim}, {other}).contiguous().transpose({dim}, {other}){g}",
                needs=(rank(2),),
            ),
            Variant(
                given="{e}.detach().contiguous(memory_format=torch.channels_last).permute(0, 1, 2, 3){g}",
                needs=(rank(4, 4),),
            ),
        ),
    ),
    Characteristic(
        "argument with an offset or gaps",
        Stage.LOWERING,
        "An argument starts in the middle of its memory, or has gaps between its elements.",
        "Code that vectorises by alignment or computes sizes from strides goes wrong at the ends.",
        "# x is torch.randn(8, 6)[4:]\nreturn x + 1",
        _arguments("slice"),
        any_of(
            Variant(given=OFFSET, needs=(rank(1),)),
            Variant(given=GAPPED, needs=(known,)),
        ),
    ),
    Characteristic(
        "another memory format",
        Stage.LOWERING,
        "A tensor takes on channels last, or comes back from it, between operators.",
        "Strides of size-1 dimensions are ambiguous there, and formats propagate by rules of each operator.",
        "return x.contiguous(memory_format=torch.channels_last) + x",
        calls("contiguous to clone", where=given("memory_format")),
        any_of(
            Variant("{y} = {x}.contiguous(memory_format=torch.channels_last)", (rank(4, 4),), same=True),
            Variant(
                "{y} = {x}[None, None].contiguous(memory_format=torch.channels_last)[0, 0]",
                (rank(2, 2),),
                same=True,
            ),
            Variant(
                "{y} = {x}.unsqueeze(0).to(memory_format=torch.channels_last).squeeze(0)",
                (rank(3, 3),),
                same=True,
            ),
            Variant("{y} = {x}.flatten()[None, None, None].clone(memory_format=torch.channels_last)"),
        ),
    ),
    Characteristic(
        "reshape of a permuted tensor",
        Stage.LOWERING,
        "A transposed tensor is flattened or reshaped, so that dimensions merge across the permutation.",
        "Its index is a division and a remainder of loop variables, simplified by rules that assume bounds.",
        "return x.t().reshape(-1)[::2]",
        any_step(both(lambda s: s.call.name in ("reshape", "flatten", "ravel", "view"), viewed(TRANSPOSES))),
        any_of(
            Variant("{y} = {x}.transpose({dim}, {other}).reshape({shape})", (rank(2),), same=True),
            Variant("{y} = {x}.permute{perm}.flatten()[::{step}]", (rank(2),)),
            Variant("{y} = {x}.transpose({dim}, {other}).flatten().{reduce}()", (rank(2), filled)),
            Variant(
                "{y} = {x}.permute{perm}.reshape(2, -1).{reduce}(0)",
                (rank(2), filled, lambda t: bool(t.count) and (t.count or 1) % 2 == 0),
            ),
            Variant("{y} = {x}.transpose(0, -1).flatten() * {value}", (typed,)),
        ),
    ),
    Characteristic(
        "pointwise between layouts",
        Stage.LOWERING,
        "Two tensors of one shape and different strides meet in one operator.",
        "One loop order serves both; the result's strides follow rules that must match eager's.",
        "return x.t().contiguous().t() + x",
        any_step(_between_layouts),
        any_of(
            Variant(
                "{t} = {x}.transpose({dim}, {other}).contiguous().transpose({dim}, {other})\n"
                "{y} = {t}.{join}({x})",
                (rank(2), numeric),
                same=True,
            ),
            Variant(
                "{y} = {x}.transpose(0, -1).transpose(0, -1) - {x}.flip({dim})", (rank(1), numeric), same=True
            ),
            Variant(
                "{t} = {x}.permute{perm}\n{y} = {t} * torch.ones({t}.shape, dtype={dtype})",
                (rank(2), numeric),
            ),
        ),
    ),
    Characteristic(
        "matrix product of views",
        Stage.LOWERING,
        "An operand of a matrix product is transposed, sliced or expanded.",
        "Such operands go to a library by strides, or are copied first; both must agree.",
        "return x.mT @ x[:, ::2].contiguous()",
        any_step(
            both(
                lambda s: s.call.name in MATMULS,
                either(
                    viewed((*TRANSPOSES, "slice", "expand")),
                    straight_from("mT", "transpose", "expand", "slice"),
                ),
            )
        ),
        any_of(
            Variant("{y} = {x}.mT @ {x}", (ordinary, rank(2))),
            Variant("{y} = torch.matmul({x}[..., ::2], {x}[..., ::2].mT)", (ordinary, rank(2))),
            Variant("{t} = {x}.expand(2, *{shape})\n{y} = torch.bmm({t}, {t}.mT)", (ordinary, rank(2, 2))),
            Variant(
                "{y} = torch.nn.functional.linear({x}[..., 1:], {x}.reshape(-1, {lastsize})[:2, 1:])",
                (ordinary, rank(1), filled, last(2)),
            ),
        ),
    ),
)
