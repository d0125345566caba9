"""The lanes of a run: every thread of the blocks that run together, their registers, and which are active.

Invariant: a register holds bits and, where they derive from data, tape nodes. Both are one array over all
lanes, or an array of one element while all lanes agree (nodes: 0 while there are none); an array, once in a
register, is never written to, because the tape holds it too. A node array has no 0 in it: a lane with a
concrete number among lanes with data gets a constant's node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fuzzers.dirigo.simt import races
from fuzzers.dirigo.simt.events import Event, Kind
from fuzzers.dirigo.simt.memory import Memory
from fuzzers.dirigo.simt.tape import Array, Nodes, Tape

WARP = 32
Three = tuple[int, int, int]
NOTHING: Array = np.zeros(1, np.uint64)


class Decision(NamedTuple):
    """A branch or guard that data decided: nodes of the predicate, what it was, for which lanes, on which
    line."""

    nodes: Array
    taken: Array
    lanes: Array
    line: int


class Lanes:
    """The state of a run. `order` is the order of blocks and warps in the lanes, thereby who comes first."""

    def __init__(
        self, tape: Tape, memory: Memory, grid: Three, block: Three, blocks: Sequence[Three]
    ) -> None:
        self.tape = tape
        self.memory = memory
        self.grid, self.shape = grid, block
        self.blocks = tuple(blocks)
        self.threads = block[0] * block[1] * block[2]
        self.count = self.threads * len(self.blocks)
        self.everyone = np.arange(self.count)
        self.act: Array | None = None
        self.bits: list[Array] = []
        self.nodes: list[Nodes] = []
        self.block: Array = self.everyone // self.threads
        self.thread: Array = self.everyone % self.threads
        self.phase: Array = np.ones(len(self.blocks), np.int64)
        self.stamp = NOTHING
        self.events: dict[tuple[Kind, int], Event] = {}
        self.decisions: list[Decision] = []
        self.exited: Array = np.zeros(self.count, bool)
        self.fenced = False
        self.steps = 0

    def reverse(self) -> None:
        """The other schedule: blocks and the warps of each block in reverse order."""
        self.blocks = self.blocks[::-1]
        warps = -(-self.threads // WARP)
        own = np.arange(self.threads)
        order = np.concatenate([own[warp * WARP : (warp + 1) * WARP] for warp in range(warps - 1, -1, -1)])
        self.thread = np.tile(order, len(self.blocks))

    def settle(self) -> None:
        """Compute what follows from the order of the lanes: warps, stamps."""
        self.in_warp: Array = self.thread % WARP
        self.first = self.everyone - self.in_warp
        self.warp_size = np.minimum(WARP, self.threads - (self.thread - self.in_warp))
        self.new_phase()

    def new_phase(self) -> None:
        """All lanes that live have met: what came before is in order with what comes."""
        for plane in (self.memory.shared, *self.memory.buffers):
            if plane.watch is not None:
                plane.watch.new_phase()
        self.stamp = races.stamps(self.block, self.phase[self.block], self.thread // WARP)

    # Registers

    def active(self) -> Array:
        """The numbers of the active lanes."""
        return self.everyone if self.act is None else self.act

    def read(self, slot: int) -> Array:
        """A register's bits in the active lanes, or one element where all lanes agree."""
        bits = self.bits[slot]
        return bits if self.act is None or bits.shape[0] == 1 else bits[self.act]

    def node(self, slot: int) -> Nodes:
        """A register's nodes in the active lanes; 0 where it holds no data."""
        nodes = self.nodes[slot]
        if nodes.__class__ is int or self.act is None or nodes.shape[0] == 1:
            return nodes
        return nodes[self.act]

    def ids(self, slot: int) -> Array:
        """A register's nodes in the active lanes, constants where it holds concrete numbers."""
        nodes = self.node(slot)
        return self.tape.constants(self.read(slot)) if nodes.__class__ is int else nodes

    def write(self, slot: int, bits: Array, nodes: Nodes = 0) -> None:
        """Set a register in the active lanes."""
        if self.act is None:
            self.bits[slot] = bits
            self.nodes[slot] = nodes
            return
        old, old_nodes = self.bits[slot], self.nodes[slot]
        merged = np.empty(self.count, bits.dtype)
        merged[:] = old
        merged[self.act] = bits
        self.bits[slot] = merged
        if nodes.__class__ is int and old_nodes.__class__ is int:
            return
        held: Array = np.empty(self.count, np.int32)
        held[:] = self.tape.constants(old.astype(bits.dtype)) if old_nodes.__class__ is int else old_nodes
        held[self.act] = self.tape.constants(bits) if nodes.__class__ is int else nodes
        self.nodes[slot] = held

    def spread(self, values: Array) -> Array:
        """Values of the active lanes as one element a lane."""
        return np.broadcast_to(values, self.active().shape) if values.shape[0] == 1 else values

    # What goes wrong

    def event(self, kind: Kind, line: int, lanes: Array, where: str = "") -> None:
        """Note that something happened in these lanes."""
        before = self.events.get((kind, line))
        if before is None:
            lane = int(lanes[0])
            before = Event(kind, line, self.blocks[lane // self.threads], self.place(lane), where, 0)
        times = before.times + lanes.shape[0]
        self.events[kind, line] = Event(kind, line, before.block, before.thread, before.where, times)

    def place(self, lane: int) -> Three:
        """The thread index of a lane."""
        thread = int(self.thread[lane])
        x, y, _ = self.shape
        return thread % x, thread // x % y, thread // (x * y)

    def decided(self, nodes: Nodes, taken: Array, line: int) -> None:
        """Note that data decided where the active lanes go."""
        if nodes.__class__ is not int:
            self.decisions.append(Decision(nodes, taken, self.active(), line))
