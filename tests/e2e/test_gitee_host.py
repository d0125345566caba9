"""What is Gitee's own: the host that tests run against, by somebody else's client, and what a tracker does
there that it does nowhere else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gitee_client import GiteeClient
from gitee_client.error import GiteeAPIError

from bot.trackers.gitee import Gitee, gitee_client
from bot.trackers.protocol import IssueState, Reason
from tests.rig.gitee_description import problems
from tests.rig.gitee_routes import BOT, OWNER, REPO, WRITER
from tests.rig.gitee_server import GiteeServer, token

OURS = {"owner": OWNER, "repo": REPO}


@pytest.fixture
def server() -> Iterator[GiteeServer]:
    one = GiteeServer()
    try:
        yield one
        assert one.state.invalid == []
    finally:
        one.shutdown()
        one.server_close()


@pytest.fixture
def tracker(server: GiteeServer) -> Gitee:
    return Gitee(gitee_client(server.api, token(BOT), 0.0), f"{OWNER}/{REPO}")


@pytest.fixture
def person(server: GiteeServer) -> Iterator[GiteeClient]:
    """A person with somebody else's client."""
    with GiteeClient(token(WRITER), base_url=server.address) as one:
        yield one


def test_the_host_serves_a_client_that_we_did_not_write(person: GiteeClient) -> None:
    made = person.issues.create_repos_issues(title="one", body="text", labels="bug,kind/wrong", **OURS)
    number = made["number"]
    said = person.issues.create_repos_issues_comments(body="said", number=number, **OURS)
    person.issues.update_repos_issues_comments(body="said better", id=said["id"], **OURS)
    person.issues.update_repos_issues(number=number, state="closed", **OURS)
    (listed,) = person.issues.list_repos_issues(state="all", creator=WRITER, **OURS)
    assert (listed["state"], [one["name"] for one in listed["labels"]]) == ("closed", ["bug", "kind/wrong"])
    (comment,) = person.issues.list_repos_issues_comments_2(number=number, **OURS)
    assert comment["body"] == "said better"
    person.repos.create_repos_contents(content="eA==", message="a file", path="a/b.txt", **OURS)
    with pytest.raises(GiteeAPIError, match="400"):
        person.repos.create_repos_contents(content="eA==", message="again", path="a/b.txt", **OURS)


def test_a_tracker_reads_what_that_client_wrote_and_the_other_way_round(
    tracker: Gitee, person: GiteeClient
) -> None:
    theirs = person.issues.create_repos_issues(title="theirs", body="错误", **OURS)["number"]
    assert tracker.issue(theirs).body == "错误"
    mine = tracker.create("mine", "错误").number
    assert person.issues.get_repos_issues(number=mine, **OURS)["body"] == "错误"
    assert [issue.number for issue in tracker.own_issues()] == [mine]


def test_numbers_keep_their_case(tracker: Gitee) -> None:
    first, second = tracker.create("one", "1").number, tracker.create("two", "2").number
    assert first != second
    assert first.lower() == second.lower()
    assert (tracker.issue(first).body, tracker.issue(second).body) == ("1", "2")


def test_what_a_person_rejects_is_closed_as_not_planned(tracker: Gitee, server: GiteeServer) -> None:
    number = tracker.create("one", "text").number
    server.state.issue(number)["state"] = "rejected"
    issue = tracker.issue(number)
    assert (issue.state, issue.reason) == (IssueState.CLOSED, Reason.NOT_PLANNED)
    server.state.issue(number)["state"] = "progressing"
    assert tracker.issue(number).state is IssueState.OPEN


def test_a_state_that_an_issue_has_already_is_refused_there_and_still_no_error(tracker: Gitee) -> None:
    number = tracker.create("one", "text").number
    before = tracker.calls()
    assert tracker.edit(number, state=IssueState.OPEN).state is IssueState.OPEN
    assert tracker.calls() == before + 2, "the host refused, and was asked what there is"


@pytest.mark.parametrize(
    ("label", "there"),
    [
        ("kind: wrong", "kind/wrong"),
        ("framework: mindspore", "framework/mindspore"),
        ("module: a very long name of one", "module/a-very-long-n"),
        ("what?! [x]", "what-x-"),
        ("a", "a_"),
    ],
)
def test_labels_are_what_the_host_takes(tracker: Gitee, label: str, there: str) -> None:
    tracker.ensure_labels([label])
    assert tracker.create("one", "text", [label]).labels == (there,)


def test_the_lease_leaves_the_default_branch_alone(tracker: Gitee, server: GiteeServer) -> None:
    with tracker.lease("one", 60):
        assert list(server.state.branches["nightfuzz-lease"]) == ["lease.json"]
    assert server.state.branches == {"master": {}, "nightfuzz-lease": {}}


def test_a_request_that_is_not_described_is_told() -> None:
    assert problems("GET", "/repos/o/r/issues", {"state": "all"}) == []
    assert problems("GET", "/repos/o/r/issues", {"author": "x"}) == [
        "GET /repos/{owner}/{repo}/issues: author is not described"
    ]
    assert problems("POST", "/repos/o/issues", {"repo": "r"}) == [
        "POST /repos/{owner}/issues: title must be there"
    ]
    assert problems("DELETE", "/repos/o/r/branches/x", {}) == ["DELETE /repos/o/r/branches/x: not described"]
