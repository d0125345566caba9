"""Convolutions of any number of axes, plain and transposed.

Invariant: a tap that falls on padding is not there: neither the input nor the weight is asked for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from fuzzers.dirigo.reference.demand import Demand, Operator, Work
from fuzzers.dirigo.reference.folding import total
from fuzzers.dirigo.reference.graph import Array
from fuzzers.dirigo.reference.places import offsets, places, within


def full(given: Sequence[int], count: int) -> tuple[int, ...]:
    """A number an axis; one number is for all."""
    return tuple(map(int, given)) * (count if len(given) == 1 else 1)


def taps(kernel: Sequence[int]) -> tuple[Array, ...]:
    """The multi-index of every tap of a window, each of shape (1, taps)."""
    flat = offsets(tuple(kernel), range(len(kernel)))
    return tuple(index[None, :] for index in places(flat, tuple(kernel)))


def _convolution(d: Demand) -> Work:
    rank = len(d.out.shape) - 2
    stride, padding, dilation = (full(d[name], rank) for name in ("stride", "padding", "dilation"))
    batch, channel, *where = (index[:, None] for index in d.where())
    _, each, *kernel = d.shape("weight")
    groups, sizes = int(d["groups"]), d.shape("input")[2:]
    within(len(d) * each * int(np.prod(kernel)))
    if d["transposed"]:
        own, *tap = taps((d.shape("weight")[0] // groups, *kernel))
        group, out = channel // each, channel % each
        source = group * (d.shape("weight")[0] // groups) + own
        spread = [where[a] + padding[a] - tap[a] * dilation[a] for a in range(rank)]
        inside = reduce(np.logical_and, [spread[a] % stride[a] == 0 for a in range(rank)])
        spot = [spread[a] // stride[a] for a in range(rank)]
        weight: tuple[Array, ...] = (source, out, *tap)
    else:
        own, *tap = taps((each, *kernel))
        source = channel // (d.out.shape[1] // groups) * each + own
        spot = [where[a] * stride[a] - padding[a] + tap[a] * dilation[a] for a in range(rank)]
        inside = np.ones(own.shape, bool)
        weight = (channel, own, *tap)
    inside = reduce(
        np.logical_and, [(at >= 0) & (at < size) for at, size in zip(spot, sizes, strict=True)], inside
    )
    inside = np.broadcast_to(inside, np.broadcast_shapes(inside.shape, source.shape, (len(d), 1)))
    asks: list[Any] = [
        d.ask("input", _inside((batch, source, *spot), inside)),
        d.ask("weight", _inside(weight, inside)),
    ]
    if d.has("bias"):
        asks.append(d.ask("bias", (channel[:, 0],)))
    x, w, *bias = yield tuple(asks)
    found = total((x * w).scattered(inside, 0), len(d))
    return found + bias[0] if bias else found


def _inside(where: Sequence[Array], inside: Array) -> list[Array]:
    return [np.broadcast_to(index, inside.shape)[inside] for index in where]


TABLE: Mapping[str, Operator] = {
    "aten.convolution.default": Operator(_convolution),
}
