"""`nightfuzz comment` as a workflow runs it: GitHub's own example payloads, a process, a GitHub."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bot.commands.event import read_event
from bot.commands.order import read_order
from bot.errors import UserMistake
from tests.e2e.publishing import Site, finding
from tests.rig.host import READER, WRITER, Host
from tests.rig.node import node_modules

ACKNOWLEDGED_SECONDS = 10.0
"""From the start of the process to the reaction."""

HEAD_FILE = "kernels/softmax.py"


def examples(host: str = "api.github.com") -> dict[str, list[dict[str, Any]]]:
    """GitHub's example payloads, by event."""
    path = node_modules() / "@octokit/webhooks-examples" / host / "index.json"
    return {one["name"]: one["examples"] for one in json.loads(path.read_text())}


def payload(host: Host, number: int, body: str, who: str = WRITER) -> dict[str, Any]:
    """GitHub's example of a new comment, on an issue of the rig and for real."""
    made = host.ask("POST", f"/issues/{number}/comments", who, body=body)
    event = json.loads(json.dumps(examples()["issue_comment"][0]))
    event["comment"] |= {key: made[key] for key in ("id", "body", "user")}
    whole = made["created_at"][:19] + "Z"  # GitHub tells whole seconds
    event["comment"] |= {"created_at": whole, "updated_at": whole}
    event["issue"] |= {"number": number}
    event["repository"] |= {"full_name": host.repository}
    event["sender"] = made["user"]
    return dict(event)


