"""What the end of one step means: its suspects, and where the chain goes on.

Invariant: pure. Whatever the candidate did to its process, what was announced becomes exactly one suspect
or none, with the same content hash however often the step is run again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol

from bot import wire
from bot.chains import Chain, Taken
from fuzzers.engine import Sighting, StepOutcome, StepStatus
from fuzzers.records import SCHEMA, Aspect, Build, Ending, Expect, Json, Kind, Suspect

CRASH_SIGNALS = frozenset({"SIGSEGV", "SIGABRT", "SIGFPE", "SIGILL", "SIGBUS"})
"""Signals that a process gets for what it did. Others (SIGKILL, SIGTERM) are what somebody did to it."""


class Fate(StrEnum):
    """What became of a step that its engine could not report itself."""

    CRASH = "crash"
    HANG = "hang"
    INTERRUPTED = "interrupted"
    """Killed from outside, twice; a suspect all the same, which confirming sorts out."""
    FAILED = "failed"
    """The machinery failed: the engine raised, or its process could not run."""


class Reply(Protocol):
    """What the worker says about a job (the reply envelope)."""

    @property
    def ended(self) -> Ending: ...
    @property
    def value(self) -> Any: ...
    @property
    def signal(self) -> str: ...
    @property
    def error(self) -> Json | None: ...
    @property
    def log(self) -> str: ...


@dataclass(frozen=True)
class Spec:
    """What makes a campaign that campaign: the same values, the same candidates. `seeds` are programs to
    start from instead of the engine's own; `batch` is how many steps go together."""

    engine: str
    revision: str
    chain_length: int
    build: Build
    seed: int
    aspects: str
    seeds: tuple[Json, ...] = ()
    batch: int = 1
    schema: int = SCHEMA


@dataclass(frozen=True)
class Done:
    """A finished step: the chain after it, what it found, what its engine said of it (None when it could
    not), and what went wrong in the machinery."""

    chain: Chain
    suspects: tuple[Suspect, ...] = ()
    outcome: StepOutcome | None = None
    failure: Json | None = None


def read_reply(spec: Spec, chain: Chain, reply: Reply, announced: Sighting | None, now: str) -> Done | None:
    """What the reply to the chain's next step means; None when the step was killed from outside, which
    says nothing about the candidate: run it again."""
    if reply.ended is Ending.SIGNAL and reply.signal not in CRASH_SIGNALS:
        return None
    return _READERS[reply.ended](spec, chain, reply, announced, now)


def interrupted(spec: Spec, chain: Chain, announced: Sighting | None, now: str) -> Done:
    """The step was killed again and again, or its controller died: what it announced is a suspect."""
    sighting = None
    if announced is not None:
        expect = Expect(Ending.SIGNAL)
        sighting = _died(announced, Kind.CRASH, expect, {"interrupted": True})
    return _ended_by(Fate.INTERRUPTED, spec, chain, sighting, now)


def suspect(spec: Spec, sighting: Sighting, chain: int, step: int, now: str) -> Suspect:
    """A sighting with its build and its place."""
    return Suspect(
        engine=spec.engine,
        revision=spec.revision,
        build=spec.build,
        kind=sighting.kind,
        aspect=sighting.aspect,
        script=sighting.script,
        expect=sighting.expect,
        program=sighting.program,
        detail=sighting.detail,
        origin={"seed": spec.seed, "chain": chain, "step": step, "aspects": spec.aspects},
        found_at=now,
    )


def _reported(spec: Spec, chain: Chain, reply: Reply, announced: Sighting | None, now: str) -> Done:
    try:
        return read_outcome(spec, chain, wire.convert(StepOutcome, reply.value), now)
    except wire.UnreadableError as error:
        return _failed(spec, chain, reply, announced, now, f"its outcome cannot be read: {error}")


def read_outcome(spec: Spec, chain: Chain, outcome: StepOutcome, now: str) -> Done:
    """What the engine's own word on the chain's next step means."""
    taken = Taken(chain.step, outcome.name, outcome.digest, str(outcome.status))
    done = outcome.status is StepStatus.EXHAUSTED or chain.step + 1 >= spec.chain_length
    return Done(
        chain=chain.after(taken, outcome.state, outcome.counts, done),
        suspects=tuple(suspect(spec, s, chain.chain, chain.step, now) for s in outcome.sightings),
        outcome=outcome,
    )


def _crashed(spec: Spec, chain: Chain, reply: Reply, announced: Sighting | None, now: str) -> Done:
    if announced is None:
        return _failed(
            spec, chain, reply, announced, now, f"died by {reply.signal} before it announced anything"
        )
    expect = Expect(Ending.SIGNAL, signal=reply.signal)
    sighting = _died(announced, Kind.CRASH, expect, {"log": reply.log})
    return _ended_by(Fate.CRASH, spec, chain, sighting, now)


def _hung(spec: Spec, chain: Chain, reply: Reply, announced: Sighting | None, now: str) -> Done:
    if announced is None:
        return _failed(spec, chain, reply, announced, now, "ran out of time before it announced anything")
    sighting = _died(announced, Kind.HANG, Expect(Ending.TIMEOUT), {"log": reply.log})
    return _ended_by(Fate.HANG, spec, chain, sighting, now)


def _failed(
    spec: Spec, chain: Chain, reply: Reply, announced: Sighting | None, now: str, why: str = ""
) -> Done:
    failure = {"why": why, "ended": str(reply.ended), "error": reply.error, "log": reply.log}
    return replace(_ended_by(Fate.FAILED, spec, chain, None, now), failure=failure)


_Reader = Callable[[Spec, Chain, Reply, Sighting | None, str], Done]

_READERS: dict[Ending, _Reader] = {
    Ending.OK: _reported,
    Ending.SIGNAL: _crashed,
    Ending.TIMEOUT: _hung,
    Ending.EXCEPTION: _failed,
    Ending.CANNOT_RUN: _failed,
}


def _died(announced: Sighting, kind: Kind, expect: Expect, detail: Json) -> Sighting:
    return replace(
        announced, kind=kind, aspect=Aspect.OUTCOME, expect=expect, detail={**announced.detail, **detail}
    )


def _ended_by(fate: Fate, spec: Spec, chain: Chain, sighting: Sighting | None, now: str) -> Done:
    """The candidate is given up: the chain goes on from the state before it."""
    digest = hashlib.sha256(sighting.script.encode()).hexdigest()[:16] if sighting else ""
    taken = Taken(chain.step, "", digest, str(fate))
    after = chain.after(taken, chain.state, {}, done=chain.step + 1 >= spec.chain_length)
    found = () if sighting is None else (suspect(spec, sighting, chain.chain, chain.step, now),)
    return Done(after, found)
