"""What an engine is: the contract between a campaign and a bug finder.

An engine lives in the worker. Every method runs in a forked child of its own, so it may crash, hang or
leak; it keeps no state between calls, and everything it needs comes in its arguments. A campaign is a
set of *chains*: chain k of a campaign seed starts from a seed program and takes up to `chain_length`
steps, each of which is a pure function of (seed, chain, step, state). That is what makes a campaign
deterministic whatever dies in between, and resumable from the last state written.

The conformance suite that every engine must pass is tests/integration/test_engine_conformance.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from fuzzers.records import Aspect, Expect, Json, Kind


class StepStatus(StrEnum):
    """What became of one step."""

    CHECKED = "checked"
    """Executed and compared; counts as a program."""
    REJECTED = "rejected"
    """No legal candidate came out, or eager rejected it."""
    DROPPED = "dropped"
    """Executed but not comparable: ill-conditioned, nothing compiled, undefined by contract."""
    EXHAUSTED = "exhausted"
    """The chain cannot go on."""


@dataclass(frozen=True)
class StepTask:
    """One step of one chain. `state` is None at step 0; `aspects` is `forward` or `full`
    (oracle.md), or `mixed`: full in a share of the steps that the engine chooses. `seeds` are programs to
    start from instead of the engine's own."""

    seed: int
    chain: int
    step: int
    aspects: str
    state: Json | None = None
    seeds: tuple[Json, ...] = ()


@dataclass(frozen=True)
class Sighting:
    """A difference as the engine saw it: all that a `Suspect` needs besides the build and the place."""

    kind: Kind
    aspect: Aspect
    script: str
    expect: Expect
    program: Json | None
    detail: Json = field(default_factory=dict)


@dataclass(frozen=True)
class StepOutcome:
    """What a step hands back. `counts` are summed over the campaign (`proposed`, `predicate_rejects`,
    `fake_rejects`, `eager_rejects`, `executed`, and one `dropped:<reason>` a reason); `name` is a short
    name of what was done; `digest` identifies the candidate, for comparing two campaigns."""

    status: StepStatus
    state: Json | None
    sightings: tuple[Sighting, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    name: str = ""
    digest: str = ""


@dataclass(frozen=True)
class Page:
    """Some of the candidates of a program, most promising first, with their scripts. `places` says where each
    stands, rising; `after` is where the rest begins, None when there is none. A program may come again in a
    later page."""

    programs: tuple[Json, ...]
    scripts: tuple[str, ...]
    places: tuple[int, ...]
    after: int | None


@dataclass(frozen=True)
class Call:
    """What a user's file calls: the line that does (0: none of that file), every name that the called may go
    by in a finding, and the dtypes of the tensors that went in and came out."""

    line: int
    names: tuple[str, ...]
    dtypes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Piece:
    """A program cut out of a user's file, and the lines of that file that it was cut from."""

    program: Json
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Reading:
    """What a user's file does when it is run as it stands. `pieces` are legal programs of the engine, those
    with wanted lines first; `left` tells in a sentence what has no piece; `refused` why the file cannot be
    used, empty when it can."""

    calls: tuple[Call, ...] = ()
    pieces: tuple[Piece, ...] = ()
    left: str = ""
    refused: str = ""


Announce = Callable[[Sighting], None]
"""Called by a step just before it executes a candidate, with what to report should the process die."""


class Engine(Protocol):
    """A bug finder."""

    name: str
    revision: str
    chain_length: int

    def step(self, task: StepTask, announce: Announce) -> StepOutcome:
        """Make one candidate, execute and check it. Calls `announce` once before executing."""

    def candidates(self, program: Json) -> list[Json]:
        """Smaller programs than `program`, most promising first; each strictly smaller by the engine's
        own well-founded order, so that taking them repeatedly ends."""

    def emit(self, program: Json) -> str:
        """The reproducer script of a program (overview.md), formatted as `ruff format` would."""

    def operators(self, program: Json) -> tuple[list[str], list[str]]:
        """(sorted operator names, sorted dtype names) of a program, for its fingerprint."""


@runtime_checkable
class FromFile(Protocol):
    """An engine that takes a user's file. Optional. What is in the file is foreign code, which runs here."""

    def read(self, path: str, lines: Sequence[int]) -> Reading:
        """Run the file once, uncompiled; pieces with these lines come first."""

    def check_file(self, path: str, aspects: str, announce: Announce) -> StepOutcome:
        """Execute and check the file as it stands."""

    def check_piece(self, program: Json, aspects: str, announce: Announce) -> StepOutcome:
        """Execute and check a piece of one as it stands."""


@runtime_checkable
class Paged(Protocol):
    """An engine that can make some of the candidates without making all. Optional."""

    def page(self, program: Json, start: int, count: int, hints: Sequence[Sequence[str]]) -> Page:
        """Up to `count` of the candidates that stand at `start` or later. Places are the engine's own;
        the same one should lead to similar candidates in a program that has just become smaller. Each of
        `hints` is the operators of a known finding, which the program may well be an instance of."""


def page(engine: Engine, program: Json, start: int, count: int, hints: Sequence[Sequence[str]]) -> Page:
    """A page of any engine: one that has no pages of its own makes all candidates, places them by number, and
    takes no hints."""
    if isinstance(engine, Paged):
        return engine.page(program, start, count, hints)
    programs = engine.candidates(program)
    end = min(start + count, len(programs))
    some = tuple(programs[start:end])
    after = end if end < len(programs) else None
    return Page(some, tuple(engine.emit(p) for p in some), tuple(range(start, end)), after)
