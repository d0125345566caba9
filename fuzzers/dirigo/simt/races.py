"""The race checker: who touched a granule last, and in which phase between barriers.

Invariant: a stamp is (block, phase, warp): two accesses of which one writes are in order when they come
from one warp, or from one block in different phases. Threads of one warp count as ordered, as they are on
every GPU as long as nothing diverges. Blocks are never in order, except in kernels that fence: there the
last-block idiom orders them, which stamps cannot see.

Reads are only listed; they become stamps when a write comes that they could race with. The reason: most
phases either read a memory or write it, and then nothing at all has to be looked up.

    block + 1 (31 bits) | phase (26 bits) | warp + 1 (6 bits; 63: several warps read)
"""

from __future__ import annotations

import numpy as np

from fuzzers.dirigo.simt.tape import Array

SEVERAL = 63
PHASE = 6
BLOCK = 32
LISTED = 4096
"""Listed reads of one memory before they are made stamps, for the memory that the list takes."""


def stamps(block: Array, phase: Array, warp: Array) -> Array:
    """The stamps of lanes, from their block's number, their block's phase and their warp in the block."""
    return ((block.astype(np.int64) + 1) << BLOCK) | (phase.astype(np.int64) << PHASE) | (warp + 1)


def disordered(last: Array, now: Array) -> Array:
    """Whether the access that left the stamp `last` and the one with `now` are in no order; 0 left none."""
    apart = last ^ now
    return (last != 0) & (((apart > 0) & (apart <= SEVERAL)) | (apart >> BLOCK != 0))


class Watch:
    """The stamps of one memory during a launch. `forgets` says that a new phase orders everything: so it is
    for shared memory, and for global memory while one block runs. `swaps` says that the kernel compares and
    swaps: then a plain read beside atomic accesses is the start of such a loop, which checks what it read."""

    def __init__(self, granules: int, forgets: bool, swaps: bool) -> None:
        self.granules = granules
        self.forgets = forgets
        self.swaps = swaps
        self.writers: Array | None = None
        self.readers: Array | None = None
        self.atomics: Array | None = None
        self.listed: list[tuple[Array, Array]] = []

    def new_phase(self) -> None:
        """All lanes have met at a barrier."""
        if self.forgets:
            self.writers = self.readers = self.atomics = None
            self.listed = []

    def read(self, granules: Array, now: Array) -> Array | None:
        """Note reads; gives which of them race, or None when none does. Both arrays are of one length, or of
        length 1 where all lanes agree."""
        self.listed.append((granules, now))
        if len(self.listed) > LISTED:
            self._stamp_reads()
        return self._found((self.writers, None if self.swaps else self.atomics), granules, now)

    def write(self, granules: Array, now: Array) -> Array | None:
        """Note writes; gives which of them race, if any does."""
        self._stamp_reads()
        found = self._found((self.readers, self.writers, self.atomics), granules, now)
        if self.writers is None:
            self.writers = np.zeros(self.granules, np.int64)
        self.writers[granules] = now
        return found

    def atomic(self, granules: Array, now: Array) -> Array | None:
        """Note atomic accesses: in order among themselves, in none with plain accesses of the same phase."""
        self._stamp_reads()
        found = self._found((None if self.swaps else self.readers, self.writers), granules, now)
        if self.atomics is None:
            self.atomics = np.zeros(self.granules, np.int64)
        self.atomics[granules] = now
        return found

    def _found(self, earlier: tuple[Array | None, ...], granules: Array, now: Array) -> Array | None:
        found = None
        for last in earlier:
            if last is not None:
                raced = disordered(last[granules], now)
                if np.count_nonzero(raced):
                    found = raced if found is None else found | raced
        return found

    def _stamp_reads(self) -> None:
        """Make listed reads stamps; where several warps of a block read in one phase the stamp says so."""
        if not self.listed:
            return
        if self.readers is None:
            self.readers = np.zeros(self.granules, np.int64)
        readers = self.readers
        for granules, now in self.listed:
            if granules.shape[0] != now.shape[0]:
                granules, now = np.broadcast_arrays(granules, now)
            apart = readers[granules] ^ now
            several = (apart > 0) & (apart <= SEVERAL)
            readers[granules] = np.where(several, now | SEVERAL, now)
            other = readers[granules] != now
            if np.count_nonzero(other):
                readers[granules[other]] |= SEVERAL
        self.listed = []
