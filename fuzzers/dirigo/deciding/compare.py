"""One output location: do the kernel's slice and the reference's compute the same number?

Invariant: `Agree` only where an algebraic or a numerical comparison at several points says so with a bound;
`Gap` is a suspicion that an execution has to confirm. Neither is ever a default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fuzzers.dirigo import solver
from fuzzers.dirigo.deciding.fields import points
from fuzzers.dirigo.deciding.laws import Points
from fuzzers.dirigo.deciding.levels import Levelled, levelled
from fuzzers.dirigo.deciding.sample import WIDER, Sample
from fuzzers.dirigo.deciding.shadows import Shadows, shadows
from fuzzers.dirigo.deciding.sides import Side, uncovered
from fuzzers.dirigo.deciding.tidy import Tidy, Undecidable
from fuzzers.dirigo.simt.tape import Array, Op

FEWEST = 3
"""Points at which an algebraic agreement must hold; by chance one does in half a million."""
ORDERS = 4
"""Random orders at each point: with a dozen points, no comparison goes one way only by chance."""
TIGHT = 1e-6
"""How wide the bounds of a numerical agreement may be, relative to the value."""
LITERALS = 5e-7
"""A gap that literals of float32, which stand for other numbers than the reference's, explain."""
CLOSE = 5e-3
"""The largest gap of what can be called an approximation, relative to the value or to ABOUT."""
ABOUT = 0.25


class Basis(StrEnum):
    """What an agreement rests on."""

    ANY_ORDER = "algebra, under random orders of all numbers"
    CELLS = "algebra, in the ordering cells that were sampled"
    NUMBERS = "float64 with error bounds, at the sampled points"
    LITERALS = "float64, up to the rounding of the kernel's literals"


@dataclass(frozen=True)
class Agree:
    """Equal. `open_sides` were neither seen nor proved impossible: where there are any, no equality is
    claimed."""

    basis: Basis
    cells: int
    open_sides: tuple[Side, ...] = ()


@dataclass(frozen=True)
class Gap:
    """The sides differ at the points `columns`, the worst first. `approximates` says that the functions are
    different ones and close everywhere."""

    columns: tuple[int, ...]
    largest: float
    approximates: bool


@dataclass(frozen=True)
class Undecided:
    reason: str


Outcome = Agree | Gap | Undecided


@dataclass(frozen=True)
class Location:
    """Both sides of one output location, ready to be evaluated."""

    kernel: Tidy
    reference: Tidy
    programs: tuple[Levelled, Levelled]

    @classmethod
    def of(cls, kernel: Tidy, reference: Tidy) -> Location:
        return cls(kernel, reference, (levelled(kernel.slice), levelled(reference.slice)))

    def sides(self) -> tuple[tuple[Tidy, Levelled], ...]:
        return ((self.kernel, self.programs[0]), (self.reference, self.programs[1]))

    def ignored(self) -> frozenset[int]:
        """Input elements that only the reference reads."""
        return self.reference.slice.leaves() - self.kernel.slice.leaves()

    def foreign(self) -> frozenset[int]:
        """Input elements that only the kernel reads."""
        return self.kernel.slice.leaves() - self.reference.slice.leaves()

    def evaluated(self, sample: Sample, *, own: bool = False) -> tuple[Shadows, Shadows]:
        """Both sides' shadows at the points of a sample."""
        kernel, reference = (
            shadows(tidy, sample.values(program.leaf_numbers()), own=own, program=program)
            for tidy, program in self.sides()
        )
        return kernel, reference


def compare(location: Location, sample: Sample, *, seed: int = 1) -> Outcome:
    """Decide a location whose slices hold at every point (no branch was decided by data)."""
    try:
        return _compare(location, sample, seed)
    except Undecidable as why:
        return Undecided(str(why))


def _compare(location: Location, sample: Sample, seed: int) -> Outcome:
    both = location.evaluated(sample)
    valid = usable(both)
    gap = difference(location, both, valid)
    if gap is not None:
        return gap
    if _agree(both, seed, formal=True, valid=np.ones(sample.points, bool)):
        return Agree(Basis.ANY_ORDER, int(valid.sum()))
    if valid.sum() < FEWEST:
        return Undecided("points: the reference is a number, without a near-tie, at too few")
    basis = Basis.CELLS if _agree(both, seed, formal=False, valid=valid) else None
    if basis is None and tight(both, valid):
        basis = Basis.NUMBERS
    if basis is None and _nearly(both, valid):
        basis = Basis.LITERALS
    if basis is None:
        return Undecided("bounds: neither algebra nor the error bounds of float64 decide it")
    return _with_sides(location, sample, basis, both, valid)


def usable(both: tuple[Shadows, Shadows]) -> Array:
    """Points at which the reference is a number and no comparison was a near-tie."""
    kernel, reference = both
    return ~kernel.doubtful & ~reference.doubtful & np.isfinite(reference.root()[0])


def difference(location: Location, both: tuple[Shadows, Shadows], valid: Array) -> Gap | None:
    """A gap beyond the bounds, if there is one at any valid point."""
    (kv, ke), (rv, re) = (side.root() for side in both)
    with np.errstate(all="ignore"):
        gap = np.where(np.isfinite(kv), np.abs(kv - rv), np.inf)
        relative = gap / np.maximum(np.abs(rv), np.finfo(float).tiny)
        beyond = valid & ~(gap <= np.nan_to_num(ke, posinf=0.0) + re) & (relative > LITERALS)
        beyond &= gap > 1e-30
    if not beyond.any():
        return None
    order = np.argsort(-np.where(beyond, relative, -1.0), kind="stable")[: int(beyond.sum())]
    largest = float(np.where(beyond, gap / (np.abs(rv) + ABOUT), 0.0).max())
    close = largest <= CLOSE and functions(location.kernel) != functions(location.reference)
    return Gap(tuple(order.tolist()), largest, close)


