"""Index sets: which elements of a tensor are asked for, as flat numbers in row-major order of its shape.

Invariant: element numbers are logical, whatever the strides are; only `as_strided` and inputs know storage.
Nothing here makes an array of more than LARGEST elements: Full is raised before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fuzzers.dirigo.reference.graph import Array, Shape
from fuzzers.dirigo.simt.tape import Full

LARGEST = 1 << 23
"""Elements of an index set: 64 MiB."""
Places = tuple[Array, ...]
"""A multi-index: one array an axis, of shapes that broadcast."""


def within(count: int) -> int:
    """`count`, if an index set may be as large. Raises Full."""
    if count > LARGEST:
        raise Full("cone")
    return count


def places(numbers: Array, shape: Shape) -> Places:
    """Element numbers as a multi-index."""
    return tuple(np.unravel_index(numbers, shape)) if shape else ()


def strides(shape: Shape) -> Shape:
    """Row-major strides in elements."""
    found = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        found[axis] = found[axis + 1] * shape[axis + 1]
    return tuple(found)


def numbers(where: Sequence[Array], shape: Shape) -> Array:
    """A multi-index as element numbers, in the shape that its arrays broadcast to. An axis of one element
    takes any index, as broadcasting does."""
    if not where:
        return np.zeros((), np.int64)
    steps = [0 if size == 1 else step for size, step in zip(shape, strides(shape), strict=True)]
    within(math.prod(np.broadcast_shapes(*(np.shape(index) for index in where))))
    found: Array = np.zeros((), np.int64)
    for index, step in zip(where, steps, strict=True):
        found = found + np.asarray(index, np.int64) * step
    return found


def axes(dims: object, rank: int) -> tuple[int, ...]:
    """Axes as torch takes them: none or an empty list is all; negative ones count from the end."""
    if dims is None or dims == ():
        return tuple(range(rank))
    listed = dims if isinstance(dims, tuple) else (dims,)
    return tuple(sorted({int(dim) % max(rank, 1) for dim in listed}))[: max(rank, 0)]


def offsets(shape: Shape, chosen: Sequence[int]) -> Array:
    """Element numbers of all indices of the chosen axes, the other indices 0; row-major."""
    sizes = tuple(shape[axis] for axis in chosen)
    within(math.prod(sizes))
    steps = strides(shape)
    found: Array = np.zeros((1,), np.int64)
    for axis, size in zip(chosen, sizes, strict=True):
        found = (found[:, None] + np.arange(size, dtype=np.int64) * steps[axis]).reshape(-1)
    return found


def reduced(shape: Shape, dims: Sequence[int], at: Array) -> Array:
    """For elements of a reduction's result, the elements that each one reduces: (len(at), width)."""
    kept = [axis for axis in range(len(shape)) if axis not in dims]
    inner = offsets(shape, dims)
    within(at.shape[0] * inner.shape[0])
    return _base(shape, kept, places(at, tuple(shape[axis] for axis in kept)), at.shape[0])[:, None] + inner


class Rows(NamedTuple):
    """Elements of a tensor by the row (over some axes) that they lie in: `elements` are all those of the rows
    that are met, (rows, width); asked element i is `elements[row[i], column[i]]`."""

    elements: Array
    row: Array
    column: Array

    def flat(self) -> Array:
        """Of each asked element, its place in `elements` flattened."""
        return self.row * self.elements.shape[1] + self.column


def rows(shape: Shape, dims: Sequence[int], at: Array) -> Rows:
    """The rows over the axes `dims` that elements lie in."""
    where = places(at, shape)
    kept = [axis for axis in range(len(shape)) if axis not in dims]
    base = _base(shape, kept, [where[axis] for axis in kept], at.shape[0])
    starts, row = np.unique(base, return_inverse=True)
    inner = offsets(shape, dims)
    within(starts.shape[0] * inner.shape[0])
    column: Array = np.zeros(at.shape[0], np.int64)
    for axis in dims:
        column = column * shape[axis] + where[axis]
    return Rows(starts[:, None] + inner, row.reshape(-1), column)


def _base(shape: Shape, kept: Sequence[int], where: Sequence[Array], count: int) -> Array:
    steps = strides(shape)
    base: Array = np.zeros(count, np.int64)
    for axis, index in zip(kept, where, strict=True):
        base = base + index * steps[axis]
    return base
