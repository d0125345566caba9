"""Constants of a program as the real numbers that their authors meant.

Invariant: a canonical number lies within one unit in the last place of the literal; a literal that is near no
simple number is taken as it stands and keeps that unit as its error. The reason: 0.7071067811865476f is the
root of a half, and a reference that computes the root must be equal to it over the reals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from fuzzers.dirigo.simt import rounding

DIGITS = 7
"""Decimal digits of a literal that somebody wrote by hand in float32."""
DIGITS64 = 12
DYADIC = 12
"""Bits of a number that stands for itself."""
WHOLE = 1 << 26
"""The largest n of a 1/n."""

NAMED: dict[str, float] = {
    "pi": math.pi,
    "sqrt(2)": math.sqrt(2),
    "sqrt(pi)": math.sqrt(math.pi),
    "sqrt(2/pi)": math.sqrt(2 / math.pi),
    "ln(2)": math.log(2),
    "ln(10)": math.log(10),
    "1/pi": 1 / math.pi,
    "1/sqrt(2)": math.sqrt(0.5),
    "1/sqrt(pi)": 1 / math.sqrt(math.pi),
    "2/sqrt(pi)": 2 / math.sqrt(math.pi),
    "1/ln(2)": 1 / math.log(2),
    "1/ln(10)": 1 / math.log(10),
    "sqrt(2 pi)": math.sqrt(2 * math.pi),
    "1/sqrt(2 pi)": 1 / math.sqrt(2 * math.pi),
}
"""Irrational numbers that kernels are full of; an integer's root is found by squaring."""
MULTIPLES = (1, 2, 4, 0.5, 0.25)
INFINITE = 1e30
"""A constant of this size stands for infinity: the start of a maximum, or a mask."""
FLOATS = {"f64": np.float64, "f32": np.float32, "f16": np.float16}


@dataclass(frozen=True)
class Constant:
    """A number with its error: `value` in float64, what it is exactly (`exact` times the irrational `name`,
    or times the root of the integer `name` starts with), and how far the true one may lie away."""

    value: float
    exact: Fraction
    name: str = ""
    error: float = 0.0


def number(bits: int, type_: str) -> float:
    """The value of bits under a type of the tape."""
    if type_ == "bf16":
        return float(rounding.bf16_to_f32(np.array([bits & 0xFFFF], np.uint16))[0])
    if type_ in FLOATS:
        width = np.dtype(FLOATS[type_]).itemsize
        return float(np.array([bits & ((1 << 8 * width) - 1)], f"u{width}").view(FLOATS[type_])[0])
    if type_[0] == "s":
        width = int(type_[1:])
        low = bits & ((1 << width) - 1)
        return float(low - (1 << width) if low >> (width - 1) else low)
    return float(bits)


@lru_cache(maxsize=4096)
def canonical(bits: int, type_: str) -> Constant:
    """The real number that a constant stands for."""
    value = number(bits, type_)
    if not math.isfinite(value) or value == 0 or type_ not in ("f32", "f64", "f16", "bf16"):
        exact = Fraction(value) if math.isfinite(value) else Fraction(0)
        return Constant(value, exact)
    unit = _unit(value, type_)
    return _named(value, unit) or _rational(value, unit, type_) or Constant(value, Fraction(value), "", unit)


def _unit(value: float, type_: str) -> float:
    """A unit in the last place; of float64, what a folded product of two roundings leaves."""
    if type_ == "f64":
        return 2 * math.ulp(value)
    if type_ == "bf16":
        return abs(value) * 2.0**-8
    return float(abs(np.spacing(FLOATS[type_](value))))


def _named(value: float, unit: float) -> Constant | None:
    size = abs(value)
    for name, known in NAMED.items():
        for multiple in MULTIPLES:
            if abs(size - known * multiple) <= unit * 0.75:
                sign = 1 if value > 0 else -1
                return Constant(sign * known * multiple, Fraction(sign * multiple), name)
    return None


def _rational(value: float, unit: float, type_: str) -> Constant | None:
    """A short dyadic, a short decimal, 1/n, or the root of an integer or of its inverse; in that order."""
    exact = Fraction(value)
    if exact.numerator.bit_length() <= DYADIC and exact.denominator.bit_length() <= 2 * DYADIC:
        return Constant(value, exact)
    decimal = Fraction(f"{value:.{(DIGITS64 if type_ == 'f64' else DIGITS) - 1}e}")
    if abs(float(decimal) - value) <= unit * 0.51 and _is_short(decimal, type_):
        return Constant(float(decimal), decimal)
    whole = round(1 / value) if abs(value) < 1 else round(value)
    for fraction in (Fraction(1, whole) if abs(value) < 1 and whole else Fraction(whole),):
        if abs(whole) <= WHOLE and abs(float(fraction) - value) <= unit:
            return Constant(float(fraction), fraction)
    return _root(value, unit)


def _is_short(decimal: Fraction, type_: str) -> bool:
    """Whether a decimal has fewer digits than any float of its width could be given."""
    digits = f"{float(decimal):.15e}".partition("e")[0].replace(".", "").replace("-", "").rstrip("0")
    return len(digits) <= (DIGITS64 if type_ == "f64" else DIGITS - 1)


def _root(value: float, unit: float) -> Constant | None:
    """The root of an integer, or one over it: the scale of an attention."""
    sign = 1 if value > 0 else -1
    square = value * value
    whole = round(square) if abs(value) > 1 else round(1 / square)
    if not 1 < whole <= 1 << 16:
        return None
    root = math.sqrt(whole)
    near = root if abs(value) > 1 else 1 / root
    if abs(near - abs(value)) > unit * 0.75:
        return None
    exact = Fraction(sign) if abs(value) > 1 else Fraction(sign, whole)
    return Constant(sign * near, exact, f"root {whole}")
