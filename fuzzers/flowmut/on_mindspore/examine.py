"""One program in both modes: PyNative against Graph, with a float64 run as the judge.

Invariant: the rules are those of the oracle (oracle.md): dtypes and shapes exactly, integers exactly unless
floats decide them, floats within the dtype's tolerance plus four times what eager itself is off, and nothing
at all of a program whose float64 run moves when its inputs do by an ulp. What has no float64 run has no
judge, and is dropped, unless the difference is one that no rounding makes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import mindspore as ms
import numpy as np

from fuzzers.flowmut.edge import FLOATING
from fuzzers.flowmut.on_mindspore.observe import Array, dtype_name, to_numpy
from fuzzers.records import Aspect, Json, Kind

LEVELS = ("O0", "O1")
"""Levels of `ms.jit` that run on the CPU."""

TOLERANCE: dict[str, tuple[float, float]] = {
    "float16": (1e-3, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
}
"""(relative, absolute) by dtype: the defaults of `torch.testing.assert_close`."""

EAGER_FACTOR = 4.0
"""How many times eager's own error the compiled side may be off (oracle.md)."""

NUDGES = 4
"""Float64 runs with inputs moved by an ulp of their dtype: that many must agree."""

NUDGED = 1e-4
"""How far float64 runs of moved inputs may be apart, relative and absolute: beyond, the program amplifies."""

NONFINITE_BOUND = 1e-2
"""Tolerance of a script that shows NaN or infinity on one side: the finite elements are not its subject."""

NOT_A_BUG = (
    "is not supported in graph mode",
    "unsupported",
    "Unsupported",
    "does not support",
    "not registered",
    "unregistered",
    "Select CPU operator",
    "the supported data types",
    "memory isn't enough",
)
"""What Graph mode says of what it does not do: a limit that it names, no fault."""


@dataclass(frozen=True)
class Difference:
    """What one place shows, with the fields of the oracle's: `detail` has the level of `ms.jit`, one element
    of either side, and for floats the bound that was passed."""

    kind: Kind
    aspect: Aspect
    where: str
    index: int
    detail: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """The differences, worst first, or why there is none to tell of; both empty: the modes agree."""

    differences: tuple[Difference, ...] = ()
    dropped: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """What one call gave: arrays, or what it raised."""

    values: tuple[Array, ...] = ()
    dtypes: tuple[str, ...] = ()
    raised: BaseException | None = None


def observe(call: Callable[..., Any], args: Sequence[Any]) -> Seen:
    """One call, waited for to its end."""
    try:
        given = call(*args)
        leaves = given if isinstance(given, tuple) else (given,)
        return Seen(tuple(map(to_numpy, leaves)), tuple(map(dtype_name, leaves)))
    except Exception as error:  # noqa: BLE001
        # Both modes raise whatever they like; what they raise is compared.
        return Seen(raised=error)


Compile = Callable[[str], Callable[..., Any]]
"""What Graph mode makes of the program at a level."""


def examine(call: Callable[..., Any], inputs: Callable[[], Sequence[Any]], compiled: Compile) -> Report:
    """Compare `call` in PyNative with what `compiled` makes of it at each level."""
    eager = observe(call, inputs())
    if eager.raised is not None:
        return Report(dropped="eager-raises")
    again = observe(call, inputs())
    if again.raised is not None or not _same(eager, again):
        return Report(dropped="eager-nondeterministic")
    judge = _Judge(call, inputs, eager)
    dropped = ""
    for level in LEVELS:
        found = judge.compare(observe(compiled(level), inputs()))
        if isinstance(found, Difference):
            return Report((replace(found, detail={"level": level, **found.detail}),))
        dropped = dropped or found
    return Report(dropped=dropped)


def _same(a: Seen, b: Seen) -> bool:
    pairs = zip(a.values, b.values, strict=True)
    return all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in pairs)


Verdict: TypeAlias = "Difference | str"
"""A difference; else why there is none to tell of, empty when the two sides agree."""


