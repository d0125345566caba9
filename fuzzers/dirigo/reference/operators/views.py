"""Views and rearrangements: every output element is one input element, at an index that shapes decide."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fuzzers.dirigo.reference.demand import Ask, Demand, Operator, moving
from fuzzers.dirigo.reference.graph import Array
from fuzzers.dirigo.reference.places import Places, places, strides


def _same(d: Demand) -> Ask:
    """The same element number: row-major order is kept."""
    return d.flat("self", d.at)


def _axis(d: Demand, name: str = "dim", extra: int = 0) -> int:
    """A dimension of `self`, counted from the front; `extra` where the result has more axes."""
    return int(d[name]) % max(len(d.shape("self")) + extra, 1)


def _with(where: Places, axis: int, index: Array) -> Places:
    return (*where[:axis], index, *where[axis + 1 :])


def _permute(d: Demand) -> Ask:
    where = d.where()
    dims = [int(dim) % len(where) for dim in d["dims"]]
    return d.ask("self", [where[dims.index(axis)] for axis in range(len(dims))])


def _transpose(d: Demand) -> Ask:
    where = list(d.where())
    if where:
        a, b = _axis(d, "dim0"), _axis(d, "dim1")
        where[a], where[b] = where[b], where[a]
    return d.ask("self", where)


def _t(d: Demand) -> Ask:
    return d.ask("self", d.where()[::-1])


def _expand(d: Demand) -> Ask:
    where = d.where()
    return d.ask("self", where[len(where) - len(d.shape("self")) :])


def _slice(d: Demand) -> Ask:
    axis = _axis(d)
    start, _, step = slice(d["start"], d["end"], d["step"]).indices(d.shape("self")[axis])
    where = d.where()
    return d.ask("self", _with(where, axis, start + where[axis] * step))


def _select(d: Demand) -> Ask:
    axis = _axis(d)
    where = d.where()
    index = np.full(len(d), int(d["index"]) % d.shape("self")[axis])
    return d.ask("self", (*where[:axis], index, *where[axis:]))


def _diagonal(d: Demand) -> Ask:
    rank = len(d.shape("self"))
    first, second, shift = int(d["dim1"]) % rank, int(d["dim2"]) % rank, int(d["offset"])
    *front, along = d.where()
    rest = iter(front)
    index = {first: along + max(-shift, 0), second: along + max(shift, 0)}
    return d.ask("self", [index[axis] if axis in index else next(rest) for axis in range(rank)])


def _unfold(d: Demand) -> Ask:
    *front, inner = d.where()
    axis = int(d["dimension"]) % max(len(d.shape("self")), 1)
    return d.ask("self", _with(tuple(front), axis, front[axis] * int(d["step"]) + inner))


def _as_strided(d: Demand) -> Ask:
    """Only of tensors that fill their storage: the element at a place in memory is then known."""
    where = d.where()
    stored: Array = np.full(len(d), int(d["storage_offset"] or 0))
    for index, step in zip(where, d["stride"], strict=True):
        stored = stored + index * int(step)
    layout = d.layout("self")
    order = sorted(
        (axis for axis, size in enumerate(layout.shape) if size > 1), key=lambda axis: -layout.strides[axis]
    )
    ordered = tuple(layout.shape[axis] for axis in order)
    if tuple(layout.strides[axis] for axis in order) != strides(ordered):
        raise d.unknown("a tensor with gaps")
    found = dict(zip(order, places(stored, ordered), strict=True))
    return d.ask("self", [found.get(axis, np.zeros(1, np.int64)) for axis in range(len(layout.shape))])


def _unbind(d: Demand) -> Ask:
    axis = _axis(d)
    where = d.where()
    return d.ask("self", (*where[:axis], np.full(len(d), d.output), *where[axis:]))


def _part(d: Demand, start: int) -> Ask:
    axis = _axis(d)
    where = d.where()
    return d.ask("self", _with(where, axis, where[axis] + start))


def _split(d: Demand) -> Ask:
    return _part(d, d.output * int(d["split_size"]))


def _split_sizes(d: Demand) -> Ask:
    return _part(d, sum(map(int, d["split_sizes"][: d.output])))


def _chunk(d: Demand) -> Ask:
    axis = _axis(d)
    return _part(d, d.output * -(-d.shape("self")[axis] // int(d["chunks"])))


def _flip(d: Demand) -> Ask:
    where = list(d.where())
    for dim in d["dims"]:
        axis = int(dim) % len(where)
        where[axis] = d.out.shape[axis] - 1 - where[axis]
    return d.ask("self", where)


def _roll(d: Demand) -> Ask:
    if not d["dims"]:
        return d.flat("self", (d.at - int(d["shifts"][0])) % d.out.count)
    where = list(d.where())
    for dim, shift in zip(d["dims"], d["shifts"], strict=True):
        axis = int(dim) % len(where)
        where[axis] = (where[axis] - int(shift)) % d.out.shape[axis]
    return d.ask("self", where)


def _repeat(d: Demand) -> Ask:
    shape = d.shape("self")
    where = d.where()
    inner = where[len(where) - len(shape) :]
    return d.ask("self", [index % size for index, size in zip(inner, shape, strict=True)])


def _copied(d: Demand) -> Ask:
    return d.alike(d["src"])


def _pixel_shuffle(d: Demand) -> Ask:
    factor = int(d["upscale_factor"])
    *front, channel, row, column = d.where()
    inner = (channel * factor + row % factor) * factor + column % factor
    return d.ask("self", (*front, inner, row // factor, column // factor))


def _pixel_unshuffle(d: Demand) -> Ask:
    factor = int(d["downscale_factor"])
    *front, channel, row, column = d.where()
    outer, inner = channel // factor**2, channel % factor**2
    return d.ask("self", (*front, outer, row * factor + inner // factor, column * factor + inner % factor))


def _channel_shuffle(d: Demand) -> Ask:
    where = d.where()
    groups = int(d["groups"])
    each = d.out.shape[1] // groups
    return d.ask("self", _with(where, 1, where[1] % groups * each + where[1] // groups))


KEEPING = (
    *("view.default", "reshape.default", "_unsafe_view.default", "_reshape_alias.default", "clone.default"),
    *(
        "contiguous.default",
        "alias.default",
        "detach.default",
        "lift_fresh_copy.default",
        "lift_fresh.default",
    ),
    *("unsqueeze.default", "squeeze.default", "squeeze.dim", "squeeze.dims", "flatten.using_ints"),
    *("unflatten.int", "view_as.default", "ravel.default"),
)
"""Operators that keep every element's number."""

