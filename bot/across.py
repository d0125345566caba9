"""A reproducer on real builds, one after the other: the judge that `bot.bisect` asks.

Invariant: an answer is in the book before the next build is begun, and what is in the book is not asked
again. A build that cannot be installed, or cannot run the script, says nothing, with the reason; a failure
of the machinery is no answer at all and ends the search, which can be taken up again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot import wire
from bot.bisect import Answer, Word
from bot.builds.environments import CannotInstall, Environments
from bot.builds.offer import Offer
from bot.confirm import FRESH_RUNS, Fresh
from bot.files import write_atomically
from bot.shelf import Shelf
from bot.verdict import verdict
from fuzzers.records import SCHEMA, Build, Expect, Verdict, encode

WORDS: dict[Verdict, Word] = {
    Verdict.REPRODUCES: Word.BAD,
    Verdict.GONE: Word.GOOD,
    Verdict.FLAKY: Word.FLAKY,
    Verdict.CANNOT_RUN: Word.UNKNOWN,
}


@dataclass(frozen=True)
class Question:
    """What a search asks every build. `python` is the version of the interpreter that the environments are
    made with; `source` is where the builds come from, because names mean another thing elsewhere."""

    script: str
    expect: Expect
    framework: str
    variant: str
    python: str
    source: str = ""

    @property
    def ident(self) -> str:
        """Content hash: the same question has the same answers, whichever ends it is asked between."""
        return hashlib.sha256(json.dumps(encode(self)).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Judged:
    """What judging one build has said so far; `git_sha` is known once it was installed."""

    answers: tuple[Answer, ...] = ()
    git_sha: str = ""


@dataclass(frozen=True)
class Answers:
    """All that is known about one question, by the builds' names."""

    builds: dict[str, Judged] = field(default_factory=dict)
    schema: int = SCHEMA


class Book:
    """The answers to one question, in one file of a store."""

    def __init__(self, path: Path, shelf: Shelf) -> None:
        self._path = path
        self._answers = shelf.read(Answers, path) or Answers()

    def judged(self, build: str) -> Judged:
        """What is known of a build."""
        return self._answers.builds.get(build, Judged())

    def known(self) -> Mapping[str, Sequence[Answer]]:
        """All answers, by the build's name."""
        return {name: judged.answers for name, judged in self._answers.builds.items()}

    def add(self, build: str, answer: Answer, git_sha: str) -> None:
        """One more answer; it is on the disk when this returns."""
        before = self.judged(build)
        after = Judged((*before.answers, answer), git_sha or before.git_sha)
        self._answers = replace(self._answers, builds={**self._answers.builds, build: after})
        write_atomically(self._path, wire.text(self._answers))

    def clear(self) -> None:
        """Forget everything."""
        self._answers = Answers()
        self._path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Across:
    """The judge: installs an offer, runs the script there, and keeps the answer. `runner` gives what runs
    scripts in fresh processes of a build; `stopped`, once true, ends the search by KeyboardInterrupt."""

    question: Question
    offers: Mapping[str, Offer]
    environments: Environments
    runner: Callable[[Build], Fresh]
    book: Book
    stopped: Callable[[], bool] = lambda: False

    def __call__(self, name: str) -> Answer:
        """What the build of this name says."""
        if self.stopped():
            raise KeyboardInterrupt
        offer = self.offers[name]
        with self.environments.using(offer) as build:
            if isinstance(build, CannotInstall):
                answer, git_sha = Answer(Word.UNKNOWN, f"cannot be installed: {build.reason}"), offer.git_sha
            else:
                answer, git_sha = self._run(build), build.git_sha or offer.git_sha
        self.book.add(name, answer, git_sha)
        return answer

    def _run(self, build: Build) -> Answer:
        runs = self.runner(build)([self.question.script] * FRESH_RUNS)
        judged, changed, reason = verdict(self.question.expect, runs)
        said = f"in another way than recorded: {reason}" if changed else reason
        return Answer(WORDS[judged], said)
