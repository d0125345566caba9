"""Bisecting against an oracle that knows every build: the answer holds the change and no build too many."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.bisect import REPEATS, Answer, Bisected, Outcome, Word, bisect, settled

GOOD, BAD = Answer(Word.GOOD), Answer(Word.BAD)
NOTHING, FLAKY = Answer(Word.UNKNOWN, "no wheel"), Answer(Word.FLAKY, "fails in 1 of 3 runs")
LETTERS = {"g": GOOD, "b": BAD, "-": NOTHING, "f": FLAKY, "G": GOOD, "B": BAD}
"""A build each: good, bad, says nothing, always flaky; G and B are flaky once, then good and bad."""


class Oracle:
    """Judges the builds that a word of LETTERS describes; the names are the places."""

    def __init__(self, letters: str) -> None:
        self.letters = letters
        self.builds = [str(place) for place in range(len(letters))]
        self.judged: Counter[str] = Counter()

    def __call__(self, build: str) -> Answer:
        self.judged[build] += 1
        letter = self.letters[int(build)]
        return FLAKY if letter in "GB" and self.judged[build] == 1 else LETTERS[letter]

    def says(self, place: int) -> Word:
        """What a build really is; an always flaky one says nothing."""
        word = LETTERS[self.letters[place]].word
        return Word.UNKNOWN if word is Word.FLAKY else word

    def search(self) -> Bisected:
        return bisect(self.builds, self)


def histories(change: str = "gb") -> st.SearchStrategy[str]:
    """One change somewhere, from change[0] to change[1], and any builds that say nothing."""
    a, b = change
    return st.builds(
        lambda before, after: before + after,
        st.text(st.sampled_from([a, a.upper(), "-", "f", a, a]), min_size=1, max_size=40),
        st.text(st.sampled_from([b, b.upper(), "-", "f", b, b]), min_size=1, max_size=40),
    )


def in_blocks() -> st.SearchStrategy[str]:
    """One change, and builds that say nothing in long blocks."""
    part = st.tuples(st.booleans(), st.integers(1, 15))
    half = st.lists(part, min_size=1, max_size=5)
    return st.builds(
        lambda *halves: "".join(
            (letter if usable else "-") * n
            for letter, half in zip("gb", halves, strict=True)
            for usable, n in half
        ),
        half,
        half,
    ).filter(lambda letters: len(letters) > 1)


def assert_true_and_minimal(letters: str) -> None:
    """The answer is what reading the whole history gives."""
    oracle = Oracle(letters)
    found = oracle.search()
    clear = [i for i in range(len(letters)) if oracle.says(i) in (Word.GOOD, Word.BAD)]
    changes = [(a, b) for a, b in pairwise(clear) if oracle.says(a) != oracle.says(b)]
    if changes:
        ((before, after),) = changes
        assert found.outcome is (Outcome.FIRST_BAD if oracle.says(after) is Word.BAD else Outcome.FIRST_GOOD)
        assert (found.before, found.after) == (str(before), str(after))
        assert found.between == tuple(str(i) for i in range(before + 1, after))
    elif clear:
        assert found.outcome in (Outcome.GOOD_THROUGHOUT, Outcome.BAD_THROUGHOUT)
        assert (found.outcome is Outcome.BAD_THROUGHOUT) == (oracle.says(clear[0]) is Word.BAD)
    else:
        assert found.outcome is Outcome.NOTHING_RUNS
    assert found.runs == oracle.judged.total()


@given(histories("gb"))
def test_the_first_bad_build_or_the_smallest_range_that_holds_it(letters: str) -> None:
    assert_true_and_minimal(letters)


@given(histories("bg"))
def test_the_first_good_build_just_so(letters: str) -> None:
    assert_true_and_minimal(letters)


@given(in_blocks())
def test_blocks_change_nothing_about_that(letters: str) -> None:
    assert_true_and_minimal(letters)


@given(st.text(st.sampled_from("g-fG"), min_size=2, max_size=40))
def test_no_change_is_an_answer(letters: str) -> None:
    assert_true_and_minimal(letters)


@given(st.integers(2, 300), st.data())
def test_where_all_can_run_it_takes_the_logarithm(count: int, data: st.DataObject) -> None:
    change = data.draw(st.integers(1, count - 1))
    oracle = Oracle("g" * change + "b" * (count - change))
    found = oracle.search()
    assert found.beyond <= math.ceil(math.log2(count - 1)) if count > 2 else found.beyond == 0
    assert found.runs == found.beyond + 2


def test_sixty_builds_of_which_one_is_odd_take_eight_runs_or_where_it_alone_matters_nine() -> None:
    runs: Counter[int] = Counter()
    for change in range(1, 60, 2):
        for odd in range(1, 59, 2):
            for letter in "-fG":
                letters = ["g"] * change + ["b"] * (60 - change)
                letters[odd] = letters[odd].upper() if letter == "G" else letter
                runs[Oracle("".join(letters)).search().beyond] += 1
    assert max(runs) <= 9
    assert sum(n for beyond, n in runs.items() if beyond > 8) <= 0.01 * runs.total()


@given(in_blocks())
def test_builds_outside_the_answer_cost_little(letters: str) -> None:
    oracle = Oracle(letters)
    found = oracle.search()
    useless = sum(oracle.says(i) is Word.UNKNOWN for i in range(len(letters)))
    assert found.runs <= 2 * math.ceil(math.log2(len(letters))) + 2 + useless


def test_a_block_in_the_middle_costs_its_logarithm() -> None:
    oracle = Oracle("g" * 12 + "-" * 24 + "g" * 4 + "b" * 20)
    assert oracle.search().beyond <= 10


def test_a_block_at_an_end_costs_its_logarithm() -> None:
    oracle = Oracle("-" * 20 + "g" * 20 + "b" * 20)
    found = oracle.search()
    assert sum(oracle.judged[str(i)] for i in range(20)) <= 6
    assert found.notes == ("the oldest build, 0, says nothing: no wheel",)


def test_a_change_hidden_behind_an_end_that_cannot_run_is_found() -> None:
    found = Oracle("---g-" + "b" * 30).search()
    assert (found.before, found.between, found.after) == ("3", ("4",), "5")


@given(histories("gb"))
def test_no_build_is_judged_more_often_than_its_repeats(letters: str) -> None:
    oracle = Oracle(letters)
    oracle.search()
    for place, letter in enumerate(letters):
        assert oracle.judged[str(place)] <= (1 if letter in "gb-" else 1 + REPEATS)


class Killed(Exception):
    """Stands for a kill -9 of the search."""


@given(histories("gb"), st.data())
def test_killed_anywhere_it_goes_on_and_judges_nothing_twice(letters: str, data: st.DataObject) -> None:
    whole = Oracle(letters)
    wanted = whole.search()
    oracle, kept = Oracle(letters), dict[str, list[Answer]]()

    def keep(build: str, answer: Answer) -> None:
        kept.setdefault(build, []).append(answer)
        if sum(map(len, kept.values())) == stop:
            raise Killed

    stop = data.draw(st.integers(1, wanted.runs))
    with pytest.raises(Killed):
        bisect(oracle.builds, oracle, note=keep)
    stop = 0
    assert bisect(oracle.builds, oracle, kept, keep) == wanted
    assert oracle.judged == whole.judged


@given(histories("gb"))
def test_with_every_answer_known_nothing_is_judged(letters: str) -> None:
    kept: dict[str, list[Answer]] = {}
    oracle = Oracle(letters)
    wanted = bisect(oracle.builds, oracle, note=lambda b, a: kept.setdefault(b, []).append(a))
    assert bisect(oracle.builds, lambda build: pytest.fail(build), kept) == wanted


@given(st.text(st.sampled_from("gb-f"), min_size=2, max_size=30))
def test_a_history_with_several_changes_gets_one_of_them(letters: str) -> None:
    oracle = Oracle(letters)
    found = oracle.search()
    if found.outcome in (Outcome.FIRST_BAD, Outcome.FIRST_GOOD):
        assert {oracle.says(int(found.before)), oracle.says(int(found.after))} == {Word.GOOD, Word.BAD}
        assert all(oracle.says(int(i)) is Word.UNKNOWN for i in found.between)


@pytest.mark.parametrize(
    ("answers", "word"),
    [
        ([GOOD], Word.GOOD),
        ([NOTHING], Word.UNKNOWN),
        ([FLAKY], Word.FLAKY),
        ([FLAKY, BAD], Word.FLAKY),
        ([FLAKY, BAD, BAD], Word.BAD),
        ([FLAKY, GOOD, BAD], Word.UNKNOWN),
        ([FLAKY, FLAKY], Word.UNKNOWN),
        ([FLAKY, NOTHING], Word.UNKNOWN),
    ],
)
def test_repeats_of_a_flaky_build_count_when_they_agree(answers: list[Answer], word: Word) -> None:
    assert settled(answers) is word


@pytest.mark.parametrize("builds", [[], ["1"], ["1", "1"]])
def test_a_list_that_is_none_is_refused(builds: list[str]) -> None:
    with pytest.raises(ValueError, match="two builds"):
        bisect(builds, lambda build: GOOD)
