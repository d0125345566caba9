"""What a variant has to know of a tensor before it may use it.

Invariant: a need that cannot be told is not met.
"""

from __future__ import annotations

from fuzzers.alignguard.reading.values import COMPLEX, SMALL, Tensor
from fuzzers.alignguard.variants import Need


def floating(t: Tensor) -> bool:
    """Real floating values."""
    return t.floating


def ordinary(t: Tensor) -> bool:
    """float32 or float64."""
    return t.dtype in ("float32", "float64")


def single(t: Tensor) -> bool:
    """float32."""
    return t.dtype == "float32"


def integer(t: Tensor) -> bool:
    """Integers."""
    return t.integer


def small(t: Tensor) -> bool:
    """Integers of 8 or 16 bits."""
    return t.dtype in SMALL


def numeric(t: Tensor) -> bool:
    """Integers or real floating values."""
    return t.integer or t.floating


def real(t: Tensor) -> bool:
    """Anything known but complex."""
    return t.integer or t.floating or t.dtype == "bool"


def boolean(t: Tensor) -> bool:
    """Truth values."""
    return t.dtype == "bool"


def complex_(t: Tensor) -> bool:
    """Complex values."""
    return t.dtype in COMPLEX


def typed(t: Tensor) -> bool:
    """Some known dtype."""
    return t.dtype is not None


def known(t: Tensor) -> bool:
    """A known shape."""
    return t.shape is not None


def filled(t: Tensor) -> bool:
    """A known shape with elements in it."""
    return bool(t.count)


def ungraded(t: Tensor) -> bool:
    """No gradient is asked of it."""
    return not t.grad and not t.leaf


def writable(t: Tensor) -> bool:
    """Eager takes a write into it."""
    return not t.grad and not t.leaf and not t.overlaps


def inputlike(t: Tensor) -> bool:
    """Its bits are given, not computed."""
    return t.made <= {"randn", "rand", "randint", "arange", "tensor", "zeros", "ones", "full"}


def rank(least: int, most: int = 9) -> Need:
    """A known number of dimensions in this range."""
    return lambda t: t.rank is not None and least <= t.rank <= most


def elements(least: int, most: int = 100_000) -> Need:
    """A known number of elements in this range."""
    return lambda t: t.count is not None and least <= t.count <= most


def last(least: int) -> Need:
    """A last dimension of at least this size."""
    return lambda t: bool(t.shape) and t.shape is not None and t.shape[-1] >= least


def first(least: int) -> Need:
    """A first dimension of at least this size."""
    return lambda t: bool(t.shape) and t.shape is not None and t.shape[0] >= least
