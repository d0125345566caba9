"""Mutations of sizes: empty, one, vector tails, powers of two, larger ones, and broadcasting.

Invariant: a size is renamed throughout the program, so that tensors that matched still do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.mutations.declaration import Site
from fuzzers.flowmut.mutations.predicates import LARGEST
from fuzzers.flowmut.operators.domains import fill_for
from fuzzers.flowmut.program import Program
from fuzzers.flowmut.resize import Renaming, resize, resize_input

TAILS = (3, 5, 7, 9, 15, 17, 31, 33, 63, 65)
POWERS = (2, 4, 8, 16, 32, 64)
LARGER = (100, 128, 129, 256, 257, 1000, 1025)


def size_class(sizes: Sequence[int]) -> Callable[[Site, Random], Program | None]:
    """One size of the edge becomes one of `sizes`, everywhere."""

    def apply(site: Site, rng: Random) -> Program | None:
        known = [n for n in dict.fromkeys(site.state.shape) if n > 1]
        if not known:
            return None
        old = rng.choice(known)
        new = rng.choice([n for n in sizes if n != old])
        count = site.state.shape.count(old)
        if site.state.numel // old**count * new**count > LARGEST:
            return None
        return resize(site.program, old, new)

    return apply


def broadcast_input(site: Site, rng: Random) -> Program | None:
    """One dimension of an input becomes 1, so that its users broadcast it."""
    assert site.input is not None
    known = [n for n in dict.fromkeys(site.state.shape) if n > 1]
    if not known:
        return None
    return rewrite.put_input(site.program, resize_input(site.input, Renaming(rng.choice(known), 1)))


def scalar_input(site: Site, rng: Random) -> Program | None:
    """An input becomes a tensor of rank 0, or loses its leading dimension."""
    assert site.input is not None
    if site.input.fill == "literal":
        return None
    shape = () if rng.random() < 0.7 else site.state.shape[1:]
    return rewrite.put_input(site.program, replace(site.input, shape=shape, views=()))


def leading_input(site: Site, rng: Random) -> Program | None:
    """An input gains a leading dimension."""
    assert site.input is not None
    if site.input.fill == "literal":
        return None
    shape = (rng.choice((1, 2, 3)), *site.state.shape)
    return rewrite.put_input(site.program, replace(site.input, shape=shape, views=()))


def two_sizes(sizes: Sequence[int]) -> Callable[[Site, Random], Program | None]:
    """Two different sizes of the edge become two of `sizes`, everywhere."""

    def apply(site: Site, rng: Random) -> Program | None:
        known = [n for n in dict.fromkeys(site.state.shape) if n > 1]
        if len(known) < 2:
            return None
        olds, news = rng.sample(known, 2), rng.sample([n for n in sizes if n not in known], 2)
        grown = site.state.numel
        for old, new in zip(olds, news, strict=True):
            grown = grown // old ** site.state.shape.count(old) * new ** site.state.shape.count(old)
        if grown > LARGEST:
            return None
        first = resize(site.program, olds[0], news[0])
        return resize(first, olds[1], news[1]) if first else None

    return apply


def long_and_thin(site: Site, rng: Random) -> Program | None:
    """One size of the edge becomes large and another one small, everywhere."""
    known = [n for n in dict.fromkeys(site.state.shape) if n > 2]
    if len(known) < 2:
        return None
    long, thin = rng.sample(known, 2)
    new = rng.choice([n for n in LARGER if n not in known])
    if (
        site.state.numel // long ** site.state.shape.count(long) * new ** site.state.shape.count(long)
        > LARGEST
    ):
        return None
    first = resize(site.program, thin, 2)
    return resize(first, long, new) if first else None


WIDER = {
    "bool": ("int64", "float32"),
    "float32": ("float64",),
    "float16": ("float32",),
    "bfloat16": ("float64",),
}


def wide_scalar(site: Site, rng: Random) -> Program | None:
    """An input becomes a tensor of rank 0 and of a wider dtype, which does not widen the others."""
    assert site.input is not None
    dtype = rng.choice(WIDER.get(site.input.dtype, ("int64", "float32")))
    if dtype == site.input.dtype or site.input.fill == "literal":
        return None
    fill, low, high = fill_for(dtype)
    made = replace(site.input, shape=(), views=(), dtype=dtype, fill=fill, low=low, high=high)
    return rewrite.put_input(site.program, made)
