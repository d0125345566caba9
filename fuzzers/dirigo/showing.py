"""Runs of both sides on the same input, and the search for the simplest input that shows a difference.

Invariant: what `shown` returns has been executed: the kernel in float32 by the interpreter, the reference by
PyTorch. The difference is larger than the reference's slack and than the bounds of both sides' roundings.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fuzzers.dirigo.deciding.compare import Location
from fuzzers.dirigo.deciding.sample import Sample
from fuzzers.dirigo.deciding.tidy import Undecidable, tidied
from fuzzers.dirigo.recipes import Recipe, simplest
from fuzzers.dirigo.reference import Bound, bind, slice_of
from fuzzers.dirigo.reference.graph import Array, Traced
from fuzzers.dirigo.replay import Expected, Reference
from fuzzers.dirigo.simt.events import Kind, Stopped
from fuzzers.dirigo.simt.tape import Slice
from fuzzers.dirigo.subject import Output, Ran, Subject
from fuzzers.dirigo.transcription import Where, script, transcription
from fuzzers.dirigo.verdict import Difference, Fault, Severity

REACHING: Mapping[str, Fault] = {
    Kind.UNINITIALISED: Fault.UNINITIALISED,
    Kind.READ_OUTSIDE: Fault.READ_OUTSIDE,
    Kind.RACE: Fault.RACE,
    Kind.CROSS_BLOCK: Fault.RACE,
    Kind.SHUFFLE: Fault.UNINITIALISED,
}
"""Events that are a defect when they reach an output."""
RUNS = 6
"""Executions that the search for an input may take; slices rule out most inputs beforehand."""
SINGLES = 6
"""Elements that are tried alone."""
UNBOUNDED = 1e-3
"""What a run may be off, relative to the output, where its slices cannot be evaluated."""


class Trial:
    """Both sides of a pair, ready to run."""

    def __init__(self, subject: Subject, traced: Traced, model: Reference) -> None:
        self.subject, self.traced, self.model = subject, traced, model
        self.positive = frozenset(
            at
            for at, (item, own) in enumerate(zip(traced.inputs, traced.initial, strict=True))
            if item.is_symbolic and own is not None and own.size and own.dtype != np.uint16 and own.min() > 0
        )
        self._expected: dict[tuple[str, int], Expected | Stopped] = {}
        self._bound: dict[str, Bound | Stopped] = {}

    def arrays(self, recipe: Recipe) -> list[Array]:
        return recipe.arrays(self.traced.inputs, self.traced.initial, self.positive)

    def run(self, recipe: Recipe, *, taped: bool = True, reverse: bool = False) -> Ran | Stopped:
        """The kernel's side."""
        return self.subject.run(self.arrays(recipe), taped=taped, reverse=reverse)

    def expected(self, recipe: Recipe, output: int) -> Expected | Stopped:
        """The reference's side."""
        key = (repr(recipe), output)
        if key not in self._expected:
            self._expected[key] = self.model.expected(self.arrays(recipe), output)
        return self._expected[key]

    def location(
        self, ran: Ran, recipe: Recipe, output: int, element: int
    ) -> Location | Difference | Stopped:
        """Both slices of a location in a run; a difference where an event of the run reaches it."""
        view = ran.outputs[output]
        found = ran.tape.slice(self._node(ran, view, element))
        for what, line in found.undefined():
            if what in REACHING:
                detail = f"{what} on the way to this element"
                place = view.multi(element)
                at = line + ran.base
                return Difference(
                    REACHING[what], Severity.ORDINARY, at, recipe.words(), output, place, detail=detail
                )
        bound = self._bound.setdefault(repr(recipe), bind(self.traced, self.arrays(recipe)))
        if isinstance(bound, Stopped):
            return bound
        wanted = slice_of(bound, output, element, tape=ran.tape, starts=ran.starts)
        if isinstance(wanted, Stopped):
            return wanted
        try:
            kernel = tidied(found, view.type)
            return Location.of(kernel, tidied(self._wanted(ran, wanted.node, wanted.value), "f32"))
        except Undecidable as why:
            return Stopped(str(why))

    def _node(self, ran: Ran, view: Output, element: int) -> int:
        place = int(view.places()[element])
        node = view.buffer.node(place)
        if node:
            return node
        width = view.buffer.dtype.itemsize
        bits = view.buffer.plane.view(width)[place : place + 1]
        return int(ran.tape.constants(bits.copy())[0])

    def _wanted(self, ran: Ran, node: int, value: float) -> Slice:
        if not node:
            node = int(ran.tape.constants(np.array([value], np.float32).view(np.uint32))[0])
        return ran.tape.slice(node)

    def point(self, ran: Ran, recipe: Recipe, location: Location) -> dict[int, float]:
        """The values of a location's input elements under a recipe, by number."""
        numbers = sorted(location.kernel.slice.leaves() | location.reference.slice.leaves())
        arrays = self.arrays(recipe)
        return {number: float(arrays[at][element]) for number, (at, element) in self.owners(ran, numbers)}

    def owners(self, ran: Ran, numbers: Sequence[int]) -> list[tuple[int, tuple[int, int]]]:
        """For input elements by number: the input's place in the reference and the element in its storage."""
        ends = [
            (start, start + item.elements, at)
            for at, (start, item) in enumerate(zip(ran.starts, self.traced.inputs, strict=True))
            if start is not None
        ]
        found = []
        for number in numbers:
            for start, end, at in ends:
                if start <= number < end:
                    found.append((number, (at, number - start)))
        return found

    def positive_ranges(self, ran: Ran) -> tuple[tuple[int, int], ...]:
        return tuple(
            (start, start + self.traced.inputs[at].elements)
            for at, start in enumerate(ran.starts)
            if at in self.positive and start is not None
        )


