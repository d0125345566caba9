"""z3 behind one boundary: can this comparison ever go that way?

Invariant: an answer is `never` only where z3 proves it over the reals within its time; everything else, what
cannot be put into z3 too, is a point that may show it, or `unknown` with the reason. z3 is imported here and
nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import z3

from fuzzers.dirigo.deciding.constants import canonical
from fuzzers.dirigo.deciding.tidy import FLOAT_TYPES, Tidy
from fuzzers.dirigo.simt.tape import Op

Expression = Any
"""z3 has no types."""

MILLISECONDS = 2_000
CONE = 400
"""Nodes behind a comparison that are still put into z3."""


@dataclass(frozen=True)
class Never:
    """No real input takes this side."""


@dataclass(frozen=True)
class Perhaps:
    """An input that takes it, as far as z3 knows the functions on the way; by input number."""

    values: Mapping[int, float]


@dataclass(frozen=True)
class Unknown:
    """No answer."""

    reason: str


Answer = Never | Perhaps | Unknown


class _Foreign(Exception):
    """Something that is not put into z3."""


def feasible(
    tidy: Tidy, node: int, holds: bool, positive: tuple[tuple[int, int], ...] = (), ms: int = MILLISECONDS
) -> Answer:
    """Whether the comparison, maximum, minimum or absolute value at `node` can be decided as `holds` says."""
    builder = _Builder(tidy, positive)
    try:
        goal = builder.side(node)
    except _Foreign as why:
        return Unknown(str(why))
    solver = z3.Solver()
    solver.set("timeout", ms)
    solver.add(*builder.known, goal if holds else z3.Not(goal))
    found = solver.check()
    if found == z3.unsat:
        return Never()
    if found == z3.unknown:
        return Unknown(f"z3: {solver.reason_unknown()}")
    model = solver.model()
    return Perhaps({number: _number(model, leaf) for number, leaf in builder.leaves.items()})


def _number(model: Expression, leaf: Expression) -> float:
    value = model.eval(leaf, model_completion=True)
    if z3.is_algebraic_value(value):
        value = value.approx(20)
    return float(value.numerator_as_long()) / float(value.denominator_as_long())


class _Builder:
    """Expressions of the nodes behind one comparison, and what is known about them."""

    def __init__(self, tidy: Tidy, positive: tuple[tuple[int, int], ...]) -> None:
        self.tidy, self.positive = tidy, positive
        self.known: list[Expression] = []
        self.leaves: dict[int, Expression] = {}
        self.made: dict[int, Expression] = {}
        self.fresh = 0

    def side(self, node: int) -> Expression:
        """What the shadows call the true side of a choice."""
        found = self.tidy.slice
        op = found.ops[node]
        cone = self._cone(node)
        if op is Op.COMPARE:
            return self._all(cone)
        for inner in cone[:-1]:
            self.made[inner] = self._made(inner)
        args = [self.made[arg] for arg in found.args[node]]
        if op is Op.ABS:
            return args[0] >= 0
        if op in (Op.MAX, Op.MIN):
            return args[0] >= args[1] if op is Op.MAX else args[0] <= args[1]
        if op is Op.SATURATE:
            return args[0] >= 1
        raise _Foreign(f"a choice by {op}")

    def _all(self, cone: list[int]) -> Expression:
        for node in cone:
            self.made[node] = self._made(node)
        return self.made[cone[-1]]

    def _cone(self, node: int) -> list[int]:
        seen: set[int] = set()
        pending = [node]
        while pending:
            at = pending.pop()
            if at not in seen:
                seen.add(at)
                pending.extend(self.tidy.slice.args[at])
                if len(seen) > CONE:
                    raise _Foreign(f"more than {CONE} operations behind it")
        return sorted(seen)

    def _made(self, node: int) -> Expression:
        found = self.tidy.slice
        op = found.ops[node]
        if op is Op.INPUT:
            return self._leaf(found.leaf[node])
        if op is Op.CONSTANT:
            return self._constant(node)
        args = [self.made[arg] for arg in found.args[node]]
        name = found.details[node] if op in (Op.CALL, Op.COMPARE) else str(op)
        if op is Op.COMPARE:
            name = name.partition(".")[0].removesuffix("u")
        if name in TABLE:
            return TABLE[name](self, *args)
        if op is Op.INTEGER:
            return self._logic(found.details[node], args)
        raise _Foreign(f"{name} on the way")

    def _leaf(self, number: int) -> Expression:
        if number not in self.leaves:
            leaf = z3.Real(f"x{number}")
            self.leaves[number] = leaf
            self.known += [leaf <= 10_000, leaf >= -10_000]
            if any(start <= number < end for start, end in self.positive):
                self.known.append(leaf > 0)
        return self.leaves[number]

    def _constant(self, node: int) -> Expression:
        wanted = self.tidy.wanted[node] or "f32"
        if wanted == "pred":
            return z3.BoolVal(bool(self.tidy.slice.bits[node]))
        if wanted not in FLOAT_TYPES:
            raise _Foreign(f"a number of type {wanted}")
        constant = canonical(self.tidy.slice.bits[node], wanted)
        if constant.value in (float("inf"), float("-inf")) or constant.value != constant.value:
            raise _Foreign("infinity on the way")
        return z3.RealVal(str(constant.exact)) if not constant.name else z3.RealVal(repr(constant.value))

    def new(self) -> Expression:
        self.fresh += 1
        return z3.Real(f"f{self.fresh}")

    def between(self, low: float | None, high: float | None) -> Expression:
        value = self.new()
        if low is not None:
            self.known.append(value > low)
        if high is not None:
            self.known.append(value < high)
        return value

    def exponential(self, x: Expression) -> Expression:
        value = self.new()
        self.known += [value > 0, value >= 1 + x, z3.Implies(x <= 0, value <= 1)]
        return value

    def root(self, x: Expression) -> Expression:
        value = self.new()
        self.known += [value >= 0, value * value == x]
        return value

    def _logic(self, detail: str, args: list[Expression]) -> Expression:
        parts = detail.split(".")
        for name, join in (("and", z3.And), ("or", z3.Or), ("xor", z3.Xor), ("not", z3.Not)):
            if name in parts and detail.endswith(("pred", "f32", "f64")):
                return join(*args)
        raise _Foreign(f"{detail} on the way")


def _lower(b: _Builder, x: Expression, y: Expression) -> Expression:
    return z3.If(x <= y, x, y)


def _upper(b: _Builder, x: Expression, y: Expression) -> Expression:
    return z3.If(x >= y, x, y)


TABLE: Mapping[str, Callable[..., Expression]] = {
    "add": lambda b, x, y: x + y,
    "sub": lambda b, x, y: x - y,
    "mul": lambda b, x, y: x * y,
    "fma": lambda b, x, y, z: x * y + z,
    "div": lambda b, x, y: x / y,
    "neg": lambda b, x: -x,
    "reciprocal": lambda b, x: 1 / x,
    "abs": lambda b, x: z3.If(x >= 0, x, -x),
    "min": _lower,
    "max": _upper,
    "convert": lambda b, x: x,
    "select": lambda b, c, x, y: z3.If(c, x, y),
    "saturate": lambda b, x: z3.If(x <= 0, z3.RealVal(0), z3.If(x >= 1, z3.RealVal(1), x)),
    "sqrt": _Builder.root,
    "rsqrt": lambda b, x: 1 / b.root(x),
    "exp": _Builder.exponential,
    "exp2": _Builder.exponential,
    "tanh": lambda b, x: b.between(-1, 1),
    "erf": lambda b, x: b.between(-1, 1),
    "sin": lambda b, x: b.between(-1.1, 1.1),
    "cos": lambda b, x: b.between(-1.1, 1.1),
    "log": lambda b, x: b.new(),
    "log1p": lambda b, x: b.new(),
    "lt": lambda b, x, y: x < y,
    "le": lambda b, x, y: x <= y,
    "gt": lambda b, x, y: x > y,
    "ge": lambda b, x, y: x >= y,
    "eq": lambda b, x, y: x == y,
    "ne": lambda b, x, y: x != y,
}
"""What z3 is told of an operation: its meaning, or bounds that hold for it."""
