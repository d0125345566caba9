"""The address space of a launch: global buffers, shared memory of each block, local memory of each thread.

Invariant: every access is resolved to a plane and offsets inside it, or is an event; nothing outside a buffer
is ever read or written. Buffers lie so far apart that no index of an ordinary kernel leads from one to
another.

A generic address is a global one, or SHARED or LOCAL plus the offset in that window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from fuzzers.dirigo.simt.plane import Plane
from fuzzers.dirigo.simt.tape import Array

SPREAD = 40
"""A buffer's address is its number shifted by this many bits: 1 TiB apart."""
SHARED = 1 << 60
LOCAL = 1 << 61
WINDOWS = 60
NAMED = {SHARED >> WINDOWS: "shared", LOCAL >> WINDOWS: "local"}


class Part(NamedTuple):
    """Accesses of one instruction that fall into one plane: which of them (None: all), and their byte
    offsets.

    `inside` says which of these lie in bounds (None: all).
    """

    plane: Plane
    chosen: Array | None
    offsets: Array
    inside: Array | None


class Window(NamedTuple):
    """Memory of which every owner has `size` bytes, `pitch` bytes apart. `owners` are the owners' numbers
    lane by lane: the block for shared memory, the lane itself for local memory."""

    plane: Plane
    size: int
    pitch: int
    owners: Array


class Memory:
    """The planes of one launch. Shared and local memory are one plane each, cut by block and by lane."""

    def __init__(self, shared: Window, local: Window) -> None:
        self.buffers: list[Plane] = []
        self.windows = {"shared": shared, "local": local}
        self.shared = shared.plane
        self.nowhere = Plane("no memory", np.zeros(0, np.uint8), 1)

    def place(self, plane: Plane) -> int:
        """Give a buffer an address."""
        self.buffers.append(plane)
        return len(self.buffers) << SPREAD

    def buffer(self, address: int) -> Plane:
        """The buffer under a global address."""
        number = address >> SPREAD
        return self.buffers[number - 1] if 0 < number <= len(self.buffers) else self.nowhere

    def parts(self, space: str, addresses: Array, width: int, act: Array | None) -> list[Part]:
        """Where accesses of `width` bytes by the lanes `act` (None: all) go; one address is that of all."""
        return PARTS[space](self, space, addresses, width, act)

    def _global(self, space: str, addresses: Array, width: int, act: Array | None) -> list[Part]:
        numbers = addresses >> SPREAD
        base = int(numbers[0]) << SPREAD
        if numbers.shape[0] == 1 or not np.count_nonzero(numbers != numbers[0]):
            return [self._part(self.buffer(base), None, addresses - base, width)]
        found = []
        for number in np.unique(numbers):
            chosen = np.flatnonzero(numbers == number)
            base = int(number) << SPREAD
            found.append(self._part(self.buffer(base), chosen, addresses[chosen] - base, width))
        return found

    def _windowed(self, space: str, addresses: Array, width: int, act: Array | None) -> list[Part]:
        window = self.windows[space]
        inside = within(addresses, window.size, width)
        if window.plane.size > window.pitch:
            addresses = addresses + (window.owners if act is None else window.owners[act]) * window.pitch
        return [Part(window.plane, None, addresses, inside)]

    def _generic(self, space: str, addresses: Array, width: int, act: Array | None) -> list[Part]:
        windows = addresses >> WINDOWS
        found = []
        for window in np.unique(windows).tolist():
            own = NAMED.get(window, "global")
            base = window << WINDOWS if own != "global" else 0
            chosen = np.flatnonzero(windows == window)
            if chosen.shape[0] == windows.shape[0]:
                return self.parts(own, addresses - base, width, act)
            some = chosen if act is None else act[chosen]
            for part in self.parts(own, addresses[chosen] - base, width, some):
                inner = chosen if part.chosen is None else chosen[part.chosen]
                found.append(part._replace(chosen=inner))
        return found

    def _part(self, plane: Plane, chosen: Array | None, offsets: Array, width: int) -> Part:
        return Part(plane, chosen, offsets, within(offsets, plane.size, width))


def within(offsets: Array, size: int, width: int) -> Array | None:
    """Which accesses lie inside `size` bytes; None: all. A negative offset is a huge unsigned one."""
    if size < width:
        return np.zeros(offsets.shape[0], bool)
    outside = offsets.view(np.uint64) > np.uint64(size - width)
    return ~outside if np.count_nonzero(outside) else None


Resolve = Callable[[Memory, str, Array, int, "Array | None"], list[Part]]
PARTS: Mapping[str, Resolve] = {
    "global": Memory._global,
    "const": Memory._global,
    "shared": Memory._windowed,
    "local": Memory._windowed,
    "generic": Memory._generic,
}
