"""People's decisions: the later counts in every merge, and taking one back gives builds the word again."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bot import decisions, history
from bot.decisions import Decision, Kind
from bot.merge import merge_findings
from fuzzers.records import Build, Finding, Verdict
from tests.unit.made import a_finding

DECISIONS = st.builds(
    Decision,
    st.sampled_from(Kind),
    by=st.just("wanda"),
    by_id=st.just("21"),
    at=st.sampled_from([f"2026-12-0{day}T00:00:00Z" for day in range(1, 6)]),
)


def heard(finding: Finding, verdicts: str) -> Finding:
    """The finding after builds said: r(eproduces), g(one)."""
    for day, letter in enumerate(verdicts, 1):
        build = Build("torch", f"2.15.0.dev2026120{day}", "cpu", f"{day:08x}", "python3", "3.11.7")
        said = Verdict.GONE if letter == "g" else Verdict.REPRODUCES
        finding = history.noted(finding, history.entry(build, said, f"2026-12-0{day}T01:00:00Z"))
    return replace(finding, state=history.state(finding))


def decided(finding: Finding, told: list[Decision]) -> Finding:
    """The finding after decisions, in the order of their times."""
    for decision in sorted(told, key=lambda one: one.at):
        finding = decisions.decided(finding, decision)
    return finding


HISTORIES = st.tuples(st.text("rg", max_size=4), st.lists(DECISIONS, max_size=3))


def made(told: tuple[str, list[Decision]]) -> Finding:
    """The finding that a store has after this."""
    return decided(heard(a_finding(state="open"), told[0]), told[1])


@given(HISTORIES, HISTORIES)
def test_merging_decided_findings_is_the_same_both_ways_and_again(
    a: tuple[str, list[Decision]], b: tuple[str, list[Decision]]
) -> None:
    x, y = made(a), made(b)
    merged = merge_findings(x, y)
    assert merge_findings(y, x) == merged
    assert merge_findings(merged, y) == merged
    assert merge_findings(x, merged) == merged


@given(HISTORIES, HISTORIES)
def test_the_later_decision_is_the_state_and_after_an_undo_none_is(
    a: tuple[str, list[Decision]], b: tuple[str, list[Decision]]
) -> None:
    merged = merge_findings(made(a), made(b))
    standing = decisions.standing(merged)
    if standing is not None:
        assert merged.state == standing["state"]
    else:
        assert merged.state in ("open", "gone")
    assert standing is None or standing["at"] == max(one.at for one in (*a[1], *b[1]))


@given(st.sampled_from([Kind.WONTFIX, Kind.INVALID, Kind.DUP]), st.text("rg", max_size=4))
def test_taking_a_decision_back_gives_what_builds_said(kind: Kind, verdicts: str) -> None:
    before = heard(a_finding(state="open"), verdicts)
    closed = decisions.decided(before, Decision(kind, "wanda", "21", "2026-12-08T00:00:00Z"))
    undone = decisions.decided(closed, Decision(Kind.UNDO, "wanda", "21", "2026-12-09T00:00:00Z"))
    assert (closed.state, undone.state) == (str(kind), before.state)
    assert merge_findings(closed, undone).state == before.state
    assert merge_findings(undone, closed).state == before.state


def test_builds_that_only_one_store_has_heard_count_after_an_undo() -> None:
    wontfix = Decision(Kind.WONTFIX, "wanda", "21", "2026-12-08T00:00:00Z")
    undo = Decision(Kind.UNDO, "wanda", "21", "2026-12-09T00:00:00Z")
    nightly = decided(heard(a_finding(state="open"), "rggg"), [wontfix])
    desk = decided(heard(a_finding(state="open"), "r"), [wontfix, undo])
    assert merge_findings(nightly, desk).state == "gone"
