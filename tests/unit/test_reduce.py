"""The descent, over a toy language in which a script is a string of letters and a bug is a set of letters."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from bot.reduce import Candidate, End, Options, Reduced, reduce


def never() -> bool:
    return False


def without_one(candidate: Candidate, start: int, page: int = 3) -> Options:
    text = candidate.script
    end = min(start + page, len(text))
    made = [Candidate(text[:i] + text[i + 1 :]) for i in range(start, end)]
    return Options(made, range(start, max(start, end)), end if end < len(text) else None)


class Judge:
    """Holds when every letter of `bug` is there, in order; remembers what it was asked."""

    def __init__(self, bug: str, unknown: Callable[[str], bool] = lambda text: False) -> None:
        self.bug = bug
        self.unknown = unknown
        self.asked: list[str] = []
        self.batches: list[int] = []

    def __call__(self, scripts: Sequence[str]) -> list[bool | None]:
        self.asked += scripts
        self.batches.append(len(scripts))
        return [None if self.unknown(s) else shows(self.bug, s) for s in scripts]


def shows(bug: str, text: str) -> bool:
    letters = iter(text)
    return all(letter in letters for letter in bug)


def assert_reduces_to(start: str, bug: str, expected: str, batch: int = 2) -> Reduced:
    judge = Judge(bug)
    found = reduce(Candidate(start), without_one, judge, batch=batch, out_of_time=never)
    assert found.best.script == expected
    assert found.end is End.MINIMAL
    assert len(judge.asked) == len(set(judge.asked)) == found.tried, "a script was judged twice"
    assert max(judge.batches) <= batch
    return found


def test_takes_away_all_that_the_bug_does_not_need() -> None:
    assert_reduces_to("abcdefgh", "cf", "cf")


def test_stays_where_it_is_when_nothing_can_go() -> None:
    assert assert_reduces_to("ab", "ab", "ab").taken == 0


@given(st.text("abcd", min_size=1, max_size=9), st.data())
def test_the_result_always_holds_and_has_nothing_that_can_go(start: str, data: st.DataObject) -> None:
    keep = data.draw(st.lists(st.sampled_from(range(len(start))), unique=True).map(sorted))
    bug = "".join(start[i] for i in keep)
    for batch in (1, 2, 5):
        assert_reduces_to(start, bug, bug, batch)


def test_the_first_of_a_batch_wins_whatever_ends_first() -> None:
    results = {
        reduce(Candidate("aab"), without_one, Judge("a"), batch=b, out_of_time=never).best.script
        for b in (1, 2, 3)
    }
    assert results == {"a"}


def test_a_budget_ends_with_the_best_so_far() -> None:
    ticks = itertools.count()
    found = reduce(
        Candidate("abcdefgh"), without_one, Judge("h"), batch=1, out_of_time=lambda: next(ticks) > 5
    )
    assert found.end is End.BUDGET
    assert shows("h", found.best.script)
    assert 1 < len(found.best.script) < 8


def test_what_cannot_be_judged_is_never_taken_and_is_said() -> None:
    judge = Judge("a", unknown=lambda text: "b" not in text)
    found = reduce(Candidate("abc"), without_one, judge, batch=2, out_of_time=never)
    assert found.best.script == "ab"
    assert found.end is End.UNKNOWN
    assert found.unknown > 0


def test_a_candidate_equal_to_its_origin_is_not_run() -> None:
    judge = Judge("a")
    found = reduce(
        Candidate("a"), lambda c, start: Options([c, c], [0, 1]), judge, batch=2, out_of_time=never
    )
    assert (found.tried, judge.asked) == (0, [])


@given(st.text("abcd", min_size=1, max_size=9), st.sampled_from((1, 2, 7)))
def test_how_many_candidates_are_made_at_a_time_changes_nothing(start: str, page: int) -> None:
    asked = []
    for size in (page, 100):
        judge = Judge(start[::2])
        reduce(
            Candidate(start),
            lambda c, at, size=size: without_one(c, at, size),
            judge,
            batch=2,
            out_of_time=never,
        )
        asked.append(judge.asked)
    assert asked[0] == asked[1]


def test_no_more_candidates_are_made_than_it_takes() -> None:
    made: list[int] = []

    def smaller(candidate: Candidate, start: int) -> Options:
        options = without_one(candidate, start, 2)
        made.append(len(options.candidates))
        return options

    reduce(Candidate("".join(map(chr, range(65, 115)))), smaller, Judge("r"), batch=2, out_of_time=never)
    assert sum(made) <= 2 * 50 + 2
