"""Operators that put tensors together or pick elements by index: cat, stack, gather, index, masks, scatters.

Invariant: an index is a concrete integer; one that data decides is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fuzzers.dirigo.reference.demand import Ask, Demand, Operator, Work, moving
from fuzzers.dirigo.reference.folding import total
from fuzzers.dirigo.reference.graph import Array, Ref
from fuzzers.dirigo.reference.places import Places, numbers, places, within
from fuzzers.dirigo.reference.values import merged


def _axis(d: Demand, name: str = "dim") -> int:
    return int(d[name]) % max(len(d.out.shape), 1)


def _cat(d: Demand) -> Work:
    axis = _axis(d)
    refs = [ref for ref in d["tensors"] if d.traced.layout(ref).shape != (0,)]
    where = d.where()
    ends = np.cumsum([d.traced.layout(ref).shape[axis] for ref in refs])
    part = np.searchsorted(ends, where[axis], side="right")
    starts = np.concatenate([[0], ends])
    lanes = [np.flatnonzero(part == at) for at in range(len(refs))]
    asks = []
    for at, ref in enumerate(refs):
        index = [one[lanes[at]] for one in where]
        index[axis] = index[axis] - starts[at]
        asks.append(d.of(ref, index))
    answers = yield tuple(asks)
    return merged([(lane, found.cast(d.out.type)) for lane, found in zip(lanes, answers, strict=True)])


def _stack(d: Demand) -> Work:
    axis = _axis(d)
    where = d.where()
    rest = (*where[:axis], *where[axis + 1 :])
    lanes = [np.flatnonzero(where[axis] == at) for at in range(len(d["tensors"]))]
    asks = []
    for ref, lane in zip(d["tensors"], lanes, strict=True):
        asks.append(
            d.of(ref, [one[lane] for one in rest]) if rest else Ask(ref, np.zeros(lane.shape, np.int64))
        )
    answers = yield tuple(asks)
    return merged(list(zip(lanes, answers, strict=True)))


def _index_select(d: Demand) -> Ask:
    axis = _axis(d)
    where = list(d.where())
    if not where:
        return d.flat("self", d.at)
    where[axis] = d.known("index").reshape(-1)[where[axis]]
    return d.ask("self", where)


def _gather(d: Demand) -> Ask:
    axis = _axis(d)
    where = list(d.where())
    if not where:
        return d.flat("self", d.at)
    where[axis] = d.known("index")[tuple(where)]
    return d.ask("self", where)


def _take(d: Demand) -> Ask:
    index = d.known("index").reshape(-1)[d.at]
    return d.flat("self", index % d.layout("self").count)


def _embedding(d: Demand) -> Ask:
    *front, column = d.where()
    row = d.known("indices")[tuple(front)]
    return d.ask("weight", (row, column))


def _indices(d: Demand, shape: Sequence[int]) -> list[Array | None]:
    """The tensors of an advanced index, one an axis of `shape`; masks become the integers that they mean."""
    found: list[Array | None] = []
    for ref in d["indices"]:
        if ref is None:
            found.append(None)
            continue
        if ref not in d.concrete:
            raise d.unknown("the index depends on data")
        index = d.concrete[ref]
        found += list(np.nonzero(index)) if index.dtype == bool else [index]
    found += [None] * (len(shape) - len(found))
    return [
        None if one is None else np.where(one < 0, one + size, one)
        for one, size in zip(found, shape, strict=True)
    ]


def _front(indices: Sequence[Array | None]) -> int:
    """Where the axes of an advanced index go: where the first one was, if they are neighbours; else first."""
    used = [axis for axis, one in enumerate(indices) if one is not None]
    together = used[-1] - used[0] + 1 == len(used)
    return used[0] if together else 0


def _indexed(indices: Sequence[Array | None], where: Places) -> list[Array]:
    """A multi-index of the result as one of the tensor that is indexed."""
    used = [one for one in indices if one is not None]
    rank = np.broadcast_shapes(*(one.shape for one in used))
    front = _front(indices)
    inner = where[front : front + len(rank)]
    rest = iter((*where[:front], *where[front + len(rank) :]))
    return [np.broadcast_to(one, rank)[tuple(inner)] if one is not None else next(rest) for one in indices]


def _index(d: Demand) -> Ask:
    indices = _indices(d, d.shape("self"))
    if all(one is None for one in indices):
        return d.flat("self", d.at)
    return d.ask("self", [np.broadcast_to(one, len(d)) for one in _indexed(indices, d.where())])


def _slice_scatter(d: Demand) -> Work:
    axis = _axis(d)
    where = d.where()
    start, stop, step = slice(d["start"], d["end"], d["step"]).indices(d.out.shape[axis])
    covered = (where[axis] >= start) & (where[axis] < stop) & ((where[axis] - start) % step == 0)
    lanes = np.flatnonzero(covered)
    index = [one[lanes] for one in where]
    index[axis] = (index[axis] - start) // step
    found = yield from _overwritten(d, covered, d.of(d["src"], index))
    return found


def _select_scatter(d: Demand) -> Work:
    axis = _axis(d)
    where = d.where()
    covered = where[axis] == int(d["index"]) % d.out.shape[axis]
    lanes = np.flatnonzero(covered)
    rest = [one[lanes] for one in (*where[:axis], *where[axis + 1 :])]
    ask = d.of(d["src"], rest) if rest else d.flat("src", np.zeros(lanes.shape, np.int64))
    found = yield from _overwritten(d, covered, ask)
    return found


def _diagonal_scatter(d: Demand) -> Work:
    rank, where = len(d.out.shape), d.where()
    first, second, shift = int(d["dim1"]) % rank, int(d["dim2"]) % rank, int(d["offset"])
    covered = where[second] - where[first] == shift
    lanes = np.flatnonzero(covered)
    rest = [one[lanes] for axis, one in enumerate(where) if axis not in (first, second)]
    along = where[first][lanes] - max(-shift, 0)
    found = yield from _overwritten(d, covered, d.of(d["src"], (*rest, along)))
    return found


def _overwritten(d: Demand, covered: Array, source: Ask) -> Work:
    """`self`, with the asked elements of the source where covered."""
    kept, new = np.flatnonzero(~covered), np.flatnonzero(covered)
    old, written = yield d.flat("self", d.at[kept]), source
    return merged([(kept, old), (new, written.cast(d.out.type))])


def _index_put(d: Demand) -> Work:
    """The last write to a place wins, as on one thread; accumulated ones are summed."""
    shape = d.out.shape
    indices = _indices(d, shape)
    if all(one is None for one in indices):
        raise d.unknown("no index")
    used = [one for one in indices if one is not None]
    rank = np.broadcast_shapes(*(one.shape for one in used))
    front = _front(indices)
    rest = tuple(size for size, one in zip(shape, indices, strict=True) if one is None)
    written = (*rest[:front], *rank, *rest[front:])
    count = within(int(np.prod(written, dtype=np.int64)))
    target = numbers(_indexed(indices, places(np.arange(count), written)), shape)
    value = np.broadcast_to(np.arange(d.layout("values").count).reshape(d.shape("values")), written).reshape(
        -1
    )
    found = yield from _scattered(d, target, value, "values", bool(d["accumulate"]))
    return found


def _scattered(d: Demand, target: Array, value: Array, name: str, sums: bool) -> Work:
    """`self` with element `value[i]` of the source written (or added) to element `target[i]`."""
    order = np.argsort(target, kind="stable")
    ordered = target[order]
    low: Array = np.searchsorted(ordered, d.at)
    high: Array = np.searchsorted(ordered, d.at, side="right")
    if not sums:
        covered = high > low
        source = value[order[high[covered] - 1]]
        found = yield from _overwritten(d, covered, Ask(d[name], source))
        return found
    width = int((high - low).max())
    within(width * len(d))
    slot = low[:, None] + np.arange(width)
    held = slot < high[:, None]
    old, added = yield d.flat("self", d.at), Ask(d[name], value[order[slot[held]]])
    return old + total(added.scattered(held, 0), len(d)) if width else old


def _scatter(d: Demand, sums: bool) -> Work:
    index = d.known("index")
    axis = _axis(d)
    where = list(places(np.arange(within(index.size)), index.shape))
    value: Array = np.arange(index.size)
    if isinstance(d.call.arguments.get("src"), Ref):
        value = numbers(where, d.shape("src"))
    where[axis] = index.reshape(-1)
    target = numbers(where, d.out.shape)
    if isinstance(d.call.arguments.get("src"), Ref):
        found = yield from _scattered(d, target, value, "src", sums)
        return found
    covered = np.isin(d.at, target)
    (old,) = yield (d.flat("self", d.at[~covered]),)
    return merged([(np.flatnonzero(~covered), old), (np.flatnonzero(covered), d.number(d["value"]))])


def _scatter_reduce(d: Demand) -> Work:
    if d["reduce"] != "sum" or not d["include_self"]:
        raise d.unknown(f"reduce {d['reduce']}")
    found = yield from _scatter(d, True)
    return found


def _index_add(d: Demand) -> Work:
    index = d.known("index").reshape(-1)
    axis = _axis(d)
    if d["alpha"] != 1:
        raise d.unknown("alpha")
    shape = d.shape("source")
    where = list(places(np.arange(within(d.layout("source").count)), shape))
    where[axis] = index[where[axis]]
    value: Array = np.arange(d.layout("source").count)
    found = yield from _scattered(d, numbers(where, d.out.shape), value, "source", True)
    return found


def _index_copy(d: Demand) -> Work:
    index = d.known("index").reshape(-1)
    axis = _axis(d)
    where = list(places(np.arange(within(d.layout("source").count)), d.shape("source")))
    where[axis] = index[where[axis]]
    value: Array = np.arange(d.layout("source").count)
    found = yield from _scattered(d, numbers(where, d.out.shape), value, "source", False)
    return found


def _triangle(lower: bool) -> Operator:
    def work(d: Demand) -> Work:
        *_, row, column = d.where()
        shift = int(d["diagonal"])
        kept = column - row <= shift if lower else column - row >= shift
        (found,) = yield (d.flat("self", d.at[kept]),)
        return found.scattered(kept, 0)

    return Operator(work, moves=True)


def _repeat_interleave(d: Demand) -> Ask:
    where = list(d.where())
    axis = _axis(d)
    where[axis] = where[axis] // int(d["repeats"])
    return d.ask("self", where)


def _diag_embed(d: Demand) -> Work:
    rank, where = len(d.out.shape), d.where()
    first, second, shift = int(d["dim1"]) % rank, int(d["dim2"]) % rank, int(d["offset"])
    kept = where[second] - where[first] == shift
    rest = [one[kept] for axis, one in enumerate(where) if axis not in (first, second)]
    (found,) = yield (d.ask("self", (*rest, where[first][kept] - max(-shift, 0))),)
    return found.scattered(kept, 0)


TABLE: Mapping[str, Operator] = {
    "aten.cat.default": Operator(_cat, moves=True),
    "aten.stack.default": Operator(_stack, moves=True),
    "aten.index_select.default": moving(_index_select),
    "aten.gather.default": moving(_gather),
    "aten.take.default": moving(_take),
    "aten.embedding.default": moving(_embedding),
    "aten.index.Tensor": moving(_index),
    "aten._unsafe_index.Tensor": moving(_index),
    "aten.slice_scatter.default": Operator(_slice_scatter, moves=True),
    "aten.select_scatter.default": Operator(_select_scatter, moves=True),
    "aten.diagonal_scatter.default": Operator(_diagonal_scatter, moves=True),
    "aten.index_put.default": Operator(_index_put),
    "aten._unsafe_index_put.default": Operator(_index_put),
    "aten.scatter.src": Operator(lambda d: _scatter(d, False)),
    "aten.scatter.value": Operator(lambda d: _scatter(d, False)),
    "aten.scatter_add.default": Operator(lambda d: _scatter(d, True)),
    "aten.scatter_reduce.two": Operator(_scatter_reduce),
    "aten.index_add.default": Operator(_index_add),
    "aten.index_copy.default": Operator(_index_copy),
    "aten.tril.default": _triangle(True),
    "aten.triu.default": _triangle(False),
    "aten.repeat_interleave.self_int": moving(_repeat_interleave),
    "aten.diag_embed.default": Operator(_diag_embed, moves=True),
}
