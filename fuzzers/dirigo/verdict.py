"""What Dirigo says about a kernel.

Invariant: `equal` carries what was covered and `unknown` its reason; `different` carries an input, a place
and both values, or, for a defect that is one whatever comes out (a race, a write outside), its line.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Answer(StrEnum):
    EQUAL = "equal"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


class Severity(StrEnum):
    """How ordinary the input is that shows a difference; the worst ones first."""

    ORDINARY = "ordinary"
    EXTREME = "extreme"
    NONFINITE = "nonfinite"
    OUTSIDE = "outside"

    @property
    def rank(self) -> int:
        return list(Severity).index(self)


class Fault(StrEnum):
    """What is wrong."""

    VALUE = "wrong value"
    SHAPE = "wrong shape"
    UNWRITTEN = "never written"
    UNINITIALISED = "uninitialised memory reaches the output"
    RACE = "race"
    READ_OUTSIDE = "out-of-bounds read"
    WRITE_OUTSIDE = "out-of-bounds write"
    MISALIGNED = "misaligned access"
    BARRIER = "barrier in divergent code"
    TRAP = "trap"
    FLOATING = "floating-point error"
    SPECIAL = "other special values"


@dataclass(frozen=True)
class Difference:
    """One defect with its evidence. `element` is the multi-index in output `output`; `line` is of the
    kernel's file, 0 where none is known; `input` says in words what goes in. Values are text, so
    that not a number and infinities survive JSON."""

    fault: Fault
    severity: Severity
    line: int
    input: str
    output: int = 0
    element: tuple[int, ...] = ()
    expected: str = ""
    actual: str = ""
    detail: str = ""
    script: str = ""
    """Fails on the kernel as it is; empty: unconfirmed, there is no readable form of what the threads do."""

    def words(self) -> str:
        place = f"output[{', '.join(map(str, self.element))}]" if self.element else "output"
        where = f"line {self.line}: " if self.line else ""
        values = f": the reference gives {self.expected}, the kernel {self.actual}" if self.expected else ""
        more = f" ({self.detail})" if self.detail else ""
        given = f" with {self.input}" if self.input else ""
        return f"{where}{self.fault} at {place}{given}{values}{more}"


@dataclass(frozen=True)
class Place:
    """The answer for one output location. `cells` are the ordering cells that were looked at."""

    output: int
    element: tuple[int, ...]
    answer: Answer
    basis: str = ""
    cells: int = 0
    reason: str = ""
    difference: Difference | None = None


@dataclass(frozen=True)
class Report:
    """The answer for a kernel. `share` is the part of the output's elements that lie in the classes of the
    examined places; `notes` are observations that are no verdict (how not a number is treated)."""

    answer: Answer
    places: tuple[Place, ...] = ()
    differences: tuple[Difference, ...] = ()
    reason: str = ""
    share: float = 0.0
    compiled: bool = False
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    peak_mib: int = 0

    def words(self) -> str:
        """One line."""
        if self.answer is Answer.DIFFERENT:
            return min(self.differences, key=lambda d: d.severity.rank).words()
        if self.answer is Answer.UNKNOWN:
            return f"unknown: {self.reason}"
        cells = sum(place.cells for place in self.places)
        return (
            f"no difference at {len(self.places)} locations, {cells} cells;"
            f" {self.share:.0%} of the output lies in their classes"
        )


def unknown(reason: str, *, compiled: bool = False) -> Report:
    return Report(Answer.UNKNOWN, reason=reason, compiled=compiled)


def overall(places: tuple[Place, ...], differences: tuple[Difference, ...]) -> tuple[Answer, str]:
    """The answer of a kernel: different when anything is, equal only when everything is."""
    if differences:
        return Answer.DIFFERENT, ""
    reasons = [place.reason for place in places if place.answer is Answer.UNKNOWN]
    if reasons or not places:
        return Answer.UNKNOWN, reasons[0] if reasons else "no output location"
    return Answer.EQUAL, ""