def shown(
    trial: Trial, location: Location | None, ran: Ran, output: int, element: int, until: float
) -> Difference | None:
    """The simplest input, of those that are tried, on which the sides really differ at an element."""
    runs = 0
    for recipe in simplest(_singles(trial, location, ran)):
        if runs >= RUNS or time.monotonic() > until:
            return None
        if location is not None and not _promises(trial, location, ran, recipe):
            continue
        runs += 1
        found = differs(trial, recipe, output, element)
        if found is not None:
            return found
    return None


def _singles(trial: Trial, location: Location | None, ran: Ran) -> list[tuple[str, int]]:
    """Input elements that may matter alone: those that one side only reads first."""
    if location is None:
        return []
    leaves = sorted(location.reference.slice.leaves() | location.kernel.slice.leaves())
    order = [*sorted(location.ignored())[:3], *sorted(location.foreign())[:3], *leaves[:1], *leaves[-1:]]
    return [
        (trial.traced.inputs[at].name, place)
        for _, (at, place) in trial.owners(ran, list(dict.fromkeys(order))[:SINGLES])
    ]


def _promises(trial: Trial, location: Location, ran: Ran, recipe: Recipe) -> bool:
    """Whether the slices say that an input shows the difference. Where data decides branches, they hold for
    their own run only: then an execution has to tell."""
    if any(run.decisions for _, run in ran.runs):
        return True
    sample = Sample((), 1, (), (trial.point(ran, recipe, location),))
    try:
        kernel, reference = location.evaluated(sample, own=True)
    except Undecidable:
        return True
    (kv, ke), (rv, re) = (side.root() for side in (kernel, reference))
    if not np.isfinite(rv[0]):
        return False
    return not np.isfinite(kv[0]) or bool(abs(kv[0] - rv[0]) > 2 * (ke[0] + re[0]))


