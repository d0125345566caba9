"""What operations do in the two fields: a table from an operation to a rule.

Invariant: a rule holds for all real numbers. A function without a rule is a keyed hash of its operands, and
says so (`Points.broken`): then agreement tells as much as elsewhere, and disagreement nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fuzzers.dirigo.deciding.constants import INFINITE, Constant
from fuzzers.dirigo.deciding.levels import Group
from fuzzers.dirigo.deciding.primes import P, Q, exponentials, field, logarithms, mixed, power
from fuzzers.dirigo.deciding.shadows import LOGIC, Shadows
from fuzzers.dirigo.deciding.symbols import MODULI, element
from fuzzers.dirigo.deciding.tidy import FLOAT_TYPES, Undecidable
from fuzzers.dirigo.simt.tape import Array, Op

Pair = tuple[Array, Array]
"""The parts in the field of Q and in that of P, both (nodes, points)."""


@dataclass
class Points:
    """Both parts of all nodes; `broken[i]` says at which points part i holds a number by no law."""

    shadows: Shadows
    formal: bool
    seed: int
    a: Array
    b: Array
    broken: Array

    def get(self, nodes: Array) -> Pair:
        return self.a[nodes], self.b[nodes]

    def v(self, nodes: Array) -> Array:
        return self.shadows.v[nodes]

    def root(self) -> Pair:
        at = self.shadows.program.roots[-1]
        return self.a[at], self.b[at]

    def lose(self, part: int, where: Array) -> None:
        self.broken[part] |= where.any(axis=0) if where.ndim > 1 else where

    def order(self, pair: Pair) -> Array:
        """Where numbers stand in a random order, which is another one at every point."""
        columns = np.arange(pair[0].shape[-1], dtype=np.int64)
        return mixed(pair[0] * P + pair[1] + columns * np.int64(1 << 42), self.seed)


def _each(rule: Callable[[int, Array, Array], Array]) -> Callable[..., Pair]:
    """A rule that is the same in both parts, on two operands."""
    return lambda p, step, one, other: (rule(Q, one[0], other[0]), rule(P, one[1], other[1]))


def _negated(p: Points, step: Group, one: Pair) -> Pair:
    return -one[0] % Q, -one[1] % P


def inverse(p: Points, one: Pair) -> Pair:
    for part, value in enumerate(one):
        p.lose(part, value == 0)
    return field(Q).inverse[one[0]], field(P).inverse[one[1]]


def times(one: Pair, other: Pair) -> Pair:
    return one[0] * other[0] % Q, one[1] * other[1] % P


def plus(one: Pair, other: Pair) -> Pair:
    return (one[0] + other[0]) % Q, (one[1] + other[1]) % P


def scaled(one: Pair, by: Fraction, name: str = "") -> Pair:
    factor = Constant(0.0, by, name)
    return one[0] * element(factor, 0) % Q, one[1] * element(factor, 1) % P


def _root(p: Points, one: Pair) -> Pair:
    """Roots of squares; of anything else a number by no law."""
    out = []
    for part, value in enumerate(one):
        fixed = field(MODULI[part])
        bad = ~fixed.is_square(value)
        p.lose(part, bad)
        out.append(np.where(bad, _hash(value, part, "root"), fixed.root[value]))
    return out[0], out[1]


def _hash(value: Array, part: int, name: str) -> Array:
    return (mixed(value, zlib.crc32(name.encode())) % np.uint64(MODULI[part])).astype(np.int64)


def exponential(p: Points, one: Pair, vanishes: Array) -> Pair:
    """The part in P by the law, the part in Q its hash. Where the argument is minus infinity it is 0."""
    b = np.where(vanishes, 0, exponentials()[one[0]])
    p.lose(0, np.ones(b.shape[-1], bool))
    return np.where(vanishes, 0, _hash(b, 0, "exp")), b


def logarithm(p: Points, one: Pair) -> Pair:
    """The part in Q by the law where there is a logarithm, the part in P its hash."""
    a = logarithms()[one[1]]
    bad = a < 0
    p.lose(0, bad)
    p.lose(1, np.ones(a.shape[-1], bool))
    a = np.where(bad, _hash(one[1], 0, "log"), a)
    return a, _hash(a, 1, "log")


def _gone(p: Points, step: Group) -> Array:
    values = p.v(step.args[0])
    return values <= -INFINITE


ONE: Pair = (np.ones((1, 1), np.int64), np.ones((1, 1), np.int64))


def _exp(p: Points, step: Group, one: Pair) -> Pair:
    return exponential(p, one, _gone(p, step))


def _exp2(p: Points, step: Group, one: Pair) -> Pair:
    return exponential(p, scaled(one, Fraction(1), "ln(2)"), _gone(p, step))


def _minus_one(pair: Pair) -> Pair:
    return (pair[0] - 1) % Q, (pair[1] - 1) % P


def _tanh(p: Points, step: Group, one: Pair) -> Pair:
    """(e - 1) / (e + 1) with e = exp(2x)."""
    e = exponential(p, scaled(one, Fraction(2)), p.v(step.args[0]) <= -INFINITE)
    return times(_minus_one(e), inverse(p, plus(e, ONE)))


def _pow(p: Points, step: Group, one: Pair, other: Pair) -> Pair:
    """By squaring where the exponent is a whole number or a half of one; else exp(y log x)."""
    exponents = p.v(step.args[1])
    first = float(exponents.flat[0])
    if (exponents == first).all() and abs(first) <= 1024 and (2 * first).is_integer():
        base = one if first.is_integer() else _root(p, one)
        times_ = abs(int(first if first.is_integer() else 2 * first))
        found = power(base[0], times_, Q), power(base[1], times_, P)
        return inverse(p, found) if first < 0 else found
    product = times(other, logarithm(p, one))
    return exponential(p, product, np.zeros(product[0].shape, bool))


def _unknown(name: str, *given: Pair) -> Pair:
    """A function that only is equal to itself."""
    out = []
    for part in (0, 1):
        held = given[0][part]
        for more in given[1:]:
            held = held * np.int64(P) + more[part]
        out.append(_hash(held, part, name))
    return out[0], out[1]


def _odd(p: Points, name: str, one: Pair) -> Pair:
    """f(-x) = -f(x)."""
    p.lose(0, np.ones(one[0].shape[-1], bool))
    p.lose(1, np.ones(one[0].shape[-1], bool))
    flipped = [value > MODULI[part] // 2 for part, value in enumerate(one)]
    folded = tuple(
        np.where(f, MODULI[part] - v, v) for part, (f, v) in enumerate(zip(flipped, one, strict=True))
    )
    found = _unknown(name, (folded[0], folded[1]))
    out = [np.where(f, -v % MODULI[part], v) for part, (f, v) in enumerate(zip(flipped, found, strict=True))]
    return out[0], out[1]


ODD = frozenset({"erf", "sin", "tan", "atan", "asin", "asinh", "atanh", "sinh", "cbrt", "erfinv", "round"})


def _call(p: Points, step: Group, *given: Pair) -> Pair:
    if step.detail in LAWS:
        return LAWS[step.detail](p, step, *given)
    if step.detail == "erfc":
        one = _odd(p, "erf", given[0])
        return (1 - one[0]) % Q, (1 - one[1]) % P
    if step.detail in ODD:
        return _odd(p, step.detail, given[0])
    for part in (0, 1):
        p.lose(part, np.ones(given[0][0].shape[-1], bool))
    return _unknown(step.detail, *given)


LAWS: Mapping[str, Callable[..., Pair]] = {
    "exp": _exp,
    "exp2": _exp2,
    "expm1": lambda p, step, one: _minus_one(_exp(p, step, one)),
    "log": lambda p, step, one: logarithm(p, one),
    "log2": lambda p, step, one: scaled(logarithm(p, one), Fraction(1), "1/ln(2)"),
    "log10": lambda p, step, one: scaled(logarithm(p, one), Fraction(1), "1/ln(10)"),
    "log1p": lambda p, step, one: logarithm(p, plus(one, ONE)),
    "tanh": _tanh,
    "pow": _pow,
    "hypot": lambda p, step, one, other: _root(p, plus(times(one, one), times(other, other))),
}


def _abs(p: Points, step: Group, one: Pair) -> Pair:
    if p.formal:
        other = _negated(p, step, one)
        keeps = p.order(one) >= p.order(other)
    else:
        other = _negated(p, step, one)
        keeps = p.v(step.args[0]) >= 0
    return np.where(keeps, one[0], other[0]), np.where(keeps, one[1], other[1])


def _compare(p: Points, step: Group, *given: Pair) -> Pair:
    """0 or 1. By the random order where both sides are numbers of the fields."""
    sides = p.v(step.out) != 0
    name, _, type_ = step.detail.partition(".")
    if p.formal and len(given) == 2 and name.removesuffix("u") in STRICT and type_ in FLOAT_TYPES:
        far = (np.abs(p.v(step.args[0])) >= INFINITE) | (np.abs(p.v(step.args[1])) >= INFINITE)
        one, other = p.order(given[0]), p.order(given[1])
        sides = np.where(far, sides, STRICT[name.removesuffix("u")](one, other))
    held = sides.astype(np.int64)
    return held, held


STRICT: Mapping[str, Callable[..., Array]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


def _shadowed(p: Points, step: Group, *given: Pair) -> Pair:
    """A whole number, as the shadows have it."""
    values = p.v(step.out)
    if step.op is not Op.INTEGER and p.formal:
        return _unknown(step.op, *given)
    safe = np.where(np.isfinite(values), values, 0.0)
    whole = np.rint(np.clip(safe, -(2.0**62), 2.0**62)).astype(np.int64)
    return whole % Q, whole % P


def _logic(p: Points, step: Group, *given: Pair) -> Pair:
    """Truth values follow those of the operands, which the order may have made."""
    if step.type != "pred":
        return _shadowed(p, step, *given)
    base = step.detail.rpartition(".")[0]
    if step.detail.startswith("setp."):
        base = next(part for part in step.detail.split(".") if part in ("and", "or", "xor"))
    base = base.removeprefix("vote.").removeprefix("sync.")
    if base not in LOGIC:
        raise Undecidable(f"integer: {step.detail}")
    held = LOGIC[base](*(value for value, _ in given)).astype(np.int64)
    return held, held


def _select(p: Points, step: Group, chosen: Pair, one: Pair, other: Pair) -> Pair:
    where = chosen[0] != 0
    return np.where(where, one[0], other[0]), np.where(where, one[1], other[1])


def _copysign(p: Points, step: Group, sign: Pair, one: Pair) -> Pair:
    size = _abs(p, step._replace(args=(step.args[1],)), one)
    positive = p.v(step.args[0]) >= 0
    return np.where(positive, size[0], -size[0] % Q), np.where(positive, size[1], -size[1] % P)


def _saturate(p: Points, step: Group, one: Pair) -> Pair:
    values = p.v(step.args[0])
    inside = (values > 0) & (values < 1)
    high = (values >= 1).astype(np.int64)
    return np.where(inside, one[0], high), np.where(inside, one[1], high)


TABLE: Mapping[Op, Callable[..., Pair]] = {
    Op.MUL: _each(lambda modulus, a, b: a * b % modulus),
    Op.DIV: lambda p, step, one, other: times(one, inverse(p, other)),
    Op.NEG: _negated,
    Op.ABS: _abs,
    Op.COPYSIGN: _copysign,
    Op.SQRT: lambda p, step, one: _root(p, one),
    Op.RSQRT: lambda p, step, one: inverse(p, _root(p, one)),
    Op.RECIPROCAL: lambda p, step, one: inverse(p, one),
    Op.SATURATE: _saturate,
    Op.CALL: _call,
    Op.CONVERT: lambda p, step, one: one,
    Op.TRUNC: _shadowed,
    Op.FLOOR: _shadowed,
    Op.CEIL: _shadowed,
    Op.NEAREST: _shadowed,
    Op.COMPARE: _compare,
    Op.SELECT: _select,
    Op.INTEGER: _logic,
}
