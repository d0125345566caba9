"""What is known about one tensor edge of a program: its state at run time.

Invariant: an `EdgeState` holds plain values only and is complete enough to decide every operator
requirement; where `profile` is None (a fake run has no data) a requirement about values is undecided
and counts as met. The reason for a record apart from tensors: predicates, mutations and the store work
on states without importing a framework.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

FLOATING = ("float32", "float64", "float16", "bfloat16")
SIGNED = ("int8", "int16", "int32", "int64")
INTEGRAL = ("uint8", *SIGNED)
DTYPES = (*FLOATING, *INTEGRAL, "bool")

INTEGER_RANGE: dict[str, tuple[int, int]] = {
    "bool": (0, 1),
    "uint8": (0, 2**8 - 1),
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}

WIDTH: dict[str, int] = {"uint8": 8, "int8": 8, "int16": 16, "int32": 32, "int64": 64}
"""Bits of the integers that can be shifted."""


@dataclass(frozen=True)
class Profile:
    """What the values look like. `low`, `high`, `mean`, `std` are over the finite ones, 0 when there are
    none; `zeros` is a share of all elements."""

    low: float = 0.0
    high: float = 0.0
    mean: float = 0.0
    std: float = 0.0
    nans: int = 0
    infs: int = 0
    zeros: float = 0.0
    negative_zeros: int = 0
    denormals: int = 0
    saturated: int = 0
    constant: bool = False
    whole: bool = False
    distinct: bool = False
    """No value occurs twice: needed where a write with duplicate indices is undefined."""
    rising: bool = False
    """In row-major order no value is below the one before: needed where a search expects sorted input."""

    @property
    def finite(self) -> bool:
        """No NaN and no infinity."""
        return not self.nans and not self.infs

    @property
    def magnitude(self) -> float:
        """The largest absolute finite value."""
        return max(abs(self.low), abs(self.high))


@dataclass(frozen=True)
class EdgeState:
    """One edge. `storage` names the first edge that owns the memory; `relation` is `fresh`, `same` (the
    very tensor of `alias_of`) or `view`; `on_leaf` says that the memory is that of a leaf that requires
    grad, which nothing may write in place."""

    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]
    offset: int = 0
    requires_grad: bool = False
    is_leaf: bool = True
    storage: str = ""
    relation: str = "fresh"
    alias_of: str = ""
    on_leaf: bool = False
    overlaps: bool = False
    later_mutated: bool = False
    profile: Profile | None = None

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def numel(self) -> int:
        """Number of elements."""
        n = 1
        for size in self.shape:
            n *= size
        return n

    @property
    def contiguous(self) -> bool:
        """Laid out in row-major order without gaps, as the framework defines it: sizes of 1 do not count."""
        if self.numel == 0:
            return True
        dense = dense_strides(self.shape)
        return all(
            size == 1 or have == want
            for size, have, want in zip(self.shape, self.strides, dense, strict=True)
        )

    @property
    def floating(self) -> bool:
        """Of a floating dtype."""
        return self.dtype in FLOATING

    @property
    def integral(self) -> bool:
        """Of an integer dtype; bool is none."""
        return self.dtype in INTEGRAL


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, in elements; a size of 0 counts as 1, as the framework has it."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def self_overlapping(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two index tuples may name one element. Exact for what permute, expand, slice and unfold
    make: sorted by stride, every step must clear all that the smaller ones reach."""
    reach = 0
    for stride, size in sorted((st, sz) for sz, st in zip(shape, strides, strict=True) if sz > 1):
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...] | None:
    """The common shape, or None when there is none."""
    rank = max((len(s) for s in shapes), default=0)
    out: list[int] = []
    for position in range(1, rank + 1):
        sizes = {s[-position] for s in shapes if len(s) >= position} - {1}
        if len(sizes) > 1:
            return None
        out.append(sizes.pop() if sizes else 1)
    return tuple(reversed(out))


def edge_to_json(state: EdgeState) -> dict[str, Any]:
    """The JSON form."""
    plain = asdict(state)
    return {k: list(v) if isinstance(v, tuple) else v for k, v in plain.items()}


def edge_from_json(data: dict[str, Any]) -> EdgeState:
    """The state from its JSON form; TypeError on an unknown key."""
    profile = data.get("profile")
    return EdgeState(
        **{
            **data,
            "shape": tuple(data["shape"]),
            "strides": tuple(data["strides"]),
            "profile": Profile(**profile) if profile else None,
        }
    )
