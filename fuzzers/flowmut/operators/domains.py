"""The attribute domains that operators share, and the partners they ask for.

Invariant: a domain looks only at the first argument's state; what it draws meets the operator's
requirements on attributes for that state wherever any value does. Sizes stay small, because programs are
compiled by the thousand and vector tails (7, 8, 9, 17) matter more than bulk.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from fuzzers.flowmut.edge import DTYPES, FLOATING, EdgeState
from fuzzers.flowmut.operators.declaration import REQUIRED, AttrDomain, Attrs, Partners, _Required
from fuzzers.flowmut.program import Attr, Input

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33)
"""Sizes around vector widths and their tails."""


def choice(*values: Attr, default: Attr | _Required = REQUIRED) -> AttrDomain:
    """One of the values, each as likely; `plain` is their order."""
    return AttrDomain(lambda rng, state: rng.choice(values), default, values)


def flag(default: bool = False) -> AttrDomain:
    """True or False."""
    return choice(default, not default, default=default)


def dim(*, default: Attr | _Required = REQUIRED, optional: bool = False) -> AttrDomain:
    """A dimension of the first argument, counted from the front or the back; None too when `optional`."""

    def draw(rng: Random, state: EdgeState) -> Attr:
        if optional and rng.random() < 0.3:
            return None
        rank = max(state.rank, 1)
        return rng.randrange(rank) if rng.random() < 0.7 else rng.randrange(-rank, 0)

    return AttrDomain(draw, default, (None, 0, 1) if optional else (0, 1))


def dims(*, optional: bool = True) -> AttrDomain:
    """One dimension, several, or None for all."""

    def draw(rng: Random, state: EdgeState) -> Attr:
        if not state.rank or (optional and rng.random() < 0.3):
            return None if optional else ()
        chosen = rng.sample(range(state.rank), rng.randint(1, min(2, state.rank)))
        return chosen[0] if len(chosen) == 1 else tuple(sorted(chosen))

    return AttrDomain(draw, None if optional else REQUIRED, (None, 0, 1) if optional else (0, 1))


def natural(*values: int, default: Attr | _Required = REQUIRED) -> AttrDomain:
    """One of a few small counts."""
    return choice(*values, default=default)


def listed(value: Attr) -> str:
    """Sizes or dimensions as separate arguments, as people write them."""
    return (", ".join(map(str, value)) or "()") if isinstance(value, tuple) else str(value)


def dtype(allowed: Sequence[str] = DTYPES) -> AttrDomain:
    """A dtype by its torch name."""
    return AttrDomain(
        lambda rng, state: rng.choice(allowed), REQUIRED, ("float32", "int64"), lambda value: f"torch.{value}"
    )


def scalar(
    whole: Sequence[int], real: Sequence[float] = (), default: Attr | _Required = REQUIRED
) -> AttrDomain:
    """A number that suits the first argument: an integer for integers, either for floats."""

    def draw(rng: Random, state: EdgeState) -> Attr:
        return rng.choice((*whole, *real)) if state.floating else rng.choice(whole)

    return AttrDomain(draw, default, (1, 2, 0))


def fill_for(dtype_name: str) -> tuple[str, int, int]:
    """(fill, low, high) of an ordinary tensor of a dtype: unsigned ones span their range, signed ones
    stay small so that products of a few do not overflow."""
    if dtype_name in FLOATING:
        return "randn", 0, 0
    if dtype_name == "bool":
        return "bool", 0, 0
    if dtype_name == "uint8":
        return "randint", 0, 256
    return "randint", -4, 5


def like(shape: Sequence[int], dtype_name: str, name: str = "p") -> Input:
    """An ordinary fresh input."""
    fill, low, high = fill_for(dtype_name)
    return Input(name, tuple(shape), dtype_name, fill, low, high)


def indices(shape: Sequence[int], size: int, name: str = "i", dtype_name: str = "int64") -> Input:
    """Indices below `size`."""
    return Input(name, tuple(shape), dtype_name, "randint", 0, max(size, 1))


def positives(shape: Sequence[int], dtype_name: str, name: str = "p", high: int = 5) -> Input:
    """Values from 1 to `high` for integers, around 1 for floats: divisors and bases."""
    if dtype_name in FLOATING:
        return Input(name, tuple(shape), dtype_name, "positive")
    if dtype_name == "bool":
        return Input(name, tuple(shape), dtype_name, "ones")
    return Input(name, tuple(shape), dtype_name, "randint", 1, high + 1)


def broadcasting(rng: Random, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape itself, or one that broadcasts to it."""
    out = [1 if rng.random() < 0.2 else size for size in shape]
    return tuple(out[rng.randrange(len(out)) :] if out and rng.random() < 0.25 else out)


def mates(count: int = 1, *, same_dtype: bool = False, among: Sequence[str] = DTYPES) -> Partners:
    """`count` ordinary tensors that broadcast with the first argument, of its dtype or, unless
    `same_dtype`, now and then of another."""

    def partners(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
        kept = same_dtype or rng.random() < 0.7
        dtype_name = state.dtype if kept else rng.choice(among)
        return tuple(like(broadcasting(rng, state.shape), dtype_name, f"p{k}") for k in range(count))

    return partners


def positive_mates(count: int = 1, high: int = 5) -> Partners:
    """Like `mates`, of the same dtype, with positive values."""

    def partners(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
        return tuple(
            positives(broadcasting(rng, state.shape), state.dtype, f"p{k}", high) for k in range(count)
        )

    return partners


def from_rank(rank: int, partners: Partners) -> Partners:
    """The partners, for a first argument of at least that rank; none for others, which the operator's
    requirements then refuse."""

    def ranked(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
        return partners(rng, state, attrs) if state.rank >= rank else ()

    return ranked
