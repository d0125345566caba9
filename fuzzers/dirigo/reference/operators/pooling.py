"""Pooling of one to three axes: largest, mean, adaptive, and norms of windows.

Invariant: padding takes no part in a maximum; in a mean it counts only where `count_include_pad` says so, and
never past the padded edge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from fuzzers.dirigo.reference.demand import Demand, Operator, Work
from fuzzers.dirigo.reference.folding import extreme, largest, total
from fuzzers.dirigo.reference.graph import Array
from fuzzers.dirigo.reference.operators.convolution import full, taps
from fuzzers.dirigo.reference.places import Places, within
from fuzzers.dirigo.reference.values import Values


def _windows(
    d: Demand,
    rank: int,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> tuple[list[Array], Array]:
    """Where the taps of each asked window lie, (asked, taps) an axis, and which of them are inside."""
    within(len(d) * math.prod(kernel))
    where = d.where()[-rank:]
    tap = taps(kernel)
    spot = [where[a][:, None] * stride[a] - padding[a] + tap[a] * dilation[a] for a in range(rank)]
    sizes = d.shape("self")[-rank:]
    inside = np.logical_and.reduce([(at >= 0) & (at < size) for at, size in zip(spot, sizes, strict=True)])
    return spot, inside


def _source(d: Demand, rank: int, spot: Sequence[Array], inside: Array) -> Places:
    """The multi-index of the taps inside, flattened."""
    front = [np.broadcast_to(index[:, None], inside.shape)[inside] for index in d.where()[:-rank]]
    return (*front, *(np.broadcast_to(index, inside.shape)[inside] for index in spot))


def _max_pool(rank: int) -> Operator:
    def work(d: Demand) -> Work:
        kernel = full(d["kernel_size"], rank)
        stride = full(d["stride"], rank) if d["stride"] else kernel
        padding, dilation = full(d["padding"], rank), full(d["dilation"], rank)
        spot, inside = _windows(d, rank, kernel, stride, padding, dilation)
        (values,) = yield (d.ask("self", _source(d, rank, spot, inside)),)
        padded = values.scattered(inside, -math.inf)
        if d.output == 0:
            return largest(padded, len(d))
        _, index = extreme(padded, len(d), "ge")
        flat = _flat(spot, d.shape("self")[-rank:])
        return _looked_up(index, np.broadcast_to(flat, inside.shape))

    return Operator(work)


def _flat(spot: Sequence[Array], sizes: Sequence[int]) -> Array:
    found: Array = np.zeros((), np.int64)
    for at, size in zip(spot, sizes, strict=True):
        found = found * size + at
    return found


def _looked_up(index: Values, table: Array) -> Values:
    """`table[lane, index]`: the choices that led to the index lead to the entry."""
    found = index.pen.concrete("s64", table[:, 0])
    for column in range(1, table.shape[1]):
        found = index.compare("eq", column).choose(index.pen.concrete("s64", table[:, column]), found)
    return found


def _avg_pool(rank: int) -> Operator:
    def work(d: Demand) -> Work:
        kernel = full(d["kernel_size"], rank)
        stride = full(d["stride"], rank) if d["stride"] else kernel
        padding = full(d["padding"], rank)
        spot, inside = _windows(d, rank, kernel, stride, padding, (1,) * rank)
        (values,) = yield (d.ask("self", _source(d, rank, spot, inside)),)
        summed = total(values.scattered(inside, 0), len(d))
        return summed / d.pen.concrete(summed.type, _divisor(d, rank, spot, inside, padding))

    return Operator(work)


def _divisor(d: Demand, rank: int, spot: Sequence[Array], inside: Array, padding: Sequence[int]) -> Array:
    """What each window's sum is divided by."""
    given = d.call.arguments.get("divisor_override")
    if given is not None:
        return np.array([given])
    if not d["count_include_pad"]:
        return inside.sum(axis=1)
    sizes = d.shape("self")[-rank:]
    counted = [at < size + pad for at, size, pad in zip(spot, sizes, padding, strict=True)]
    return np.broadcast_to(np.logical_and.reduce(counted), inside.shape).sum(axis=1)


def _adaptive(d: Demand, rank: int) -> tuple[list[Array], Array]:
    """Windows that divide the input as evenly as can be: from floor(i n / m) to ceil((i + 1) n / m)."""
    where = d.where()[-rank:]
    sizes, outs = d.shape("self")[-rank:], d.out.shape[-rank:]
    low = [at * n // m for at, n, m in zip(where, sizes, outs, strict=True)]
    high = [-(-(at + 1) * n // m) for at, n, m in zip(where, sizes, outs, strict=True)]
    widest = [int((stop - start).max()) for start, stop in zip(low, high, strict=True)]
    within(len(d) * math.prod(widest))
    tap = taps(widest)
    spot = [low[a][:, None] + tap[a] for a in range(rank)]
    inside = np.logical_and.reduce([spot[a] < high[a][:, None] for a in range(rank)])
    return spot, inside


def _adaptive_avg(rank: int) -> Operator:
    def work(d: Demand) -> Work:
        spot, inside = _adaptive(d, rank)
        (values,) = yield (d.ask("self", _source(d, rank, spot, inside)),)
        return total(values.scattered(inside, 0), len(d)) / d.pen.concrete(values.type, inside.sum(axis=1))

    return Operator(work)


def _adaptive_max(rank: int) -> Operator:
    def work(d: Demand) -> Work:
        spot, inside = _adaptive(d, rank)
        (values,) = yield (d.ask("self", _source(d, rank, spot, inside)),)
        padded = values.scattered(inside, -math.inf)
        if d.output == 0:
            return largest(padded, len(d))
        _, index = extreme(padded, len(d), "ge")
        return _looked_up(index, np.broadcast_to(_flat(spot, d.shape("self")[-rank:]), inside.shape))

    return Operator(work)


NAMES = {1: "1d", 2: "2d", 3: "3d"}
TABLE: Mapping[str, Operator] = {
    **{f"aten.max_pool{NAMES[rank]}_with_indices.default": _max_pool(rank) for rank in (2, 3)},
    **{f"aten.max_pool{NAMES[rank]}.default": _max_pool(rank) for rank in (1, 2, 3)},
    **{f"aten.avg_pool{NAMES[rank]}.default": _avg_pool(rank) for rank in (1, 2, 3)},
    **{f"aten._adaptive_avg_pool{NAMES[rank]}.default": _adaptive_avg(rank) for rank in (2, 3)},
    **{f"aten.adaptive_avg_pool{NAMES[rank]}.default": _adaptive_avg(rank) for rank in (1, 2, 3)},
    **{f"aten.adaptive_max_pool{NAMES[rank]}.default": _adaptive_max(rank) for rank in (1, 2, 3)},
}
