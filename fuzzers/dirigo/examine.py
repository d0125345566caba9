"""A kernel against its reference: from both sides, ready to run, to a report.

Invariant: `different` needs an execution that shows it; every way out of a stage that is no answer carries
its reason. Everything that runs here is foreign code or follows from it: call it in a supervised child.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fuzzers.dirigo import branches, floating
from fuzzers.dirigo.deciding.compare import (
    Agree,
    Basis,
    Cell,
    Gap,
    Location,
    Outcome,
    compare,
    compare_at,
)
from fuzzers.dirigo.deciding.locations import UNWRITTEN, choose, classes
from fuzzers.dirigo.deciding.sample import Sample
from fuzzers.dirigo.deciding.sides import Side
from fuzzers.dirigo.recipes import DRAWN, Recipe
from fuzzers.dirigo.reference.graph import Array, Traced
from fuzzers.dirigo.replay import Expected, Reference
from fuzzers.dirigo.showing import Trial, shown
from fuzzers.dirigo.simt.events import Kind, Stopped
from fuzzers.dirigo.subject import Ran, Subject
from fuzzers.dirigo.verdict import (
    Answer,
    Difference,
    Fault,
    Place,
    Report,
    Severity,
    overall,
    unknown,
)

BASE = Recipe(DRAWN[2].base, plain=False)
CELLS = (BASE, DRAWN[4], DRAWN[5], DRAWN[8], DRAWN[10], DRAWN[11])
"""The runs of a kernel in which data decides branches: each is a cell."""

DEFECTS: Mapping[Kind, Fault] = {
    Kind.WRITE_OUTSIDE: Fault.WRITE_OUTSIDE,
    Kind.MISALIGNED: Fault.MISALIGNED,
    Kind.BARRIER: Fault.BARRIER,
    Kind.TRAP: Fault.TRAP,
}
"""Events that are a defect wherever they happen."""


@dataclass(frozen=True)
class Limits:
    """Of one kernel."""

    locations: int = 8
    seconds: float = 60.0


class Examination:
    """The state of one check."""

    def __init__(self, subject: Subject, traced: Traced, model: Reference, limits: Limits) -> None:
        self.trial = Trial(subject, traced, model)
        self.limits = limits
        self.until = time.monotonic() + limits.seconds
        self.differences: list[Difference] = []
        self.places: list[Place] = []
        self.notes: list[str] = []
        self.share = 1.0
        self.cells: dict[Recipe, Ran] = {}

    def report(self) -> Report:
        """Run all stages."""
        ran = self.trial.run(BASE)
        if isinstance(ran, Stopped):
            return unknown(ran.reason, compiled=True)
        self.cells[BASE] = ran
        self._defects(ran)
        wrong = self._wrong_shape(ran)
        if wrong is not None:
            self.differences.append(wrong)
        else:
            for output in range(len(ran.outputs)):
                self._output(ran, output)
            self._floating(ran)
        places, differences = tuple(self.places), tuple(self.differences)
        answer, reason = overall(places, differences)
        return Report(answer, places, differences, reason, self.share, True, tuple(self.notes))

    def _defects(self, ran: Ran) -> None:
        for event, line in ran.events():
            if event.kind in DEFECTS:
                detail = f"block {event.block}, thread {event.thread}, {event.times} times, {event.where}"
                self.differences.append(
                    Difference(DEFECTS[event.kind], Severity.ORDINARY, line, "", detail=detail)
                )

    def _wrong_shape(self, ran: Ran) -> Difference | None:
        """The number, shapes and dtypes of the outputs against the reference's."""
        layouts = self.trial.traced.output_layouts()
        wanted = [(layout.type, layout.shape) for layout in layouts]
        got = [(output.type, output.sizes) for output in ran.outputs]
        if wanted == got:
            return None
        return Difference(
            Fault.SHAPE, Severity.ORDINARY, 0, "", expected=_shapes(wanted), actual=_shapes(got)
        )

    def _output(self, ran: Ran, output: int) -> None:
        """Examine one output tensor."""
        view = ran.outputs[output]
        found = classes(ran.tape, view.buffer, view.places())
        expected = self.trial.expected(BASE, output)
        suspicious: list[int] = []
        if isinstance(expected, Expected):
            suspicious = _apart(view.numbers(), expected).tolist()
            suspicious = [element for element in suspicious if found[element] != UNWRITTEN]
        missing = np.flatnonzero(found == UNWRITTEN)
        if missing.shape[0] and not ran.partial:
            element = int(missing[0])
            self._add(
                Difference(
                    Fault.UNWRITTEN,
                    Severity.ORDINARY,
                    0,
                    BASE.words(),
                    output,
                    view.multi(element),
                    _value(expected, element),
                    "whatever was in memory",
                    f"{missing.shape[0]} of {view.count} elements",
                )
            )
        written = np.flatnonzero(found != UNWRITTEN)
        doubted = set(suspicious)
        chosen = choose(found[written], self.limits.locations, np.flatnonzero(np.isin(written, suspicious)))
        self.share = min(self.share, chosen.share * written.shape[0] / max(1, view.count))
        for element in written[list(chosen.elements)].tolist():
            self.places.append(self._place(ran, output, element, element in doubted))

    def _add(self, difference: Difference) -> None:
        """Keep the first of each kind on each line."""
        if all((d.fault, d.line) != (difference.fault, difference.line) for d in self.differences):
            self.differences.append(difference)

    def _place(self, ran: Ran, output: int, element: int, suspicious: bool) -> Place:
        """One location."""
        multi = ran.outputs[output].multi(element)
        if time.monotonic() > self.until:
            return Place(output, multi, Answer.UNKNOWN, reason="time")
        location = self.trial.location(ran, BASE, output, element)
        if isinstance(location, Difference):
            self._add(location)
            return Place(output, multi, Answer.DIFFERENT, difference=location)
        if isinstance(location, Stopped):
            outcome: Outcome | Stopped = location
        elif self._decides(ran):
            outcome = self._cells(output, element)
        else:
            outcome = compare(location, Sample(positive=self.trial.positive_ranges(ran)))
        return self._answer(ran, output, element, outcome, location, suspicious)

    def _answer(
        self,
        ran: Ran,
        output: int,
        element: int,
        outcome: Outcome | Stopped,
        location: Location | Stopped,
        suspicious: bool,
    ) -> Place:
        multi = ran.outputs[output].multi(element)
        if isinstance(outcome, Agree) and not suspicious:
            if outcome.open_sides:
                return Place(output, multi, Answer.UNKNOWN, reason=f"side: {outcome.open_sides[0].words()}")
            return Place(output, multi, Answer.EQUAL, str(outcome.basis), outcome.cells)
        if isinstance(outcome, Gap) and outcome.approximates:
            reason = f"approximation: the largest gap is {outcome.largest:.1e}"
            return Place(output, multi, Answer.UNKNOWN, reason=reason)
        if isinstance(outcome, Gap) or suspicious:
            held = location if isinstance(location, Location) else None
            found = shown(self.trial, held, ran, output, element, self.until)
            if found is not None:
                self._add(found)
                return Place(output, multi, Answer.DIFFERENT, difference=found)
        if isinstance(outcome, Agree):
            return Place(output, multi, Answer.EQUAL, str(outcome.basis), outcome.cells)
        reason = (
            "replay: a difference that no execution shows" if isinstance(outcome, Gap) else outcome.reason
        )
        return Place(output, multi, Answer.UNKNOWN, reason=reason)

    def _decides(self, ran: Ran) -> bool:
        return any(run.decisions for _, run in ran.runs)

    def _cells(self, output: int, element: int) -> Outcome | Stopped:
        """Decide a location in one cell after another, each a run of its own."""
        cells: list[Cell] = []
        for recipe in CELLS:
            ran = self._cell(recipe)
            if isinstance(ran, Stopped) or time.monotonic() > self.until:
                break
            location = self.trial.location(ran, recipe, output, element)
            if not isinstance(location, Location):
                return location if isinstance(location, Stopped) else Gap((0,), 1.0, False)
            cell = compare_at(location, self.trial.point(ran, recipe, location))
            if isinstance(cell.outcome, Gap):
                return cell.outcome
            cells.append(cell)
        agreed = [cell.outcome for cell in cells if isinstance(cell.outcome, Agree)]
        if not agreed:
            return cells[0].outcome if cells else Stopped("time")
        bases = {outcome.basis for outcome in agreed}
        basis = next(basis for basis in reversed(Basis) if basis in bases)
        return Agree(basis, len(agreed), self._open_branches())

    def _cell(self, recipe: Recipe) -> Ran | Stopped:
        if recipe not in self.cells:
            ran = self.trial.run(recipe)
            if isinstance(ran, Stopped):
                return ran
            self.cells[recipe] = ran
        return self.cells[recipe]

    def _open_branches(self) -> tuple[Side, ...]:
        """Branches of which the runs took one side only, where the other is not ruled out."""
        return branches.open_branches(list(self.cells.values()), self.trial)

    def _floating(self, ran: Ran) -> None:
        """Inputs on which floating point goes wrong though the formula is right."""
        wrong = {difference.output for difference in self.differences}
        whole = [output for output in range(len(ran.outputs)) if output not in wrong]
        self.differences += floating.examined(self.trial, whole, self.until, self.notes)


def _apart(actual: Array, expected: Expected) -> Array:
    """Elements that are further from PyTorch than its slack."""
    with np.errstate(all="ignore"):
        close = np.abs(actual - expected.value) <= 8 * expected.slack
    same = close | (actual == expected.value) | ~np.isfinite(expected.value)
    return np.flatnonzero(~same.reshape(-1))


def _value(expected: Expected | Stopped, element: int) -> str:
    return f"{expected.value.reshape(-1)[element]:.9g}" if isinstance(expected, Expected) else "?"


def _shapes(found: Sequence[tuple[str, tuple[int, ...]]]) -> str:
    return ", ".join(f"{type_}{list(shape)}" for type_, shape in found) or "nothing"


def examine(subject: Subject, traced: Traced, model: Reference, limits: Limits = Limits()) -> Report:
    """The report of a kernel."""
    began = time.monotonic()
    found = Examination(subject, traced, model, limits).report()
    return replace(found, seconds=time.monotonic() - began)
