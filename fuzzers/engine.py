"""What an engine is: the contract between a campaign and a bug finder.

An engine lives in the worker. Every method runs in a forked child of its own, so it may crash, hang or
leak; it keeps no state between calls, and everything it needs comes in its arguments. A campaign is a
set of *chains*: chain k of a campaign seed starts from a seed program and takes up to `chain_length`
steps, each of which is a pure function of its task. That is what makes a campaign resumable from the last
state written, whatever dies in between.

What chooses between steps is the engine's *guide* (`fuzzers.guides`). It lives in the controller, sees every
outcome, and puts what it learned, or a program that it made, into the next task. With one worker and a seed,
outcomes come in one order, so a campaign is deterministic with a guide too.

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
    start from instead of the engine's own. `guidance` is what the guide has learned so far, `given` the
    program that it made for this step; both are the engine's own language."""

    seed: int
    chain: int
    step: int
    aspects: str
    state: Json | None = None
    seeds: tuple[Json, ...] = ()
    guidance: Json | None = None
    given: Json | None = None


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
    name of what was done; `digest` identifies the candidate, for comparing two campaigns. `events` are
    distinct short strings that say what the compiler was seen to do; `choice` is what the step chose, for
    the guide to learn from."""

    status: StepStatus
    state: Json | None
    sightings: tuple[Sighting, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    name: str = ""
    digest: str = ""
    events: tuple[str, ...] = ()
    choice: Json | None = None


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


Ask = Callable[[str, Json], Json]
"""Runs a job in a worker: (job, arguments) -> its value. It raises when the job does not end well; that is
for the campaign to say."""


class Guide(Protocol):
    """The half of an engine that chooses. It lives in the controller, imports no framework, and is called by
    one thread at a time. One that raises ends the campaign: it is machinery."""

    def prepare(self, ask: Ask) -> None:
        """Once, before the first step and before `restore`."""

    def before(self, task: StepTask) -> StepTask:
        """The task with its guidance, or with a program."""

    def after(self, task: StepTask, outcome: StepOutcome | None, seconds: float) -> None:
        """Learn from a step: the task as `before` made it, what came of it (None when its process died), and
        the seconds of a worker that it took."""

    def state(self) -> Json:
        """All that `after` has learned, so that a resumed campaign goes on with it."""

    def restore(self, state: Json) -> None:
        """What `state` gave. ValueError when it is not that; then the guide starts from nothing."""


@runtime_checkable
class Batched(Protocol):
    """An engine that can take several steps in one child at less cost than one by one. Optional. It announces
    nothing: when the child dies, the campaign takes its steps one by one. The outcome of a task is the same
    either way."""

    batch: int
    """How many steps go together best."""

    def steps(self, tasks: Sequence[StepTask]) -> list[StepOutcome]:
        """One outcome a task, in order. The tasks are of different chains."""


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
