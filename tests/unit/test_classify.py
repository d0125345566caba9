"""New, known or regressed; a regression, pre-existing, or not known: with the reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import classify, history, wire
from bot.bisect import Outcome
from bot.classify import Change, Elsewhere, InStore, OnBuilds, Standing
from bot.states import Ledger, Trial, Tried
from fuzzers.records import Verdict, encode
from tests.unit.made import BUILD, a_finding

STABLE, NIGHTLY = "torch 2.14.1", "torch 2.15.0.dev20261101"
DECIDED = {"decision": {"state": "gone", "at": "2026-11-01"}}
VERDICTS = st.one_of(st.none(), st.sampled_from(Verdict))


def said(build: str, verdict: Verdict | None) -> Elsewhere | None:
    return Elsewhere(build, verdict) if verdict else None


@pytest.mark.parametrize(
    ("stable", "nightly", "wanted", "why"),
    [
        (Verdict.GONE, Verdict.REPRODUCES, OnBuilds.REGRESSION, "torch 2.14.1 is right"),
        (Verdict.GONE, None, OnBuilds.REGRESSION, "torch 2.14.1 is right"),
        (Verdict.REPRODUCES, Verdict.GONE, OnBuilds.REGRESSION, "torch 2.15.0.dev20261101 is right"),
        (Verdict.CANNOT_RUN, Verdict.GONE, OnBuilds.REGRESSION, "torch 2.15.0.dev20261101 is right"),
        (Verdict.REPRODUCES, Verdict.REPRODUCES, OnBuilds.PRE_EXISTING, "torch 2.14.1 is wrong, too"),
        (Verdict.REPRODUCES, None, OnBuilds.PRE_EXISTING, "torch 2.14.1 is wrong, too"),
        (None, Verdict.REPRODUCES, OnBuilds.UNKNOWN, "torch 2.15.0.dev20261101: reproduces"),
        (Verdict.FLAKY, Verdict.CANNOT_RUN, OnBuilds.UNKNOWN, "torch 2.14.1: flaky"),
        (None, None, OnBuilds.UNKNOWN, "no other build was asked"),
    ],
)
def test_what_older_builds_say(
    stable: Verdict | None, nightly: Verdict | None, wanted: OnBuilds, why: str
) -> None:
    found, reason = classify.on_builds(said(STABLE, stable), said(NIGHTLY, nightly), is_first=False)
    assert found is wanted
    assert why in reason


@given(VERDICTS, VERDICTS)
def test_what_the_first_build_of_an_installation_shows_was_there_before(
    stable: Verdict | None, nightly: Verdict | None
) -> None:
    found, reason = classify.on_builds(said(STABLE, stable), said(NIGHTLY, nightly), is_first=True)
    assert found is OnBuilds.PRE_EXISTING
    assert "first build" in reason


@given(VERDICTS, VERDICTS)
def test_only_a_build_that_is_right_makes_a_regression(
    stable: Verdict | None, nightly: Verdict | None
) -> None:
    found, _ = classify.on_builds(said(STABLE, stable), said(NIGHTLY, nightly), is_first=False)
    assert (found is OnBuilds.REGRESSION) == (Verdict.GONE in (stable, nightly))


def a_ledger(*outcomes: tuple[str, Tried]) -> Ledger:
    trials = [
        Trial("torch", version, "cpu", "3.11.7", "", "flowmut", "1", outcome, "2026-11-01")
        for version, outcome in outcomes
    ]
    return Ledger({trial.key: trial for trial in trials})


def test_the_first_build_is_the_one_beside_which_none_was_tested() -> None:
    build = replace(BUILD, version="2", git_sha="")
    assert classify.is_first_build(a_ledger(), build)
    assert classify.is_first_build(a_ledger(("2", Tried.TESTED), ("1", Tried.INSTALL_FAILED)), build)
    assert not classify.is_first_build(a_ledger(("2", Tried.TESTED), ("1", Tried.TESTED)), build)
    assert classify.is_first_build(a_ledger(("1", Tried.TESTED)), replace(build, framework="mindspore"))


@pytest.mark.parametrize(
    ("outcome", "wanted"),
    [
        (Outcome.FIRST_BAD, OnBuilds.REGRESSION),
        (Outcome.FIRST_GOOD, OnBuilds.PRE_EXISTING),
        (Outcome.BAD_THROUGHOUT, OnBuilds.PRE_EXISTING),
        (Outcome.GOOD_THROUGHOUT, OnBuilds.UNKNOWN),
        (Outcome.NOTHING_RUNS, OnBuilds.UNKNOWN),
    ],
)
def test_a_search_outranks_what_was_thought(outcome: Outcome, wanted: OnBuilds) -> None:
    change = Change(outcome, "torch 1", "torch 2")
    found = classify.bisected(Standing(InStore.NEW), change)
    assert (found.on_builds, found.change) == (wanted, change)
    if wanted is not OnBuilds.UNKNOWN:
        assert "torch 1 is" in found.reason


STANDINGS = st.builds(
    Standing,
    in_store=st.sampled_from(InStore),
    on_builds=st.sampled_from(OnBuilds),
    reason=st.text(st.characters(exclude_categories=["Cs"])),
    change=st.one_of(
        st.none(),
        st.builds(Change, st.sampled_from(Outcome), st.just("a"), st.just("b"), st.just(("c", "d"))),
    ),
)


@given(STANDINGS)
def test_a_standing_goes_through_json(where: Standing) -> None:
    assert wire.convert(Standing, encode(where)) == where
    assert classify.standing(classify.stand(a_finding(), where)) == where


@pytest.mark.parametrize("since", [{}, {"build": "2.13.0"}, {"in_store": "old"}])
def test_a_finding_without_a_readable_standing_is_known(since: dict[str, str]) -> None:
    assert classify.standing(a_finding(since=since)) == Standing(InStore.KNOWN)


def test_a_finding_that_was_gone_and_is_met_again_has_regressed() -> None:
    newer = replace(BUILD, version="2.14.0", git_sha="new")
    gone = classify.stand(a_finding(state="gone"), Standing(InStore.KNOWN, OnBuilds.REGRESSION, "why"))
    back = classify.seen_again(gone, newer, "2026-11-05")
    assert back.state == "open"
    assert back.detail["regressed"] == {"build": "torch 2.14.0", "at": "2026-11-05"}
    assert classify.standing(back) == Standing(InStore.REGRESSED, OnBuilds.REGRESSION, "why")
    assert back.verdicts[-1]["verdict"] == "reproduces"
    assert back.last_seen == "2026-11-05"


def test_what_a_person_has_called_gone_stays_so() -> None:
    gone = a_finding(state="gone", detail=DECIDED)
    met = classify.seen_again(gone, replace(BUILD, git_sha="new"), "2026-11-05")
    assert (met.state, "regressed" in met.detail) == ("gone", False)


def test_an_open_finding_that_is_met_again_is_just_seen() -> None:
    met = classify.seen_again(a_finding(), BUILD, "2026-11-05")
    assert (met.state, met.since, met.last_seen) == ("open", {}, "2026-11-05")


def on_builds_said(*said: tuple[str, Verdict]) -> Standing:
    """The standing of a bug that torch 2.13.0 showed first, after verdicts of other builds."""
    finding = a_finding()
    for version, verdict in said:
        build = replace(BUILD, version=version, git_sha=version)
        finding = classify.heard(history.noted(finding, history.entry(build, verdict, "2026-11-02")))
    return classify.standing(finding)


def test_a_retest_on_an_older_build_tells_a_regression() -> None:
    assert on_builds_said(("2.12.0", Verdict.GONE)).on_builds is OnBuilds.REGRESSION
    assert on_builds_said(("2.12.0", Verdict.REPRODUCES)).on_builds is OnBuilds.PRE_EXISTING
    assert on_builds_said(("2.13.0.dev20260101", Verdict.GONE)).on_builds is OnBuilds.REGRESSION


def test_builds_that_are_newer_or_cannot_run_it_tell_nothing() -> None:
    assert on_builds_said(("2.14.0", Verdict.GONE)).on_builds is OnBuilds.UNKNOWN
    assert on_builds_said(("2.12.0", Verdict.CANNOT_RUN)).on_builds is OnBuilds.UNKNOWN


def test_the_last_of_the_older_builds_counts() -> None:
    said = on_builds_said(("2.11.0", Verdict.GONE), ("2.12.0", Verdict.REPRODUCES))
    assert (said.on_builds, said.reason) == (OnBuilds.PRE_EXISTING, "torch 2.12.0 is wrong, too")


def test_a_bisect_knows_better() -> None:
    told = Change(Outcome.FIRST_BAD, "torch 2.12.0", "torch 2.13.0")
    finding = classify.stand(a_finding(), classify.bisected(Standing(InStore.NEW), told))
    older = history.entry(replace(BUILD, version="2.12.0", git_sha="x"), Verdict.REPRODUCES)
    assert classify.heard(history.noted(finding, older)).since == finding.since
