"""The language that formulas of operators are written in: arrays of numbers that write what is done to them.

Invariant: a lane whose operands are all concrete is computed and not recorded; every other lane is a node
of the tape whose bits are the float value that it has in this run. A concrete 0 added, a concrete 1
multiplied and a concrete infinity in a minimum or maximum leave no trace, and a concrete 0 times anything is
0: these are how padding and masks enter a sum, and neither a kernel nor the reals know them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fuzzers.dirigo.reference.graph import FLOATS, Array
from fuzzers.dirigo.reference.kinds import NUMPY, bits_of, rounded
from fuzzers.dirigo.simt import rounding
from fuzzers.dirigo.simt.choices import COMPARISONS
from fuzzers.dirigo.simt.tape import Full, Op, Tape

NEUTRAL: Mapping[Op, float] = {Op.ADD: 0.0, Op.MUL: 1.0, Op.MIN: math.inf, Op.MAX: -math.inf}
"""What leaves the other operand as it is."""
CUT: Mapping[str, str] = {"floor": "rmi", "ceil": "rpi", "trunc": "rzi", "nearest": "rni"}
Number = float | int | bool


class Pen:
    """Writes on one tape, `limit` nodes at most; past them Full is raised."""

    def __init__(self, tape: Tape, limit: int) -> None:
        self.tape = tape
        self.last = tape.next + limit

    def write(self, op: Op, type_: str, operands: tuple[Array, ...], bits: Array, detail: str) -> Array:
        if self.tape.next + bits.shape[0] > self.last:
            raise Full("cone")
        return self.tape.append(op, type_, 0, operands, bits, detail)

    def concrete(self, type_: str, number: Array) -> Values:
        return Values(self, type_, rounded(type_, np.asarray(number).reshape(-1)), None)


@dataclass(frozen=True, eq=False)
class Values:
    """Numbers of one type, `nodes` being the node of each on the tape, 0 where it is concrete (None: all).

    Values of one lane go with values of any number of lanes.
    """

    pen: Pen
    type: str
    number: Array
    nodes: Array | None

    def __len__(self) -> int:
        return int(self.number.shape[0])

    def constant(self, value: Number) -> Values:
        """A concrete number of this type."""
        return self.pen.concrete(self.type, np.array([value]))

    def take(self, places: Array) -> Values:
        """Lanes by number, in that order."""
        if len(self) == 1 and self.nodes is None:
            return Values(self.pen, self.type, np.broadcast_to(self.number, places.shape), None)
        return Values(
            self.pen, self.type, self.number[places], None if self.nodes is None else self.nodes[places]
        )

    def spread(self, count: int) -> Values:
        """One lane as many; anything else as it is."""
        return self.take(np.zeros(count, np.int64)) if len(self) == 1 and count != 1 else self

    def scattered(self, where: Array, fill: Number) -> Values:
        """The lanes of these values where `where` (flattened) holds, in order, and `fill` elsewhere."""
        where = where.reshape(-1)
        number = np.full(where.shape, rounded(self.type, np.array([fill]))[0], NUMPY[self.type])
        number[where] = self.number
        nodes = None
        if self.nodes is not None:
            nodes = np.zeros(where.shape, np.int32)
            nodes[where] = self.nodes
        return Values(self.pen, self.type, number, nodes)

    def live(self) -> Array:
        """Which lanes data decides."""
        return np.zeros(len(self), bool) if self.nodes is None else self.nodes != 0

    def ids(self, lanes: Array | None = None) -> Array:
        """Node numbers of all lanes, or of those that `lanes` names; concrete ones get constants."""
        alone = len(self) == 1
        number = self.number if lanes is None or alone else self.number[lanes]
        nodes = self.nodes if lanes is None or alone or self.nodes is None else self.nodes[lanes]
        if nodes is not None and nodes.all():
            return nodes
        bits = bits_of(self.type, np.ascontiguousarray(number))
        if nodes is None:
            same = bits.shape[0] == 1 or bool((bits == bits[0]).all())
            return self.pen.tape.constants(bits[:1] if same else bits)
        missing = nodes == 0
        filled = nodes.copy()
        filled[missing] = self.pen.tape.constants(np.ascontiguousarray(bits[missing]))
        return filled

    # arithmetic

    def _with(self, op: Op, name: str, function: Callable[..., Array], other: Values | Number) -> Values:
        right = other if isinstance(other, Values) else self.constant(other)
        if self.type in FLOATS:
            return record(op, self.type, "nan" if op in (Op.MIN, Op.MAX) else "", function, self, right)
        return record(Op.INTEGER, self.type, f"{name}.{self.type}", function, self, right)

    def __add__(self, other: Values | Number) -> Values:
        return self._with(Op.ADD, "add", np.add, other)

    def __sub__(self, other: Values | Number) -> Values:
        return self._with(Op.SUB, "sub", np.subtract, other)

    def __mul__(self, other: Values | Number) -> Values:
        return self._with(Op.MUL, "mul", np.multiply, other)

    def __truediv__(self, other: Values | Number) -> Values:
        return self._with(Op.DIV, "div", np.divide, other)

    def __radd__(self, other: Number) -> Values:
        return self.constant(other) + self

    def __rsub__(self, other: Number) -> Values:
        return self.constant(other) - self

    def __rmul__(self, other: Number) -> Values:
        return self.constant(other) * self

    def __rtruediv__(self, other: Number) -> Values:
        return self.constant(other) / self

    def __neg__(self) -> Values:
        if self.type in FLOATS:
            return record(Op.NEG, self.type, "", np.negative, self)
        return record(Op.INTEGER, self.type, f"neg.{self.type}", np.negative, self)

    def abs(self) -> Values:
        if self.type in FLOATS:
            return record(Op.ABS, self.type, "", np.abs, self)
        return record(Op.INTEGER, self.type, f"abs.{self.type}", np.abs, self)

    def least(self, other: Values | Number) -> Values:
        """The smaller one; not a number where one is not."""
        return self._with(Op.MIN, "min", np.minimum, other)

    def most(self, other: Values | Number) -> Values:
        return self._with(Op.MAX, "max", np.maximum, other)

    def sqrt(self) -> Values:
        return record(Op.SQRT, self.type, "", np.sqrt, self)

    def rsqrt(self) -> Values:
        return record(Op.RSQRT, self.type, "", lambda x: 1 / np.sqrt(x.astype(np.float64)), self)

    def reciprocal(self) -> Values:
        return record(Op.RECIPROCAL, self.type, "", lambda x: x.dtype.type(1) / x, self)

    def copysign(self, sign: Values) -> Values:
        """These magnitudes with the signs of others."""
        return record(Op.COPYSIGN, self.type, "", lambda s, value: np.copysign(value, s), sign, self)

    def call(self, name: str, *others: Values | Number) -> Values:
        """A function of the C maths library."""
        rest = [other if isinstance(other, Values) else self.constant(other) for other in others]
        function = rounding.library(name, np.dtype(NUMPY[self.type]))
        return record(Op.CALL, self.type, name, function, self, *rest)

    def whole(self, how: str) -> Values:
        """floor, ceil, trunc or nearest (halves to even), in the same type."""
        function = np.rint if how == "nearest" else getattr(np, how)
        return record(Op(how), self.type, f"cvt.{CUT[how]}.{self.type}.{self.type}", function, self)

    # comparisons, choices and types

    def compare(self, name: str, other: Values | Number) -> Values:
        """lt, le, gt, ge, eq, ne of the C operators: on floats `ne` holds where one is not a number."""
        right = other if isinstance(other, Values) else self.constant(other)
        name = "neu" if name == "ne" and self.type in FLOATS else name
        return record(Op.COMPARE, "pred", f"{name}.{self.type}", COMPARISONS[name], self, right)

    def is_nan(self) -> Values:
        return record(Op.COMPARE, "pred", f"nan.{self.type}", COMPARISONS["nan"], self, self)

    def also(self, how: str, other: Values) -> Values:
        """and, or, xor of truth values."""
        function = getattr(np, f"logical_{how}")
        return record(Op.INTEGER, "pred", f"{how}.pred", function, self, other)

    def inverted(self) -> Values:
        return record(Op.INTEGER, "pred", "not.pred", np.logical_not, self)

    def choose(self, yes: Values | Number, no: Values | Number, type_: str = "") -> Values:
        """`yes` where these truth values hold, `no` elsewhere; numbers have the type `type_`."""
        kind = next((side.type for side in (yes, no) if isinstance(side, Values)), type_)
        sides = [
            side if isinstance(side, Values) else self.pen.concrete(kind, np.array([side]))
            for side in (yes, no)
        ]
        count = max(len(self), *(len(side) for side in sides))
        if self.nodes is None:
            first, second = (side.spread(count) for side in sides)
            where = np.broadcast_to(self.number, count)
            return joined([first, second]).take(np.where(where, np.arange(count), count + np.arange(count)))
        chosen = record(Op.SELECT, kind, "", np.where, self, *sides)
        if self.nodes.all():
            return chosen
        yes, no = sides
        by_number = Values(self.pen, "pred", self.number, None).choose(yes, no)
        return Values(self.pen, "pred", np.broadcast_to(self.live(), count), None).choose(chosen, by_number)

    def cast(self, type_: str) -> Values:
        """In another type, as torch converts."""
        if type_ == self.type:
            return self
        if self.nodes is None:
            return Values(self.pen, type_, rounded(type_, self.number), None)
        if self.type == "pred":
            return self.choose(1, 0, type_)
        if type_ == "pred":
            return self.compare("ne", 0)
        if self.type in FLOATS and type_ not in FLOATS:
            op, detail = Op.TRUNC, f"cvt.rzi.{type_}.{self.type}"
        else:
            op, detail = Op.CONVERT, f"cvt.{'rn.' if type_ in FLOATS else ''}{type_}.{self.type}"
        return record(op, type_, detail, lambda x: rounded(type_, x), self)


def record(op: Op, type_: str, detail: str, function: Callable[..., Array], *operands: Values) -> Values:
    """One vector instruction: `function` on the numbers, a node for every lane that data decides."""
    pen = operands[0].pen
    number = rounded(type_, function(*(operand.number for operand in operands)))
    if not number.shape[0] or all(operand.nodes is None for operand in operands):
        return Values(pen, type_, number, None)
    count = number.shape[0]
    if op in NEUTRAL and len(operands) == 2:
        return _folding(op, type_, detail, number, operands)
    lanes = np.broadcast_to(np.logical_or.reduce([np.broadcast_to(o.live(), count) for o in operands]), count)
    return _written(op, type_, detail, number, operands, lanes, np.zeros(count, np.int32))


def _folding(op: Op, type_: str, detail: str, number: Array, operands: Sequence[Values]) -> Values:
    """A node for every lane where both sides matter; the node of the other side where one is neutral."""
    count = number.shape[0]
    first, second = operands
    nodes = np.zeros(count, np.int32)
    lanes = np.ones(count, bool)
    for side, other in ((first, second), (second, first)):
        if side.nodes is not None and side.nodes.all():
            continue
        still = ~np.broadcast_to(side.live(), count)
        lanes &= ~(still & ~np.broadcast_to(other.live(), count))
        neutral = still & np.broadcast_to(side.number == NEUTRAL[op], count)
        if other.nodes is not None and neutral.any():
            nodes = np.where(neutral, np.broadcast_to(other.nodes, count), nodes)
            lanes &= ~neutral
        if op is Op.MUL:
            lanes &= ~(still & np.broadcast_to(side.number == 0, count))
    return _written(op, type_, detail, number, operands, lanes, nodes)


def _written(
    op: Op, type_: str, detail: str, number: Array, operands: Sequence[Values], lanes: Array, nodes: Array
) -> Values:
    pen = operands[0].pen
    if lanes.all():
        ids = tuple(operand.ids() for operand in operands)
        return Values(pen, type_, number, pen.write(op, type_, ids, bits_of(type_, number), detail))
    chosen = np.flatnonzero(lanes)
    if chosen.shape[0]:
        ids = tuple(operand.ids(chosen) for operand in operands)
        bits = bits_of(type_, number[chosen])
        nodes[chosen] = pen.write(op, type_, ids, bits, detail)
    return Values(pen, type_, number, nodes if nodes.any() else None)


def joined(parts: Sequence[Values]) -> Values:
    """Values of one type behind one another."""
    number = np.concatenate([part.number for part in parts])
    nodes = None
    if any(part.nodes is not None for part in parts):
        nodes = np.concatenate(
            [np.zeros(len(part), np.int32) if part.nodes is None else part.nodes for part in parts]
        )
    return Values(parts[0].pen, parts[0].type, number, nodes)


def merged(parts: Sequence[tuple[Array, Values]]) -> Values:
    """Values put to the lanes that are named beside them; together these are all lanes, each once. A part of
    one lane goes to all of its lanes."""
    filled = [values.spread(lanes.shape[0]) for lanes, values in parts if lanes.shape[0]]
    lanes = np.concatenate([lanes for lanes, _ in parts if lanes.shape[0]])
    return joined(filled).take(np.argsort(lanes))
