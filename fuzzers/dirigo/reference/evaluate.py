"""One output element of a traced reference, evaluated backwards over index sets.

Invariant: going back through the graph every node is asked once for all its elements that anybody wants, and
going forward every node is computed once, on these; so a cone costs what it holds, however often it forks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from fuzzers.dirigo.reference import concrete
from fuzzers.dirigo.reference.demand import Ask, Demand, Work
from fuzzers.dirigo.reference.graph import HALVES, Array, Call, Input, Ref, Traced
from fuzzers.dirigo.reference.kinds import bits_of, numbers_of
from fuzzers.dirigo.reference.operators import TABLE
from fuzzers.dirigo.reference.places import LARGEST, places
from fuzzers.dirigo.reference.values import Pen, Values
from fuzzers.dirigo.simt.events import Stopped, Unknown
from fuzzers.dirigo.simt.tape import Full, Tape

CONE = 1 << 22
"""Nodes that one slice may put on the tape."""
DENSE = 16
"""A set that holds more than one element in so many is looked up in a table of all of them."""


@dataclass(frozen=True)
class Bound:
    """A traced reference with values for its inputs; what depends on no float input is computed."""

    traced: Traced
    values: tuple[Array, ...]
    concrete: Mapping[Ref, Array]


@dataclass(frozen=True)
class Sliced:
    """One output element: the tape, its node there (negative: it is an input element; a constant where no
    input reaches it), its value in this run, and for each input the number of its first element on the tape
    (None: it is concrete and not on it), so that leaf `n` is storage element `n - starts[i]` of input i."""

    tape: Tape
    node: int
    value: float
    starts: tuple[int | None, ...]


def bind(traced: Traced, values: Sequence[Array]) -> Bound | Stopped:
    """Give the inputs values: `values[i]` is the flat storage of `traced.inputs[i]`. What no float input
    reaches is evaluated here, once for all elements."""
    for item, value in zip(traced.inputs, values, strict=True):
        if value.shape != (item.elements,):
            return Stopped(f"inputs: {item.name} has {item.elements} elements, not {value.shape}")
    try:
        return Bound(traced, tuple(values), concrete.evaluated(traced, values))
    except Unknown as why:
        return Stopped(str(why))
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        return Stopped(f"reference: {type(error).__name__}: {str(error).splitlines()[0][:200]}")


def slice_of(
    bound: Bound,
    output: int,
    element: int,
    *,
    tape: Tape | None = None,
    starts: Sequence[int | None] | None = None,
    limit: int = CONE,
) -> Sliced | Stopped:
    """The cone behind element `element` (flat, in row-major order of its shape) of output `output`.

    It is recorded on `tape`, whose inputs are those that begin at `starts` (as a kernel's launches left it,
    so that both sides have the same leaves), or on a fresh one. Sums are balanced trees of two operands;
    MIN and MAX have detail "nan" (not a number wins, as in torch); padding that convolutions skip is left
    out; a concrete zero times anything is a concrete zero (over the reals, that is). `line` is 0.
    Reasons: "operator <name>", "operator <name>: <what of it>", "cone" (past `limit` nodes).
    """
    tape = Tape() if tape is None else tape
    try:
        if starts is None:
            starts = inputs_on(tape, bound)
        root = bound.traced.outputs[output]
        with np.errstate(all="ignore"):
            found = _Cone(bound, Pen(tape, limit), starts).evaluated(root, np.array([element]))
        return Sliced(tape, int(found.ids()[0]), float(found.number[0]), tuple(starts))
    except Unknown as why:
        return Stopped(str(why))
    except Full:
        return Stopped("cone")


def inputs_on(tape: Tape, bound: Bound) -> tuple[int | None, ...]:
    """Put the symbolic inputs on a tape; gives the first number of each. Raises Full."""
    return tuple(
        tape.add_input(
            item.layout.type, bits_of(item.layout.type, value) if value.dtype != np.uint16 else value
        )
        if item.is_symbolic
        else None
        for item, value in zip(bound.traced.inputs, bound.values, strict=True)
    )


class _Found:
    """The values of some elements of one node, by element number."""

    def __init__(self, wanted: Array, values: Values, count: int) -> None:
        self.wanted = wanted
        self.values = values
        self.place: Array | None = None
        if count <= DENSE * wanted.shape[0] and count <= 4 * LARGEST:
            self.place = np.zeros(count, np.int32)
            self.place[wanted] = np.arange(wanted.shape[0], dtype=np.int32)

    def at(self, elements: Array) -> Values:
        flat = elements.reshape(-1)
        if flat.shape == self.wanted.shape and (flat is self.wanted or bool((flat == self.wanted).all())):
            return self.values
        if self.place is not None:
            return self.values.take(self.place[flat])
        return self.values.take(np.searchsorted(self.wanted, flat))


def _union(asked: Sequence[Array], count: int) -> Array:
    """All elements asked for, sorted, each once."""
    flat = [at.reshape(-1) for at in asked]
    total = sum(at.shape[0] for at in flat)
    if count <= DENSE * total and count <= 4 * LARGEST:
        marked: Array = np.zeros(count, bool)
        for at in flat:
            marked[at] = True
        return np.flatnonzero(marked)
    return np.unique(np.concatenate(flat))


class _Cone:
    """The evaluation of one cone."""

    def __init__(self, bound: Bound, pen: Pen, starts: Sequence[int | None]) -> None:
        self.bound = bound
        self.traced = bound.traced
        self.pen = pen
        self.starts = starts
        self.asked: dict[int, dict[Ref, list[Array]]] = {}
        self.found: dict[Ref, _Found] = {}
        self.room = 4 * LARGEST

    def evaluated(self, root: Ref, at: Array) -> Values:
        self._want(Ask(root, at))
        works = []
        for node in range(root.node, -1, -1):
            for ref, asked in self.asked.pop(node, {}).items():
                works.append((ref, *self._begun(ref, asked)))
        for ref, demand, asks, work in reversed(works):
            widens = not TABLE[self.traced.calls[ref.node].operator].moves
            answers = [self._answer(ask, widens) for ask in asks]
            with _unforeseen(demand.call):
                values = _returned(work, answers).cast(demand.out.type).spread(len(demand))
            assert len(values) == len(demand), demand.call
            self.found[ref] = _Found(demand.at, values, demand.out.count)
        return self._answer(Ask(root, at), False)

    def _want(self, ask: Ask) -> None:
        """Note that elements are needed of a value that has to be computed."""
        call = self.traced.calls[ask.ref.node]
        if ask.ref in self.bound.concrete or call.operator == "input" or not ask.at.size:
            return
        self.room -= ask.at.size
        if self.room < 0:
            raise Full("cone")
        self.asked.setdefault(ask.ref.node, {}).setdefault(ask.ref, []).append(ask.at)

    def _begun(self, ref: Ref, asked: Sequence[Array]) -> tuple[Demand, tuple[Ask, ...], Work]:
        call = self.traced.calls[ref.node]
        if call.operator not in TABLE:
            raise Unknown(f"operator {call.operator}")
        wanted = _union(asked, self.traced.layout(ref).count)
        demand = Demand(self.traced, call, ref.output, wanted, self.pen, self.bound.concrete)
        work = TABLE[call.operator].function(demand)
        with _unforeseen(call):
            asks = next(work)
        for ask in asks:
            self._want(ask)
        return demand, asks, work

    def _answer(self, ask: Ask, widens: bool) -> Values:
        layout = self.traced.layout(ask.ref)
        call = self.traced.calls[ask.ref.node]
        at = ask.at.reshape(-1)
        if ask.ref in self.bound.concrete:
            known = self.bound.concrete[ask.ref]
            values = self.pen.concrete(layout.type, known[places(at, known.shape)])
        elif call.operator == "input":
            values = self._leaves(self.traced.inputs[call.number], call.number, at)
        elif not at.size:
            values = self.pen.concrete(layout.type, np.zeros(0))
        else:
            values = self.found[ask.ref].at(at)
        return values.cast("f32") if widens and layout.type in HALVES else values

    def _leaves(self, item: Input, number: int, at: Array) -> Values:
        where = places(at, item.layout.shape)
        steps = zip(where, item.layout.strides, strict=True)
        stored = sum((index * step for index, step in steps), np.full(at.shape, item.offset))
        bits = self.bound.values[number][stored]
        start = self.starts[number]
        assert start is not None, item.name
        nodes = (-1 - (start + stored)).astype(np.int32)
        return Values(self.pen, item.layout.type, numbers_of(item.layout.type, bits), nodes)


@contextmanager
def _unforeseen(call: Call) -> Iterator[None]:
    """Arguments that an operator's function does not know are unknown, not a fault of the target's."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise Unknown(f"operator {call.operator}: {type(error).__name__}: {error}") from error


def _returned(work: Work, answers: Sequence[Values]) -> Values:
    try:
        work.send(answers)
    except StopIteration as done:
        found: Values = done.value
        return found
    raise AssertionError("an operator's function asked twice")
