"""Loads and stores of the active lanes, with every check beside them.

Invariant: a lane whose access is outside, misaligned, uninitialised or raced is noted as an event, and what
it reads is marked on the tape, so that the slice of an output tells whether it matters there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuzzers.dirigo.simt.events import Kind
from fuzzers.dirigo.simt.lanes import Lanes
from fuzzers.dirigo.simt.memory import Part
from fuzzers.dirigo.simt.plane import UNSIGNED, Plane
from fuzzers.dirigo.simt.tape import Array, Nodes, Op

Value = tuple[Array, Nodes]
WATCHED = frozenset({"global", "shared", "generic"})
"""Spaces that threads share: in these, order matters."""


def parts(m: Lanes, space: str, addresses: Array, width: int) -> list[Part]:
    """Where the accesses of the active lanes go."""
    return m.memory.parts(space, addresses, width, m.act)


def load(m: Lanes, space: str, addresses: Array, width: int, count: int, line: int) -> list[Value]:
    """Read `count` numbers of `width` bytes at each address."""
    found = parts(m, space, addresses, width * count)
    if len(found) == 1 and found[0].chosen is None:
        return _load_part(m, found[0], width, count, line, space in WATCHED)
    size = m.active().shape[0]
    bits = [np.zeros(size, UNSIGNED[width]) for _ in range(count)]
    nodes = [np.zeros(size, np.int32) for _ in range(count)]
    for part in found:
        lanes = np.arange(size) if part.chosen is None else part.chosen
        for i, (some_bits, some_nodes) in enumerate(
            _load_part(m, part, width, count, line, space in WATCHED)
        ):
            bits[i][lanes] = some_bits
            nodes[i][lanes] = some_nodes
    return [(b, _without_zeros(m, b, n)) for b, n in zip(bits, nodes, strict=True)]


def _without_zeros(m: Lanes, bits: Array, nodes: Array) -> Nodes:
    if not nodes.any():
        return 0
    return nodes if nodes.all() else np.where(nodes == 0, m.tape.constants(bits), nodes)


def _load_part(m: Lanes, part: Part, width: int, count: int, line: int, watched: bool) -> list[Value]:
    plane, offsets = part.plane, part.offsets
    good = allowed(m, part, width * count, line, Kind.READ_OUTSIDE)
    if good is not None:
        offsets = np.where(good, offsets, 0)
        if plane.size < width * count:
            return [_nothing(m, good.shape[0], width, line) for _ in range(count)]
    granules = plane.granules(offsets, width * count)
    marks = []
    if plane.written is not None:
        written = plane.written[granules]
        if np.count_nonzero(written) < written.shape[0]:
            fresh = ~_per_access(written, offsets.shape[0], np.all)
            if good is not None:
                fresh &= good
            if fresh.any():
                m.event(Kind.UNINITIALISED, line, _lanes(m, part, fresh), plane.name)
                marks.append((fresh, Kind.UNINITIALISED))
    if watched:
        raced = _raced_read(m, part, granules, offsets.shape[0])
        if raced is not None:
            kind = _race_kind(m, plane)
            m.event(kind, line, _lanes(m, part, raced), plane.name)
            marks.append((raced, kind))
    if good is not None:
        marks.append((~good, Kind.READ_OUTSIDE))
    values = [plane.load(m.tape, offsets + i * width if i else offsets, width) for i in range(count)]
    for which, kind in marks:
        values = [_marked(m, value, which, kind, line) for value in values]
    return values


def store(m: Lanes, space: str, addresses: Array, width: int, values: list[Value], line: int) -> None:
    """Write the numbers of `values`, each `width` bytes wide, one after another at each address."""
    size = m.active().shape[0]
    for part in parts(m, space, addresses, width * len(values)):
        good = allowed(m, part, width * len(values), line, Kind.WRITE_OUTSIDE)
        offsets = np.broadcast_to(part.offsets, (size,)) if part.chosen is None else part.offsets
        chosen = part.chosen
        if good is not None:
            kept = np.flatnonzero(np.broadcast_to(good, offsets.shape))
            offsets = offsets[kept]
            chosen = kept if chosen is None else chosen[kept]
        if offsets.shape[0]:
            picked = [(_some(bits, chosen), _some(nodes, chosen)) for bits, nodes in values]
            _store_part(m, part.plane, offsets, width, picked, chosen, line, space in WATCHED)


def _store_part(
    m: Lanes,
    plane: Plane,
    offsets: Array,
    width: int,
    values: list[Value],
    chosen: Array | None,
    line: int,
    watched: bool,
) -> None:
    lanes = m.active() if chosen is None else m.active()[chosen]
    for i, (bits, nodes) in enumerate(values):
        places = offsets + i * width if i else offsets
        if watched:
            raced = _raced_write(m, plane, places, width, bits, lanes)
            if raced is not None:
                kind = _race_kind(m, plane)
                m.event(kind, line, lanes[raced], plane.name)
                bits, nodes = _marked(m, (bits, nodes), raced, kind, line)
        plane.store(m.tape, places, width, bits, nodes)
        if watched and lanes.shape[0] > 1:
            other = plane.view(width)[places // width] != bits
            if np.count_nonzero(other):
                m.event(Kind.DISAGREEING, line, lanes[other], plane.name)


def _raced_read(m: Lanes, part: Part, granules: Array, accesses: int) -> Array | None:
    """Which reads race."""
    watch = part.plane.watch
    if watch is None:
        return None
    now = m.stamp if part.chosen is None and m.act is None else m.stamp[_of(m, part)]
    each = granules.shape[0] // accesses
    if each > 1 and accesses > 1:
        now = np.repeat(now, each)
    elif each > 1:
        granules, now = np.tile(granules, now.shape[0]), np.repeat(now, each)
    found = watch.read(granules, now)
    if found is None:
        return None
    return _exempt(m, part.plane, _per_access(found, now.shape[0] // each, np.any))


def _of(m: Lanes, part: Part) -> Array:
    """The lanes that access a part."""
    return m.active() if part.chosen is None else m.active()[part.chosen]


def _raced_write(
    m: Lanes, plane: Plane, places: Array, width: int, bits: Array, lanes: Array
) -> Array | None:
    """Which writes race; to write what is there already does so only in name."""
    if plane.watch is None:
        return None
    granules = plane.granules(places, width)
    now = m.stamp[lanes]
    each = granules.shape[0] // now.shape[0]
    found = plane.watch.write(granules, np.repeat(now, each) if each > 1 else now)
    if found is None:
        return None
    raced = _per_access(found, now.shape[0], np.any) & (plane.view(width)[places // width] != bits)
    return _exempt(m, plane, raced)


def _exempt(m: Lanes, plane: Plane, raced: Array) -> Array | None:
    """In a kernel with fences, blocks may be in an order that stamps do not see."""
    excused = m.fenced and plane is not m.memory.shared
    return None if excused or not raced.any() else raced


def _race_kind(m: Lanes, plane: Plane) -> Kind:
    return Kind.RACE if plane is m.memory.shared or len(m.blocks) == 1 else Kind.CROSS_BLOCK


def allowed(m: Lanes, part: Part, width: int, line: int, kind: Kind) -> Array | None:
    """Which accesses lie inside and are aligned; None: all of them."""
    good = part.inside
    if good is not None:
        m.event(kind, line, _lanes(m, part, ~good), part.plane.name)
    if np.bitwise_or.reduce(part.offsets) & (width - 1):
        bad = part.offsets & (width - 1) != 0
        m.event(Kind.MISALIGNED, line, _lanes(m, part, bad), part.plane.name)
        good = ~bad if good is None else good & ~bad
    return good


def _lanes(m: Lanes, part: Part, which: Array) -> Array:
    lanes = _of(m, part)
    return lanes if which.shape[0] == 1 else lanes[which]


def _per_access(flags: Array, accesses: int, fold: Callable[..., Array]) -> Array:
    return flags if flags.shape[0] == accesses else fold(flags.reshape(accesses, -1), axis=1)


def _nothing(m: Lanes, count: int, width: int, line: int) -> Value:
    bits: Array = np.zeros(count, UNSIGNED[width])
    return bits, m.tape.append(Op.UNDEFINED, f"b{8 * width}", line, (), bits, Kind.READ_OUTSIDE)


def _marked(m: Lanes, value: Value, which: Array, kind: Kind, line: int) -> Value:
    """A value that some lanes should not have got: their nodes say so."""
    bits, nodes = value
    if bits.shape[0] == 1 and which.shape[0] > 1:
        bits = np.repeat(bits, which.shape[0])
    held = m.tape.constants(bits) if nodes.__class__ is int else nodes
    op = Op.RACED if kind in (Kind.RACE, Kind.CROSS_BLOCK) else Op.UNDEFINED
    operands = (held,) if op is Op.RACED else ()
    marked = m.tape.append(op, f"b{8 * bits.itemsize}", line, operands, bits, kind)
    chosen: Array = np.where(which, marked, held)
    return bits, chosen.astype(np.int32)


def _some(values: Nodes, chosen: Array | None) -> Nodes:
    if chosen is None or values.__class__ is int or values.shape[0] == 1:
        return values
    return values[chosen]
