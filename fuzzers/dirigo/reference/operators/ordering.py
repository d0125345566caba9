"""Sorting along an axis: sort, topk, kthvalue, median, by a network of minima and maxima.

Invariant: a network compares the same places whatever the data: values come out of MIN and MAX alone, indices
out of comparisons; a row longer than WIDEST is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from fuzzers.dirigo.reference.demand import Demand, Operator, Work
from fuzzers.dirigo.reference.graph import Array
from fuzzers.dirigo.reference.places import axes, numbers, rows
from fuzzers.dirigo.reference.values import Values, joined

WIDEST = 256


def network(width: int) -> list[Array]:
    """Batcher's odd-even merge sort of `width` lanes (a power of two): steps of disjoint pairs."""
    steps = []
    size = 1
    while size < width:
        reach = size
        while reach:
            low = [
                at + offset
                for at in range(reach % size, width - reach, 2 * reach)
                for offset in range(min(reach, width - at - reach))
                if (at + offset) // (2 * size) == (at + offset + reach) // (2 * size)
            ]
            steps.append(np.array([(at, at + reach) for at in low]))
            reach //= 2
        size *= 2
    return steps


def _in_order(values: Values, count: int, descending: bool, indices: bool) -> Values:
    """Each row in order, padded to a power of two behind; or where each of it came from."""
    width = len(values) // count
    wide = 1 << max(width - 1, 0).bit_length()
    inside = np.tile(np.arange(wide) < width, count)
    lanes = values.scattered(inside, -math.inf if descending else math.inf)
    index = values.pen.concrete("s64", np.tile(np.arange(wide), count))
    base: Array = np.arange(count)[:, None] * wide
    for pairs in network(wide):
        places = [(base + pairs[:, side]).reshape(-1) for side in (0, 1)]
        a, b = (lanes.take(place) for place in places)
        first, second = (a.most(b), a.least(b)) if descending else (a.least(b), a.most(b))
        if indices:
            kept = a.compare("ge" if descending else "le", b)
            i, j = (index.take(place) for place in places)
            index = _put(index, places, [kept.choose(i, j), kept.choose(j, i)])
        lanes = _put(lanes, places, [first, second])
    return index if indices else lanes


def _put(values: Values, places: list[Array], new: list[Values]) -> Values:
    """The lanes with new ones in these places."""
    order = np.arange(len(values))
    order[np.concatenate(places)] = len(values) + np.arange(sum(map(len, new)))
    return joined([values, *new]).take(order)


def _ordering(place: Callable[[Demand, Array, int], Array], descending: Callable[[Demand], bool]) -> Operator:
    """An operator whose asked element is one of its row in order: `place` gives which, from the asked
    element's own column and the width."""

    def work(d: Demand) -> Work:
        shape = d.shape("self") or (1,)
        dims = axes(d.call.arguments.get("dim"), len(shape))
        where = list(d.where())
        kept = len(where) == len(shape) and "dim" in d.call.arguments
        column = where[dims[0]] if kept else np.zeros(len(d), np.int64)
        width = math.prod(shape[axis] for axis in dims)
        if width > WIDEST:
            raise d.unknown(f"a row of {width}")
        starts = _starts(shape, dims, where, kept)
        met = rows(shape, dims, starts)
        (values,) = yield (d.flat("self", met.elements),)
        count = met.elements.shape[0]
        found = _in_order(values, count, descending(d), d.output == 1)
        wide = len(found) // count
        return found.take(met.row * wide + place(d, column, width))

    return Operator(work)


def _starts(shape: tuple[int, ...], dims: tuple[int, ...], where: list[Array], kept: bool) -> Array:
    """An element of each asked row: the first one."""
    rest = iter([index for axis, index in enumerate(where) if not (kept and axis in dims)])
    count = where[0].shape[0] if where else 1
    zero: Array = np.zeros(count, np.int64)
    return np.broadcast_to(
        numbers([zero if axis in dims else next(rest) for axis in range(len(shape))], shape), count
    )


def _own(d: Demand, column: Array, width: int) -> Array:
    return column


def _kth(d: Demand, column: Array, width: int) -> Array:
    return np.full(column.shape, int(d["k"]) - 1)


def _middle(d: Demand, column: Array, width: int) -> Array:
    return np.full(column.shape, (width - 1) // 2)


def _down(d: Demand) -> bool:
    return bool(d["descending"])


def _up(d: Demand) -> bool:
    return False


TABLE: Mapping[str, Operator] = {
    "aten.sort.default": _ordering(_own, _down),
    "aten.sort.stable": _ordering(_own, _down),
    "aten.topk.default": _ordering(_own, lambda d: bool(d["largest"])),
    "aten.kthvalue.default": _ordering(_kth, _up),
    "aten.median.default": _ordering(_middle, _up),
    "aten.median.dim": _ordering(_middle, _up),
}
