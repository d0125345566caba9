"""Arithmetic in a pair of prime fields that keeps the laws of exp, log, roots and signs.

Invariant: p = 2q + 1, both 7 modulo 8. Then the squares modulo p are a group of q elements, the powers of one
of them: exp takes an element of the field of q to a power, log is that power found again, and "positive" is
"a square", which products and roots respect as real numbers do: of two roots one is a square itself, -1 is
none, and 2 is one. The reason: with tables of a few megabytes every law above holds by arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from fuzzers.dirigo.simt.tape import Array

Q = 524351
P = 2 * Q + 1
GENERATOR = pow(2, 77_777, P)
"""Not 2 itself: then ln(2) were 1, and exp2 were exp."""

MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Field:
    """One prime field with tables of its inverses, and of the roots of its squares (0: no square)."""

    modulus: int
    inverse: Array
    root: Array

    def is_square(self, value: Array) -> Array:
        return (self.root[value] != 0) | (value == 0)

    def of(self, number: Fraction) -> int:
        """A rational number's element; ZeroDivisionError where its denominator is 0 there."""
        bottom = number.denominator % self.modulus
        if not bottom:
            raise ZeroDivisionError(number)
        return number.numerator * pow(bottom, -1, self.modulus) % self.modulus


@cache
def field(modulus: int) -> Field:
    """The field of Q or P."""
    everything: Array = np.arange(modulus, dtype=np.int64)
    squares = everything * everything % modulus
    # Of r and -r one is a square; r**((modulus + 1) / 4) of a square is that one.
    root = power(squares, (modulus + 1) // 4, modulus)
    table: Array = np.zeros(modulus, np.int64)
    table[squares] = root
    return Field(modulus, power(everything, modulus - 2, modulus), table)


def power(base: Array, exponent: int, modulus: int) -> Array:
    """Powers modulo a prime below 2**31."""
    out = np.ones_like(base)
    while exponent:
        if exponent & 1:
            out = out * base % modulus
        base = base * base % modulus
        exponent >>= 1
    return out


@cache
def exponentials() -> Array:
    """`exponentials()[a]` is the exponential of a, an element of the field of P."""
    out: Array = np.ones(1, np.int64)
    while out.shape[0] < Q:
        step = pow(GENERATOR, out.shape[0], P)
        out = np.concatenate([out, out * step % P])
    return out[:Q]


@cache
def logarithms() -> Array:
    """The logarithm of every element of the field of P; -1 where there is none."""
    out: Array = np.full(P, -1, np.int64)
    out[exponentials()] = np.arange(Q)
    return out


def mixed(value: Array, key: int) -> Array:
    """A keyed hash of numbers, as uint64."""
    with np.errstate(over="ignore"):
        x = (value.astype(np.uint64) + np.uint64(key & 0xFFFFFFFFFFFF)) * MIX
        x ^= x >> np.uint64(29)
        x *= np.uint64(0xBF58476D1CE4E5B9)
        x ^= x >> np.uint64(32)
        x *= np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(29))
