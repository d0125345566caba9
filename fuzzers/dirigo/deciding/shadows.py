"""A program at many points in float64, every value with a bound of its error.

Invariant: the true real value lies within the bound of the value, wherever no comparison was a near-tie; a
point at which one was is marked doubtful. With the roundings of the program's own types in place of
float64's, the bound says how far a run on a GPU may rightly be off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from fuzzers.dirigo.deciding.constants import canonical, number
from fuzzers.dirigo.deciding.levels import Extremes, Group, Levelled, Sums, levelled
from fuzzers.dirigo.deciding.tidy import FLOAT_TYPES, Tidy, Undecidable
from fuzzers.dirigo.simt import rounding
from fuzzers.dirigo.simt.choices import COMPARISONS
from fuzzers.dirigo.simt.tape import Array, Op

Value = tuple[Array, Array]
"""Values and bounds, both (nodes, points)."""

DOUBLE = 2.0**-53
OWN = {"f32": 2.0**-24, "f64": DOUBLE, "f16": 2.0**-11, "bf16": 2.0**-8, "f16x2": 2.0**-11, "bf16x2": 2.0**-8}
LIBRARY_UNITS = 8
"""Units in the last place that a function of the maths library may be off, a GPU's approximations too."""


@dataclass
class Choice:
    """What decided at some nodes: which side, at every point (nodes, points)."""

    nodes: Array
    sides: Array


@dataclass
class Shadows:
    """Values of all nodes of a program at some points. `doubtful` and `choices` grow as it is computed."""

    program: Levelled
    tidy: Tidy
    units: Mapping[str, float]
    v: Array
    e: Array
    doubtful: Array
    choices: list[Choice] = field(default_factory=list)

    def unit(self, type_: str) -> float:
        return self.units.get(type_, DOUBLE)

    def get(self, nodes: Array) -> Value:
        return self.v[nodes], self.e[nodes]

    def doubt(self, where: Array) -> None:
        self.doubtful |= where.any(axis=0)

    def root(self) -> Value:
        at = self.program.roots[-1]
        return self.v[at], self.e[at]


def shadows(tidy: Tidy, leaves: Array, *, own: bool = False, program: Levelled | None = None) -> Shadows:
    """Evaluate a slice: `leaves` is (input elements in the order of `Levelled.leaves`, points). `own` takes
    the roundings of the program's types instead of float64's. Raises Undecidable."""
    program = program or levelled(tidy.slice)
    points = leaves.shape[1]
    size = (len(program), points)
    units = OWN if own else {}
    s = Shadows(program, tidy, units, np.zeros(size), np.zeros(size), np.zeros(points, bool))
    with np.errstate(all="ignore"):
        s.v[program.leaves] = leaves
        for node in program.constants.tolist():
            _constant(s, node, own)
        for step in program.steps:
            if isinstance(step, Sums):
                s.v[step.out], s.e[step.out] = _sums(s, step)
            elif isinstance(step, Extremes):
                s.v[step.out], s.e[step.out] = _extremes(s, step)
            else:
                s.v[step.out], s.e[step.out] = _group(s, step)
            bad = ~np.isfinite(s.e[step.out])
            if bad.any():
                # An infinite value has no error; a bound that is none tells nothing.
                s.e[step.out] = np.where(bad, np.where(np.isinf(s.v[step.out]), 0.0, np.inf), s.e[step.out])
    return s


def _constant(s: Shadows, node: int, own: bool) -> None:
    bits, wanted = s.tidy.slice.bits[node], s.tidy.wanted[node]
    if own or wanted not in FLOAT_TYPES:
        s.v[node] = number(bits, wanted or "f32")
        return
    found = canonical(bits, wanted)
    s.v[node], s.e[node] = found.value, found.error


def _sums(s: Shadows, step: Sums) -> Value:
    a, ea = s.get(step.first)
    b, eb = s.get(step.second)
    lone = step.lone[:, None]
    b, eb = np.where(lone, 1.0, b), np.where(lone, 0.0, eb)
    terms = a * b
    size = np.abs(terms)
    count: Array = np.diff(np.append(step.starts, terms.shape[0]))[:, None]
    error = np.add.reduceat(np.abs(a) * eb + np.abs(b) * ea + ea * eb, step.starts, axis=0)
    whole = np.add.reduceat(np.where(np.isfinite(size), size, 0.0), step.starts, axis=0)
    value = np.add.reduceat(terms * step.signs[:, None], step.starts, axis=0)
    return value, error + s.unit(step.type) * count * whole


