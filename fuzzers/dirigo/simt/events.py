"""What a launch did wrong, and what this interpreter does not know.

Invariant: an event is something that the kernel did, with the source's line; it ends no run. `Unknown` ends
the run and says nothing about the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What can go wrong in a launch, apart from the numbers."""

    READ_OUTSIDE = "out-of-bounds read"
    WRITE_OUTSIDE = "out-of-bounds write"
    UNINITIALISED = "uninitialised read"
    MISALIGNED = "misaligned access"
    RACE = "race"
    CROSS_BLOCK = "race between blocks"
    DISAGREEING = "one instruction writes different values to one place"
    BARRIER = "barrier in divergent code"
    SHUFFLE = "shuffle from a thread that is not there"
    TRAP = "trap"


@dataclass(frozen=True)
class Event:
    """The first time that something happened on a line: by which thread of which block, and how often in
    all."""

    kind: Kind
    line: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    where: str
    times: int


class Unknown(Exception):
    """The run stops here for a reason that is ours: an instruction, a width, a limit."""


@dataclass(frozen=True)
class Stopped:
    """Why a run gave no result."""

    reason: str
