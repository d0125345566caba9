"""Reductions of rows: balanced trees of one operation, so that a long sum is a dozen vector instructions.

Invariant: row r of `rows` equal rows lies at lanes r * width ... r * width + width - 1, and gives lane r.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fuzzers.dirigo.reference.graph import Array
from fuzzers.dirigo.reference.values import Values, joined

Combine = Callable[[Values, Values], Values]
Pair = tuple[Values, Values]


def fold(values: Values, rows: int, combine: Combine) -> Values:
    """Each row combined to one lane; a row has one lane at least."""
    return fold_all((values,), rows, lambda a, b: (combine(a[0], b[0]),))[0]


def fold_all(
    values: Sequence[Values],
    rows: int,
    combine: Callable[[Sequence[Values], Sequence[Values]], Sequence[Values]],
) -> Sequence[Values]:
    """The same for several values a lane, combined together."""
    width = len(values[0]) // rows
    while width > 1:
        half = width // 2
        lanes = np.arange(rows * width).reshape(rows, width)
        left, right = lanes[:, 0 : 2 * half : 2].reshape(-1), lanes[:, 1 : 2 * half : 2].reshape(-1)
        done = combine([v.take(left) for v in values], [v.take(right) for v in values])
        if width % 2:
            done = [_beside(d, v.take(lanes[:, -1]), rows) for d, v in zip(done, values, strict=True)]
        values, width = done, half + width % 2
    return values


def _beside(done: Values, last: Values, rows: int) -> Values:
    """A column put behind the others of each row."""
    half = len(done) // rows
    order = np.concatenate(
        [np.arange(rows * half).reshape(rows, half), rows * half + np.arange(rows)[:, None]], axis=1
    )
    return joined([done, last]).take(order.reshape(-1))


def total(values: Values, rows: int) -> Values:
    """The sum of each row; of an empty row 0."""
    if not len(values):
        return values.constant(0).spread(rows)
    return fold(values, rows, lambda a, b: a + b)


def product(values: Values, rows: int) -> Values:
    if not len(values):
        return values.constant(1).spread(rows)
    return fold(values, rows, lambda a, b: a * b)


def largest(values: Values, rows: int) -> Values:
    return fold(values, rows, Values.most)


def smallest(values: Values, rows: int) -> Values:
    return fold(values, rows, Values.least)


def every(values: Values, rows: int, how: str) -> Values:
    """and / or of each row of truth values."""
    return fold(values, rows, lambda a, b: a.also(how, b))


def extreme(values: Values, rows: int, how: str) -> Pair:
    """The largest ("ge") or smallest ("le") lane of each row and its index there, the first of equals."""
    width = len(values) // rows
    index = values.pen.concrete("s64", np.tile(np.arange(width), rows))

    def better(a: Sequence[Values], b: Sequence[Values]) -> Sequence[Values]:
        first = a[0].compare(how, b[0])
        return first.choose(a[0], b[0]), first.choose(a[1], b[1])

    found = fold_all((values, index), rows, better)
    return found[0], found[1]


def scan(values: Values, rows: int, combine: Combine) -> Values:
    """Of each row, every lane combined with all before it, in log(width) steps."""
    width = len(values) // rows
    column: Array = np.tile(np.arange(width), rows)
    step = 1
    while step < width:
        moved = np.flatnonzero(column >= step)
        done = combine(values.take(moved - step), values.take(moved))
        order = np.arange(len(values))
        order[moved] = len(values) + np.arange(moved.shape[0])
        values = joined([values, done]).take(order)
        step *= 2
    return values
