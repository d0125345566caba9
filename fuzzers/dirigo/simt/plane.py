"""A stretch of memory: bytes, and for each granule the tape node that it holds, whether it was written, and
who touched it last.

Invariant: a granule's node, where it has one, computes the granule's bytes. A granule is as wide as the
elements that live in the memory (`unit` bytes); a wider value is kept whole in its first granule and the
others say so; a narrower access to a granule that has a node is `Unknown`.
"""

from __future__ import annotations

import numpy as np

from fuzzers.dirigo.simt.events import Unknown
from fuzzers.dirigo.simt.races import Watch
from fuzzers.dirigo.simt.tape import Array, Nodes, Op, Tape

UNSIGNED = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}
SHIFT = {1: 0, 2: 1, 4: 2, 8: 3}
CONTINUED = np.int32(-(1 << 31))
"""The node of a granule that is the rest of a wider value."""


class Plane:
    """`size` bytes of one space. `leaf` is the first input number where the memory is an input."""

    def __init__(
        self, name: str, data: Array, unit: int, *, leaf: int | None = None, written: bool = True
    ) -> None:
        self.name = name
        self.data = data
        self.size = data.nbytes
        self.unit = unit
        self.leaf = leaf
        self.nodes: Array | None = None
        self.wide = False
        self.written = None if written else np.zeros(-(-self.size // unit), bool)
        self.watch: Watch | None = None
        self.views: dict[int, Array] = {}

    def view(self, width: int) -> Array:
        """The bytes as numbers of `width` bytes; a rest that fills none is left out."""
        if width not in self.views:
            whole = self.data[: self.size - self.size % width]
            self.views[width] = whole.view(UNSIGNED[width])
        return self.views[width]

    def begin_launch(self, *, forgets: bool, swaps: bool) -> None:
        """Forget who touched what; `forgets` and `swaps` as in `Watch`."""
        self.watch = Watch(-(-self.size // self.unit), forgets, swaps)

    def granules(self, offsets: Array, width: int) -> Array:
        """The granules under accesses of `width` bytes; several an access lie one after another."""
        first = offsets >> SHIFT[self.unit] if self.unit > 1 else offsets
        count = width // self.unit
        return first if count <= 1 else (first[:, None] + np.arange(count)).ravel()

    def load(self, tape: Tape, offsets: Array, width: int) -> tuple[Array, Nodes]:
        """Bits and nodes (0: none) of aligned accesses that lie inside."""
        bits = self.view(width)[offsets >> SHIFT[width]]
        if self.nodes is None and self.leaf is None:
            return bits, 0
        count = width // self.unit
        if count == 1:
            return bits, self._held(tape, offsets >> SHIFT[self.unit], bits)
        if not count:
            return bits, self._narrow(offsets, bits)
        return bits, self._packed(tape, offsets >> SHIFT[self.unit], width, bits)

    def store(self, tape: Tape, offsets: Array, width: int, bits: Array, nodes: Nodes) -> None:
        """Write aligned accesses that lie inside; of several to one place the last one stays."""
        self.view(width)[offsets >> SHIFT[width]] = bits
        if self.written is not None:
            self.written[self.granules(offsets, width)] = True
        if nodes.__class__ is int and self.nodes is None and self.leaf is None:
            return
        held = self.own_nodes()
        count = width // self.unit
        if not count:
            if nodes.__class__ is not int or held[offsets >> SHIFT[self.unit]].any():
                raise Unknown(f"a write of {width} bytes into elements of {self.unit} in {self.name}")
            return
        first = offsets >> SHIFT[self.unit]
        held[first] = nodes
        if count > 1:
            rest = 0 if nodes.__class__ is int else CONTINUED
            self.wide |= nodes.__class__ is not int
            for part in range(1, count):
                held[first + part] = rest

    @property
    def is_concrete(self) -> bool:
        """Whether no element is a number on the tape."""
        return self.leaf is None and (self.nodes is None or not self.nodes.any())

    def forget(self, index: Array) -> None:
        """What lies at these granules from now on is nothing but its bits."""
        if not self.is_concrete:
            self.own_nodes()[index] = 0

    def own_nodes(self) -> Array:
        """The nodes of all granules, to be written to."""
        if self.nodes is None:
            count = -(-self.size // self.unit)
            if self.leaf is None:
                self.nodes = np.zeros(count, np.int32)
            else:
                self.nodes = (-1 - self.leaf - np.arange(count)).astype(np.int32)
        return self.nodes

    def _held(self, tape: Tape, index: Array, bits: Array) -> Nodes:
        """The nodes of whole granules."""
        if self.nodes is None:
            return (-1 - (self.leaf or 0) - index).astype(np.int32)
        nodes = self.nodes[index]
        held = np.count_nonzero(nodes)
        if not held:
            return 0
        if self.wide:
            nodes = self._halves(tape, index, nodes, bits)
        if held < nodes.shape[0]:
            nodes = np.where(nodes == 0, tape.constants(bits), nodes)
        return nodes

    def _halves(self, tape: Tape, index: Array, nodes: Array, bits: Array) -> Array:
        """Nodes of single granules among which may be halves of a wider value."""
        assert self.nodes is not None
        high = nodes == CONTINUED
        following = self.nodes[np.minimum(index + 1, self.nodes.shape[0] - 1)]
        low = (following == CONTINUED) & ~high
        type_ = f"b{8 * self.unit}"
        if high.any():
            if (self.nodes[index[high] - 1] == CONTINUED).any():
                raise Unknown(f"a quarter of a wider value is read in {self.name}")
            parts = tape.append(Op.HIGH, type_, 0, (self.nodes[index[high] - 1],), bits[high])
            nodes = nodes.copy()
            nodes[high] = parts
        if low.any():
            parts = tape.append(Op.LOW, type_, 0, (nodes[low],), bits[low])
            nodes = nodes.copy()
            nodes[low] = parts
        return nodes

    def _narrow(self, offsets: Array, bits: Array) -> int:
        if self.nodes is None or self.nodes[offsets >> SHIFT[self.unit]].any():
            raise Unknown(f"a read of {bits.itemsize} bytes out of elements of {self.unit} in {self.name}")
        return 0

    def _packed(self, tape: Tape, first: Array, width: int, bits: Array) -> Nodes:
        """The nodes of accesses that span several granules: the whole value that was stored, or its parts
        packed."""
        count = width // self.unit
        if self.nodes is not None:
            spanned = self.nodes[first[:, None] + np.arange(count)]
            if not spanned.any():
                return 0
            if (spanned[:, 1:] == CONTINUED).all():
                return np.asarray(spanned[:, 0])
        half = width // 2
        shift = np.array(8 * half, UNSIGNED[width])
        low_bits = bits.astype(UNSIGNED[half])
        high_bits = (bits >> shift).astype(UNSIGNED[half])
        if count == 2:
            low = self._held(tape, first, low_bits)
            high = self._held(tape, first + 1, high_bits)
        else:
            low = self._packed(tape, first, half, low_bits)
            high = self._packed(tape, first + count // 2, half, high_bits)
        parts = tuple(
            tape.constants(value) if nodes.__class__ is int else nodes
            for value, nodes in ((low_bits, low), (high_bits, high))
        )
        return tape.append(Op.PACK, f"b{8 * width}", 0, parts, bits)