class _Judge:
    """Compares Graph's answers with one of PyNative."""

    def __init__(self, call: Callable[..., Any], inputs: Callable[[], Sequence[Any]], eager: Seen) -> None:
        self.call, self.inputs, self.eager = call, inputs, eager

    def compare(self, graph: Seen) -> Verdict:
        """The worst that one answer shows: metadata before values."""
        if graph.raised is not None:
            return _raised(graph.raised)
        eager = self.eager
        if len(graph.values) != len(eager.values):
            sides: Json = {"expected": len(eager.values), "actual": len(graph.values)}
            return Difference(Kind.METADATA, Aspect.STRUCTURE, "output", 0, sides)
        for index, (have, want) in enumerate(zip(graph.dtypes, eager.dtypes, strict=True)):
            if have != want:
                sides = {"expected": want, "actual": have}
                return Difference(Kind.METADATA, Aspect.DTYPE, "output", index, sides)
        for index, (value, expected) in enumerate(zip(graph.values, eager.values, strict=True)):
            if value.shape != expected.shape:
                sides = {"expected": list(expected.shape), "actual": list(value.shape)}
                return Difference(Kind.METADATA, Aspect.SHAPE, "output", index, sides)
        found = [self._values(index, value) for index, value in enumerate(graph.values)]
        differences = [one for one in found if isinstance(one, Difference)]
        return differences[0] if differences else next((one for one in found if one), "")

    def _values(self, index: int, actual: Array) -> Verdict:
        expected = self.eager.values[index]
        if np.array_equal(actual, expected, equal_nan=actual.dtype.kind == "f"):
            return ""
        if self.eager.dtypes[index] not in FLOATING:
            if not self._is_settled(index):
                return "decided by floats"
            return Difference(Kind.WRONG, Aspect.VALUES, "output", index, _example(actual, expected))
        if not np.array_equal(_classes(actual), _classes(expected)):
            return self._nonfinite(index, actual, expected)
        return self._floats(index, actual, expected)

    def _nonfinite(self, index: int, actual: Array, expected: Array) -> Verdict:
        if not self._is_settled(index):
            return "ill-conditioned"
        given = [to_numpy(x) for x in self.inputs() if dtype_name(x) in FLOATING]
        ordinary = all(np.isfinite(x).all() for x in given)
        kind = Kind.WRONG if ordinary and np.isfinite(self._wide[0].values[index]).all() else Kind.NONFINITE
        detail: Json = {**_example(actual, expected), "rtol": NONFINITE_BOUND, "atol": NONFINITE_BOUND}
        return Difference(kind, Aspect.NONFINITE, "output", index, detail)

    def _floats(self, index: int, actual: Array, expected: Array) -> Verdict:
        rtol, atol = TOLERANCE[self.eager.dtypes[index]]
        finite = np.isfinite(expected)
        here = actual.astype(np.float64)[finite]
        eager = expected.astype(np.float64)[finite]
        if np.allclose(here, eager, rtol=rtol, atol=atol):
            return ""
        if not self._is_settled(index):
            return "ill-conditioned"
        judged = self._wide[0].values[index].astype(np.float64)[finite]
        off = np.abs(eager - judged)
        allowed = atol + rtol * np.abs(judged) + EAGER_FACTOR * np.maximum(off, np.sqrt(np.mean(off**2)))
        if (np.abs(here - judged) <= allowed).all():
            return ""
        rtol, atol = 10 * rtol, max(10 * atol, float(allowed.max()))
        if np.allclose(here, eager, rtol=rtol, atol=atol):
            return "too near to tell"
        detail: Json = {**_example(actual, expected), "rtol": rtol, "atol": atol}
        return Difference(Kind.WRONG, Aspect.VALUES, "output", index, detail)

    @cached_property
    def _wide(self) -> list[Seen]:
        """The float64 run, and those with inputs that were moved a little; empty where there is none."""
        runs = [observe(self.call, [_widened(x, k) for x in self.inputs()]) for k in range(NUDGES + 1)]
        whole = all(r.raised is None and len(r.values) == len(self.eager.values) for r in runs)
        return runs if whole else []

    def _is_settled(self, index: int) -> bool:
        """Whether the float64 runs agree on a place with each other. Without them only what no float can
        have decided is settled."""
        if not self._wide:
            return not any(dtype_name(x) in FLOATING for x in self.inputs())
        first, *others = (run.values[index] for run in self._wide)
        return first.shape == self.eager.values[index].shape and all(
            np.allclose(first, other, rtol=NUDGED, atol=NUDGED, equal_nan=True) for other in others
        )


def _raised(error: BaseException) -> Verdict:
    text = str(error)
    if any(part in text for part in NOT_A_BUG):
        return "graph mode says that it does not take it"
    told: Json = {"exception": type(error).__name__, "message": text[:2000]}
    return Difference(Kind.EXCEPTION, Aspect.OUTCOME, "outcome", -1, {"expected": "returned", "actual": told})


def _classes(values: Array) -> Array:
    """0 finite, 1 NaN, 2 and 3 the infinities."""
    return np.isnan(values) + 2 * np.isposinf(values) + 3 * np.isneginf(values)


def _example(actual: Array, expected: Array) -> Json:
    """The first element that differs."""
    differs = ~((actual == expected) | ((actual != actual) & (expected != expected)))
    where = tuple(int(k) for k in np.argwhere(differs)[0])
    return {"actual": str(actual[where]), "expected": str(expected[where]), "at": list(where)}


def _widened(tensor: Any, nudge: int) -> Any:
    """The input in float64; `nudge` 1 and more move each element by an ulp of its own dtype, or not."""
    dtype = dtype_name(tensor)
    if dtype not in FLOATING:
        return tensor
    values = to_numpy(tensor)
    wide: Array = values.astype(np.float64)
    if nudge:
        signs = np.random.default_rng(nudge).integers(-1, 2, values.shape)
        ulps = np.spacing(np.abs(values)).astype(np.float64)
        wide = np.where(np.isfinite(wide), wide + signs * ulps, wide)
    return ms.Tensor(wide, ms.float64)
