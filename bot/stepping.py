"""Running steps in a worker: several in one child, or one with its journal.

Invariant: what is said of a step here is a function of the step and of how its process ended. A batch says
nothing unless all of it went well; then, and only then, its steps count as taken together. The reason: a
batch announces nothing, so of one that died it is not known which step killed it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol

from bot import wire
from bot.chains import Chain
from bot.errors import MachineryFailure
from bot.files import utc_now
from bot.steps import Done, Reply, Spec, interrupted, read_outcome, read_reply
from fuzzers.engine import Sighting, StepOutcome, StepTask
from fuzzers.records import Ending, Json, Limits

ATTEMPTS = 2
"""How often a candidate that is killed from outside is begun before it is given up as a suspect."""
ATTEMPTS_UNANNOUNCED = 10
"""The same while there is no candidate yet: then the killing cannot be its fault."""
BATCH_SECONDS = 20.0
"""What a batch takes, on a loaded machine."""


class Worker(Protocol):
    """One worker (`bot.target`)."""

    def call(
        self, job: str, args: Json, limits: Limits | None = None, journal: Path | None = None
    ) -> Reply: ...


@dataclass(frozen=True)
class Step:
    """What is about to run: the chain, and its next step as the worker gets it."""

    chain: Chain
    task: StepTask


@dataclass(frozen=True)
class _Outcomes:
    """What a worker answers to a batch."""

    outcomes: tuple[StepOutcome, ...]


@dataclass(frozen=True)
class Stepping:
    """How the steps of one campaign are run. Once `cut` is set, its workers are being closed under it.
    `announced` reads a journal."""

    spec: Spec
    limits: Limits
    cut: threading.Event
    announced: Callable[[Path], Sighting | None]

    def together(self, worker: Worker, steps: Sequence[Step]) -> list[Done] | None:
        """The steps in one child; None when that did not end well."""
        limits = replace(self.limits, seconds=self.limits.seconds + BATCH_SECONDS)
        reply = self._call(worker, "engine.steps", {"tasks": [asdict(s.task) for s in steps]}, limits)
        if reply is None or reply.ended is not Ending.OK:
            return None
        try:
            outcomes = wire.convert(_Outcomes, reply.value).outcomes
        except wire.UnreadableError:
            return None
        if len(outcomes) != len(steps):
            return None
        return [
            read_outcome(self.spec, step.chain, outcome, utc_now())
            for step, outcome in zip(steps, outcomes, strict=True)
        ]

    def alone(self, worker: Worker, step: Step, journal: Path) -> Done | None:
        """One step; None when the campaign was cut during it."""
        chain = step.chain
        attempts = 0
        while True:
            attempts += 1
            reply = self._call(worker, "engine.step", asdict(step.task), self.limits, journal)
            if reply is None:
                return None
            announced = self.announced(journal)
            done = read_reply(self.spec, chain, reply, announced, utc_now())
            if done is not None:
                return done
            if self.cut.is_set():
                return None
            if attempts >= (ATTEMPTS if announced else ATTEMPTS_UNANNOUNCED):
                return interrupted(self.spec, chain, announced, utc_now())

    def _call(
        self, worker: Worker, job: str, args: Json, limits: Limits, journal: Path | None = None
    ) -> Reply | None:
        """The reply; None when the campaign was cut, which closes the worker under the call."""
        try:
            return worker.call(job, {"engine": self.spec.engine, **args}, limits, journal)
        except MachineryFailure:
            if self.cut.is_set():
                return None
            raise
