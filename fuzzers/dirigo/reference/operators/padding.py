"""Padding and its inverse: constant, reflected, replicated; windows laid out as columns and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fuzzers.dirigo.reference.demand import Ask, Demand, Operator, Work, moving
from fuzzers.dirigo.reference.folding import total
from fuzzers.dirigo.reference.graph import Array
from fuzzers.dirigo.reference.operators.convolution import full, taps
from fuzzers.dirigo.reference.places import Places, within


def _before(d: Demand, pad: Sequence[int]) -> tuple[Places, list[Array]]:
    """The asked elements, and where their padded axes lie in `self`: the last ones, pairs from the end."""
    where = d.where()
    count = len(pad) // 2
    return where, [where[len(where) - count + at] - int(pad[2 * (count - 1 - at)]) for at in range(count)]


def _constant(d: Demand) -> Work:
    where, inner = _before(d, d["pad"])
    front = where[: len(where) - len(inner)]
    sizes = d.shape("self")[len(front) :]
    inside: Array = np.ones(len(d), bool)
    for at, size in zip(inner, sizes, strict=True):
        inside &= (at >= 0) & (at < size)
    (found,) = yield (d.ask("self", [index[inside] for index in (*front, *inner)]),)
    return found.scattered(inside, d["value"])


def reflected(at: Array, size: int) -> Array:
    """Mirrored at the first and last element, which are not repeated."""
    folded = np.abs(at)
    return np.where(folded >= size, 2 * (size - 1) - folded, folded)


def replicated(at: Array, size: int) -> Array:
    return np.clip(at, 0, size - 1)


def _mapped(into: Callable[[Array, int], Array]) -> Operator:
    def index(d: Demand) -> Ask:
        where, inner = _before(d, d["padding"])
        front = where[: len(where) - len(inner)]
        sizes = d.shape("self")[len(front) :]
        return d.ask("self", (*front, *(into(at, size) for at, size in zip(inner, sizes, strict=True))))

    return moving(index)


def _columns(d: Demand) -> Work:
    """im2col: row c * taps + tap, column a window; padding is 0."""
    kernel, dilation, padding, stride = (
        full(d[n], 2) for n in ("kernel_size", "dilation", "padding", "stride")
    )
    *front, row, column = d.where()
    *_, high, wide = d.shape("self")
    across = (wide + 2 * padding[1] - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1
    area = kernel[0] * kernel[1]
    tap = row % area
    y = column // across * stride[0] - padding[0] + tap // kernel[1] * dilation[0]
    x = column % across * stride[1] - padding[1] + tap % kernel[1] * dilation[1]
    inside = (y >= 0) & (y < high) & (x >= 0) & (x < wide)
    (found,) = yield (d.ask("self", [index[inside] for index in (*front, row // area, y, x)]),)
    return found.scattered(inside, 0)


def _images(d: Demand) -> Work:
    """col2im: the sum of everything that im2col would have taken from a place."""
    kernel, dilation, padding, stride = (
        full(d[n], 2) for n in ("kernel_size", "dilation", "padding", "stride")
    )
    *front, channel, y, x = (index[:, None] for index in d.where())
    high, wide = d.out.shape[-2:]
    counts = [
        (size + 2 * padding[a] - dilation[a] * (kernel[a] - 1) - 1) // stride[a] + 1
        for a, size in enumerate((high, wide))
    ]
    within(len(d) * kernel[0] * kernel[1])
    tap = taps(kernel)
    spread = [at + padding[a] - tap[a] * dilation[a] for a, at in enumerate((y, x))]
    window = [spread[a] // stride[a] for a in (0, 1)]
    inside = np.logical_and.reduce(
        [(spread[a] % stride[a] == 0) & (window[a] >= 0) & (window[a] < counts[a]) for a in (0, 1)]
    )
    row = (channel * kernel[0] + tap[0]) * kernel[1] + tap[1]
    where = (*front, row, window[0] * counts[1] + window[1])
    (found,) = yield (d.ask("self", [np.broadcast_to(index, inside.shape)[inside] for index in where]),)
    return total(found.scattered(inside, 0), len(d))


TABLE: Mapping[str, Operator] = {
    "aten.constant_pad_nd.default": Operator(_constant, moves=True),
    **{f"aten.reflection_pad{rank}d.default": _mapped(reflected) for rank in (1, 2, 3)},
    **{f"aten.replication_pad{rank}d.default": _mapped(replicated) for rank in (1, 2, 3)},
    "aten.im2col.default": Operator(_columns, moves=True),
    "aten.col2im.default": Operator(_images),
}
