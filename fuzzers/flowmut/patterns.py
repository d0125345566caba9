"""Patterns of values that are written one by one: each holds a class of values that drawing seldom gives.

Invariant: an element follows from its number, the count and the dtype alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Pattern: TypeAlias = Callable[[int, int, str], float]
"""Element k of n in a dtype."""

SMALLEST = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}
"""The smallest normal number."""


def one(value: float, rest: Callable[[int], float]) -> Pattern:
    """The value in the middle, the rest elsewhere."""
    return lambda k, n, dtype: value if k == n // 2 else rest(k)


def _steps(k: int) -> float:
    return (k % 5 - 2) * 0.5


OF_FLOATS: dict[str, Pattern] = {
    "one_nan": one(float("nan"), _steps),
    "one_infinity": one(float("inf"), _steps),
    "signed_zeros": lambda k, n, dtype: (0.0, -0.0, 1.0, -1.0)[k % 4],
    "denormals": lambda k, n, dtype: SMALLEST[dtype] * (k % 7 - 3) / 4,
    "halves": lambda k, n, dtype: k % 9 - 3.5,
    "powers": lambda k, n, dtype: 2.0 ** (k % 13 - 6),
}

OF_NUMBERS: dict[str, Pattern] = {
    "one_set": one(1.0, lambda k: 0.0),
    "falling": lambda k, n, dtype: n - 1 - k,
}
