"""Merging is the same whichever store comes first and however often; people outrank builds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.merge import merge_findings, merge_states
from bot.states import Status, TriageState
from fuzzers.records import Finding
from tests.unit.made import a_finding

TIMES = st.sampled_from(["", "2026-11-01", "2026-11-02"])
DECISIONS = st.fixed_dictionaries({"state": st.sampled_from(["open", "gone"]), "at": TIMES})
FINDINGS = st.builds(
    lambda **fields: a_finding(**fields),
    first_seen=TIMES,
    last_seen=TIMES,
    state=st.sampled_from(["open", "gone"]),
    suspects=st.lists(st.sampled_from("abc"), unique=True).map(tuple),
    verdicts=st.lists(st.fixed_dictionaries({"at": TIMES, "verdict": st.sampled_from("rg")}), max_size=2).map(
        tuple
    ),
    detail=st.fixed_dictionaries({}, optional={"decision": DECISIONS, "seen": st.sampled_from(["x", "y"])}),
)
STATES = st.builds(
    TriageState,
    status=st.sampled_from(Status),
    stages=st.sampled_from([{}, {"confirm": {}}, {"confirm": {}, "reduce": {}}]),
    updated_at=TIMES,
)


@given(FINDINGS, FINDINGS)
def test_findings_merge_the_same_both_ways(a: Finding, b: Finding) -> None:
    assert merge_findings(a, b) == merge_findings(b, a)


@given(FINDINGS, FINDINGS)
def test_merging_again_changes_nothing(a: Finding, b: Finding) -> None:
    once = merge_findings(a, b)
    assert merge_findings(once, b) == once
    assert merge_findings(once, once) == once


@given(FINDINGS, FINDINGS)
def test_no_suspect_and_no_verdict_is_lost(a: Finding, b: Finding) -> None:
    merged = merge_findings(a, b)
    assert set(merged.suspects) == {*a.suspects, *b.suspects}
    assert all(verdict in merged.verdicts for verdict in (*a.verdicts, *b.verdicts))


@given(STATES, STATES)
def test_states_merge_the_same_both_ways(a: TriageState, b: TriageState) -> None:
    assert merge_states(a, b) == merge_states(b, a)


def test_the_later_build_wins() -> None:
    early, late = a_finding(last_seen="1", state="open"), a_finding(last_seen="2", state="gone")
    assert merge_findings(early, late).state == "gone"


def test_a_persons_decision_outlives_later_builds() -> None:
    decided = a_finding(last_seen="1", detail={"decision": {"state": "gone", "at": "1"}})
    later = a_finding(last_seen="2", state="open")
    assert merge_findings(decided, later).state == "gone"


def test_a_finished_triage_beats_an_unfinished_one() -> None:
    finished = TriageState(Status.FLAKY, updated_at="1")
    pending = TriageState(Status.PENDING, stages={"confirm": {}}, updated_at="2")
    assert merge_states(finished, pending) == finished