def _extremes(s: Shadows, step: Extremes) -> Value:
    a, ea = s.get(step.first)
    if step.op is Op.MIN:
        value = np.minimum.reduceat(a, step.starts, axis=0)
    else:
        value = np.maximum.reduceat(a, step.starts, axis=0)
    counts: Array = np.diff(np.append(step.starts, a.shape[0]))
    owner: Array = np.repeat(np.arange(counts.shape[0]), counts)
    best = (a == value[owner]).argmax(axis=0) if counts.shape[0] == 1 else None
    sides = a[step.starts] == value if best is None else np.broadcast_to(best, (1, a.shape[1]))
    s.choices.append(Choice(step.out, sides))
    return value, np.maximum.reduceat(ea, step.starts, axis=0)


def _group(s: Shadows, step: Group) -> Value:
    if step.op not in TABLE:
        raise Undecidable(f"operation: {step.op}")
    return TABLE[step.op](s, step, *(s.get(arg) for arg in step.args))


def _mul(s: Shadows, step: Group, one: Value, other: Value) -> Value:
    (a, ea), (b, eb) = one, other
    v = a * b
    return v, np.abs(a) * eb + np.abs(b) * ea + ea * eb + s.unit(step.type) * np.abs(v)


def _div(s: Shadows, step: Group, one: Value, other: Value) -> Value:
    (a, ea), (b, eb) = one, other
    v = a / b
    least = np.maximum(np.abs(b) - eb, 0.0)
    return v, (ea + np.abs(v) * eb) / least + 2 * s.unit(step.type) * np.abs(v)


def _near(function: Callable[..., Array], lowest: float = -np.inf, units: int = 2) -> Callable[..., Value]:
    """A function of one operand: how far it moves as its operand moves by its bound."""

    def run(s: Shadows, step: Group, one: Value) -> Value:
        a, ea = one
        v = function(a)
        e = units * s.unit(step.type) * np.abs(v)
        if np.count_nonzero(ea):
            up, down = function(a + ea), function(np.maximum(a - ea, lowest))
            e = e + np.fmax(np.abs(up - v), np.abs(down - v))
        return v, e

    return run


def _call(s: Shadows, step: Group, *given: Value) -> Value:
    name = step.detail
    if name not in rounding.LIBRARY:
        raise Undecidable(f"function: {name}")
    function = rounding.LIBRARY[name]
    if len(given) == 1:
        return _near(function, LOWEST.get(name, -np.inf), LIBRARY_UNITS)(s, step, *given)
    (a, ea), (b, eb) = given
    v = function(a, b)
    e = LIBRARY_UNITS * s.unit(step.type) * np.abs(v)
    if np.count_nonzero(ea) or np.count_nonzero(eb):
        moved = [np.abs(function(a + i * ea, b + j * eb) - v) for i in (-1, 1) for j in (-1, 1)]
        e = e + np.fmax(np.fmax(moved[0], moved[1]), np.fmax(moved[2], moved[3]))
    return v, e


LOWEST = {"log": 0.0, "log2": 0.0, "log10": 0.0, "log1p": -1.0, "acosh": 1.0, "asin": -1.0, "acos": -1.0}


def _select(s: Shadows, step: Group, chosen: Value, one: Value, other: Value) -> Value:
    where = chosen[0] != 0
    return np.where(where, one[0], other[0]), np.where(where, one[1], other[1])


def _compare(s: Shadows, step: Group, *given: Value) -> Value:
    name, _, type_ = step.detail.partition(".")
    if len(given) == 1:
        if name not in ONE_SIDED:
            raise Undecidable(f"comparison: {step.detail}")
        sides = ONE_SIDED[name](given[0][0])
        return sides.astype(float), np.zeros(sides.shape)
    (a, ea), (b, eb) = given
    if type_ not in FLOAT_TYPES and type_ != "pred":
        _no_bits(s, step)
    sides = COMPARISONS[name](a, b)
    s.doubt((np.abs(a - b) <= ea + eb) & (ea + eb > 0))
    s.choices.append(Choice(step.out, sides))
    return sides.astype(float), np.zeros(sides.shape)


