"""Float arithmetic as PTX defines it, on numpy arrays: one rounding an operation, also where numpy has none.

Invariant: the results in float32 are those of IEEE hardware bit for bit, for the operations that PTX says are
rounded correctly; approximations (ex2.approx, the maths library) are the correctly rounded function instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from fuzzers.dirigo.simt.tape import Array

TINY = np.float32(np.finfo(np.float32).tiny)
LOW_BITS = np.uint64((1 << 29) - 1)
MIDPOINT = np.uint64(1 << 28)


def fma32(a: Array, b: Array, c: Array) -> Array:
    """a * b + c with one rounding. The product is exact in float64; where the rounded sum lies on the middle
    of two float32, or is subnormal there, the sum's own error decides."""
    product = a.astype(np.float64) * b
    total = product + c
    bits = total.view(np.uint64)
    doubtful = (bits & LOW_BITS) == MIDPOINT
    small = np.abs(total) < TINY
    if not doubtful.any() and not (small & (total != 0)).any():
        return total.astype(np.float32)
    wide = np.broadcast_to(c.astype(np.float64), total.shape)
    part = total - wide
    error = (wide - (total - part)) + (product - part)
    towards = np.where(error > 0, np.inf, -np.inf)
    odd = (bits & np.uint64(1)).astype(bool)
    fixed = np.where((error != 0) & ~odd & np.isfinite(total), np.nextafter(total, towards), total)
    exact_side = np.where((error != 0) & np.isfinite(error) & ~odd, fixed, total)
    return exact_side.astype(np.float32)


def fma64(a: Array, b: Array, c: Array) -> Array:
    """a * b + c in float64, by exact integers; slow and right."""
    shape = np.broadcast_shapes(a.shape, b.shape, c.shape)
    rows = zip(*(np.broadcast_to(v, shape).tolist() for v in (a, b, c)), strict=True)
    return np.array([_fma(*row) for row in rows])


def _fma(a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    (an, ad), (bn, bd), (cn, cd) = (v.as_integer_ratio() for v in (a, b, c))
    top, bottom = an * bn * cd + cn * ad * bd, ad * bd * cd
    if not top:
        return a * b + c
    try:
        return top / bottom
    except OverflowError:
        return math.copysign(math.inf, top)


def fma16(a: Array, b: Array, c: Array) -> Array:
    return (a.astype(np.float64) * b + c).astype(np.float16)


FMA = {2: fma16, 4: fma32, 8: fma64}


def flushed(value: Array) -> Array:
    """Subnormal float32 as zeros of the same sign."""
    return np.where(np.abs(value) < TINY, np.copysign(np.float32(0), value), value)


def saturated(value: Array) -> Array:
    """Into 0..1; not a number becomes 0."""
    return np.where(np.isnan(value), value.dtype.type(0), np.clip(value, 0, 1)).astype(value.dtype)


def larger(a: Array, b: Array) -> Array:
    """The larger one, the number where the other is none, and +0 of two zeros."""
    return np.where(a == b, np.where(np.signbit(a), b, a), np.fmax(a, b))


def smaller(a: Array, b: Array) -> Array:
    return np.where(a == b, np.where(np.signbit(b), b, a), np.fmin(a, b))


def bf16_to_f32(bits: Array) -> Array:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def f32_to_bf16(value: Array) -> Array:
    """To the nearest, ties to even."""
    bits = value.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(value), np.uint32(0x7FFF), rounded).astype(np.uint16)


def _each(function: Callable[..., float]) -> Callable[..., Array]:
    """A function of Python's maths module on arrays; where it raises, the value is not a number or
    infinite."""

    def safe(*values: float) -> float:
        try:
            return function(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    vectorised = np.vectorize(safe, otypes=[np.float64])
    return lambda *arrays: vectorised(*arrays)


def _half_away(x: Array) -> Array:
    """round(): halves away from zero."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1.0, x), np.copysign(whole, x))


def _normal_inverse(p: float) -> float:
    """The inverse of the normal distribution, by Newton steps from a start in the middle."""
    if not 0 < p < 1:
        return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)
    low, high = -40.0, 40.0
    for _ in range(200):
        middle = (low + high) / 2
        if 0.5 * math.erfc(-middle / math.sqrt(2)) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2


LIBRARY: Mapping[str, Callable[..., Array]] = {
    **{
        name: getattr(np, name)
        for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos")
    },
    **{name: getattr(np, name) for name in ("tan", "sinh", "cosh", "tanh", "hypot", "fmod", "cbrt")},
    **{
        name: getattr(np, f"arc{name[1:]}")
        for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2")
    },
    "exp10": lambda x: np.power(10.0, x),
    "pow": np.power,
    "remainder": _each(math.remainder),
    "round": _half_away,
    "erf": _each(math.erf),
    "erfc": _each(math.erfc),
    "erfcx": _each(lambda x: math.exp(x * x) * math.erfc(x)),
    "erfinv": _each(lambda y: _normal_inverse((y + 1) / 2) / math.sqrt(2)),
    "erfcinv": _each(lambda y: _normal_inverse((2 - y) / 2) / math.sqrt(2)),
    "normcdf": _each(lambda x: 0.5 * math.erfc(-x / math.sqrt(2))),
    "normcdfinv": _each(_normal_inverse),
    "tgamma": _each(math.gamma),
    "lgamma": _each(math.lgamma),
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "sinpi": lambda x: np.sin(np.pi * np.fmod(x, 2)),
    "cospi": lambda x: np.cos(np.pi * np.fmod(x, 2)),
    "i0": np.i0,
}
"""The maths library in float64; a float32 result is this one, rounded once more."""


def library(name: str, type_: np.dtype) -> Callable[..., Array]:
    """A function of the maths library on arrays of one float type."""
    function = LIBRARY[name]
    return lambda *values: function(*(value.astype(np.float64) for value in values)).astype(type_)
