"""Mutations of values: what an input holds, within what its dtype carries comfortably.

Invariant: dtype, shape and layout stay. Values on which operators are undefined are not excluded here:
each operator's requirements do that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.edge import INTEGER_RANGE
from fuzzers.flowmut.mutations.declaration import Site
from fuzzers.flowmut.program import Program
from fuzzers.flowmut.values import suits


def refill(change: Callable[[str, Random], dict[str, Any]]) -> Callable[[Site, Random], Program | None]:
    """The input is drawn otherwise: `change` gives the new fill for its dtype."""

    def apply(site: Site, rng: Random) -> Program | None:
        assert site.input is not None
        made = replace(site.input, values=(), low=0, high=0)
        made = replace(made, **change(site.input.dtype, rng))
        return rewrite.put_input(site.program, made) if suits(made) and made != site.input else None

    return apply


def extremes(dtype: str, rng: Random) -> dict[str, Any]:
    """Integers over their whole range."""
    low, high = INTEGER_RANGE[dtype]
    return {"fill": "randint", "low": low, "high": min(high + 1, INTEGER_RANGE["int64"][1])}


def saturated(dtype: str, rng: Random) -> dict[str, Any]:
    """All of them the least, or the greatest, integer."""
    return {"fill": "full", "low": rng.choice(INTEGER_RANGE[dtype])}


def negatives(dtype: str, rng: Random) -> dict[str, Any]:
    """Small integers below zero."""
    return {"fill": "randint", "low": rng.choice((-3, -9, -100)), "high": 0}


def small_whole(dtype: str, rng: Random) -> dict[str, Any]:
    """Few different whole numbers, so that ties and zeros are common."""
    low = 0 if dtype == "uint8" else -2
    return {"fill": "randint", "low": low, "high": 3}


def wide_unsigned(dtype: str, rng: Random) -> dict[str, Any]:
    """Values past the sign bit of a byte, for every dtype that holds them."""
    return {
        "fill": "randint",
        "low": 100,
        "high": 256 if dtype == "uint8" else 128 if dtype == "int8" else 256,
    }


def constant(dtype: str, rng: Random) -> dict[str, Any]:
    """One value everywhere."""
    return rng.choice(({"fill": "zeros"}, {"fill": "ones"}, {"fill": "full", "low": 2}))


def ordered(dtype: str, rng: Random) -> dict[str, Any]:
    """Rising values."""
    return rng.choice(({"fill": "arange"}, {"fill": "linspace"}))


def special(dtype: str, rng: Random) -> dict[str, Any]:
    """NaN, infinities and signed zeros among ordinary values."""
    return {"fill": "special"}


def filled(fill: str) -> Callable[[str, Random], dict[str, Any]]:
    """Values in the pattern of that name."""
    return lambda dtype, rng: {"fill": fill}
