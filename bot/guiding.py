"""The engine's guide in a campaign: it is asked before a step, told after it, and kept on disk.

Invariant: a guide is never called by two threads at once, and what it has learned is replaced on disk whole.
A campaign whose guide cannot be read back goes on with one that knows nothing: that costs yield, no suspect.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bot.errors import MachineryFailure
from bot.files import write_atomically
from bot.stepping import Step, Worker
from fuzzers.engine import Guide, StepOutcome, StepTask
from fuzzers.records import Ending, Json, Limits


@dataclass
class Guiding:
    """The guide of one campaign, if its engine has one; `path` is where its state is kept."""

    guide: Guide | None
    path: Path
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def prepare(self, worker: Worker, limits: Limits, warn: Callable[[str], None]) -> None:
        """Make the guide ready, as it was when the campaign was left."""
        if self.guide is None:
            return
        self.guide.prepare(partial(_ask, worker, limits))
        try:
            self.guide.restore(json.loads(self.path.read_bytes()))
        except FileNotFoundError:
            pass
        except ValueError as error:
            warn(f"{self.path} cannot be used, so what the engine had learned is lost: {error}")

    def before(self, task: StepTask) -> StepTask:
        """The task as the worker shall get it."""
        if self.guide is None:
            return task
        with self._lock:
            return self.guide.before(task)

    def after(self, step: Step, outcome: StepOutcome | None, seconds: float) -> None:
        """Tell what became of a step."""
        if self.guide is not None:
            with self._lock:
                self.guide.after(step.task, outcome, seconds)

    def save(self) -> None:
        """Put on disk what was learned so far."""
        if self.guide is not None:
            with self._lock:
                state = json.dumps(self.guide.state())
            write_atomically(self.path, state + "\n")


def _ask(worker: Worker, limits: Limits, job: str, args: Json) -> Json:
    reply = worker.call(job, args, limits)
    if reply.ended is not Ending.OK:
        said = (reply.error or {}).get("message") or reply.signal or reply.ended
        raise MachineryFailure(f"the job {job} failed: {said}")
    value: Json = reply.value
    return value
