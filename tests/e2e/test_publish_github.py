"""Publishing to a GitHub: file once, keep up to date, close, reopen; people's words; faults at every
request."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from bot import decisions
from bot.decisions import Decision, Kind
from bot.errors import NightfuzzError
from bot.publishing.plan import Step, What
from bot.trackers.github_lease import Lease
from bot.trackers.protocol import BusyError, ThrottledError, TrackerError
from fuzzers.records import Verdict
from tests.e2e.publishing import Site, finding, heard, tracker
from tests.rig.host import WRITER, Host
from tests.rig.proxy import Do


@pytest.fixture
def site(github_host: Host, tmp_path: Path) -> Site:
    return Site.at(github_host, tmp_path)


def whats(plan_steps: object) -> list[str]:
    return [str(step.what) for step in plan_steps]  # type: ignore[attr-defined]


def test_an_issue_is_filed_once_with_its_reproducer_and_a_second_publish_writes_nothing(site: Site) -> None:
    site.put(finding(1), finding(2))
    site.publish()
    first, second = site.host.issues()
    assert first["title"] == "[inductor] wrong result 1"
    assert finding(1).script in first["body"]
    assert {one["name"] for one in second["labels"]} == {
        "kind: wrong",
        "framework: torch",
        "module: inductor",
    }
    before = site.writes()
    plan, done = site.publish()
    assert (plan.steps, done.made, site.writes()) == ((), [], before)


def test_three_fixed_builds_close_it_and_a_regression_opens_it_again(site: Site) -> None:
    one = finding(1)
    site.put(one)
    site.publish()
    for day in (1, 2, 3):
        one = heard(one, day, Verdict.GONE)
        site.put(one)
        site.publish()
    (issue,) = site.host.issues()
    assert (issue["state"], issue["state_reason"]) == ("closed", "completed")
    (fixed,) = site.host.comments(1)
    assert "three builds in a row" in fixed["body"]
    site.put(heard(one, 4, Verdict.REPRODUCES))
    site.publish()
    (issue,) = site.host.issues()
    assert issue["state"] == "open"
    assert "It is back" in site.host.comments(1)[-1]["body"]
    assert len(site.host.comments(1)) == 2
    assert site.publish()[0].steps == ()


def test_what_people_write_around_our_part_stays(site: Site) -> None:
    site.put(finding(1))
    site.publish()
    (issue,) = site.host.issues()
    site.host.ask(
        "PATCH", "/issues/1", body=f"mine above\r\n\r\n{issue['body']}\n\nmine below", title="My title"
    )
    site.put(heard(finding(1), 1, Verdict.REPRODUCES))
    plan, _ = site.publish()
    assert whats(plan.steps) == ["write"]
    (issue,) = site.host.issues()
    assert issue["body"].startswith("mine above\n\n<!-- nightfuzz:begin -->")
    assert issue["body"].endswith("<!-- nightfuzz:end -->\n\nmine below")
    assert issue["title"] == "My title"
    assert site.publish()[0].steps == ()


def test_a_persons_close_is_left_alone(site: Site) -> None:
    site.put(finding(1))
    site.publish()
    site.host.ask("PATCH", "/issues/1", state="closed", state_reason="not_planned")
    site.put(heard(finding(1), 20, Verdict.REPRODUCES))
    assert site.publish(quiet_hours=0.0)[0].steps == ()


def test_what_was_closed_as_done_and_still_fails_is_opened_after_the_quiet(site: Site) -> None:
    site.put(finding(1))
    site.publish()
    site.host.ask("PATCH", "/issues/1", state="closed", state_reason="completed")
    site.put(heard(finding(1), 20, Verdict.REPRODUCES))
    assert site.publish()[0].steps == ()
    plan, _ = site.publish(quiet_hours=0.0)
    assert whats(plan.steps) == ["write", "tell"]
    assert site.host.issues()[0]["state"] == "open"
    assert "still fails on torch 2.15.0.dev20261220" in site.host.comments(1)[0]["body"]
    assert site.publish(quiet_hours=0.0)[0].steps == ()


def test_a_decision_closes_for_good_and_taking_it_back_opens(site: Site) -> None:
    site.put(finding(1))
    site.publish()
    said = Decision(Kind.WONTFIX, WRITER, "4", "2026-12-01T00:00:00Z", "by design")
    site.put(decisions.decided(finding(1), said))
    site.publish()
    assert site.host.issues()[0]["state_reason"] == "not_planned"
    back = replace(said, kind=Kind.UNDO, at="2026-12-02T00:00:00Z")
    site.put(decisions.decided(decisions.decided(finding(1), said), back))
    site.publish()
    assert site.host.issues()[0]["state"] == "open"


def test_two_issues_of_one_finding_become_one(site: Site) -> None:
    site.put(finding(1))
    site.publish()
    (issue,) = site.host.issues()
    tracker(site.host).create(issue["title"], issue["body"])
    plan, _ = site.publish()
    assert whats(plan.steps) == ["close as duplicate"]
    first, second = site.host.issues()
    assert (first["state"], second["state"]) == ("open", "closed")
    sent = [one.body for one in site.host.requests if one.method == "PATCH"]
    assert {"state": "closed", "state_reason": "duplicate"} in sent, "emulate forgets this reason"
    assert site.publish()[0].steps == ()


def test_a_mark_that_somebody_else_wrote_or_changed_is_text(site: Site) -> None:
    site.put(finding(1))
    site.publish()
    (issue,) = site.host.issues()
    site.host.ask("POST", "/issues", title="mine", body=issue["body"])
    forged = issue["body"].replace("v2-000000000001", "v2-000000000002")
    tracker(site.host).create("forged", forged)
    site.put(finding(2))
    plan, _ = site.publish()
    assert whats(plan.steps) == ["file"]
    assert [one["state"] for one in site.host.issues()] == ["open"] * 4


def test_a_lost_ledger_is_read_back_from_the_issues(site: Site, tmp_path: Path) -> None:
    site.put(finding(1), finding(2))
    site.publish()
    again = Site.at(site.host, tmp_path / "again")
    again.put(finding(1), finding(2))
    plan, _ = again.publish()
    assert whats(plan.steps) == ["note", "note"]
    assert [one.number for one in again.store.publications()] == ["1", "2"]


def test_a_removed_issue_is_not_filed_again(site: Site) -> None:
    site.put(finding(1))
    site.publish()
    record = site.store.publications()[0]
    site.store.put_published(replace(record, number="77"))
    (issue,) = site.host.issues()
    site.host.ask("PATCH", f"/issues/{issue['number']}", body="nothing of ours")
    plan, _ = site.publish()
    assert [one.why for one in plan.waiting] == ["somebody has removed its issue 77"]
    assert len(site.host.issues()) == 1
    calls = len(site.host.requests)
    site.publish()
    assert len(site.host.requests) - calls <= 4, "what is known to be gone is not asked for again"


def test_caps_let_the_most_severe_through_and_say_what_waits(site: Site) -> None:
    site.put(*(finding(n) for n in range(8)))
    plan, _ = site.publish(new_a_run=3)
    assert len(site.host.issues()) == 3
    assert {one.why for one in plan.waiting} == {"the cap of 3 new issues a run is reached"}
    plan, _ = site.publish(new_a_run=9, new_a_day=5)
    assert len(site.host.issues()) == 5
    plan, _ = site.publish(new_a_run=9, new_a_day=99, open_issues=6)
    assert len(site.host.issues()) == 6


def test_five_hundred_known_findings_cost_ten_calls_and_no_write(site: Site) -> None:
    site.put(*(finding(n) for n in range(500)))
    everything = {"new_a_run": 999, "new_a_day": 999, "open_issues": 999}
    steps = site.publisher(**everything).plan().steps

    def filed(step: Step) -> None:
        site.host.ask("POST", "/issues", who="bot", title=step.title, body=step.body)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(filed, steps))
    site.publish(**everything)
    assert len(site.host.issues()) == 500
    calls, writes = len(site.host.requests), site.writes()
    plan, _ = site.publish(**everything)
    assert (plan.steps, site.writes()) == ((), writes)
    assert len(site.host.requests) - calls <= 10


LOSSY = (Do.FAIL_BEFORE, Do.FAIL_AFTER, Do.DROP_AFTER, Do.SECONDARY, Do.FORBIDDEN, Do.GARBLED, Do.TRUNCATED)
"""The faults that differ in what was done; `nightfuzz bench publish` goes through all of them."""


@pytest.mark.parametrize("do", LOSSY)
def test_a_fault_at_each_request_in_turn_leaves_no_duplicate_and_no_loss(
    site: Site, do: Do, tmp_path: Path
) -> None:
    site.put(finding(1), heard(finding(2), 1, Verdict.REPRODUCES))
    site.publish()
    two = finding(2)
    for day in (2, 3, 4):
        two = heard(two, day, Verdict.GONE)
    for nth in range(1, 17):
        site.put(finding(nth + 2), two if nth == 1 else finding(1, title=f"[inductor] changed {nth}"))
        site.host.fault(do, nth=nth)
        try:
            site.publish(new_a_run=99, new_a_day=999)
        except NightfuzzError as refusal:
            assert isinstance(refusal, TrackerError)
            assert "\n" not in str(refusal)
        site.host.proxy.state.faults.clear()
    for _ in range(2):
        try:
            site.publish(new_a_run=99, new_a_day=999)
        except BusyError:  # the lease of one whose release was lost
            site.host.ask("DELETE", "/git/refs/heads/nightfuzz-lease", who="bot")
            site.publish(new_a_run=99, new_a_day=999)
    found = site.by_signature()
    assert {name: len([i for i in issues if i["state"] == "open"]) for name, issues in found.items()} == {
        one.signature: int(one.state == "open") for one in site.store.findings()
    }
    assert site.publish(new_a_run=99, new_a_day=999)[0].steps == ()
    told = [comment["body"] for comment in site.host.comments(2)]
    assert len(told) == len(set(told)) == 1


def test_two_publishers_at_once_file_each_finding_once(site: Site) -> None:
    site.put(finding(1), finding(2))
    other = tracker(site.host)
    with other.lease("another", 60), pytest.raises(BusyError, match="another is publishing"):
        site.publish()
    assert site.host.issues() == []
    site.publish()
    assert len(site.host.issues()) == 2


def test_a_lease_that_has_expired_is_taken_over_and_a_late_owner_does_not_take_it_back(site: Site) -> None:
    lease = Lease(tracker(site.host).client, site.host.repository, "main")
    mine = lease.take("dead", -1.0)
    site.put(finding(1))
    site.publish()
    assert len(site.host.issues()) == 1
    lease.take("another", 60.0)
    lease.give_back(mine)
    with pytest.raises(BusyError, match="another"):
        lease.take("late", 60.0)


@pytest.mark.parametrize(
    ("do", "line"),
    [
        (Do.UNAUTHORIZED, "the token is wrong or has expired"),
        (Do.FORBIDDEN, "issues=write"),
        (Do.GONE, "issues are switched off"),
        (Do.MISSING, "there is no repository"),
    ],
)
def test_what_cannot_be_is_one_line_and_leaves_all_as_it_was(site: Site, do: Do, line: str) -> None:
    site.put(finding(1))
    site.host.fault(do, path="", times=99)
    with pytest.raises(TrackerError, match=line) as refused:
        site.publish()
    assert refused.value.exit_code == 3
    assert site.host.token not in str(refused.value)
    assert site.store.publications() == []
    assert site.host.issues() == []


def test_a_limit_without_end_is_left_to_the_next_run(site: Site) -> None:
    site.put(finding(1))
    site.host.fault(Do.TOO_MANY, times=999)
    publisher = site.publisher()
    publisher.tracker.client.patience = 0.5  # type: ignore[attr-defined]
    with pytest.raises(ThrottledError) as throttled:
        publisher.publish()
    assert throttled.value.exit_code == 4


def test_a_step_that_the_host_refuses_does_not_keep_the_others(site: Site) -> None:
    site.put(finding(1), finding(2))
    site.host.fault(Do.INVALID, method="POST", path="/issues")
    _, done = site.publish()
    assert [step.what for step in done.made] == [What.FILE]
    assert len(done.refused) == 1
    site.publish()
    assert len(site.by_signature()) == 2
