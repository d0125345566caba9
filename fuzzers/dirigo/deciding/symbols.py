"""Constants as elements of the two fields.

Invariant: an irrational number has one element in each field, and what is made of it has what follows: the
root of 2 squared is 2, 1/ln(2) times ln(2) is 1. The logarithms of 2 and 10 are their discrete ones where
they have one, so that 2 to the power x is the exponential of x ln(2).
"""

from __future__ import annotations

import zlib
from functools import cache

from fuzzers.dirigo.deciding.constants import Constant
from fuzzers.dirigo.deciding.primes import P, Q, field, logarithms

MODULI = (Q, P)


@cache
def _symbol(name: str, part: int) -> int:
    """An irrational number's element."""
    modulus = MODULI[part]
    fixed = field(modulus)
    if name.startswith("root "):
        return int(fixed.root[int(name.removeprefix("root ")) % modulus])
    if name == "ln(2)":
        return int(logarithms()[2]) if part == 0 else _random(name, part)
    if name == "ln(10)":
        known = int(logarithms()[10])
        return known if part == 0 and known > 0 else _random(name, part)
    if name == "sqrt(pi)":
        return int(fixed.root[_random(name, part) ** 2 % modulus])
    return _random(name, part)


def _random(name: str, part: int) -> int:
    return 2 + zlib.crc32(f"{name} {part}".encode()) % (MODULI[part] - 3)


@cache
def _named(name: str, part: int) -> int:
    modulus = MODULI[part]
    fixed = field(modulus)
    two, root_pi = int(fixed.root[2]), _symbol("sqrt(pi)", part)
    pi = root_pi * root_pi % modulus

    def over(value: int) -> int:
        return int(fixed.inverse[value])

    known = {
        "pi": pi,
        "sqrt(2)": two,
        "sqrt(pi)": root_pi,
        "sqrt(2/pi)": two * over(root_pi),
        "1/pi": over(pi),
        "1/sqrt(2)": over(two),
        "1/sqrt(pi)": over(root_pi),
        "2/sqrt(pi)": 2 * over(root_pi),
        "1/ln(2)": over(_symbol("ln(2)", part)),
        "1/ln(10)": over(_symbol("ln(10)", part)),
        "sqrt(2 pi)": two * root_pi,
        "1/sqrt(2 pi)": over(two * root_pi % modulus),
    }
    return known[name] % modulus if name in known else _symbol(name, part)


def element(constant: Constant, part: int) -> int:
    """A constant's element of one field."""
    held = field(MODULI[part]).of(constant.exact)
    return held * _named(constant.name, part) % MODULI[part] if constant.name else held