ONE_SIDED: Mapping[str, Callable[[Array], Array]] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda x: ~np.isnan(x),
    "notanumber": np.isnan,
    "normal": lambda x: np.isfinite(x) & (x != 0),
    "subnormal": lambda x: np.zeros(x.shape, bool),
}


def _no_bits(s: Shadows, step: Group) -> None:
    """Integers on the tape are whole numbers, unless a float's own bits are read as one."""
    for arg in step.args:
        for node in arg.tolist():
            if s.tidy.slice.types[node] in FLOAT_TYPES and s.tidy.slice.ops[node] is not Op.CONSTANT:
                raise Undecidable(f"integer: {step.detail} on the bits of a float")


def _integer(s: Shadows, step: Group, *given: Value) -> Value:
    name = step.detail
    base = "setp" if name.startswith("setp.") else name.rpartition(".")[0]
    if base == "setp":
        base = next(part for part in name.split(".") if part in ("and", "or", "xor"))
    if base.startswith("vote."):
        base = base.removeprefix("vote.").removeprefix("sync.")
    _no_bits(s, step)
    logical = step.type == "pred"
    table = LOGIC if logical else WHOLE_NUMBERS
    if base not in table:
        raise Undecidable(f"integer: {name}")
    v = table[base](*(value for value, _ in given)).astype(float)
    return v, np.zeros(v.shape)


LOGIC: Mapping[str, Callable[..., Array]] = {
    "and": lambda a, b: (a != 0) & (b != 0),
    "or": lambda a, b: (a != 0) | (b != 0),
    "xor": lambda a, b: (a != 0) ^ (b != 0),
    "not": lambda a: a == 0,
    "any": lambda *votes: np.logical_or.reduce([vote != 0 for vote in votes]),
}
WHOLE_NUMBERS: Mapping[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul.lo": np.multiply,
    "mad.lo": lambda a, b, c: a * b + c,
    "min": np.minimum,
    "max": np.maximum,
    "neg": np.negative,
    "abs": np.abs,
}


def _whole(function: Callable[[Array], Array]) -> Callable[..., Value]:
    """Towards a whole number: doubtful where the bound reaches another one."""

    def run(s: Shadows, step: Group, one: Value) -> Value:
        a, ea = one
        v = function(a)
        s.doubt((function(a - ea) != v) | (function(a + ea) != v))
        return v, np.zeros(v.shape)

    return run


def _abs(s: Shadows, step: Group, one: Value) -> Value:
    a, ea = one
    s.choices.append(Choice(step.out, a >= 0))
    return np.abs(a), ea


def _copysign(s: Shadows, step: Group, sign: Value, one: Value) -> Value:
    s.doubt((np.abs(sign[0]) <= sign[1]) & (sign[1] > 0))
    s.choices.append(Choice(step.out, sign[0] >= 0))
    return np.copysign(one[0], sign[0]), one[1]


def _convert(s: Shadows, step: Group, one: Value) -> Value:
    a, ea = one
    return a, ea + s.unit(step.type) * np.abs(a)


def _saturate(s: Shadows, step: Group, one: Value) -> Value:
    s.choices.append(Choice(step.out, one[0] >= 1))
    return np.clip(one[0], 0.0, 1.0), one[1]


TABLE: Mapping[Op, Callable[..., Value]] = {
    Op.MUL: _mul,
    Op.DIV: _div,
    Op.NEG: lambda s, step, one: (-one[0], one[1]),
    Op.ABS: _abs,
    Op.COPYSIGN: _copysign,
    Op.SQRT: _near(np.sqrt, 0.0),
    Op.RSQRT: _near(lambda x: 1 / np.sqrt(x), 0.0, LIBRARY_UNITS),
    Op.RECIPROCAL: _near(lambda x: 1 / x),
    Op.SATURATE: _saturate,
    Op.CALL: _call,
    Op.CONVERT: _convert,
    Op.TRUNC: _whole(np.trunc),
    Op.FLOOR: _whole(np.floor),
    Op.CEIL: _whole(np.ceil),
    Op.NEAREST: _whole(np.rint),
    Op.COMPARE: _compare,
    Op.SELECT: _select,
    Op.INTEGER: _integer,
}
"""Operation to what it does; what is not here is undecidable."""
