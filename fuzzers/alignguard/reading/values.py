"""What is known of a value before anything has run.

Invariant: what is said here holds whenever the program runs; what cannot be told is None or `UNKNOWN`,
never a guess. The half of the engine that chooses has no framework to ask, and a rule that guesses makes
programs that eager rejects.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

Shape: TypeAlias = tuple[int, ...]

FLOATS = ("float16", "bfloat16", "float32", "float64")
SMALL = ("uint8", "int8", "int16")
INTEGERS = (*SMALL, "int32", "int64")
COMPLEX = ("complex32", "complex64", "complex128")

ALIASES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "chalf": "complex32",
}
"""torch's second names of dtypes."""

DTYPES = frozenset(
    (
        *FLOATS,
        *INTEGERS,
        *COMPLEX,
        *ALIASES,
        "bool",
        "uint16",
        "uint32",
        "uint64",
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e4m3fnuz",
        "float8_e5m2fnuz",
    )
)


@dataclass(frozen=True)
class Tensor:
    """A tensor. `storage` is a number that all tensors in one memory share, `views` the view operators
    between that memory and this tensor, oldest first; `made` the operators that it was computed by, views
    too. `leaf`: eager refuses to write it, because it is asked for a gradient. `overlaps`: it may hold
    one place twice. `plain`: it is known to be contiguous from the start of its memory. `by`: the operator
    that gave it."""

    shape: Shape | None = None
    dtype: str | None = None
    storage: int = -1
    views: tuple[str, ...] = ()
    made: frozenset[str] = field(default_factory=frozenset)
    leaf: bool = False
    grad: bool = False
    overlaps: bool = False
    plain: bool = False
    by: str = ""

    @property
    def rank(self) -> int | None:
        """Number of dimensions."""
        return None if self.shape is None else len(self.shape)

    @property
    def count(self) -> int | None:
        """Number of elements."""
        return None if self.shape is None else volume(self.shape)

    @property
    def floating(self) -> bool:
        """It is known to hold real floating values."""
        return self.dtype in FLOATS

    @property
    def integer(self) -> bool:
        """It is known to hold integers."""
        return self.dtype in INTEGERS


@dataclass(frozen=True)
class Literal:
    """A Python value that the text gives away: a number, a string, None, a dtype as `DType`, or a tuple."""

    value: object


@dataclass(frozen=True)
class DType:
    """A dtype by its first name."""

    name: str


@dataclass(frozen=True)
class Several:
    """A tuple or list of values."""

    items: tuple[Value, ...]


@dataclass(frozen=True)
class Unknown:
    """Anything else; `made` as in `Tensor`."""

    made: frozenset[str] = field(default_factory=frozenset)


UNKNOWN = Unknown()

Value: TypeAlias = Tensor | Literal | Several | Unknown


def made(value: Value) -> frozenset[str]:
    """The operators that a value was computed by."""
    if isinstance(value, Several):
        return frozenset().union(*(made(v) for v in value.items))
    return frozenset() if isinstance(value, Literal) else value.made


def volume(shape: Shape) -> int:
    """Number of elements of a shape."""
    product = 1
    for size in shape:
        product *= size
    return product


def wrap(dim: object, rank: int) -> int | None:
    """A dimension counted from the front; None when it is none of the tensor's."""
    if not isinstance(dim, int) or isinstance(dim, bool):
        return None
    bound = max(rank, 1)
    return dim % bound if -bound <= dim < bound else None


def broadcast(left: Shape | None, right: Shape | None) -> Shape | None:
    """The common shape, None when either is unknown or they do not go together."""
    if left is None or right is None:
        return None
    size = max(len(left), len(right))
    padded = [(1,) * (size - len(s)) + s for s in (left, right)]
    pairs = list(zip(*padded, strict=True))
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        return None
    return tuple(b if a == 1 else a for a, b in pairs)


_ORDER = ("bool", *INTEGERS, *FLOATS, *COMPLEX)


def _rank_of(dtype: str) -> int:
    for rank, group in enumerate((("bool",), INTEGERS, FLOATS, COMPLEX)):
        if dtype in group:
            return rank
    return -1


def _join(left: str, right: str) -> str | None:
    if left == right:
        return left
    if {left, right} == {"uint8", "int8"}:
        return "int16"
    if {left, right} == {"float16", "bfloat16"}:
        return "float32"
    if left not in _ORDER or right not in _ORDER or "complex32" in (left, right):
        return None
    if _rank_of(left) == _rank_of(right):
        return max(left, right, key=_ORDER.index)
    high = max(left, right, key=_rank_of)
    low = left if high == right else right
    return "complex128" if high == "complex64" and low == "float64" else high


def promote(values: list[Value]) -> str | None:
    """The dtype that torch computes in for these operands: tensors with dimensions count before those
    without, and those before Python numbers, unless the later one is of a higher kind."""
    groups: tuple[list[str], list[str], list[str]] = ([], [], [])
    for value in values:
        if isinstance(value, Tensor):
            if value.dtype is None or value.shape is None:
                return None
            groups[0 if value.shape else 1].append(value.dtype)
        elif isinstance(value, Literal) and isinstance(value.value, bool | int | float):
            kind = {bool: "bool", int: "int64", float: "float32"}[type(value.value)]
            groups[2].append(kind)
        else:
            return None
    found: str | None = None
    for group in groups:
        here: str | None = group[0] if group else None
        for name in group[1:]:
            here = _join(here, name) if here else None
        if group and here is None:
            return None
        if here and (found is None or _rank_of(here) > _rank_of(found)):
            found = here
    return found