def started(host: Host, folder: Path, event: dict[str, Any]) -> subprocess.Popen[str]:
    """The command on an event."""
    path = folder / "event.json"
    path.write_text(json.dumps(event))
    arguments = ["comment", "--event", str(path), "--order", str(folder / "order.json"), "--json"]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("NIGHTFUZZ_")}
    return subprocess.Popen(
        [sys.executable, "-m", "bot", *arguments],
        cwd=Path(__file__).parents[2],
        env={**plain, **host.environment(folder / "out")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answered(host: Host, folder: Path, event: dict[str, Any]) -> dict[str, Any]:
    """What the command says once it has ended well."""
    process = started(host, folder, event)
    told, problems = process.communicate(timeout=60)
    assert process.returncode == 0, problems
    return dict(json.loads(told))


@pytest.mark.parametrize("host", ["api.github.com", "ghes-31", "ghes-35"])
def test_githubs_own_examples_are_read(tmp_path: Path, host: str) -> None:
    path = tmp_path / "event.json"
    actions = set()
    for plain in examples(host)["issue_comment"]:
        path.write_text(json.dumps(plain))
        event = read_event(path)
        assert (event.issue.number, event.comment.id) == (plain["issue"]["number"], plain["comment"]["id"])
        assert event.comment.user is not None
        assert event.comment.user.login == plain["comment"]["user"]["login"]
        actions.add(event.action)
    assert "created" in actions


def test_githubs_other_events_are_none_of_comments(tmp_path: Path) -> None:
    path = tmp_path / "event.json"
    others = {name: payloads for name, payloads in examples().items() if name != "issue_comment"}
    assert len(others) > 50
    for plain in (plain for payloads in others.values() for plain in payloads):
        path.write_text(json.dumps(plain))
        with pytest.raises(UserMistake, match="is no issue_comment event"):
            read_event(path)


def test_a_command_is_acknowledged_in_time_and_answered_once(github_host: Host, tmp_path: Path) -> None:
    site = Site.at(github_host, tmp_path / "out")
    site.put(finding(1))
    site.publish()
    event = payload(github_host, 1, "/fuzz retest")
    begun = time.monotonic()
    process = started(github_host, tmp_path, event)
    acknowledged = float("inf")
    while process.poll() is None:
        if github_host.reactions(event["comment"]["id"]):
            acknowledged = min(acknowledged, time.monotonic() - begun)
        time.sleep(0.02)
    told, problems = process.communicate()
    assert process.returncode == 0, problems
    assert acknowledged < ACKNOWLEDGED_SECONDS
    order = read_order(tmp_path / "order.json")
    assert json.loads(told)["order"]["signature"] == order.signature == finding(1).signature
    assert github_host.reactions(event["comment"]["id"]) == ["eyes", "rocket"]
    said = [one for one in github_host.comments(1) if one["user"]["login"] != WRITER]
    assert [str(one["id"]) for one in said] == [order.reply]
    (tmp_path / "order.json").unlink()
    assert answered(github_host, tmp_path, event)["said"] == "answered before"
    assert not (tmp_path / "order.json").exists()


def test_a_reader_is_told_no_and_no_more(github_host: Host, tmp_path: Path) -> None:
    site = Site.at(github_host, tmp_path / "out")
    site.put(finding(1))
    site.publish()
    event = payload(github_host, 1, "/fuzz wontfix so be it", READER)
    assert "no write access" in answered(github_host, tmp_path, event)["said"]
    assert github_host.reactions(event["comment"]["id"]) == ["-1"]
    assert len(github_host.comments(1)) == 1


def test_a_comment_that_is_no_command_costs_no_request(github_host: Host, tmp_path: Path) -> None:
    github_host.ask("POST", "/issues", title="Something")
    event = payload(github_host, 1, "> /fuzz retest")
    assert answered(github_host, tmp_path, event)["said"] == "no command"
    assert github_host.requests == []


def test_a_pull_requests_head_is_pinned(github_host: Host, tmp_path: Path) -> None:
    pull = pull_request(github_host)
    files = [{"filename": HEAD_FILE, "status": "added", "patch": "@@ -0,0 +1 @@\n+x = 1"}]
    path = f"/repos/{github_host.repository}/pulls/{pull['number']}/files"
    github_host.proxy.state.extra.append(lambda _, where, __: (200, files) if path in where else None)
    event = payload(github_host, pull["number"], "/fuzz run flowmut --budget 90s")
    told = answered(github_host, tmp_path, event)
    assert told["order"] is not None, github_host.comments(pull["number"])
    order = read_order(tmp_path / "order.json")
    assert (order.head_sha, order.is_fork) == (pull["head"]["sha"], False)
    assert [(file.path, file.lines) for file in order.files] == [(HEAD_FILE, (1,))]
    assert order.budget == 90.0


def pull_request(host: Host) -> dict[str, Any]:
    """One that adds a file."""
    main = host.ask("GET", "/git/ref/heads/main", "nightfuzz-bot")["object"]["sha"]
    host.ask("POST", "/git/refs", ref="refs/heads/topic", sha=main)
    content = {"message": "a kernel", "content": "eCA9IDEK", "branch": "topic"}
    host.ask("PUT", f"/contents/{HEAD_FILE}", **content)
    return dict(host.ask("POST", "/pulls", title="A kernel", head="topic", base="main"))


def test_a_decision_whose_store_was_lost_is_heard_by_the_next_night(
    github_host: Host, tmp_path: Path
) -> None:
    site = Site.at(github_host, tmp_path / "night")
    site.put(finding(1), finding(2), finding(3))
    site.publish()
    commanded = tmp_path / "command"
    commanded.mkdir()
    shutil.copytree(tmp_path / "night" / "store", commanded / "out" / "store")
    event = payload(github_host, 1, "/fuzz wontfix the API is experimental")
    assert answered(github_host, commanded, event)["publish"]
    github_host.ask("POST", "/issues/2/comments", READER, body="/fuzz wontfix says somebody who may not")
    github_host.ask("POST", "/issues/3/comments", WRITER, body="> /fuzz wontfix is what was quoted")
    site.publish()
    states = {
        one.title: (one.state, one.detail.get("decision", {}).get("by")) for one in site.store.findings()
    }
    assert states == {
        finding(1).title: ("wontfix", WRITER),
        finding(2).title: ("open", None),
        finding(3).title: ("open", None),
    }
    assert [issue["number"] for issue in github_host.issues() if issue["state"] == "closed"] == [1]
    before = site.writes()
    site.publish()
    assert site.writes() == before


def test_a_decision_that_was_taken_back_is_not_heard_again(github_host: Host, tmp_path: Path) -> None:
    site = Site.at(github_host, tmp_path / "out")
    site.put(finding(1))
    site.publish()
    for said in ("/fuzz invalid the inputs are undefined", "/fuzz undo"):
        github_host.ask("POST", "/issues/1/comments", WRITER, body=said)
        time.sleep(1.1)  # the host counts in seconds
    site.publish()
    (one,) = site.store.findings()
    assert (one.state, one.detail["decision"]["kind"]) == ("open", "undo")
