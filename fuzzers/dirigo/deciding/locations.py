"""Which output locations are examined.

Invariant: locations stand for classes: elements that one vector instruction stored last went the same way
through the kernel. A location that an execution already showed to be wrong comes first; then the first and
the last element, where bounds go wrong; then one of each class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fuzzers.dirigo.simt.launch import Buffer
from fuzzers.dirigo.simt.tape import Array, Tape

CONCRETE = -1
COPIED = -2
UNWRITTEN = -3
NOTHING: Array = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Chosen:
    """Elements to look at, by row-major number, and the share of all elements that are of their classes."""

    elements: tuple[int, ...]
    share: float


def classes(tape: Tape, buffer: Buffer, places: Array) -> Array:
    """A class for every element: the instruction that stored it, or one of the above."""
    plane = buffer.plane
    if plane.nodes is None:
        found: Array = np.full(places.shape, CONCRETE if plane.leaf is None else COPIED, np.int64)
    else:
        nodes = plane.nodes[places].astype(np.int64)
        found = np.searchsorted(np.array(tape.starts, np.int64), nodes, side="right") - 1
        found = np.where(nodes < 0, COPIED, np.where(nodes == 0, CONCRETE, found))
    if plane.written is not None:
        found = np.where(plane.written[places], found, UNWRITTEN)
    return found


def choose(found: Array, count: int, suspicious: Array = NOTHING, seed: int = 0) -> Chosen:
    """Up to `count` elements of an output whose elements have these classes."""
    total = found.shape[0]
    if not total:
        return Chosen((), 1.0)
    rng = np.random.default_rng(seed)
    wanted = [*_spread(suspicious, max(1, count // 2)), 0, total - 1]
    names, sizes = np.unique(found, return_counts=True)
    for name in names[np.argsort(-sizes, kind="stable")].tolist():
        if len(dict.fromkeys(wanted)) >= count:
            break
        members = np.flatnonzero(found == name)
        if np.isin(members, wanted).any():
            continue
        wanted.append(int(members[rng.integers(members.shape[0])]))
    while len(dict.fromkeys(wanted)) < min(count, total):
        wanted.append(int(rng.integers(total)))
    elements = tuple(dict.fromkeys(wanted))[:count]
    share = float(np.isin(found, found[list(elements)]).mean())
    return Chosen(elements, share)


def _spread(elements: Array, count: int) -> list[int]:
    """The first, the last, and some between."""
    if len(elements) <= count:
        return [int(element) for element in elements]
    return [int(elements[int(i)]) for i in np.linspace(0, len(elements) - 1, count)]
