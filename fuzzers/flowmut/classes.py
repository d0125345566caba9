"""Classes of tensor states: what counts as the same kind of edge.

Invariant: a class is a short string computed from plain numbers, so that the same names come out of a
recorded state, of a fake one and of a tensor seen at dispatch. Sizes fall into the classes at which code
generation changes (empty, one, below and around a vector's width, with and without a tail), not into their
values.
"""

from __future__ import annotations

from collections.abc import Sequence

from fuzzers.flowmut.edge import EdgeState, dense_strides

VECTOR = 16
"""Elements of the widest vector register at four bytes each."""


def size_class(size: int) -> str:
    """`0`, `1`, `few` (below a vector), `even` (whole vectors), `tail`."""
    if size < 2:
        return str(size)
    if size < VECTOR:
        return "few"
    return "tail" if size % VECTOR else "even"


def stride_class(shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> str:
    """`dense`, `expanded` (a stride of 0), `permuted` (dense in another order), `gapped`; `+offset`."""
    moving = [(st, sz) for sz, st in zip(shape, strides, strict=True) if sz > 1]
    if 0 in shape or all(
        size == 1 or have == want
        for size, have, want in zip(shape, strides, dense_strides(shape), strict=True)
    ):
        name = "dense"
    elif any(stride == 0 for stride, _ in moving):
        name = "expanded"
    else:
        ordered = sorted(moving, reverse=True)
        name = "permuted" if _packed(ordered) else "gapped"
    return f"{name}+offset" if offset else name


def _packed(ordered: list[tuple[int, int]]) -> bool:
    """(stride, size) pairs, falling: the layout of a dense tensor."""
    step = 1
    for stride, size in reversed(ordered):
        if stride != step:
            return False
        step *= size
    return True


def size_classes(shape: Sequence[int]) -> str:
    """Those of every dimension, in order."""
    return ",".join(map(size_class, shape))


def grad_class(requires_grad: bool, is_leaf: bool) -> str:
    """`none`, `leaf` or `tracked`."""
    return ("leaf" if is_leaf else "tracked") if requires_grad else "none"


def state_class(state: EdgeState) -> str:
    """The kind of an edge, without its values."""
    return "/".join(
        (
            state.dtype,
            str(state.rank),
            size_classes(state.shape),
            stride_class(state.shape, state.strides, state.offset),
            state.relation,
            grad_class(state.requires_grad, state.is_leaf),
        )
    )
