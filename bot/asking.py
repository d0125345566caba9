"""Questions that triage asks a build: typed forms of the jobs of a warm worker.

Invariant: an answer is about the build. A job whose machinery failed (our function raised, the worker is
gone, the reply makes no sense) raises `MachineryFailure`, so that no stage can take it for a "no"; a child
that died or ran out of time while it ran a script is an answer: it is how the script ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from bot import wire
from bot.errors import MachineryFailure
from fuzzers.records import Ending, Json, Limits, Run
from fuzzers.worker.protocol import Reply

T = TypeVar("T")

Question = tuple[str, Json]
"""A job's name and its arguments."""


class Workers(Protocol):
    """What triage needs of a pool of workers: `bot.target.Pool`, or a scripted one in the tests."""

    @property
    def size(self) -> int:
        """How many jobs run at a time."""

    def map(self, questions: Sequence[Question], limits: Limits) -> list[Reply]:
        """The replies, in the order of the questions; as many at a time as there are workers."""


@dataclass(frozen=True)
class Judgement:
    """How a script ended with stock settings and, if it failed, under the rung before the one to blame
    (None when there is none, or it was not asked), and what the oracle says about its compiled call."""

    run: Run
    before: Run | None = None
    report: Json | None = None


class Asker:
    """Typed questions to the workers of one build, with one set of limits for scripts."""

    def __init__(self, workers: Workers, limits: Limits) -> None:
        self._workers = workers
        self.limits = limits

    @property
    def at_once(self) -> int:
        """How many questions are answered at a time."""
        return self._workers.size

    def runs(self, pairs: Sequence[tuple[str, str | None]], limits: Limits | None = None) -> list[Run]:
        """How each (script, backend) ends; backend None is the script as it stands."""
        questions = [("script.run", {"script": s, "backend": b, "threads": None}) for s, b in pairs]
        return [_run(reply) for reply in self._ask(questions, limits)]

    def judge(
        self, scripts: Sequence[str], before: str | None, examine: bool, limits: Limits | None = None
    ) -> list[Judgement]:
        """How each script ends, with the rung `before` and the oracle's word in the same child."""
        common = {"backend_before": before, "examine": examine}
        questions = [("script.judge", {"script": s, **common}) for s in scripts]
        return [_judgement(reply) for reply in self._ask(questions, limits)]

    def candidates(self, engine: str, program: Json) -> list[Json]:
        """Smaller programs, by the engine."""
        return _listed(
            self._value("engine.candidates", {"engine": engine, "program": program}), "programs", dict
        )

    def scripts(self, engine: str, programs: Sequence[Json]) -> list[str]:
        """The script of each program."""
        if not programs:
            return []
        value = self._value("engine.emit_all", {"engine": engine, "programs": list(programs)})
        return _listed(value, "scripts", str)

    def operators(self, engine: str, program: Json) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Operator and dtype names of a program."""
        value = self._value("engine.operators", {"engine": engine, "program": program})
        return tuple(_listed(value, "operators", str)), tuple(_listed(value, "dtypes", str))

    def _value(self, job: str, args: Json) -> Json:
        """The result of a job that runs no script: however else it ended, that is the machinery's failure."""
        (reply,) = self._ask([(job, args)], None)
        if reply.ended is not Ending.OK or not isinstance(reply.value, dict):
            raise MachineryFailure(f"{job} ended {reply.ended}: {_why(reply)}")
        return reply.value

    def _ask(self, questions: Sequence[Question], limits: Limits | None) -> list[Reply]:
        replies = self._workers.map(questions, limits or self.limits)
        for (job, _), reply in zip(questions, replies, strict=True):
            if reply.ended is Ending.EXCEPTION:
                raise MachineryFailure(f"{job} raised {_why(reply)}")
        return replies


def _why(reply: Reply) -> str:
    error = reply.error or {}
    return f"{error.get('type', reply.signal)}: {error.get('message', '')}".strip(": ")


def _ended(reply: Reply) -> Run:
    """The run of a script whose child did not live to report."""
    return Run(
        ending=reply.ended, signal=reply.signal, log=reply.log, seconds=reply.seconds, reason=_why(reply)
    )


def _run(reply: Reply) -> Run:
    return _record(Run, reply.value) if reply.ended is Ending.OK else _ended(reply)


def _judgement(reply: Reply) -> Judgement:
    if reply.ended is not Ending.OK:
        return Judgement(_ended(reply))
    value = reply.value if isinstance(reply.value, dict) else {}
    before = value.get("before")
    report = value.get("report")
    return Judgement(
        _record(Run, value.get("run")),
        _record(Run, before) if before is not None else None,
        report if isinstance(report, dict) else None,
    )


def _record(kind: type[T], value: object) -> T:
    try:
        return wire.convert(kind, value)
    except wire.UnreadableError as error:
        raise MachineryFailure(f"a worker's answer is no {kind.__name__}: {error}") from error


def _listed(value: Json, key: str, kind: type[T]) -> list[T]:
    found = value.get(key)
    if not isinstance(found, list) or not all(isinstance(f, kind) for f in found):
        raise MachineryFailure(f"a worker's answer has no list {key!r}")
    return found