def differs(trial: Trial, recipe: Recipe, output: int, element: int) -> Difference | None:
    """Execute both sides on a recipe; the difference at an element if one lies beyond all roundings."""
    ran = trial.run(recipe)
    expected = trial.expected(recipe, output)
    if isinstance(ran, Stopped) or isinstance(expected, Stopped):
        return None
    view = ran.outputs[output]
    actual = float(view.numbers().reshape(-1)[element])
    wanted = float(expected.value.reshape(-1)[element])
    exact = float(expected.exact.reshape(-1)[element])
    if not (np.isfinite(wanted) and np.isfinite(exact)):
        return None
    location = trial.location(ran, recipe, output, element)
    if isinstance(location, Difference):
        return location
    slack = float(expected.slack.reshape(-1)[element]) + _rounding(trial, ran, recipe, location, expected)
    if np.isfinite(actual) and abs(actual - wanted) <= slack:
        return None
    severity = Severity.EXTREME if recipe.extreme() else Severity.ORDINARY
    line = _line(location, ran)
    found = Difference(
        Fault.VALUE,
        severity,
        line,
        recipe.words(),
        output,
        view.multi(element),
        f"{wanted:.9g}",
        f"{actual:.9g}",
        _dependence(trial, ran, location),
    )
    return replace(found, script=_script(trial, ran, recipe, location, found, element, slack))


def with_script(trial: Trial, found: Difference, recipe: Recipe, element: int, slack: float) -> Difference:
    """A difference that a run without a tape showed, with its line and its reproducer."""
    ran = trial.run(recipe)
    if isinstance(ran, Stopped):
        return found
    location = trial.location(ran, recipe, found.output, element)
    if isinstance(location, Difference):
        return found
    found = replace(found, line=_line(location, ran))
    return replace(found, script=_script(trial, ran, recipe, location, found, element, slack))


def _script(
    trial: Trial,
    ran: Ran,
    recipe: Recipe,
    location: Location | Stopped,
    found: Difference,
    element: int,
    slack: float,
) -> str:
    """The reproducer; empty where there is no readable one."""
    if isinstance(location, Stopped):
        return ""
    leaves = sorted(location.kernel.slice.leaves())
    owners = {number: Where(at, place) for number, (at, place) in trial.owners(ran, leaves)}
    body = transcription(location.kernel, owners)
    if body is None:
        return ""
    return script(
        found.words(),
        trial.traced,
        recipe,
        trial.positive,
        body,
        output=found.output,
        element=element,
        slack=slack,
    )


def _rounding(
    trial: Trial, ran: Ran, recipe: Recipe, location: Location | Stopped, expected: Expected
) -> float:
    """How far roundings of the two sides may lie apart."""
    finite = np.abs(expected.value[np.isfinite(expected.value)])
    fallback = UNBOUNDED * float(finite.max(initial=0.0))
    if isinstance(location, Stopped):
        return fallback
    sample = Sample((), 1, (), (trial.point(ran, recipe, location),))
    try:
        both = location.evaluated(sample, own=True)
    except Undecidable:
        return fallback
    bound = float(both[0].root()[1][0] + both[1].root()[1][0])
    return bound if np.isfinite(bound) else fallback


def _line(location: Location | Stopped, ran: Ran) -> int:
    """The last line of the kernel's file on the way to the element."""
    if isinstance(location, Stopped):
        return 0
    lines = [line for line in location.kernel.slice.lines if line]
    return lines[-1] + ran.base if lines else 0


def _dependence(trial: Trial, ran: Ran, location: Location | Stopped) -> str:
    """What one side reads and the other does not."""
    if isinstance(location, Stopped):
        return ""
    said = []
    for what, numbers in (("ignores", location.ignored()), ("also reads", location.foreign())):
        if numbers:
            _, (at, place) = trial.owners(ran, [min(numbers)])[0]
            more = f" and {len(numbers) - 1} more" if len(numbers) > 1 else ""
            said.append(f"the kernel {what} {trial.traced.inputs[at].name}[{place}]{more}")
    return "; ".join(said)
