"""Lowering: reductions, scans and sorting, and what is fused around them."""

from __future__ import annotations

from fuzzers.alignguard import form
from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import (
    REDUCTIONS,
    TRANSPOSES,
    any_step,
    both,
    calls,
    either,
    given,
    made_by,
    not_last,
    straight_from,
    viewed,
)
from fuzzers.alignguard.needs import filled, floating, numeric, ordinary, rank, real, typed
from fuzzers.alignguard.reading.reader import Reading
from fuzzers.alignguard.variants import Variant, any_of


def _several_reductions(reading: Reading) -> bool:
    """One tensor is reduced in two ways."""
    seen: dict[int, set[tuple[str, object]]] = {}
    for s in reading.of(form.F):
        if s.call.name in REDUCTIONS and s.call.first.storage >= 0:
            seen.setdefault(s.call.first.storage, set()).add((s.call.name, s.call.value(1, "dim", None)))
    return any(len(ways) > 1 for ways in seen.values())


LOWERING_REDUCTIONS: tuple[Characteristic, ...] = (
    Characteristic(
        "running sum along strided memory",
        Stage.LOWERING,
        "A scan (`cumsum`, `cumprod`, `cummax`, `logcumsumexp`) goes over a view or along an inner "
        "dimension.",
        "Scans have a template of their own, or fall back, and meet views and casts at its edges.",
        "return x.t().cumsum(0).flip(0)",
        calls(
            "cumsum cumprod cummax cummin logcumsumexp",
            where=either(
                viewed((*TRANSPOSES, "slice", "unsqueeze", "expand")), not_last, straight_from("flip")
            ),
        ),
        any_of(
            Variant(
                "{y} = {x}.transpose({dim}, {other}).cumsum({dim}).transpose({dim}, {other})",
                (floating, rank(2)),
                same=True,
            ),
            Variant("{y} = {x}.flip({dim}).cumsum({dim}).flip({dim})", (floating, rank(1)), same=True),
            Variant("{y} = {x}[..., ::2].cumsum(-1)", (real, rank(1))),
            Variant("{y} = torch.cummax({x}[..., ::2], -1)", (real, rank(1), filled)),
            Variant("{y} = torch.cumprod({x}.flip({dim}), {dim})", (floating, rank(1)), same=True),
            Variant("{y} = torch.logcumsumexp({x}.transpose({dim}, {other}), {dim})", (ordinary, rank(2))),
        ),
    ),
    Characteristic(
        "sort then gather",
        Stage.LOWERING,
        "The positions from a sort or a top-k are used to gather, or as values.",
        "The order of ties and the dtype of positions pass from a fallback into generated code.",
        "v, i = x.sort(0, stable=True)\nreturn x.gather(0, i) - v",
        any_step(
            both(
                lambda s: s.call.name in ("gather", "take_along_dim", "index", "index_select"),
                made_by("sort", "topk", "argsort", "max", "min"),
            )
        ),
        any_of(
            Variant(
                "{v}, {i} = {x}.sort(dim={dim}, stable=True)\n{y} = {x}.gather({dim}, {i})",
                (real, rank(1)),
                same=True,
            ),
            Variant(
                "{i} = {x}.argsort(dim={dim}, stable=True, descending=True)\n"
                "{y} = torch.take_along_dim({x}, {i}, {dim})",
                (real, rank(1)),
                same=True,
            ),
            Variant(
                "{v}, {i} = torch.topk({x}, 1, {some})\n{y} = {x}.gather({some}, {i}) + {v}",
                (numeric, filled, rank(1)),
            ),
        ),
    ),
    Characteristic(
        "several reductions of one tensor",
        Stage.LOWERING,
        "One tensor is reduced in several ways, over different dimensions or by different operators.",
        "The scheduler fuses them into one kernel or splits them, with loop orders that must agree.",
        "return x.sum(0), x.amax(1), (x - x.mean(0)).var(1)",
        _several_reductions,
        any_of(
            Variant("{also} = {x}.sum({dim})\n{y} = {x}.{reduce}({other})", (rank(2), filled)),
            Variant("{also} = {x}.{extreme}({dim})\n{y} = {x}.sum({dim}) * 2", (rank(1), filled, numeric)),
            Variant(
                "{t} = {x} - {x}.mean({dim}, keepdim=True)\n{also} = {t}.amax({other})\n{y} = {t}.sum({dim})",
                (rank(2), filled, floating),
            ),
            Variant(
                "{y} = {x}.sum({dim}, keepdim=True) + {x}.sum({other}, keepdim=True)", (rank(2), numeric)
            ),
        ),
    ),
    Characteristic(
        "repetition",
        Stage.LOWERING,
        "A tensor is repeated by `repeat`, `tile` or `repeat_interleave`, then reduced or sliced.",
        "Indices become remainders and quotients of loop variables.",
        "return x.repeat(2, 3)[:, 1:].sum(0)",
        calls("repeat tile repeat_interleave"),
        any_of(
            Variant("{y} = {x}.repeat(2, *[1] * {rank})[1]", same=True, needs=(rank(0),)),
            Variant("{y} = {x}.repeat_interleave(2, {some}).narrow({some}, 1, 1)", (filled,)),
            Variant("{y} = {x}.flatten().repeat(3)[1:]"),
            Variant("{y} = torch.tile({x}, (2,))[..., ::{step}] * {value}", (rank(1), typed)),
            Variant(
                "{y} = {x}.repeat_interleave(torch.tensor([0] * ({somesize} - 1) + [2]), {some})", (filled,)
            ),
        ),
    ),
    Characteristic(
        "minimum and maximum with positions",
        Stage.LOWERING,
        "Both results of a reduction with positions are used, and the values again with what they came from.",
        "Two results of one reduction must stay together when it is split or vectorised.",
        "v, i = x.max(1, keepdim=True)\nreturn (x == v).sum(1), i",
        calls(
            "max min median mode kthvalue aminmax cummax cummin",
            where=either(given("keepdim", "dim"), lambda s: len(s.call.args) > 1),
        ),
        any_of(
            Variant(
                "{v}, {i} = {x}.max({some}, keepdim=True)\n{also} = {i}\n{y} = {x} - {v}",
                (numeric, filled),
                same=True,
            ),
            Variant("{v}, {i} = torch.min({x}, {some})\n{also} = {i}\n{y} = {v}", (real, filled)),
            Variant("{v}, {i} = torch.aminmax({x}, dim={some})\n{y} = {v} + {i}", (numeric, filled)),
        ),
    ),
)
