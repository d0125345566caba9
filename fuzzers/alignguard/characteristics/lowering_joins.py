"""Lowering: slices, joins, windows and other places that are computed."""

from __future__ import annotations

from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import (
    JOINS,
    SLICES,
    any_step,
    both,
    calls,
    straight_from,
)
from fuzzers.alignguard.needs import (
    elements,
    filled,
    last,
    numeric,
    rank,
    typed,
)
from fuzzers.alignguard.reading.call import plain, tensors
from fuzzers.alignguard.reading.notes import Step
from fuzzers.alignguard.reading.values import Several
from fuzzers.alignguard.variants import Variant, any_of


def _negative_or_stepped(s: Step) -> bool:
    start, stop, step = (plain(s.call.named[k]) for k in ("start", "stop", "step"))
    return any(isinstance(v, int) and v < 0 for v in (start, stop)) or step not in (1, ...)


def _joins_views(s: Step) -> bool:
    items = s.call.args[0] if s.call.args else None
    return isinstance(items, Several) and any(t.views for t in tensors(items))


LOWERING_JOINS: tuple[Characteristic, ...] = (
    Characteristic(
        "slice with a step or a negative bound",
        Stage.LOWERING,
        "A tensor is sliced with a step, or with a bound counted from the end.",
        "Bounds are clamped and wrapped twice, once for shapes and once for loads.",
        "return x[:, -3:] + x[:, 1::2][:, :3]",
        calls("slice", where=_negative_or_stepped),
        any_of(
            Variant("{y} = {x}[..., ::{step}]", (rank(1),)),
            Variant("{y} = {x}[..., -{k}:] * {value}", (rank(1), typed)),
            Variant("{y} = {x}[{k}::{step}]", (rank(1),)),
            Variant("{y} = {x}.flatten()[:-{k}]"),
            Variant("{y} = {x}[..., :-1] - {x}[..., 1:]", (rank(1), last(2), numeric)),
            Variant("{y} = {x}.flatten()[-100:][::{step}].clone()"),
        ),
    ),
    Characteristic(
        "join of strided slices",
        Stage.LOWERING,
        "Strided slices or transposed views are concatenated or stacked.",
        "Each piece is written by a kernel of its own into a part of one buffer, at computed offsets.",
        "return torch.cat([x[:, ::2], x[:, 1::2]], 1)",
        any_step(both(lambda s: s.call.name in JOINS, _joins_views)),
        any_of(
            Variant("{y} = torch.cat([{x}[..., ::2], {x}[..., 1::2]], -1)", (rank(1),)),
            Variant(
                "{y} = torch.stack([{x}.transpose({dim}, {other}), {x}.transpose({dim}, {other})], {dim})",
                (rank(2),),
            ),
            Variant("{y} = torch.cat([{x}.flatten()[::2], {x}.flatten()[1::2]]).{reduce}()", (filled,)),
            Variant("{y} = torch.cat([{x}[..., 1:], {x}[..., :1]], -1)", (rank(1), filled), same=True),
            Variant("{y} = torch.cat([{x}.flatten()[::2], {x}.flatten()[1::2]])"),
            Variant("{y} = torch.stack([{x}[0], {x}[-1]], -1)", (rank(1), filled)),
        ),
    ),
    Characteristic(
        "slice across a join",
        Stage.LOWERING,
        "A concatenation is sliced so that the slice takes parts of two pieces, or a split is "
        "joined otherwise.",
        "Rewrites look through the join to the pieces and must get every boundary right.",
        "return torch.cat([x, x * 2], 1)[:, 2:-2]",
        any_step(
            both(
                lambda s: s.call.name in (*SLICES, *JOINS),
                straight_from(*JOINS, "split", "chunk", "tensor_split", "unbind"),
            )
        ),
        any_of(
            Variant("{t} = torch.cat([{x}, {x}], -1)\n{y} = {t}[..., 1:-1]", (rank(1), filled)),
            Variant(
                "{t} = torch.cat([{x}, {x}.{unary}()], {some})\n{y} = {t}.narrow({some}, {somesize} - 1, 2)",
                (filled, lambda t: t.dtype != "bool"),
            ),
            Variant("{t} = torch.cat([{x}.flatten(), {x}.flatten()])\n{y} = {t}[1:]"),
            Variant("{t} = torch.stack([{x}, {x}], 0)\n{y} = {t}[1]", same=True),
            Variant("{t} = torch.cat([{x}, {x}], 0)\n{y} = torch.cat([{t}[1:], {t}[:1]], 0)", (rank(1),)),
        ),
    ),
    Characteristic(
        "uneven pieces put together again",
        Stage.LOWERING,
        "A tensor is split into uneven pieces, which are joined in another order.",
        "Splits that are joined again are cancelled by pattern, sizes and order permitting.",
        "a, b = torch.tensor_split(x, [1], 1)\nreturn torch.cat([b, a], 1)",
        calls("split tensor_split chunk unbind split_with_sizes"),
        any_of(
            Variant(
                "{a}, {b} = torch.tensor_split({x}, [1], {some})\n{y} = torch.cat([{b}, {a}], {some})",
                (filled,),
                same=True,
            ),
            Variant(
                "{a}, {b} = {x}.split([1, {somesize} - 1], {some})\n{y} = torch.cat([{b}, {a}, {b}], {some})",
                (filled,),
            ),
            Variant(
                "{p} = torch.unbind({x}, {some})\n{y} = torch.stack([{p}[-1], {p}[0]], {some})", (filled,)
            ),
            Variant("{p} = {x}.chunk(3, {some})\n{y} = torch.cat([{p}[-1], {p}[0]], {some})", (filled,)),
        ),
    ),
    Characteristic(
        "as_strided read",
        Stage.LOWERING,
        "Memory is read through `as_strided`, with elements that overlap or are left out.",
        "It needs the layout that eager would have had, so the compiler must fix it ahead.",
        "return torch.as_strided(x, (3, 2), (1, 1)).sum(1)",
        calls("as_strided"),
        any_of(
            Variant(
                "{y} = torch.as_strided({x}.flatten().clone(), ({count} - 1, 2), (1, 1))", (elements(2),)
            ),
            Variant(
                "{y} = torch.as_strided({x}.flatten().clone(), ({count} // 2,), (2,), 1).{reduce}()",
                (elements(3),),
            ),
            Variant(
                "{y} = {x}.transpose({dim}, {other}).clone().as_strided(({count},), (1,))", (rank(2), filled)
            ),
        ),
    ),
    Characteristic(
        "overlapping windows reduced",
        Stage.LOWERING,
        "Windows of an `unfold` are reduced or multiplied.",
        "The view cannot be written as a plain reshape, so its loads are indexed by two loop variables.",
        "return x.unfold(1, 3, 2).amax(-1)",
        calls("unfold"),
        any_of(
            Variant("{y} = {x}.unfold({two}, 2, 1).{reduce}(-1)", (filled,)),
            Variant("{y} = {x}.flatten().unfold(0, 2, 1) * {value}", (elements(2), typed)),
            Variant("{y} = {x}.unfold({long}, 3, 2).clone()", (filled,)),
        ),
    ),
    Characteristic(
        "flip or roll",
        Stage.LOWERING,
        "A tensor is flipped, rolled or rotated, by more than its size or along several dimensions.",
        "Indices become `size - 1 - i` or a remainder, whose simplification is easy to get wrong.",
        "return torch.roll(x.flip(0), 5, 1)",
        calls("flip roll rot90 fliplr flipud"),
        any_of(
            Variant("{y} = {x}.flip({dim})", (rank(1),), same=True),
            Variant("{y} = torch.roll({x}, {odd}, {dim})", (rank(1),), same=True),
            Variant("{y} = torch.roll({x}, -{k})", same=True),
            Variant("{y} = torch.rot90({x}, {k}, ({dim}, {other}))", (rank(2),)),
            Variant("{y} = {x}.flip({dim}).{reduce}({dim}) + {x}.flip(0).sum()", (rank(1), filled, numeric)),
            Variant("{y} = {x}.flip({dim}, {other})[..., 1:]", (rank(2),)),
        ),
    ),
)
