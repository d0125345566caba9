"""The book of answers, and what a search's report says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from bot import classify
from bot.across import Across, Book, Judged, Question
from bot.bisect import Answer, Bisected, Outcome, Word
from bot.builds.environments import CannotInstall, Environments
from bot.builds.offer import Offer
from bot.dating import Report, Search, remember
from bot.ends import stretch
from bot.errors import MachineryFailure
from bot.files import InUseError, owned
from bot.store import Store
from fuzzers.records import Build, Ending, Expect, Run
from tests.unit.made import a_finding

QUESTION = Question("assert False\n", Expect(Ending.ASSERTION), "torch", "cpu", "3.11.7")
OFFERS = [Offer("torch", f"2.15.0.dev202611{n:02}+cpu", "cpu", f"2026-11-{n:02}") for n in range(1, 9)]
NAMES = [offer.name for offer in OFFERS]
GOOD = Answer(Word.GOOD, "ends normally")


@dataclass
class Shelf:
    """Environments of builds that need no installing; `ends` maps a version to how the script ends on it."""

    ends: dict[str, list[Run]]
    used: list[str] = field(default_factory=list)

    @contextmanager
    def using(self, offer: Offer) -> Iterator[Build | CannotInstall]:
        self.used.append(offer.version)
        if offer.version not in self.ends:
            yield CannotInstall(offer, "no wheel")
        else:
            yield Build("torch", offer.version, "cpu", f"sha-{offer.date}", "python3", "3.11.7")

    def run(self, build: Build, scripts: Sequence[str]) -> list[Run]:
        assert list(scripts) == [QUESTION.script] * 3
        return self.ends[build.version]


FAILS, ENDS = Run(Ending.ASSERTION, "AssertionError"), Run(Ending.OK)
STUCK = Run(Ending.TIMEOUT)
RAISES = Run(Ending.EXCEPTION, "InductorError", "no lowering", compiled_side=True)


def a_shelf(**others: list[Run]) -> Shelf:
    """Eight days of which the first five are good; `others` maps `day3` to other runs."""
    ends = {offer.version: [ENDS if n < 5 else FAILS] * 3 for n, offer in enumerate(OFFERS)}
    for day, runs in others.items():
        version = OFFERS[int(day.removeprefix("day")) - 1].version
        if runs:
            ends[version] = runs
        else:
            del ends[version]
    return Shelf(ends)


def a_search(store: Store, shelf: Shelf, stops: Sequence[bool] = ()) -> Search:
    """`stops`: whether it is stopped, build by build."""
    left = list(stops)
    return Search(
        store,
        cast(Environments, shelf),
        lambda build: lambda scripts: shelf.run(build, scripts),
        lambda line: None,
        lambda: left.pop(0) if left else False,
    )


def searched(store: Store, shelf: Shelf, good: str = "", bad: str = "") -> Report:
    between = stretch(OFFERS, good, bad)
    options = ("--build", "nightly")
    return a_search(store, shelf).run(QUESTION, between, subject="my repro.py", options=options)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", pytest.fail)


def test_a_search_names_the_build_and_the_commits(store: Store) -> None:
    report = searched(store, a_shelf())
    assert (report.found.before, report.found.after) == (NAMES[4], NAMES[5])
    assert report.link.endswith("/sha-2026-11-05...sha-2026-11-06")
    assert "the nightly branch" in report.notes[0]
    lines = list(report.lines())
    assert lines[0] == f"first bad: {NAMES[5]}; the last good one is {NAMES[4]}"
    assert lines[-1] == (
        "again: nightfuzz bisect 'my repro.py' --build nightly "
        "--good 2.15.0.dev20261101+cpu --bad 2.15.0.dev20261108+cpu"
    )


def test_builds_that_say_nothing_are_in_the_range_with_their_reason(store: Store) -> None:
    report = searched(store, a_shelf(day5=[], day6=[STUCK] * 3))
    assert (report.found.before, report.found.after) == (NAMES[3], NAMES[6])
    lines = list(report.lines())
    assert lines[0].startswith(f"first bad: {NAMES[6]}, or one of 2 before it; ")
    assert lines[1:3] == [
        f"  {NAMES[4]} says nothing: cannot be installed: no wheel",
        f"  {NAMES[5]} says nothing: does not end in time",
    ]
    assert [one["reason"] for one in report.document()["between"]] == [
        "cannot be installed: no wheel",
        "does not end in time",
    ]


def test_failing_in_another_way_is_bad_and_said(store: Store) -> None:
    report = searched(store, a_shelf(day6=[RAISES] * 3))
    assert report.reason(NAMES[5]) == "in another way than recorded: InductorError: no lowering"
    assert report.found.after == NAMES[5]


def test_runs_that_disagree_are_flaky_and_judged_again(store: Store) -> None:
    shelf = a_shelf(day6=[FAILS, ENDS, FAILS])
    report = searched(store, shelf)
    assert shelf.used.count(OFFERS[5].version) == 2
    assert report.found.between == (NAMES[5],)
    assert report.reason(NAMES[5]) == "fails in 2 of 3 runs"


def test_ends_the_other_way_round_are_said(store: Store) -> None:
    report = searched(store, a_shelf(), good=OFFERS[-1].version, bad=OFFERS[0].version)
    assert report.found.outcome is Outcome.FIRST_BAD
    assert f"the ends are the other way round: {NAMES[0]} is the good one" in report.notes


@pytest.mark.parametrize(
    ("shelf", "said"),
    [
        (
            Shelf({o.version: [ENDS] * 3 for o in OFFERS}),
            f"no change: {NAMES[0]} and {NAMES[7]} are both good",
        ),
        (
            Shelf({o.version: [FAILS] * 3 for o in OFFERS}),
            f"no change: {NAMES[0]} and {NAMES[7]} are both bad",
        ),
        (Shelf({}), "no answer: none of the builds can run the script"),
    ],
)
def test_what_is_no_change_is_an_answer(store: Store, shelf: Shelf, said: str) -> None:
    report = searched(store, shelf)
    assert next(report.lines()) == said
    assert (report.link, report.document()["link"]) == ("", "")


def test_a_search_with_other_ends_asks_only_what_is_new(store: Store) -> None:
    searched(store, a_shelf(), bad=OFFERS[6].version)
    shelf = a_shelf()
    report = searched(store, shelf)
    assert shelf.used == [OFFERS[7].version]
    assert (report.now, report.found.after) == (1, NAMES[5])


def test_what_is_to_be_forgotten_is_asked_again(store: Store) -> None:
    searched(store, a_shelf())
    shelf = a_shelf()
    a_search(store, shelf).run(QUESTION, stretch(OFFERS, "", ""), subject="", forget=True)
    assert len(shelf.used) == len(set(shelf.used)) == 5


def test_a_person_who_stops_it_keeps_what_was_told(store: Store) -> None:
    shelf = a_shelf()
    with pytest.raises(KeyboardInterrupt):
        a_search(store, shelf, [False, False, True]).run(QUESTION, stretch(OFFERS, "", ""), subject="")
    assert len(shelf.used) == 2
    searched(store, shelf)
    assert len(shelf.used) == len(set(shelf.used)) == 5


def test_a_failure_of_the_machinery_is_no_answer(store: Store) -> None:
    def run(build: Build, scripts: Sequence[str]) -> list[Run]:
        raise MachineryFailure("no disk")

    book = Book(store.root / "book.json", store.shelf)
    environments = cast(Environments, a_shelf())
    judge = Across(QUESTION, {NAMES[0]: OFFERS[0]}, environments, lambda b: lambda s: run(b, s), book)
    with pytest.raises(MachineryFailure):
        judge(NAMES[0])
    assert book.known() == {}


def test_a_book_is_read_as_it_was_written(store: Store) -> None:
    path = store.root / "bisects" / "book.json"
    book = Book(path, store.shelf)
    book.add(NAMES[0], Answer(Word.FLAKY, "fails in 1 of 3 runs"), "")
    book.add(NAMES[0], GOOD, "sha")
    again = Book(path, store.shelf)
    assert again.judged(NAMES[0]) == Judged((Answer(Word.FLAKY, "fails in 1 of 3 runs"), GOOD), "sha")
    assert again.judged(NAMES[1]) == Judged()


def test_a_broken_book_is_set_aside_and_begun_again(tmp_path: Path) -> None:
    said: list[str] = []
    store = Store(tmp_path, said.append)
    path = store.root / "bisects" / "book.json"
    Book(path, store.shelf).add(NAMES[0], GOOD, "sha")
    path.write_text(path.read_text()[:-9])
    assert Book(path, store.shelf).known() == {}
    assert "set aside bisects/book.json" in said[0]


def test_two_searches_for_the_same_do_not_run_at_once(store: Store) -> None:
    lock = store.root / "bisects" / f"{QUESTION.ident}.lock"
    with owned(lock, "it"), pytest.raises(InUseError, match="this search is in use"):
        searched(store, a_shelf())


@pytest.mark.parametrize(
    "other",
    [
        Question("assert True\n", QUESTION.expect, "torch", "cpu", "3.11.7"),
        Question(QUESTION.script, Expect(Ending.TIMEOUT), "torch", "cpu", "3.11.7"),
        Question(QUESTION.script, QUESTION.expect, "torch", "cu130", "3.11.7"),
        Question(QUESTION.script, QUESTION.expect, "torch", "cpu", "3.12.0"),
    ],
)
def test_another_question_has_another_book(other: Question) -> None:
    assert other.ident != QUESTION.ident


def test_a_finding_remembers_since_when(store: Store) -> None:
    store.put_finding(a_finding())
    remember(store, a_finding().signature, searched(store, a_shelf()))
    (finding,) = store.findings()
    standing = classify.standing(finding)
    assert standing.on_builds is classify.OnBuilds.REGRESSION
    assert standing.reason == f"{NAMES[4]} is right and {NAMES[5]} is wrong"
    assert standing.change == classify.Change.of(
        Bisected(Outcome.FIRST_BAD, NAMES[4], NAMES[5]), standing.change.link if standing.change else ""
    )


def test_a_finding_that_has_gone_from_the_store_is_left_alone(store: Store) -> None:
    remember(store, "nf2-nobody", searched(store, a_shelf()))
    assert list(store.findings()) == []
