"""Decompositions: options of operators that are taken apart."""

from __future__ import annotations

from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import (
    any_step,
    calls,
    either,
    given,
    given_as,
    number,
)
from fuzzers.alignguard.needs import (
    elements,
    filled,
    first,
    floating,
    last,
    numeric,
    ordinary,
    rank,
    typed,
    ungraded,
)
from fuzzers.alignguard.reading.notes import Step
from fuzzers.alignguard.variants import Variant, any_of

NANS = "float('nan')"


def _edge(s: Step) -> bool:
    """Counted from the end, beyond the size, or nothing at all."""
    if s.call.name == "narrow":
        return (number(s.call, 2, "start") or 0) < 0
    if s.call.name in ("tril", "triu", "diagonal"):
        return (number(s.call, 1, "diagonal" if s.call.name != "diagonal" else "offset") or 0) != 0
    if s.call.name in ("sum", "amax", "mean"):
        return s.call.value(1, "dim", None) == ()
    return s.call.name in ("unflatten", "index_select", "gather") and s.call.name != ""


DECOMPOSITIONS: tuple[Characteristic, ...] = (
    Characteristic(
        "beta of zero beside NaN",
        Stage.DECOMPOSITIONS,
        "`addmm` and its relatives are called with `beta=0` and an input that holds NaN or infinity.",
        "The documentation says that the input is ignored then; multiplying it by zero gives NaN.",
        "nan = torch.full((4,), float('nan'))\nreturn torch.addmm(nan, x, x.t(), beta=0)",
        any_step(given_as("beta", 0, 0.0)),
        any_of(
            Variant(
                f"{{y}} = torch.addmm(torch.full_like({{x}}[:, :1], {NANS}), {{x}}, {{x}}.mT, beta=0)",
                (ordinary, rank(2, 2)),
            ),
            Variant(
                f"{{y}} = torch.baddbmm(torch.full_like({{x}}[:, :1, :1], {NANS}), {{x}}, {{x}}.mT, beta=0)",
                (ordinary, rank(3, 3)),
            ),
            Variant(
                f"{{y}} = torch.addmv(torch.full_like({{x}}[:, 0], {NANS}), {{x}}, {{x}}[0], beta=0)",
                (ordinary, rank(2, 2), filled),
            ),
            Variant(
                f"{{y}} = torch.addr(torch.full_like({{x}}, {NANS}), {{x}}[:, 0], {{x}}[0], beta=0, alpha=2)",
                (ordinary, rank(2, 2), filled),
            ),
            Variant(
                "{t} = {x}.reshape(1, {count})\n{y} = torch.addmm({t} / 0, {t}.mT @ {t}, "
                "torch.eye({count}, dtype={dtype}), beta=0, alpha=2)",
                (ordinary, elements(1, 64)),
            ),
        ),
    ),
    Characteristic(
        "factor of zero beside infinity",
        Stage.DECOMPOSITIONS,
        "`alpha=0` or `value=0` multiplies something that holds NaN or infinity.",
        "Whether the term is left out or gives NaN depends on the operator, and a folded constant "
        "changes it.",
        "return torch.add(x, x / 0, alpha=0), torch.addcmul(x, x / 0, x, value=0)",
        any_step(either(given_as("alpha", 0, 0.0), given_as("value", 0, 0.0))),
        any_of(
            Variant("{y} = torch.add({x}, {x} / 0, alpha=0)", (ordinary,), same=True),
            Variant(
                "{y} = torch.sub({x}, torch.full_like({x}, float('inf')), alpha=0)", (ordinary,), same=True
            ),
            Variant("{y} = torch.addcmul({x}, {x} / 0, {x}, value=0)", (ordinary,), same=True),
            Variant("{y} = torch.addcdiv({x}, {x}, {x} - {x}, value=0)", (ordinary,), same=True),
            Variant("{y} = torch.addmm({x}[:, :1], {x} / 0, {x}.mT, alpha=0)", (ordinary, rank(2, 2))),
        ),
    ),
    Characteristic(
        "result in a given buffer",
        Stage.DECOMPOSITIONS,
        "An operator writes into `out=`: a buffer of another layout or a wider dtype, a part of a "
        "larger one, or "
        "its own input.",
        "The result must be cast to the buffer's dtype and written in its layout, and all its "
        "aliases see it.",
        "o = torch.zeros(2, 4, 6, dtype=torch.float64)\ntorch.add(x, 1, out=o[0])\nreturn o",
        any_step(given("out")),
        any_of(
            Variant(
                "{o} = torch.empty_like({x})\ntorch.{outop}({x}, out={o})\n{y} = {o}",
                (floating, ungraded),
                same=True,
            ),
            Variant(
                "{o} = torch.zeros(2, *{shape}, dtype={dtype})\ntorch.mul({x}, 2, out={o}[0])\n{also} = {o}",
                (numeric, ungraded),
            ),
            Variant(
                "{o} = torch.empty({shape}, dtype=torch.float64)\ntorch.add({x}, {x}, alpha=2, out={o})\n"
                "{also} = {o}",
                (floating, ungraded),
            ),
            Variant(
                "{o} = torch.zeros_like({x}).transpose(0, -1).contiguous().transpose(0, -1)\n"
                "torch.neg({x}, out={o})\n{y} = {o}",
                (numeric, ungraded, rank(1)),
                same=True,
            ),
            Variant(
                "{c} = {x}.clone()\n{v} = {c}.view_as({c})\ntorch.mul({c}, 3, out={c})\n{also} = {v} + {c}",
                (numeric, ungraded),
            ),
            Variant(
                "{o} = torch.zeros(2 * {count}, dtype={dtype})\ntorch.neg({x}.flatten(), out={o}[::2])\n"
                "{also} = {o}",
                (numeric, ungraded),
            ),
            Variant(
                "{o} = torch.zeros_like({x}[:1])\ntorch.sum({x}, 0, keepdim=True, out={o})\n{also} = {o}",
                (floating, ungraded, rank(1), first(1)),
            ),
        ),
    ),
    Characteristic(
        "rounding mode",
        Stage.DECOMPOSITIONS,
        "A division has a `rounding_mode`, or a rounding has `decimals`.",
        "They are composed of a division and a rounding, which is not the same for large or special values.",
        "return torch.div(x, -0.3, rounding_mode='trunc'), torch.round(x, decimals=2)",
        any_step(given("rounding_mode", "decimals")),
        any_of(
            Variant("{y} = torch.div({x}, {divisor}, rounding_mode='{rounding}')", (numeric,), same=True),
            Variant("{y} = torch.round({x}, decimals={k})", (ordinary,), same=True),
            Variant("{y} = torch.div({x}, 0.25, rounding_mode='{rounding}')", (ordinary,), same=True),
            Variant(
                "{y} = torch.div({x}, torch.tensor(-3), rounding_mode='{rounding}')",
                (numeric, rank(1)),
                same=True,
            ),
        ),
    ),
    Characteristic(
        "statistics with options",
        Stage.DECOMPOSITIONS,
        "A variance, deviation or norm has a correction, an order, or several dimensions.",
        "Degrees of freedom, orders 0 and infinity, and small sizes are special cases of each decomposition.",
        "return x.var(0, correction=0), x.norm(p=float('inf'), dim=1), torch.var_mean(x, 1)",
        any_step(
            either(
                given("correction", "unbiased"),
                lambda s: (
                    s.call.name
                    in ("norm", "vector_norm", "var_mean", "std_mean", "renorm", "cov", "corrcoef")
                ),
            )
        ),
        any_of(
            Variant("{y} = torch.var({x}, dim={long}, correction={few})", (floating, filled)),
            Variant("{y} = {x}.std({long}, unbiased=False, keepdim=True)", (floating, filled)),
            Variant(
                "{v}, {m} = torch.var_mean({x}, {long}, correction=0)\n{also} = {m}\n{y} = {v}",
                (floating, filled),
            ),
            Variant("{y} = torch.linalg.vector_norm({x}, ord={order}, dim={some})", (ordinary, filled)),
            Variant("{y} = {x}.norm(p={order}, dim={dim})", (ordinary, filled, rank(1))),
            Variant("{y} = torch.var({x}, dim=({dim}, {other}), correction=0)", (ordinary, rank(2), filled)),
        ),
    ),
    Characteristic(
        "checks that eager makes",
        Stage.DECOMPOSITIONS,
        "An argument is at the edge of what is valid: counted from the end, of size zero, or "
        "refused by eager and "
        "caught.",
        "A decomposition that skips a check computes something where eager counts otherwise, or raises.",
        "try:\n    y = x.reshape(7)\nexcept RuntimeError:\n    y = x.flatten()\nreturn y, x.sum(dim=())",
        any_step(either(_edge, given("strict_edge"))),
        any_of(
            Variant("{y} = {x}.narrow({some}, -1, 1)", (filled,)),
            Variant("{y} = {x}.sum(dim=())", (floating,)),
            Variant("{y} = {x}.index_select({some}, torch.tensor([{somesize} - 1, 0]))", (filled,)),
            Variant("{y} = {x}.tril(-{k}) + {x}.triu({k})", (numeric, rank(2)), same=True),
            Variant("{y} = {x}.unflatten(-1, (-1, 1)).amax(dim=())", (floating, rank(1), filled)),
            Variant(
                "try:\n    {t} = {x}.narrow({some}, 0, {somesize} + 1)\n"
                "except RuntimeError:\n    {t} = {x}.narrow({some}, -1, 1)\n"
                "{y} = {t}",
                (filled,),
            ),
            Variant(
                "{y} = torch.gather({x}, {some}, torch.full_like({x}, {somesize} - 1, dtype=torch.int64))",
                (filled,),
                same=True,
            ),
        ),
    ),
    Characteristic(
        "padding",
        Stage.DECOMPOSITIONS,
        "A tensor is padded, by different amounts, by negative ones, or by reflection or repetition.",
        "Each mode is an index expression with conditions at both ends.",
        "return torch.nn.functional.pad(x, (2, -1)), torch.nn.functional.pad(x, (1, 2), mode='reflect')",
        calls("pad constant_pad_nd"),
        any_of(
            Variant("{y} = torch.nn.functional.pad({x}, (1, -1))", (rank(1), last(2))),
            Variant(
                "{y} = torch.nn.functional.pad({x}, (2, 1), mode='{mode}')",
                (ordinary, filled, rank(2, 3), last(3)),
            ),
            Variant("{y} = torch.nn.functional.pad({x}, ({k}, 0, 0, {k}), value={value})", (rank(2), typed)),
            Variant("{y} = torch.nn.functional.pad({x}, (1, 2)).sum(-1) + {x}.sum()", (numeric, rank(1))),
            Variant("{y} = torch.nn.functional.pad({x}, (-1, 1))[..., :-1]", (rank(1), last(2))),
        ),
    ),
)
