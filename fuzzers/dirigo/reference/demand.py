"""What is asked of one node of the graph, and how an operator's function answers.

Invariant: an operator's function is a generator that yields once, the elements of its arguments that it
needs, is resumed with their values, and returns the values of the elements that it was asked for, in order.
So a node is asked once, for everything that any other node wants of it, before any value is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fuzzers.dirigo.reference import places
from fuzzers.dirigo.reference.graph import FLOATS, HALVES, Argument, Array, Call, Layout, Ref, Traced
from fuzzers.dirigo.reference.values import Number, Pen, Values
from fuzzers.dirigo.simt.events import Unknown


class Ask(NamedTuple):
    """Elements of a value, by their numbers in any shape: the answer has them flattened."""

    ref: Ref
    at: Array


Work = Generator[tuple[Ask, ...], Sequence[Values], Values]


@dataclass(frozen=True, eq=False)
class Demand:
    """Elements `at` (flat, sorted, each once) of an output of a call. `concrete` has the values that no
    float input reaches, in their shapes."""

    traced: Traced
    call: Call
    output: int
    at: Array
    pen: Pen
    concrete: Mapping[Ref, Array]

    @property
    def out(self) -> Layout:
        """The layout of the output that is asked for."""
        found = self.call.outputs[self.output]
        assert found is not None
        return found

    def __len__(self) -> int:
        return int(self.at.shape[0])

    def __getitem__(self, name: str) -> Any:
        return self.call.arguments[name]

    def has(self, name: str) -> bool:
        """Whether a tensor was given for this argument."""
        return isinstance(self.call.arguments.get(name), Ref)

    def layout(self, name: str) -> Layout:
        return self.traced.layout(self.call.arguments[name])

    def shape(self, name: str) -> tuple[int, ...]:
        return self.layout(name).shape

    def where(self) -> places.Places:
        """The asked elements as a multi-index of the output."""
        return places.places(self.at, self.out.shape)

    def ask(self, name: str, where: Sequence[Array]) -> Ask:
        """The elements of an argument at a multi-index."""
        return self.of(self.call.arguments[name], where)

    def of(self, ref: Ref, where: Sequence[Array]) -> Ask:
        """The elements of a tensor at a multi-index."""
        return Ask(ref, places.numbers(where, self.traced.layout(ref).shape))

    def flat(self, name: str, at: Array) -> Ask:
        """The elements of an argument by number."""
        return Ask(self.call.arguments[name], at)

    def alike(self, ref: Ref, lanes: Array | None = None) -> Ask:
        """The elements that broadcasting puts beside the asked ones, or beside those that `lanes` names."""
        at = self.at if lanes is None else self.at[lanes]
        shape = self.traced.layout(ref).shape
        if shape == self.out.shape:
            return Ask(ref, at)
        if self.traced.layout(ref).count == 1:
            return Ask(ref, np.zeros(1, np.int64))
        where = places.places(at, self.out.shape)
        return Ask(ref, places.numbers(where[len(where) - len(shape) :], shape))

    def known(self, name: str) -> Array:
        """An argument whose values decide what else is needed: concrete, in its shape. Raises Unknown."""
        ref = self.call.arguments[name]
        if ref not in self.concrete:
            raise self.unknown(f"{name} depends on data")
        return self.concrete[ref]

    def unknown(self, what: str) -> Unknown:
        return Unknown(f"operator {self.call.operator}: {what}")

    @property
    def type(self) -> str:
        """The type that the output is computed in: halves are computed in float32 and rounded once."""
        return "f32" if self.out.type in HALVES else self.out.type

    def number(self, value: Number) -> Values:
        """A concrete number in the type of the computation."""
        return self.pen.concrete(self.type, np.array([value]))


class Operator(NamedTuple):
    """How the elements of an operator's output follow from its arguments'. `moves`: it only moves elements,
    so that halves are not widened on the way."""

    function: Callable[[Demand], Work]
    moves: bool = False


def moving(index: Callable[[Demand], Ask]) -> Operator:
    """An operator whose every output element is one element of one argument."""

    def work(d: Demand) -> Work:
        (found,) = yield (index(d),)
        return found

    return Operator(work, moves=True)


Formula = Callable[..., Values]


def pointwise(
    formula: Formula, names: str = "self", options: str = "", *, compares: bool = False
) -> Operator:
    """An elementwise operator: `formula` on the arguments called `names`, broadcast and in the type of the
    computation, then on the plain values of the `options`. A number among the names becomes a value; None
    stays None. `compares`: the computation has the arguments' common type, not the result's."""

    def work(d: Demand) -> Work:
        given: list[Argument] = [d[name] for name in names.split()]
        answers = iter((yield tuple(d.alike(one) for one in given if isinstance(one, Ref))))
        sides = [next(answers) if isinstance(one, Ref) else one for one in given]
        type_ = _common(d, sides) if compares else d.type
        lifted = [_lifted(d, side, type_) for side in sides]
        return formula(*lifted, *(d[name] for name in options.split())).spread(len(d))

    return Operator(work)


def _lifted(d: Demand, side: Values | Argument, type_: str) -> Values | None:
    if side is None:
        return None
    if isinstance(side, Values):
        return side.cast(type_)
    return d.pen.concrete(type_, np.array([side]))


ORDER = ("pred", "u8", "s8", "s16", "s32", "s64", "f16", "bf16", "f32", "f64")


def _common(d: Demand, sides: Sequence[Values | Argument]) -> str:
    """The type that operands are compared in: the widest of the tensors', floats before integers."""
    types = [side.type for side in sides if isinstance(side, Values)]
    widest = max(types, key=ORDER.index)
    if widest not in FLOATS and any(isinstance(side, float) for side in sides):
        return "f32"
    if widest == "pred" and any(type(side) is int for side in sides):
        return "s64"
    return "f32" if widest in HALVES else widest
