"""What the verdicts of many builds amount to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import history
from fuzzers.records import Build, Finding, Verdict
from tests.unit.made import BUILD, a_finding

LETTERS = {"r": Verdict.REPRODUCES, "g": Verdict.GONE, "f": Verdict.FLAKY, "-": Verdict.CANNOT_RUN}


def night(number: int) -> Build:
    """A build that is newer than the one on which the finding was made."""
    return replace(BUILD, version=f"2.15.0.dev202611{number:02}+cpu", git_sha=f"{number:012}")


def after(letters: str, finding: Finding | None = None, first: int = 1) -> Finding:
    """A finding with a verdict a night."""
    finding = finding or a_finding()
    for number, letter in enumerate(letters, first):
        finding = history.noted(finding, history.entry(night(number), LETTERS[letter], f"{number:03}"))
    return finding


@pytest.mark.parametrize(
    ("letters", "wanted"),
    [
        ("", "open"),
        ("g", "open"),
        ("gg", "open"),
        ("ggg", "gone"),
        ("g-g--g", "gone"),
        ("---", "open"),
        ("ggfg", "open"),
        ("ggfggg", "gone"),
        ("ggrg", "open"),
        ("gggr", "open"),
        ("gggrgg", "open"),
    ],
)
def test_gone_is_three_builds_in_a_row(letters: str, wanted: str) -> None:
    assert history.state(after(letters)) == wanted


@pytest.mark.parametrize(
    ("letters", "wanted"), [("gggg", "gone"), ("f", "gone"), ("-", "gone"), ("r", "open")]
)
def test_what_is_gone_is_back_when_it_reproduces(letters: str, wanted: str) -> None:
    assert history.state(after("ggg" + letters, a_finding(state="gone"))) == wanted


@given(st.text(st.sampled_from("rgf-"), max_size=12), st.randoms())
def test_the_order_in_which_builds_were_tested_does_not_matter(letters: str, random: object) -> None:
    finding = after(letters)
    shuffled = list(finding.verdicts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert history.state(replace(finding, verdicts=tuple(shuffled))) == history.state(finding)


@given(st.text(st.sampled_from("rgf-"), max_size=12))
def test_builds_that_cannot_run_do_not_matter(letters: str) -> None:
    with_them = after("".join(f"-{letter}-" for letter in letters))
    assert history.state(with_them) == history.state(after(letters))


@given(st.text(st.sampled_from("rgf-"), max_size=12), st.sampled_from(["open", "gone"]))
def test_a_persons_decision_always_wins(letters: str, decided: str) -> None:
    finding = a_finding(detail={"decision": {"state": decided, "at": "2026-11-01"}})
    assert history.state(after(letters, finding)) == decided


def test_older_builds_without_the_bug_do_not_close_it() -> None:
    finding = a_finding()
    for version in ("2.9.0", "2.10.0", "2.11.0", "2.12.0"):
        older = replace(BUILD, version=version, git_sha=version)
        finding = history.noted(finding, history.entry(older, Verdict.GONE, "2026-12-01"))
    assert history.state(finding) == "open"
    assert not history.has_changed(finding, replace(BUILD, version="2.9.0", git_sha="2.9.0"))


def test_variants_of_a_build_are_one_build_and_the_worst_counts() -> None:
    finding = after("gg")
    for variant in ("cu128", "cu130"):
        finding = history.noted(finding, history.entry(replace(night(2), variant=variant), Verdict.GONE))
    assert history.state(finding) == "open"
    finding = after("g", after("gg"), first=3)
    other = replace(night(3), variant="cu130")
    assert history.state(history.noted(finding, history.entry(other, Verdict.REPRODUCES))) == "open"


def test_a_second_verdict_of_a_build_replaces_the_first() -> None:
    finding = after("g", after("ggr"), first=3)
    assert len(finding.verdicts) == 3
    assert history.state(finding) == "gone"


def test_the_build_of_the_finding_can_be_asked_again() -> None:
    finding = history.noted(a_finding(), history.entry(BUILD, Verdict.GONE))
    assert [word.verdict for word in history.words(finding)] == [Verdict.GONE]


def test_a_verdict_that_is_none_is_passed_over() -> None:
    finding = after("gg")
    finding = replace(finding, verdicts=({"verdict": "maybe"}, {}, *finding.verdicts))
    assert [word.verdict for word in history.words(finding)] == list(map(LETTERS.get, "rgg"))


def test_a_version_that_is_none_is_older_than_all() -> None:
    odd = replace(BUILD, version="of my own", git_sha="odd")
    finding = history.noted(after("ggg"), history.entry(odd, Verdict.REPRODUCES, "zzz"))
    assert history.state(finding) == "gone"


@pytest.mark.parametrize(
    ("letters", "changed"),
    [
        ("r", False),
        ("g", True),
        ("f", True),
        ("-", True),
        ("gg", False),
        ("-r", False),
        ("-g", True),
        ("--", True),
    ],
)
def test_a_change_is_from_the_last_build_that_could_run(letters: str, changed: bool) -> None:
    assert history.has_changed(after(letters), night(len(letters))) is changed


def test_a_build_that_was_not_asked_changes_nothing() -> None:
    assert not history.has_changed(after("g"), night(9))


def test_seeing_it_fail_is_seeing_it() -> None:
    assert after("r").last_seen == "001"
    assert after("g").last_seen == ""


@given(st.integers(0, 100), st.integers(0, 100))
def test_too_many_changes_are_more_than_five_and_more_than_a_fifth(changed: int, of_open: int) -> None:
    assert bool(history.too_many(changed, of_open)) == (changed > 5 and changed * 5 > of_open)
