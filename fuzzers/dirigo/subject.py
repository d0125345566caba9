"""The kernel's side of a pair as something that can be run on values of the reference's inputs.

Invariant: a run leaves one tape on which the inputs of the reference have their numbers, so that both sides'
slices have the same leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fuzzers.dirigo.reference.graph import Array
from fuzzers.dirigo.simt.events import Event, Stopped
from fuzzers.dirigo.simt.launch import Buffer, Run
from fuzzers.dirigo.simt.tape import Tape


@dataclass(frozen=True)
class Output:
    """A returned tensor: an element at a multi-index lies at `offset + sum(index * stride)` in the buffer."""

    buffer: Buffer
    type: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def count(self) -> int:
        return int(np.prod(self.sizes, dtype=np.int64))

    def multi(self, element: int) -> tuple[int, ...]:
        """The multi-index of a row-major element number."""
        return tuple(int(i) for i in np.unravel_index(element, self.sizes)) if self.sizes else ()

    def places(self) -> Array:
        """The buffer's index of every element, row-major."""
        out: Array = np.full(self.sizes, self.offset, np.int64)
        for axis, (size, stride) in enumerate(zip(self.sizes, self.strides, strict=True)):
            shape = [1] * len(self.sizes)
            shape[axis] = size
            out = out + (np.arange(size) * stride).reshape(shape)
        return out.reshape(-1)

    def written(self) -> Array:
        """Which elements hold what somebody wrote, row-major."""
        held = self.buffer.plane.written
        places = self.places()
        return np.ones(places.shape, bool) if held is None else held[places]

    def numbers(self) -> Array:
        """Its values as float64, in its shape."""
        held = self.buffer.numbers()
        if self.type == "bf16":
            held = (held.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
        return held[self.places()].astype(np.float64).reshape(self.sizes)


@dataclass(frozen=True)
class Ran:
    """One run: outputs, launches with the line of the file at which their source begins (0-based), and the
    number of each reference input's first element on the tape (None: concrete). `partial` says that only some
    blocks ran: what was not written then says nothing."""

    tape: Tape
    outputs: tuple[Output, ...]
    runs: tuple[tuple[int, Run], ...]
    starts: tuple[int | None, ...]
    partial: bool = False

    @property
    def base(self) -> int:
        """Where the source of the last launch begins."""
        return self.runs[-1][0] if self.runs else 0

    def events(self) -> list[tuple[Event, int]]:
        """What the launches did wrong, with the line in the file."""
        return [(event, event.line + base) for base, run in self.runs for event in run.events]


class Subject(Protocol):
    """A kernel with its host code."""

    def run(self, values: Sequence[Array], *, taped: bool = True, reverse: bool = False) -> Ran | Stopped:
        """Run everything on flat storages of the reference's inputs, in their order."""
