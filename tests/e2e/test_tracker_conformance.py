"""What every tracker does, wherever its issues live: GitHub (emulate), a Gitee-style host, a folder."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.trackers.protocol import (
    BusyError,
    IssueState,
    MissingError,
    Permission,
    Reaction,
    Reason,
    ThrottledError,
    Tracker,
    UncertainError,
)
from tests.e2e.places import Place, gitee, github, outbox
from tests.rig.faults import Do

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
AWKWARD = (
    '# 错误 ✓ 𝔸\n\n<!-- nightfuzz: x -->\n```py\nassert a != b, f"{a}"\n```\n\n  tail & <b>&amp;</b> \\ %20\n'
)
NO_NUMBERS = ("", "..", "../1", "1/comments", "1?x=1", "#1", "-1", "１", "I1A2B3", "999999")


@pytest.fixture(params=["outbox", "github", "gitee"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with opened(request, tmp_path) as one:
        yield one


@pytest.fixture(params=["github", "gitee"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """One that is reached over a network, where answers get lost."""
    with opened(request, tmp_path) as one:
        yield one


@contextmanager
def opened(request: pytest.FixtureRequest, folder: Path) -> Iterator[Place]:
    if request.param == "outbox":
        yield outbox(folder)
    elif request.param == "github":
        yield github(request.getfixturevalue("github_host"))
    else:
        with gitee() as one:
            yield one


@pytest.fixture
def tracker(place: Place) -> Tracker:
    return place.new()


def own(place: Place) -> list[str]:
    return [issue.title for issue in place.new().own_issues()]


def sent(place: Place, method: str) -> int:
    assert place.requests is not None
    return sum(one.method == method for one in place.requests())


def test_an_issue_is_as_it_was_opened(place: Place, tracker: Tracker) -> None:
    made = tracker.create("a title: 标题", AWKWARD, ["bug", "fuzzed"])
    for issue in (made, place.new().issue(made.number), *place.new().own_issues()):
        assert (issue.title, issue.body, set(issue.labels)) == ("a title: 标题", AWKWARD, {"bug", "fuzzed"})
        assert (issue.state, issue.reason, issue.closed_at, issue.closed_by) == (IssueState.OPEN, "", "", "")
        assert issue.author == tracker.account()
        assert TIME.fullmatch(issue.created_at), issue.created_at
        assert issue.number == made.number
        assert not issue.is_pull
        assert issue.url


def test_an_edit_changes_what_it_gives_and_nothing_else(place: Place, tracker: Tracker) -> None:
    made = tracker.create("one", "first", ["bug"])
    tracker.edit(made.number, body=AWKWARD)
    after = tracker.edit(made.number, title="two")
    assert (after.title, after.body, after.labels, after.state) == ("two", AWKWARD, ("bug",), IssueState.OPEN)
    assert after.created_at == made.created_at
    read = place.new().issue(made.number)
    assert (read.title, read.body, read.labels) == ("two", AWKWARD, ("bug",))


@pytest.mark.parametrize("reason", [Reason.COMPLETED, Reason.NOT_PLANNED])
def test_an_issue_is_closed_with_a_reason_and_opened_again(
    place: Place, tracker: Tracker, reason: Reason
) -> None:
    number = tracker.create("one", "text").number
    for _ in range(2):  # idempotent
        closed = tracker.edit(number, state=IssueState.CLOSED, reason=reason)
        assert closed.state is IssueState.CLOSED
        assert closed.reason == (reason if place.has_reasons else Reason.COMPLETED)
        assert TIME.fullmatch(closed.closed_at), closed.closed_at
    for _ in range(2):
        tracker.edit(number, state=IssueState.OPEN, body="again")
        opened = place.new().issue(number)
        assert (opened.state, opened.closed_at, opened.body) == (IssueState.OPEN, "", "again")


def test_a_duplicate_is_closed(place: Place, tracker: Tracker) -> None:
    number = tracker.create("one", "text").number
    tracker.edit(number, state=IssueState.CLOSED, reason=Reason.DUPLICATE)
    assert place.new().issue(number).state is IssueState.CLOSED


def test_labels_are_replaced_and_removed(place: Place, tracker: Tracker) -> None:
    number = tracker.create("one", "text", ["bug", "fuzzed"]).number
    assert set(tracker.edit(number, labels=["fuzzed", "new"]).labels) == {"fuzzed", "new"}
    tracker.edit(number, labels=[])
    assert place.new().issue(number).labels == ()


def test_all_own_issues_are_listed_once_closed_ones_too_oldest_first(place: Place, tracker: Tracker) -> None:
    numbers = [tracker.create(f"mine {n}", "").number for n in range(105)]
    tracker.edit(numbers[3], state=IssueState.CLOSED)
    place.strangers(5)
    fresh = place.new()
    listed = list(fresh.own_issues())
    assert [issue.number for issue in listed] == numbers
    assert [issue.number for issue in listed if issue.state is IssueState.CLOSED] == [numbers[3]]
    assert fresh.calls() <= 3, "one for the account and one a hundred issues"


def test_somebody_elses_issue_is_not_ours_whatever_it_says(place: Place, tracker: Tracker) -> None:
    mine = tracker.create("mine", "the body")
    theirs = place.stranger("mine", "the body")
    assert [issue.number for issue in place.new().own_issues()] == [mine.number]
    assert tracker.issue(theirs).author.ident != tracker.account().ident


def test_comments_come_oldest_first_and_can_be_changed(place: Place, tracker: Tracker) -> None:
    number = tracker.create("one", "text").number
    assert list(tracker.comments(number)) == []
    first, second = tracker.comment(number, "first"), tracker.comment(number, AWKWARD)
    for _ in range(2):  # idempotent
        assert tracker.edit_comment(first.ident, "first, changed").body == "first, changed"
    told = list(place.new().comments(number))
    assert [(one.ident, one.body) for one in told] == [
        (first.ident, "first, changed"),
        (second.ident, AWKWARD),
    ]
    assert {one.author.ident for one in told} == {tracker.account().ident}
    assert all(TIME.fullmatch(one.created_at) and TIME.fullmatch(one.updated_at) for one in told)


def test_more_comments_than_a_page_are_listed(place: Place, tracker: Tracker) -> None:
    number = tracker.create("one", "text").number
    for n in range(103):
        tracker.comment(number, f"comment {n}")
    assert [one.body for one in place.new().comments(number)] == [f"comment {n}" for n in range(103)]


def test_comments_since_a_time_are_those_changed_since(place: Place, tracker: Tracker) -> None:
    number = tracker.create("one", "text").number
    made = tracker.comment(number, "text")
    assert [one.ident for one in tracker.comments(number, since=made.updated_at)] == [made.ident]
    assert [one.ident for one in tracker.comments(number, since="2020-01-01T00:00:00Z")] == [made.ident]
    later = list(tracker.comments(number, since="2099-01-01T00:00:00Z"))
    if place.heeds_since:
        assert later == []
    else:
        assert place.requests is not None
        assert "since=2099-01-01T00%3A00%3A00Z" in place.requests()[-1].path


def test_what_was_said_anywhere_comes_with_its_issue(place: Place, tracker: Tracker) -> None:
    first, second = (tracker.create(title, "") for title in ("first", "second"))
    said = [tracker.comment(issue.number, f"on {issue.title}") for issue in (second, first, second)]
    told = list(place.new().spoken("2020-01-01T00:00:00Z"))
    assert sorted((number, one.ident, one.body) for number, one in told) == sorted(
        (issue.number, one.ident, one.body) for issue, one in zip((second, first, second), said, strict=True)
    )
    assert [one.created_at for _, one in told] == sorted(one.created_at for one in said)
    assert list(tracker.spoken("2099-01-01T00:00:00Z")) == []


@pytest.mark.parametrize("number", NO_NUMBERS)
def test_what_is_no_issue_is_missing(tracker: Tracker, number: str) -> None:
    for ask in (
        lambda: tracker.issue(number),
        lambda: tracker.edit(number, title="x"),
        lambda: list(tracker.comments(number)),
        lambda: tracker.comment(number, "text"),
        lambda: tracker.edit_comment(number, "text"),
    ):
        with pytest.raises(MissingError) as missing:
            ask()
        assert "\n" not in str(missing.value)


def test_permissions_are_the_hosts_own_word(place: Place, tracker: Tracker) -> None:
    assert {who: tracker.permission(who) for who in place.people} == place.people


@pytest.mark.parametrize("login", ["", "..", "a/b", "wanda/../sam", "nobody-there"])
def test_who_is_not_there_may_do_nothing(host: Place, login: str) -> None:
    assert host.new().permission(login) is Permission.NONE


def test_labels_are_made_once(host: Place) -> None:
    host.new().ensure_labels(["bug", "kind: wrong", "bug"])
    made = sent(host, "POST")
    assert 1 <= made <= 2
    tracker = host.new()
    tracker.ensure_labels(["bug", "kind: wrong"])
    tracker.ensure_labels(["kind: wrong"])
    assert sent(host, "POST") == made
    issue = tracker.create("one", "text", ["kind: wrong"])
    assert len(issue.labels) == 1


def test_a_reaction_twice_is_one(tracker: Tracker) -> None:
    comment = tracker.comment(tracker.create("one", "text").number, "text")
    for reaction in (Reaction.EYES, Reaction.EYES, Reaction.ROCKET):
        tracker.react(comment.ident, reaction)


def test_repository_and_account_are_the_same_each_time(place: Place, tracker: Tracker) -> None:
    again = place.new()
    assert (tracker.name, tracker.repository_id()) == (again.name, again.repository_id())
    assert tracker.account() == again.account()
    calls = tracker.calls()
    tracker.repository_id()
    tracker.account()
    assert tracker.calls() <= max(calls, 2), "both are asked for once"


def test_the_hosts_clock_is_told(tracker: Tracker) -> None:
    tracker.repository_id()
    told = datetime.fromisoformat(tracker.now())
    assert TIME.fullmatch(tracker.now())
    assert abs((datetime.now(UTC) - told).total_seconds()) < 60


def test_while_one_has_the_lease_no_other_gets_it(place: Place, tracker: Tracker) -> None:
    other = place.new()
    with tracker.lease("the first", 60), pytest.raises(BusyError) as busy, other.lease("the second", 60):
        pytest.fail("two publishers at once")
    assert busy.value.exit_code == 4
    assert "\n" not in str(busy.value)
    with other.lease("the second", 60):
        pass


def test_a_lease_goes_back_when_its_holder_fails(place: Place, tracker: Tracker) -> None:
    with pytest.raises(ZeroDivisionError), tracker.lease("one", 60):
        raise ZeroDivisionError
    with place.new().lease("another", 60):
        pass


def test_of_many_at_once_one_is_inside(place: Place) -> None:
    assert_one_gets_in(place)


def test_of_many_who_take_over_at_once_one_is_inside(host: Place) -> None:
    assert host.expire is not None
    host.expire("dead")
    assert_one_gets_in(host)


def assert_one_gets_in(place: Place, many: int = 6) -> None:
    """All try at once; who is inside waits until all have tried."""
    start, tried = threading.Barrier(many), threading.Barrier(many)

    def publish(tracker: Tracker) -> bool:
        start.wait(30)
        try:
            with tracker.lease("one of many", 60):
                tried.wait(30)
                return True
        except BusyError:
            tried.wait(30)
            return False

    with ThreadPoolExecutor(many) as threads:
        assert sum(threads.map(publish, [place.new() for _ in range(many)])) == 1


def test_an_expired_lease_is_taken_over_and_its_late_holder_leaves_the_new_one(host: Place) -> None:
    assert host.expire is not None
    late = host.expire("dead")
    with host.new().lease("alive", 60):
        late()
        with pytest.raises(BusyError, match="alive"), host.new().lease("third", 60):
            pytest.fail("the late holder has given back what is not its own")


LOST = (Do.FAIL_AFTER, Do.DROP_AFTER, Do.GARBLED, Do.TRUNCATED)
NOT_DONE = (Do.FAIL_BEFORE, Do.DROP_BEFORE)
LIMITS = (Do.SECONDARY, Do.TOO_MANY_WHEN)


@pytest.mark.parametrize("do", [*LOST, *NOT_DONE])
def test_a_new_issue_whose_answer_is_lost_is_uncertain_and_not_tried_again(host: Place, do: Do) -> None:
    host.fault(do, "POST", "/issues")
    tracker = host.new()
    with pytest.raises(UncertainError) as lost:
        tracker.create("one", "text")
    assert "\n" not in str(lost.value)
    assert own(host) == (["one"] if do in LOST else [])


@pytest.mark.parametrize("do", [*LOST, *NOT_DONE])
def test_a_new_comment_whose_answer_is_lost_is_uncertain_and_not_tried_again(host: Place, do: Do) -> None:
    tracker = host.new()
    number = tracker.create("one", "text").number
    host.fault(do, "POST", "/comments")
    with pytest.raises(UncertainError):
        tracker.comment(number, "said")
    assert [one.body for one in tracker.comments(number)] == (["said"] if do in LOST else [])


@pytest.mark.parametrize("do", [Do.FAIL_AFTER, Do.DROP_AFTER, Do.TRUNCATED, *NOT_DONE, *LIMITS])
def test_an_edit_is_tried_until_it_is_so(host: Place, do: Do) -> None:
    tracker = host.new()
    number = tracker.create("one", "text").number
    comment = tracker.comment(number, "said").ident
    host.fault(do, "PATCH", f"/issues/{number}")
    after = tracker.edit(number, title="two", state=IssueState.CLOSED)
    assert (after.title, after.state) == ("two", IssueState.CLOSED)
    host.fault(do, "PATCH", f"/comments/{comment}")
    assert tracker.edit_comment(comment, "said better").body == "said better"
    assert own(host) == ["two"]


@pytest.mark.parametrize("do", [Do.FAIL_AFTER, Do.DROP_BEFORE, Do.TRUNCATED, *LIMITS])
def test_a_listing_is_tried_again(host: Place, do: Do) -> None:
    host.new().create("one", "text")
    host.fault(do, "GET", "/issues")
    assert own(host) == ["one"]


@pytest.mark.parametrize("do", LIMITS)
def test_a_limit_is_waited_for_and_the_issue_opened_once(host: Place, do: Do) -> None:
    host.fault(do, "POST", "/issues")
    host.new().create("one", "text")
    assert own(host) == ["one"]


def test_a_limit_beyond_all_patience_is_for_the_next_run(host: Place) -> None:
    tracker = host.new()
    tracker.client.patience = 0.5  # type: ignore[attr-defined]
    host.fault(Do.TOO_MANY_WHEN, "POST", "/issues")
    with pytest.raises(ThrottledError) as throttled:
        tracker.create("one", "text")
    assert throttled.value.exit_code == 4
    assert own(host) == []


@pytest.mark.parametrize("do", [*LOST, *NOT_DONE])
def test_a_lease_is_given_back_even_if_the_answer_is_lost(host: Place, do: Do) -> None:
    with host.new().lease("one", 60):
        host.fault(do, "DELETE", "")
    with host.new().lease("two", 60):
        pass


@pytest.mark.parametrize("do", [*LOST, *NOT_DONE])
def test_a_lease_whose_taking_loses_an_answer_is_ours_or_nobodys(host: Place, do: Do) -> None:
    with host.new().lease("before", 60):
        pass
    host.fault(do, "POST", host.lease_path)
    try:
        with host.new().lease("one", 60), pytest.raises(BusyError), host.new().lease("another", 60):
            pytest.fail("two publishers at once")
    except UncertainError:
        assert do in NOT_DONE
    with host.new().lease("two", 60):
        pass
