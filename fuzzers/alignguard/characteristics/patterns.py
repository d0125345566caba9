"""Pattern matchers: what looks like a known pattern and is not quite one, and what folds away."""

from __future__ import annotations

import ast

from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import (
    ARITHMETIC,
    LIKE,
    MATMULS,
    REDUCTIONS,
    TRANSPOSES,
    all_of,
    any_step,
    both,
    calls,
    made_by,
    nodes,
    one_of,
    straight_from,
)
from fuzzers.alignguard.needs import filled, floating, known, numeric, ordinary, rank
from fuzzers.alignguard.reading.notes import Step
from fuzzers.alignguard.reading.values import Tensor
from fuzzers.alignguard.variants import Variant, any_of

CONSTANTS = "zeros ones full zeros_like ones_like full_like eye arange"
PRODUCTS = " ".join(sorted(MATMULS))


def _neutral(n: ast.AST) -> bool:
    """`x + 0`, `x * 1`, `x ** 1`, `x / 1`."""
    return (
        isinstance(n, ast.BinOp)
        and isinstance(n.right, ast.Constant)
        and n.right.value in (0, 1)
        and not isinstance(n.right.value, bool)
        and isinstance(n.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow | ast.FloorDiv)
    )


def _whole(s: Step) -> bool:
    """A view that leaves nothing out."""
    return (
        s.call.name in ("slice", "narrow", "slice_scatter")
        and isinstance(s.result, Tensor)
        and s.result.shape is not None
        and s.result.shape == s.call.first.shape
    )


def _undone(s: Step) -> bool:
    pairs = (
        {*TRANSPOSES},
        {"unsqueeze", "squeeze"},
        {"reshape", "view", "flatten"},
        {"flip"},
        {"neg"},
        {"expand", "slice"},
    )
    return any(s.call.name in p and s.call.first.by in p for p in pairs)


