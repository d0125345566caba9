"""Since when a script fails: one search over a channel's builds, from the question to a report.

Invariant: two searches for the same question never run at once, and one that was killed is taken up where it
was, because the question's book has every answer. The report says what was asked, so that whoever reads it
can ask it again: it carries its own command line.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bot import classify
from bot.across import Across, Book, Judged, Question
from bot.bisect import Answer, Bisected, Outcome, bisect
from bot.builds.environments import Environments
from bot.commits import compare_link, is_of_branch
from bot.confirm import Fresh
from bot.ends import Stretch
from bot.files import owned
from bot.store import Store
from fuzzers.records import Build, Json, encode

Say = Callable[[str], None]


@dataclass(frozen=True)
class Report:
    """What a search came to. `subject` and `options` are as the person gave them (the ends apart);
    `now` counts the judgings that were not known from an earlier search."""

    subject: str
    options: tuple[str, ...]
    question: Question
    between: Stretch
    found: Bisected
    answers: Mapping[str, Judged]
    now: int

    @property
    def link(self) -> str:
        """The commits from the last build before the change to the first one after it."""
        if self.found.outcome not in CHANGES:
            return ""
        older, newer = (self.answers[name].git_sha for name in (self.found.before, self.found.after))
        return compare_link(self.question.framework, older, newer)

    @property
    def command(self) -> str:
        """What asks it again, with both ends named."""
        ends = ("--good", self.between.good.version, "--bad", self.between.bad.version)
        return shlex.join(("nightfuzz", "bisect", self.subject, *self.options, *ends))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know about the ends and the link."""
        notes = list(self.found.notes)
        wanted = Outcome.FIRST_BAD if self.between.good_is_older else Outcome.FIRST_GOOD
        if self.found.outcome in CHANGES and self.found.outcome is not wanted:
            notes.append(f"the ends are the other way round: {self.between.bad.name} is the good one")
        if self.link and is_of_branch(self.question.framework, self.found.after):
            notes.append("the commits are those of the nightly branch; the subject of each names main's")
        return tuple(notes)

    def reason(self, build: str) -> str:
        """Why a build says what it says."""
        answers = self.answers[build].answers
        return answers[-1].reason if answers else ""

    def change(self) -> classify.Change:
        """What a finding remembers of it."""
        return classify.Change.of(self.found, self.link)

    def document(self) -> Json:
        """The same for programs."""
        found = self.found
        told = {name: {"build": name, **encode(judged)} for name, judged in self.answers.items()}
        return {
            "subject": self.subject,
            "framework": self.question.framework,
            "variant": self.question.variant,
            "good": self.between.good.version,
            "bad": self.between.bad.version,
            "builds": len(self.between.offers),
            "outcome": str(found.outcome),
            "before": found.before,
            "after": found.after,
            "between": [{"build": name, "reason": self.reason(name)} for name in found.between],
            "link": self.link,
            "runs": found.runs,
            "runs_beyond_ends": found.beyond,
            "runs_now": self.now,
            "notes": list(self.notes),
            "judged": [told[offer.name] for offer in self.between.offers if offer.name in told],
            "command": self.command,
        }

    def lines(self) -> Iterator[str]:
        """The same for people."""
        found = self.found
        unknown = f", or one of {len(found.between)} before it" if found.between else ""
        yield ANSWERS[found.outcome].format(found.before, found.after, unknown)
        for name in found.between if found.outcome in CHANGES else ():
            yield f"  {name} says nothing: {self.reason(name)}"
        if bad := {Outcome.FIRST_BAD: found.after, Outcome.FIRST_GOOD: found.before}.get(found.outcome):
            yield f"how it fails: {self.reason(bad)}"
        if self.link:
            yield f"commits: {self.link}"
        yield from self.notes
        yield f"runs: {found.runs}, {found.beyond} beyond the ends; builds: {len(self.between.offers)}"
        yield f"again: {self.command}"


CHANGES = frozenset({Outcome.FIRST_BAD, Outcome.FIRST_GOOD})

ANSWERS: dict[Outcome, str] = {
    Outcome.FIRST_BAD: "first bad: {1}{2}; the last good one is {0}",
    Outcome.FIRST_GOOD: "first good: {1}{2}; the last bad one is {0}",
    Outcome.GOOD_THROUGHOUT: "no change: {0} and {1} are both good",
    Outcome.BAD_THROUGHOUT: "no change: {0} and {1} are both bad",
    Outcome.NOTHING_RUNS: "no answer: none of the builds can run the script",
}


@dataclass(frozen=True)
class Search:
    """One search, ready to run. `runner` gives what runs scripts in fresh processes of a build; `stopped`
    ends the search before its next build by KeyboardInterrupt."""

    store: Store
    environments: Environments
    runner: Callable[[Build], Fresh]
    say: Say
    stopped: Callable[[], bool]

    def run(
        self,
        question: Question,
        between: Stretch,
        *,
        subject: str,
        options: tuple[str, ...] = (),
        forget: bool = False,
    ) -> Report:
        """Search, going on from what is in the book unless it is to `forget` that. MachineryFailure when a
        build cannot be had or run for a reason that is not its own."""
        offers = {offer.name: offer for offer in between.offers}
        with self._book(question) as book:
            if forget:
                book.clear()
            before = _count(book.known())
            judge = Across(question, offers, self.environments, self.runner, book, self.stopped)
            found = bisect(tuple(offers), judge, book.known(), self._tell)
            answers = {name: book.judged(name) for name in offers if book.judged(name).answers}
            now = _count(book.known()) - before
        return Report(subject, options, question, between, found, answers, now)

    @contextmanager
    def _book(self, question: Question) -> Iterator[Book]:
        path = self.store.root / "bisects" / f"{question.ident}.json"
        with owned(path.with_suffix(".lock"), "this search"):
            yield Book(path, self.store.shelf)

    def _tell(self, build: str, answer: Answer) -> None:
        self.say(f"{build}: {answer.word}" + (f" ({answer.reason})" if answer.reason else ""))


def remember(store: Store, signature: str, report: Report) -> None:
    """Write what a search told into its finding, as the store has it now; one that has gone is left alone."""
    with store.shelf.held():
        if (finding := store.finding(signature)) is not None:
            where = classify.bisected(classify.standing(finding), report.change())
            store.put_finding(classify.stand(finding, where))


def _count(answers: Mapping[str, Sequence[Answer]]) -> int:
    return sum(len(given) for given in answers.values())
