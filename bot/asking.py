"""Questions that triage asks a build: typed forms of the jobs of a warm worker.

Invariant: an answer is about the build. A job whose machinery failed (our function raised, the worker is
gone, the reply makes no sense) raises `MachineryFailure`, so that no stage can take it for a "no"; a child
that died or ran out of time while it ran a script is an answer: it is how the script ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from bot import wire
from bot.errors import MachineryFailure
from fuzzers.engine import Page
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


@dataclass(frozen=True)
class Ablation:
    """How a script ended with some parts of the compiler switched off, and the parts (`<subsystem>/<name>`)
    that the compiler was about to use, in the order of their first use; none when its process died."""

    run: Run
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Blamed:
    """What torch's own bisector blames: a backend, a subsystem of it, and one part. Each may be empty."""

    backend: str
    subsystem: str
    debug_name: str


ABLATION_GRACE = 10.0
"""Seconds for a job of several runs beyond the limit of each: forking, and killing what went on too long."""

BISECT_RUNS = 40
"""The most runs that a bisector's job gets the time for: 17 were seen on a program of two operators."""


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

    def switches(self) -> tuple[str, ...]:
        """The parts of the compiler that `ablations` can switch off besides those that a run lists."""
        return tuple(_listed(self._value("compiler.switches", {}), "switches", str))

    def ablations(
        self, script: str, backend: str | None, without: Sequence[Sequence[str]], limits: Limits | None = None
    ) -> list[Ablation]:
        """How the script ends under a backend without each of some sets of parts. Each worker takes a share
        of them in one job, so that kernels which the parts leave as they are get built once a worker."""
        limits = limits or self.limits
        shares = min(self.at_once, len(without))
        answers: list[Ablation | None] = [None] * len(without)
        common = {"script": script, "backend": backend, "seconds": limits.seconds}
        asked = [[list(w) for w in without[share::shares]] for share in range(shares)]
        most = replace(limits, seconds=limits.seconds * max(map(len, asked), default=0) + ABLATION_GRACE)
        replies = self._ask([("script.ablate", {**common, "without": parts}) for parts in asked], most)
        for share, reply in enumerate(replies):
            answers[share::shares] = _ablations(reply, len(asked[share]))
        return [answer for answer in answers if answer is not None]

    def bisected(self, script: str, limits: Limits | None = None) -> Blamed:
        """What torch's own bisector says of a script; it takes some twenty runs."""
        limits = limits or self.limits
        most = replace(limits, seconds=limits.seconds * BISECT_RUNS)
        args = {"script": script, "seconds": limits.seconds}
        return _record(Blamed, self._value("script.bisect", args, most))

    def page(
        self, engine: str, program: Json, start: int, count: int, hints: Sequence[Sequence[str]]
    ) -> Page:
        """Some of the smaller programs with their scripts, by the engine."""
        args = {"program": program, "start": start, "count": count, "hints": [list(h) for h in hints]}
        return _record(Page, self._value("engine.page", {"engine": engine, **args}))

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

    def _value(self, job: str, args: Json, limits: Limits | None = None) -> Json:
        """The result of a job that runs no script in its own process: however else it ended, that is the
        machinery's failure."""
        (reply,) = self._ask([(job, args)], limits)
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


def _ablations(reply: Reply, number: int) -> list[Ablation]:
    """A share's answers. Scripts run in processes of their own, so a job that died says nothing of them.
    A job ends with the first script that does not end in time."""
    if reply.ended is not Ending.OK:
        reason = f"its job ended {reply.ended}: {_why(reply)}"
        return [Ablation(Run(Ending.CANNOT_RUN, reason=reason))] * number
    value = reply.value if isinstance(reply.value, dict) else {}
    found = [_record(Ablation, one) for one in _listed(value, "ablations", dict)]
    if len(found) == number:
        return found
    if not found or len(found) > number or found[-1].run.ending is not Ending.TIMEOUT:
        raise MachineryFailure(f"a worker answered {len(found)} of {number} ablations")
    skipped = Run(Ending.CANNOT_RUN, reason="not run: the one before it did not end in time")
    return [*found, *[Ablation(skipped)] * (number - len(found))]


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
