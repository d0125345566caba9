"""Points at which programs are evaluated: a value for every input element, by its number.

Invariant: an element has the same value on both sides, and one that float32 holds, so that a point can be
run. The points differ in size and in place, because a comparison with 20 is decided by size: together they
cover more ordering cells than as many standard normal ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fuzzers.dirigo.deciding.primes import mixed
from fuzzers.dirigo.simt.tape import Array


@dataclass(frozen=True)
class Column:
    """One point: normal values times `scale` plus `shift`; all but `kept` of 64 elements are 0."""

    scale: float = 1.0
    shift: float = 0.0
    kept: int = 64

    def words(self) -> str:
        return f"normal values times {self.scale:g} plus {self.shift:g}"


ORDINARY = (
    Column(),
    Column(),
    Column(3.0),
    Column(0.1),
    Column(0.003),
    Column(10.0),
    Column(30.0, 1.0),
    Column(1.0, 3.0),
    Column(1.0, -3.0),
    Column(0.5, 30.0),
    Column(0.5, -30.0),
    Column(1.0, 0.0, 4),
)
WIDER = (
    *(Column(scale, shift) for scale in (100.0, 0.01, 1.0) for shift in (-100.0, 0.0, 100.0)),
    *(Column(0.3, shift) for shift in (-1.0, -0.5, 0.5, 1.0, 6.0, -6.0, 20.0)),
)
"""More, for the sides of comparisons that the ordinary ones left out."""


@dataclass(frozen=True)
class Sample:
    """Points. `positive` are the ranges of input numbers that stay above 0 (a running variance); `given`
    are further points, by input number."""

    columns: tuple[Column, ...] = ORDINARY
    seed: int = 1
    positive: tuple[tuple[int, int], ...] = ()
    given: tuple[dict[int, float], ...] = field(default=())

    @property
    def points(self) -> int:
        return len(self.columns) + len(self.given)

    def values(self, numbers: Array) -> Array:
        """Values of input elements: (elements, points)."""
        out = np.zeros((numbers.shape[0], self.points))
        for at, column in enumerate(self.columns):
            out[:, at] = self._column(numbers, at, column)
        positive = self._positive(numbers)
        out[positive] = np.abs(out[positive]) + 0.25
        for at, point in enumerate(self.given, len(self.columns)):
            out[:, at] = [point.get(number, 0.0) for number in numbers.tolist()]
        return out.astype(np.float32).astype(np.float64)

    def _column(self, numbers: Array, at: int, column: Column) -> Array:
        keys = numbers.astype(np.int64) * 64 + at
        normal = _normal(keys, self.seed) * column.scale + column.shift
        if column.kept < 64:
            kept = mixed(keys, self.seed + 5) % np.uint64(64) < column.kept
            normal = np.where(kept, normal, 0.0)
        return normal

    def _positive(self, numbers: Array) -> Array:
        found = np.zeros(numbers.shape, bool)
        for start, end in self.positive:
            found |= (numbers >= start) & (numbers < end)
        return found


def _normal(keys: Array, seed: int) -> Array:
    """Standard normal numbers, a pure function of the key (Box and Muller)."""
    one, other = ((mixed(keys, seed * 7 + i) >> np.uint64(11)).astype(np.float64) for i in (1, 2))
    top = 2.0**53
    return np.sqrt(-2 * np.log((one + 1) / top)) * np.cos(2 * np.pi * other / top)


def only(columns: Sequence[Column], seed: int = 1, positive: tuple[tuple[int, int], ...] = ()) -> Sample:
    return Sample(tuple(columns), seed, positive)