PATTERNS: tuple[Characteristic, ...] = (
    Characteristic(
        "near an attention pattern",
        Stage.DECOMPOSITIONS,
        "A product, a scale, a softmax and a product follow one another as in attention, but with another "
        "dimension, scale, mask or order.",
        "Matchers replace the whole by one kernel, and every check that they leave out changes the result.",
        "return torch.softmax(q @ k.mT * 3 + mask, -2) @ v",
        any_step(both(lambda s: s.call.name in ("softmax", "dropout", "log_softmax"), made_by(PRODUCTS))),
        any_of(
            Variant(
                "{q} = {x}[None, None]\n{y} = torch.softmax(({q} @ {q}.mT) / {scalar}, -1) @ {q}",
                (ordinary, rank(2, 2), filled),
            ),
            Variant(
                "{q} = {x}[None, None]\n{y} = torch.softmax(({q} @ {q}.transpose(-2, -1)) * 0.5, -2).mT @ "
                "{q}",
                (ordinary, rank(2, 2), filled),
            ),
            Variant("{y} = torch.softmax({x} @ {x}.mT, {notlast}) @ {x}", (ordinary, rank(2, 4), filled)),
            Variant(
                "{q} = {x}[None, None]\n{s} = ({q} @ {q}.mT).div(2.0) + ({q} @ {q}.mT < 0).to({dtype})\n"
                "{y} = torch.nn.functional.dropout(torch.softmax({s}, -1), 0.0) @ {q}",
                (ordinary, rank(2, 2), filled),
            ),
            Variant(
                "{q} = {x}[None, None].to({half})\n{y} = torch.softmax(({q} @ {q}.mT).float(), "
                "-1).to({half}) @ {q}",
                (ordinary, rank(2, 2), filled),
            ),
            Variant(
                "{q} = {x}[None, None]\n{s} = torch.where({q} @ {q}.mT > 0, {q} @ {q}.mT, float('-inf'))\n"
                "{y} = torch.softmax({s}, -1) @ {q}",
                (ordinary, rank(2, 2), filled),
            ),
        ),
    ),
    Characteristic(
        "near a matrix product with addition",
        Stage.DECOMPOSITIONS,
        "Something is added to a matrix product that broadcasts otherwise than a bias, or is "
        "scaled, or used twice.",
        "The two are fused to one operator whose bias has fewer shapes and dtypes.",
        "return torch.mm(x, x.t()) + x[:, :1], (x @ x.mT).add(1, alpha=2)",
        any_step(both(lambda s: s.call.name in ("add", "sub", "rsub", "mul"), straight_from(PRODUCTS))),
        any_of(
            Variant("{y} = torch.mm({x}, {x}.t()) + {x}[:, :1]", (ordinary, rank(2, 2), filled)),
            Variant("{y} = {x}[..., :1, :1] + {x} @ {x}.mT", (ordinary, rank(2), filled)),
            Variant("{y} = torch.add({x}.sum(), torch.mm({x}, {x}.t()), alpha=2)", (ordinary, rank(2, 2))),
            Variant("{m} = {x} @ {x}.mT\n{also} = {m}\n{y} = {m} + {m}.mT", (ordinary, rank(2))),
            Variant(
                "{y} = torch.nn.functional.linear({x}, {x}) + torch.arange({x}.shape[0])",
                (ordinary, rank(2, 2), filled),
            ),
            Variant(
                "{m} = torch.mm({x}, {x}.t())\n{y} = {m}.sub({x}[:, 0], alpha=0.5) + torch.mm({m}, {m})",
                (ordinary, rank(2, 2), filled),
            ),
        ),
    ),
    Characteristic(
        "products that share an operand",
        Stage.DECOMPOSITIONS,
        "Several matrix products have one operand in common, or are batched, split and joined.",
        "They are merged into one larger product, whose result is cut into pieces.",
        "return x @ w1, x @ w2, torch.cat([x @ w1, x @ w2], 1)",
        lambda reading: sum(s.call.name in MATMULS for s in reading.steps if s.place == "f") > 1,
        any_of(
            Variant(
                "{also} = {x} @ {x}.mT\n{also2} = {x} @ ({x} * 2).mT\n{y} = {x} @ ({x} - 1).mT",
                (ordinary, rank(2, 2)),
            ),
            Variant("{y} = torch.cat([{x} @ {x}.mT, {x} @ ({x} + 1).mT], -1)", (ordinary, rank(2))),
            Variant("{y} = ({x} @ {x}.mT) @ ({x} @ {x}.mT).mT", (ordinary, rank(2))),
        ),
    ),
    Characteristic(
        "constants that fold",
        Stage.DECOMPOSITIONS,
        "A tensor of one value (`ones_like`, `zeros`, `full`) is added, multiplied or compared.",
        "The operator is removed or its value computed ahead, with the shape and dtype that it "
        "would have given.",
        "return x * torch.ones_like(x), x + torch.zeros(6, dtype=torch.float64)",
        any_step(
            both(
                lambda s: s.call.name in (*ARITHMETIC, "div", "where", "eq", "cat", *REDUCTIONS),
                straight_from(CONSTANTS, *LIKE),
            )
        ),
        any_of(
            Variant("{y} = {x} * torch.ones_like({x})", (numeric,), same=True),
            Variant("{y} = {x} + torch.zeros_like({x})", (numeric,), same=True),
            Variant("{y} = {x} + torch.zeros({row}, dtype=torch.float64)", (numeric, rank(1))),
            Variant("{y} = {x} * torch.full((2, 1), 1, dtype={dtype}).sum()", (numeric,)),
            Variant(
                "{y} = torch.where(torch.ones_like({x}, dtype=torch.bool), {x}, {x} * 2)",
                (numeric,),
                same=True,
            ),
            Variant("{y} = {x} / torch.ones({shape}, dtype=torch.int32)", (numeric,)),
            Variant("{y} = torch.full_like({x}, 3).sum() + {x}", (numeric,)),
            Variant("{y} = {x} * torch.zeros_like({x}) + {x}", (ordinary,), same=True),
            Variant("{y} = ({x} - torch.zeros(1, 1, *{shape}, dtype={dtype})).sum(0)", (floating, known)),
        ),
    ),
    Characteristic(
        "operators that do nothing",
        Stage.DECOMPOSITIONS,
        "Zero is added, one multiplied, or a tensor raised to the first power or divided by one.",
        "Removing it is right only if it changes neither dtype nor shape nor makes a copy that is "
        "written later.",
        "return n / 1, x ** 1, (x + 0).add_(1), x - 0",
        nodes(_neutral),
        any_of(
            Variant("{y} = {x} / 1", (numeric,)),
            Variant("{y} = {x} ** 1", (numeric,), same=True),
            Variant("{y} = {x} + 0", (numeric,), same=True),
            Variant("{v} = {x} * 1\n{v}.{write}\n{y} = {v} - {x}", (numeric,), same=True),
            Variant("{y} = ({x} + 0.0) * 1", (numeric,)),
            Variant("{y} = {x} ** 0 * {x}", (numeric,)),
            Variant("{y} = {x} // 1", (numeric,), same=True),
            Variant("{y} = 0 - (0 - {x} * 1)", (numeric,), same=True),
        ),
    ),
    Characteristic(
        "views that cancel",
        Stage.DECOMPOSITIONS,
        "Two transposes, reshapes, flips or negations follow one another and undo each other, or nearly.",
        "A pair that does not quite cancel is removed, or a view is taken for a no-op by its shape alone.",
        "return x.t().t() + x.reshape(-1).reshape(4, 6), x.flip(0).flip(0)",
        any_step(_undone),
        any_of(
            Variant("{y} = {x}.transpose({dim}, {other}).transpose({dim}, {other})", (rank(2),), same=True),
            Variant("{y} = {x}.reshape(-1).reshape({shape})", (filled,), same=True),
            Variant("{y} = {x}.flip({dim}).flip({dim})", (rank(1),), same=True),
            Variant("{y} = {x}.permute{perm}.permute{perm}", (rank(2),)),
            Variant("{y} = {x}.unsqueeze(0).transpose(0, -1).transpose(0, 1).squeeze()", (rank(1),)),
            Variant("{y} = {x}.transpose(0, -1).flip(0).flip(0).transpose(-1, 0)", (rank(1),), same=True),
            Variant("{y} = {x}.neg().neg() * {value}", (numeric,)),
        ),
    ),
    Characteristic(
        "slice that leaves nothing out",
        Stage.DECOMPOSITIONS,
        "A slice, `narrow` or `slice_scatter` covers the whole dimension, also by bounds beyond its size.",
        "It is removed as doing nothing, which is wrong when the bound was a number of its own.",
        "return x[:, 0:99] * 2, torch.slice_scatter(x, x + 1, 0, 0, 4)",
        any_step(_whole),
        any_of(
            Variant("{y} = {x}[..., 0:9999]", (rank(1),), same=True),
            Variant("{y} = {x}[-9999:]", (rank(1),), same=True),
            Variant("{y} = {x}.narrow({some}, 0, {somesize})", (filled,), same=True),
            Variant(
                "{y} = torch.slice_scatter({x}, {x} * {value}, {some}, 0, {somesize})",
                (filled, lambda t: t.floating),
            ),
            Variant("{v} = {x}[..., :]\n{v}.{write}\n{also} = {v}.clone()", (rank(1),), writes=True),
        ),
    ),
    Characteristic(
        "a known operator written out",
        Stage.DECOMPOSITIONS,
        "A GELU, SiLU, layer or batch normalisation, softmax or log-sum-exp is written out by hand.",
        "Parts are recognised and replaced, or recomputed, with constants and casts a little different.",
        "return x * 0.5 * (1 + torch.erf(x * 0.7071)), (x - x.mean(-1, True)) * x.var(-1).rsqrt()[:, None]",
        one_of(
            all_of(calls("mul", where=made_by("erf", "sigmoid", "rsqrt")), calls("erf sigmoid var rsqrt")),
            any_step(both(lambda s: s.call.name in ("div", "log"), made_by("exp", "var", "std"))),
        ),
        any_of(
            Variant("{y} = {x} * 0.5 * (1.0 + torch.erf({x} * 0.7071067811865476))", (ordinary,), same=True),
            Variant("{y} = {x} * torch.sigmoid({x} * 1.702)", (ordinary,), same=True),
            Variant(
                "{t} = ({x} - {x}.amax({dim}, keepdim=True)).exp()\n{y} = {t} / {t}.sum({dim}, keepdim=True)",
                (ordinary, rank(1), filled),
                same=True,
            ),
            Variant(
                "{m} = {x}.mean({dim}, keepdim=True)\n{y} = ({x} - {m}) * torch.rsqrt({x}.var({dim}, "
                "unbiased=False, keepdim=True) + 1e-5)",
                (ordinary, rank(1), filled),
                same=True,
            ),
            Variant("{y} = ({x}.exp().sum({dim}, keepdim=True)).log() + {x}", (ordinary, rank(1)), same=True),
        ),
    ),
    Characteristic(
        "interpolation or pooling",
        Stage.DECOMPOSITIONS,
        "A tensor is interpolated or pooled with sizes that do not divide, ceilings, or aligned corners.",
        "Source positions are computed in floating point and clamped, once in eager and once in "
        "the decomposition.",
        "return torch.nn.functional.interpolate(x[None, None], size=(5, 7), mode='bilinear')",
        calls(
            "interpolate avg_pool1d avg_pool2d max_pool1d max_pool2d adaptive_avg_pool1d "
            "adaptive_avg_pool2d adaptive_max_pool2d lp_pool2d grid_sample"
        ),
        any_of(
            Variant(
                "{y} = torch.nn.functional.interpolate({x}[None, None], size=(5, 7), mode='bilinear', "
                "align_corners={flag})",
                (ordinary, rank(2, 2), filled),
            ),
            Variant(
                "{y} = torch.nn.functional.interpolate({x}.reshape(1, 1, -1), scale_factor=1.7, "
                "mode='nearest')",
                (ordinary, filled),
            ),
            Variant(
                "{y} = torch.nn.functional.avg_pool1d({x}.reshape(1, 1, -1), 2, stride=2, padding=1, "
                "ceil_mode=True, count_include_pad={flag})",
                (ordinary, filled),
            ),
            Variant(
                "{y} = torch.nn.functional.max_pool2d({x}[None, None], 2, stride=1, padding=1)",
                (ordinary, rank(2, 2), filled),
            ),
            Variant(
                "{y} = torch.nn.functional.adaptive_avg_pool1d({x}.reshape(1, 1, -1), 3)", (ordinary, filled)
            ),
            Variant(
                "{y} = torch.nn.functional.interpolate({x}[None, None], size=(3, 9), mode='bicubic')",
                (ordinary, rank(2, 2), filled),
            ),
        ),
    ),
)