def functions(tidy: Tidy) -> frozenset[str]:
    """The transcendental functions on a slice, those that are made of one another being one."""
    called = {d for op, d in zip(tidy.slice.ops, tidy.slice.details, strict=True) if op is Op.CALL}
    return frozenset(SAME.get(name, name) for name in called)


SAME = {
    "exp2": "exp",
    "expm1": "exp",
    "tanh": "exp",
    "log2": "log",
    "log1p": "log",
    "erfc": "erf",
    "normcdf": "erf",
}


def _agree(both: tuple[Shadows, Shadows], seed: int, *, formal: bool, valid: Array) -> bool:
    """Whether the algebra of either field says equal at every point where laws alone made the numbers."""
    seeds = range(seed, seed + (ORDERS if formal else 1))
    try:
        return all(_agree_once(both, number, formal, valid) for number in seeds)
    except Undecidable:
        return False


def _agree_once(both: tuple[Shadows, Shadows], seed: int, formal: bool, valid: Array) -> bool:
    one, other = (points(side, seed, formal=formal) for side in both)
    return any(_same(one, other, part, valid) for part in (0, 1))


def _same(one: Points, other: Points, part: int, valid: Array) -> bool:
    same = one.root()[part] == other.root()[part]
    if same[valid].all() and valid.sum() >= FEWEST:
        return True
    lawful = valid & ~one.broken[part] & ~other.broken[part]
    return bool(lawful.sum() >= FEWEST and same[lawful].all())


def tight(both: tuple[Shadows, Shadows], valid: Array) -> bool:
    """Whether the bounds are so narrow at enough points that agreement within them means something."""
    (_, ke), (rv, re) = (side.root() for side in both)
    narrow = ke + re <= TIGHT * (np.abs(rv) + 1e-12)
    return bool((narrow & valid).sum() >= max(FEWEST, valid.sum() // 2))


def _nearly(both: tuple[Shadows, Shadows], valid: Array) -> bool:
    (kv, _), (rv, _) = (side.root() for side in both)
    return bool((np.abs(kv - rv) <= LITERALS * np.abs(rv))[valid].all())


def _with_sides(
    location: Location, sample: Sample, basis: Basis, both: tuple[Shadows, Shadows], valid: Array
) -> Outcome:
    """Look for points on the sides that no point took; what cannot be ruled out stays open."""
    cells = int(valid.sum())
    wider = Sample(WIDER, sample.seed + 1, sample.positive)
    more = location.evaluated(wider)
    seen = usable(more)
    gap = difference(location, more, seen)
    if gap is not None:
        return Gap(tuple(column + sample.points for column in gap.columns), gap.largest, gap.approximates)
    cells += int(seen.sum())
    still: list[Side] = []
    for at, (tidy, _) in enumerate(location.sides()):
        still += _open(location, tidy, sample, uncovered((both[at], more[at]), [valid, seen]))
    return Agree(basis, cells, tuple(still))


def _open(location: Location, tidy: Tidy, sample: Sample, sides: Sequence[Side]) -> list[Side]:
    """Of the sides that no point took, those that z3 does not prove impossible and no model reaches."""
    still = []
    for side in sides:
        answer = solver.feasible(tidy, side.node, side.holds, sample.positive)
        if isinstance(answer, solver.Never):
            continue
        if isinstance(answer, solver.Perhaps):
            both = location.evaluated(Sample((), sample.seed, sample.positive, (dict(answer.values),)))
            which = both[0] if tidy is location.kernel else both[1]
            reached = side not in uncovered((which,), [usable(both)]) and bool(usable(both).any())
            if reached and difference(location, both, usable(both)) is None:
                continue
        still.append(side)
    return still


@dataclass(frozen=True)
class Cell:
    """What one run says: the outcome at its own point, and the shadows there."""

    outcome: Outcome
    both: tuple[Shadows, Shadows] | None
    valid: Array | None


REPEATED = 6
"""Field points beside one shadow."""


def compare_at(location: Location, point: Mapping[int, float], *, seed: int = 1) -> Cell:
    """Decide a location at the point where its slices were recorded, for kernels in which data decides
    branches: the slices hold in that cell only."""
    sample = Sample((), seed, (), (dict(point),) * REPEATED)
    try:
        both = location.evaluated(sample)
        valid = usable(both)
        if not valid.any():
            return Cell(Undecided("points: a near-tie, or the reference is no number"), both, valid)
        return Cell(_at(location, both, seed, valid), both, valid)
    except Undecidable as why:
        return Cell(Undecided(str(why)), None, None)


def _at(location: Location, both: tuple[Shadows, Shadows], seed: int, valid: Array) -> Outcome:
    gap = difference(location, both, valid)
    if gap is not None:
        return gap
    for formal, basis in ((True, Basis.ANY_ORDER), (False, Basis.CELLS)):
        if _agree(both, seed, formal=formal, valid=valid):
            return Agree(basis, 1)
    if tight(both, valid):
        return Agree(Basis.NUMBERS, 1)
    if _nearly(both, valid):
        return Agree(Basis.LITERALS, 1)
    return Undecided("bounds: neither algebra nor the error bounds of float64 decide it")
