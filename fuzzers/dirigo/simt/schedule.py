"""Which lanes run when: those furthest behind first, over basic blocks, until every lane is done.

Invariant: every lane runs every one of its instructions once and in order; lanes that are at the same block
run it together. When all that live wait at barriers, they go on and a new phase begins.
"""

from __future__ import annotations

import time

import numpy as np

from fuzzers.dirigo.simt.events import Kind, Unknown
from fuzzers.dirigo.simt.lanes import Lanes
from fuzzers.dirigo.simt.program import LEAVES, Program
from fuzzers.dirigo.simt.tape import Array

PATIENCE = 64
"""Blocks between two looks at the clock."""


class Schedule:
    """The waiting lanes of one run. `steps` and `seconds` are the limits after which it is `Unknown`."""

    def __init__(self, program: Program, lanes: Lanes, *, steps: int, seconds: float) -> None:
        self.program = program
        self.lanes = lanes
        self.ready: dict[int, Array] = {}
        self.waiting: list[tuple[int, int, Array]] = []
        self.limit = steps
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.turns = 0

    def run(self) -> None:
        """Run to the end; raises Unknown at a limit."""
        self.ready[0] = self.lanes.everyone
        with np.errstate(all="ignore"):
            while self.ready or self.waiting:
                if not self.ready:
                    self._release()
                at = min(self.ready)
                self._go(at, self.ready.pop(at))

    def _go(self, at: int, active: Array) -> None:
        """Run blocks with these lanes as long as they stay together and nobody is behind them."""
        m, blocks = self.lanes, self.program.blocks
        m.act = None if active.shape[0] == m.count else active
        while True:
            block = blocks[at]
            for step in block.steps:
                step(m)
            m.steps += len(block.steps) + 1
            self._look_at_limits(block.line)
            where = block.end(m)
            if not isinstance(where, int):
                for target, some in where:
                    self._put(target, some)
                return
            if block.barrier and where != LEAVES:
                self.waiting.append((at, where, active))
                return
            if where == LEAVES or self.ready:
                self._put(where, active)
                return
            at = where

    def _put(self, target: int, some: Array) -> None:
        if target == LEAVES:
            self.lanes.exited[some] = True
        elif target in self.ready:
            self.ready[target] = np.sort(np.concatenate([self.ready[target], some]))
        else:
            self.ready[target] = some

    def _release(self) -> None:
        """Everybody who lives waits: note blocks whose lanes wait at different barriers, and let all go
        on."""
        m = self.lanes
        if len(self.waiting) > 1:
            self._note_divergence()
        arrived = np.concatenate([some for _, _, some in self.waiting])
        m.phase[np.unique(m.block[arrived])] += 1
        m.new_phase()
        for _, target, some in self.waiting:
            self._put(target, some)
        self.waiting = []

    def _note_divergence(self) -> None:
        m = self.lanes
        places: dict[int, set[int]] = {}
        for at, _, some in self.waiting:
            for block in np.unique(m.block[some]).tolist():
                places.setdefault(block, set()).add(at)
        for at, _, some in self.waiting:
            apart = [len(places[block]) > 1 for block in m.block[some].tolist()]
            if any(apart):
                m.event(Kind.BARRIER, self.program.blocks[at].line, some[np.array(apart)])

    def _look_at_limits(self, line: int) -> None:
        if self.lanes.steps > self.limit:
            raise Unknown(f"step limit: {self.limit} instructions, at line {line}")
        self.turns += 1
        if self.turns % PATIENCE == 0 and time.monotonic() > self.deadline:
            raise Unknown(f"time limit: {self.seconds:g} s")