TABLE: Mapping[str, Operator] = {
    **{f"aten.{name}": moving(_same) for name in KEEPING},
    "aten.permute.default": moving(_permute),
    "aten.transpose.int": moving(_transpose),
    "aten.t.default": moving(_t),
    "aten.expand.default": moving(_expand),
    "aten.slice.Tensor": moving(_slice),
    "aten.select.int": moving(_select),
    "aten.diagonal.default": moving(_diagonal),
    "aten.unfold.default": moving(_unfold),
    "aten.as_strided.default": moving(_as_strided),
    "aten.unbind.int": moving(_unbind),
    "aten.split.Tensor": moving(_split),
    "aten.unsafe_split.Tensor": moving(_split),
    "aten.split_with_sizes.default": moving(_split_sizes),
    "aten.unsafe_split_with_sizes.default": moving(_split_sizes),
    "aten.chunk.default": moving(_chunk),
    "aten.unsafe_chunk.default": moving(_chunk),
    "aten.flip.default": moving(_flip),
    "aten.roll.default": moving(_roll),
    "aten.repeat.default": moving(_repeat),
    "aten.copy.default": moving(_copied),
    "aten.pixel_shuffle.default": moving(_pixel_shuffle),
    "aten.pixel_unshuffle.default": moving(_pixel_unshuffle),
    "aten.channel_shuffle.default": moving(_channel_shuffle),
}
