"""The benchmark of triage's judgement: recorded suspects, each with its root cause, go through triage again.

Invariant: what is replayed is `bot.triage` itself, on what its stages came to when they really ran; nothing
is run here, and a stage that was not recorded is an error. The labels are kept apart from what triage sees.
Suspects arrive in several nights, in an order drawn from a seed, because which of them founds a finding
must not matter.
"""

from __future__ import annotations

import gzip
import random
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NoReturn

from bot import wire
from bot.asking import Asker
from bot.bisect import Answer, Word, bisect
from bot.errors import MachineryFailure, UserMistake
from bot.states import TriageState
from bot.store import Store
from bot.triage import Allowance, triage
from fuzzers.records import Json, Limits, Run, Suspect

NIGHTS = 10
STAGES = ("confirm", "reduce", "write-up", "culprits")
"""What must be recorded of each: a stage that is not there would be run, with nothing to run it on."""


@dataclass(frozen=True)
class Recorded:
    """One suspect as a campaign left it, what each stage of triage came to on its build, and its root cause
    as reading and causation gave it. `reduce_seconds` is how long reducing it took."""

    suspect: Suspect
    stages: dict[str, Json]
    label: str
    reduce_seconds: float = 0.0
    extra: Json = field(default_factory=dict)


def load(path: Path) -> list[Recorded]:
    """The records in a compressed file of JSON lines."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            corpus = [wire.read(Recorded, line) for line in lines]
    except FileNotFoundError as error:
        raise UserMistake(f"there is no corpus at {path}") from error
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise UserMistake(f"{path} is no corpus of suspects: {error}") from error
    if not corpus:
        raise UserMistake(f"{path} is no corpus of suspects: it is empty")
    for one in corpus:
        if missing := [stage for stage in STAGES if stage not in one.stages]:
            raise UserMistake(
                f"{path} is no corpus of suspects: {one.suspect.id} has no stage {missing[0]!r}"
            )
    return corpus


@dataclass(frozen=True)
class Score:
    """How well the suspects were put together. A pair is two suspects of one label (`true`), of one finding
    (`made`), or of both (`right`)."""

    suspects: int
    bugs: int
    issues: int
    true: int
    made: int
    right: int
    wrong: tuple[tuple[str, tuple[str, ...]], ...]
    """Findings that hold several labels."""
    split: tuple[tuple[str, int], ...]
    """Labels that ended in several findings."""

    @property
    def precision(self) -> float:
        """Of the pairs made, the share that is right."""
        return self.right / self.made if self.made else 1.0

    @property
    def recall(self) -> float:
        """Of the true pairs, the share that was found."""
        return self.right / self.true if self.true else 1.0


def score(pairs: Sequence[tuple[str, str]]) -> Score:
    """The score of (label, finding) for each suspect."""
    together = Counter(pairs)
    labels, findings = Counter(label for label, _ in pairs), Counter(finding for _, finding in pairs)
    holds: dict[str, list[str]] = {}
    ended: Counter[str] = Counter()
    for label, finding in sorted(together):
        holds.setdefault(finding, []).append(label)
        ended[label] += 1
    return Score(
        suspects=len(pairs),
        bugs=len(labels),
        issues=len(findings),
        true=sum(map(_pairs, labels.values())),
        made=sum(map(_pairs, findings.values())),
        right=sum(map(_pairs, together.values())),
        wrong=tuple((finding, tuple(held)) for finding, held in holds.items() if len(held) > 1),
        split=tuple((label, count) for label, count in ended.most_common() if count > 1),
    )


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


class Silent:
    """Workers of a build that is not there: whatever they are asked was not recorded."""

    size = 1

    def map(self, questions: Any, limits: Limits) -> NoReturn:
        """Refuses."""
        raise MachineryFailure(f"not recorded: {questions[0][0]}")


def _no_fresh(scripts: Sequence[str]) -> list[Run]:
    raise MachineryFailure("not recorded: a fresh process")


def replay(corpus: Sequence[Recorded], folder: Path, seed: int) -> Score:
    """Triage the corpus night by night in `folder`, which must be empty."""
    labels = {one.suspect.id: one.label for one in corpus}
    arriving = list(corpus)
    random.Random(seed).shuffle(arriving)
    store = Store(folder, _broken)
    for night in range(NIGHTS):
        for one in arriving[night::NIGHTS]:
            store.add(one.suspect)
            store.set_state(one.suspect.id, TriageState(stages=one.stages))
        result = triage(store, Asker(Silent(), Limits()), _no_fresh, Allowance(seconds=1e9))
        if result.failures:
            raise MachineryFailure(f"suspect {result.failures[0][0]}: {result.failures[0][1]}")
    return score([(labels[ident], finding) for ident, finding in _ended(store, labels)])


def _ended(store: Store, labels: dict[str, str]) -> Iterator[tuple[str, str]]:
    for ident in labels:
        known = store.finding(store.state(ident).finding)
        if known is None:
            raise MachineryFailure(f"suspect {ident} ended in no finding")
        yield ident, known.signature


def _broken(line: str) -> NoReturn:
    raise MachineryFailure(line)


def document(corpus: Sequence[Recorded], scores: Sequence[Score]) -> Json:
    """The figures that are compared from commit to commit: of several replays, the worst."""
    lines = [len(_script(one).splitlines()) for one in corpus]
    seconds = [one.reduce_seconds for one in corpus if one.reduce_seconds]
    return {
        "suspects": len(corpus),
        "bugs": scores[0].bugs,
        "issues": max(s.issues for s in scores),
        "precision": round(min(s.precision for s in scores), 4),
        "recall": round(min(s.recall for s in scores), 4),
        "reduce_median_s": round(median(seconds), 1) if seconds else None,
        "reduce_p95_s": round(percentile(seconds), 1) if seconds else None,
        "lines_median": median(lines),
        "lines_p95": percentile(lines),
        "runs_per_bisect": runs_per_bisect(),
        "mixed": [list(s.wrong) for s in scores],
        "split": [list(s.split) for s in scores],
    }


def percentile(values: Sequence[float], percent: int = 95) -> float:
    """The value below which so many percent of the values lie."""
    return quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else values[0]


def _script(one: Recorded) -> str:
    return str(one.stages["write-up"]["script"])


BUILDS = 60
"""Nightlies that an index keeps (design facts)."""


def runs_per_bisect() -> int:
    """The most builds beyond the ends that are judged to find a change among BUILDS, wherever it is."""
    names = [f"build {number:02}" for number in range(BUILDS)]

    def runs(first_bad: str) -> int:
        def judge(name: str) -> Answer:
            return Answer(Word.BAD if name >= first_bad else Word.GOOD)

        return bisect(names, judge).beyond

    return max(runs(name) for name in names[1:])
