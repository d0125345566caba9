"""Pull requests as the bot reads them, and its check runs, on the rig."""

from __future__ import annotations

import pytest

from bot.trackers.github_client import token_client
from bot.trackers.github_pulls import GitHubPulls
from bot.trackers.protocol import MissingError, TrackerError
from bot.trackers.pulls import Annotation, ChangedFile, Conclusion
from tests.rig.faults import Do
from tests.rig.host import Host

MODEL = "models/net 1.py"
BEFORE, AFTER = "one\ntwo\nthree\n", "one\n2\nthree\nfour\n"


@pytest.fixture
def pulls(github_host: Host) -> GitHubPulls:
    client = token_client(github_host.api, github_host.token, 0.0)
    client.backoff = 0.01
    return GitHubPulls(client, github_host.repository)


def test_a_pull_request_is_pinned_to_its_head_and_to_where_it_branched_off(
    github_host: Host, pulls: GitHubPulls
) -> None:
    base = github_host.commit({MODEL: BEFORE})
    number = github_host.pull({MODEL: AFTER, "gone.py": "x\n"}, title="Faster")
    github_host.commit({"later.py": "on main\n"})
    head = github_host.commit({"gone.py": None}, "patch")
    pull = pulls.pull(number)
    assert (pull.head_sha, pull.base_sha, pull.base_ref) == (head, base, "main")
    assert (pull.title, pull.is_fork, pull.is_open) == ("Faster", False, True)
    assert pulls.changed_files(number) == [ChangedFile(MODEL, "modified", (2, 4))]
    github_host.ask("PATCH", f"/pulls/{number}", state="closed")
    assert not pulls.pull(number).is_open


def test_a_forks_is_known_as_one_and_read_at_its_commit(github_host: Host, pulls: GitHubPulls) -> None:
    base = github_host.commit({MODEL: BEFORE})
    pull = pulls.pull(github_host.pull({MODEL: AFTER}, fork=True))
    assert (pull.is_fork, pull.head_repository, pull.base_sha) == (True, github_host.fork, base)
    assert (pulls.text_at(MODEL, base), pulls.text_at(MODEL, pull.head_sha)) == (BEFORE, AFTER)
    assert pulls.text_at("nothing.py", base) is None
    assert pulls.text_at("models", base) is None


def test_the_default_branch_is_at_its_last_commit(github_host: Host, pulls: GitHubPulls) -> None:
    last = github_host.commit({MODEL: BEFORE})
    assert pulls.default_branch() == ("main", last)


def test_a_pull_request_that_is_none_is_missing(github_host: Host, pulls: GitHubPulls) -> None:
    issue = github_host.ask("POST", "/issues", title="an issue")["number"]
    with pytest.raises(MissingError):
        pulls.pull(str(issue))


def test_one_check_run_a_command_takes_all_annotations(github_host: Host, pulls: GitHubPulls) -> None:
    head = github_host.commit({MODEL: BEFORE}, "patch")
    run = pulls.check_started(head, "nightfuzz", "command 7")
    assert pulls.check_started(head, "nightfuzz", "command 7") == run
    assert pulls.check_started(head, "nightfuzz", "command 8") != run
    remarks = [Annotation(MODEL, line, line, "warning", "t", "m") for line in range(1, 121)]
    pulls.check_done(run, Conclusion.FAILURE, "t" * 300, "s" * 70_000, remarks)
    assert [one["start_line"] for one in github_host.annotations(run)] == list(range(1, 121))
    told = github_host.ask("GET", f"/check-runs/{run}")
    assert (told["status"], told["conclusion"]) == ("completed", "failure")
    assert told["output"]["annotations_count"] == 120


@pytest.mark.parametrize("do", [Do.FAIL_AFTER, Do.DROP_AFTER])
def test_a_check_run_whose_answer_was_lost_is_found_again(
    github_host: Host, pulls: GitHubPulls, do: Do
) -> None:
    head = github_host.commit({MODEL: BEFORE}, "patch")
    github_host.fault(do, method="POST", path="/check-runs")
    with pytest.raises(TrackerError):
        pulls.check_started(head, "nightfuzz", "command 7")
    pulls.check_started(head, "nightfuzz", "command 7")
    assert github_host.ask("GET", f"/commits/{head}/check-runs")["total_count"] == 1
