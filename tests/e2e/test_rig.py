"""The rig itself: what it adds to `emulate`, its faults, and its look at requests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests

from tests.rig import payloads
from tests.rig.faults import SLOW_SECONDS, Do
from tests.rig.host import Host
from tests.rig.lacking import LONGEST_BODY, LONGEST_TITLE
from tests.rig.node import missing
from tests.rig.openapi import description
from tests.rig.service import BOT, READER, STRANGER, WRITER

TREE = Path(__file__).parents[2]


def send(host: Host, method: str, path: str, *, follow: bool = True, **body: Any) -> requests.Response:
    """A request of the bot."""
    return requests.request(
        method,
        f"{host.api}/repos/{host.repository}{path}",
        headers={"Authorization": f"token {host.token}"},
        json=body or None,
        timeout=20,
        allow_redirects=follow,
    )


def post(host: Host, title: str = "Something") -> requests.Response:
    """The bot opens an issue."""
    return send(host, "POST", "/issues", title=title)


# Faults

REFUSALS = {
    Do.FAIL_BEFORE: 502,
    Do.SECONDARY: 403,
    Do.SECONDARY_WHEN_UNSAID: 403,
    Do.EXHAUSTED: 403,
    Do.TOO_MANY: 429,
    Do.TOO_MANY_WHEN: 429,
    Do.INVALID: 422,
    Do.GONE: 410,
    Do.UNAUTHORIZED: 401,
    Do.FORBIDDEN: 403,
    Do.MISSING: 404,
}


@pytest.mark.parametrize(("do", "status"), REFUSALS.items())
def test_a_refusal_is_answered_once_and_nothing_was_done(github_host: Host, do: Do, status: int) -> None:
    github_host.fault(do, nth=1)
    answer = post(github_host)
    assert (answer.status_code, github_host.issues()) == (status, [])
    assert ("Retry-After" in answer.headers) == (do in (Do.SECONDARY, Do.TOO_MANY_WHEN))
    assert answer.json()["message"]
    if do is Do.EXHAUSTED:
        assert answer.headers["X-RateLimit-Remaining"] == "0"
        assert abs(int(answer.headers["X-RateLimit-Reset"]) - time.time()) < 5
    assert post(github_host).status_code == 201
    assert [one.status for one in github_host.requests] == [status, 201]


def test_a_502_after_the_write_has_written(github_host: Host) -> None:
    github_host.fault(Do.FAIL_AFTER, nth=1)
    assert post(github_host).status_code == 502
    assert len(github_host.issues()) == 1


@pytest.mark.parametrize(("do", "written"), [(Do.DROP_BEFORE, 0), (Do.DROP_AFTER, 1)])
def test_a_connection_drops_before_or_after_the_write(github_host: Host, do: Do, written: int) -> None:
    github_host.fault(do, nth=1)
    with pytest.raises(requests.ConnectionError):
        post(github_host)
    assert len(github_host.issues()) == written
    assert github_host.requests[0].status == 0


def test_half_an_answer_breaks_off_after_the_write(github_host: Host) -> None:
    github_host.fault(Do.TRUNCATED, nth=1)
    with pytest.raises((requests.ConnectionError, requests.exceptions.ChunkedEncodingError)):
        post(github_host)
    assert len(github_host.issues()) == 1


def test_a_garbled_answer_is_no_json_after_the_write(github_host: Host) -> None:
    github_host.fault(Do.GARBLED, nth=1)
    answer = post(github_host)
    assert (answer.status_code, answer.text) == (201, "<html>")
    assert len(github_host.issues()) == 1


def test_a_slow_answer_takes_its_time_and_is_whole(github_host: Host) -> None:
    github_host.fault(Do.SLOW, nth=1)
    begun = time.monotonic()
    assert post(github_host).json()["number"] == 1
    assert time.monotonic() - begun >= SLOW_SECONDS


def test_a_search_lags_behind_what_a_listing_has(github_host: Host) -> None:
    post(github_host, "uncommonly")
    github_host.fault(Do.LAGGING, path="/search/")

    def found() -> int:
        query = {"q": f"repo:{github_host.repository} uncommonly"}
        answer = requests.get(f"{github_host.api}/search/issues", params=query, timeout=20)
        return int(answer.json()["total_count"])

    assert (found(), len(send(github_host, "GET", "/issues").json()), found()) == (0, 1, 1)


def test_a_fault_strikes_from_the_nth_on_what_fits_and_as_often_as_it_should(github_host: Host) -> None:
    post(github_host)
    github_host.fault(Do.GONE, nth=2)
    assert [send(github_host, "GET", "/issues").status_code for _ in range(3)] == [200, 410, 200]
    github_host.fault(Do.INVALID, nth=2, method="POST", path="/labels", times=2)

    def made(name: str) -> int:
        return send(github_host, "POST", "/labels", name=name).status_code

    assert [made("a"), send(github_host, "GET", "/labels").status_code] == [201, 200]
    assert [made(name) for name in "bbb"] == [422, 422, 201]


def test_faults_and_the_log_are_there_for_another_process(github_host: Host) -> None:
    control = f"{github_host.api}/_rig"
    given = {"do": "GONE", "nth": 2}
    assert requests.post(f"{control}/faults", json=given, timeout=20).status_code == 201
    assert [post(github_host).status_code for _ in range(3)] == [201, 410, 201]
    log = requests.get(f"{control}/log", timeout=20).json()
    assert [(one["method"], one["body"], one["status"]) for one in log] == [
        ("POST", {"title": "Something"}, status) for status in (201, 410, 201)
    ]
    requests.post(f"{control}/faults", json={"do": "GONE", "times": 9}, timeout=20)
    requests.delete(f"{control}/faults", timeout=20)
    assert post(github_host).status_code == 201
    assert requests.get(f"{control}/invalid", timeout=20).json() == []


# What requests are checked for

WRONG = {
    "no title": ("POST", "/issues", {"body": "b"}, "'title' is a required property"),
    "an unknown property": ("POST", "/issues", {"title": "t", "lables": []}, "lables: not described"),
    "one deep inside": (
        "POST",
        "/check-runs",
        {"name": "n", "head_sha": "a", "output": {"title": "t", "summary": "s", "annotation": []}},
        "output.annotation: not described",
    ),
    "one in a list": (
        "POST",
        "/git/trees",
        {"tree": [{"path": "a", "mode": "100644", "type": "blob", "text": "t"}]},
        "tree[].text: not described",
    ),
    "a number for a text": ("POST", "/issues/1/comments", {"body": 7}, "7 is not of type 'string'"),
    "a word that is none": ("PATCH", "/issues/1", {"state_reason": "done"}, "'done' is not one of"),
    "too many annotations": (
        "POST",
        "/check-runs",
        {
            "name": "n",
            "head_sha": "a",
            "output": {
                "title": "t",
                "summary": "s",
                "annotations": [
                    {
                        "path": "p",
                        "start_line": 1,
                        "end_line": 1,
                        "annotation_level": "notice",
                        "message": "m",
                    }
                ]
                * 51,
            },
        },
        "is too long",
    ),
    "an unknown parameter": ("GET", "/issues?author=me", None, "unknown query parameter author"),
    "a parameter of another type": ("GET", "/issues?page=two", None, "'two' is no integer"),
    "a parameter that is no choice": ("GET", "/issues?state=shut", None, "query parameter state"),
    "a time that is none": ("GET", "/issues?since=yesterday", None, "query parameter since"),
    "pages that are too long": ("GET", "/issues?per_page=500", None, "more than 100"),
    "an issue that is no number": ("GET", "/issues/one", None, "path parameter issue_number"),
    "a path that there is not": ("GET", "/isues", None, "not described"),
    "a method that there is not": ("PUT", "/issues", None, "not described"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_githubs_description_does_not_allow_is_found(github_host: Host, what: str) -> None:
    method, path, body, expected = WRONG[what]
    send(github_host, method, path, **(body or {}))
    assert any(expected in one for one in github_host.invalid), github_host.invalid
    github_host.invalid.clear()


def test_a_search_without_a_query_is_found(github_host: Host) -> None:
    requests.get(f"{github_host.api}/search/issues", timeout=20)
    assert github_host.invalid == ["GET /search/issues: query parameter q is missing"]
    github_host.invalid.clear()


RIGHT = [
    ("POST", "/repos/a/b/issues", b'{"title": "t", "body": "b", "labels": ["x", {"name": "y"}]}'),
    ("PATCH", "/repos/a/b/issues/1", b'{"state": "closed", "state_reason": null, "milestone": null}'),
    ("GET", "/repos/a/b/issues?state=all&creator=c&since=2026-12-01T00:00:00Z&per_page=100", b""),
    ("GET", "/repos/a/b/contents/a/deep/path.py?ref=main", b""),
    ("GET", "/repos/a/b/compare/a...b?per_page=1", b""),
    ("GET", "/repos/a/b/commits/refs/heads/x/check-runs?check_name=n", b""),
    ("DELETE", "/repos/a/b/git/refs/heads/a/b", b""),
    ("POST", "/repos/a/b/actions/workflows/1/dispatches", b'{"ref": "main", "inputs": {"any": "thing"}}'),
]


@pytest.mark.parametrize(("method", "target", "body"), RIGHT)
def test_what_githubs_description_allows_is_not(method: str, target: str, body: bytes) -> None:
    assert description().problems(method, target, body) == []


def test_a_thousand_requests_are_checked_in_seconds() -> None:
    whole = description()
    begun = time.process_time()
    for number in range(1_000):
        method, target, body = RIGHT[number % len(RIGHT)]
        whole.problems(method, target, body)
    assert time.process_time() - begun < 5


def test_a_test_whose_requests_are_wrong_fails(tmp_path: Path) -> None:
    file = tmp_path / "test_wrong.py"
    file.write_text(
        "import requests\n\n\n"
        "def test_it(github_host):\n"
        "    requests.get(f'{github_host.api}/nothing', timeout=20)\n"
    )
    command = ["-m", "pytest", "-p", "tests.rig.pytest_rig", "-p", "no:cacheprovider", "-c", os.devnull]
    done = subprocess.run(
        [sys.executable, *command, f"--rootdir={tmp_path}", str(file)],
        cwd=TREE,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout
    assert "GET /nothing: not described" in done.stdout


# What emulate lacks


@pytest.mark.parametrize(
    ("who", "word", "role"),
    [
        (BOT, "admin", "admin"),
        (WRITER, "write", "write"),
        (READER, "read", "read"),
        (STRANGER, "read", "read"),
    ],
)
def test_a_permission_is_told_in_githubs_words(github_host: Host, who: str, word: str, role: str) -> None:
    told = send(github_host, "GET", f"/collaborators/{who}/permission").json()
    assert (told["permission"], told["role_name"], told["user"]["login"]) == (word, role, who)


@pytest.mark.parametrize(("role", "word"), [("maintain", "write"), ("triage", "read")])
def test_newer_roles_are_told_in_the_older_words(github_host: Host, role: str, word: str) -> None:
    github_host.ask("PUT", f"/collaborators/{STRANGER}", BOT, permission=role)
    told = send(github_host, "GET", f"/collaborators/{STRANGER}/permission").json()
    assert (told["permission"], told["role_name"]) == (word, role)


def test_somebody_who_is_nobody_has_no_permission(github_host: Host) -> None:
    assert send(github_host, "GET", "/collaborators/nobody/permission").status_code == 404


def test_a_reaction_is_made_once_and_only_on_what_is_there(github_host: Host) -> None:
    post(github_host)
    comment = github_host.ask("POST", "/issues/1/comments", body="hello")["id"]
    path = f"/issues/comments/{comment}/reactions"
    statuses = [send(github_host, "POST", path, content=c).status_code for c in ("eyes", "eyes", "rocket")]
    assert (statuses, github_host.reactions(comment)) == ([201, 200, 201], ["eyes", "rocket"])
    assert send(github_host, "POST", "/issues/comments/999/reactions", content="eyes").status_code == 404
    assert send(github_host, "POST", "/issues/1/reactions", content="eyes").status_code == 201


@pytest.mark.parametrize(("name", "longest"), [("body", LONGEST_BODY), ("title", LONGEST_TITLE)])
def test_a_text_is_as_long_as_github_takes_and_no_longer(github_host: Host, name: str, longest: int) -> None:
    fields = {"title": "t", name: "é" * longest}
    assert send(github_host, "POST", "/issues", **fields).status_code == 201
    refused = send(github_host, "POST", "/issues", **{**fields, name: "é" * (longest + 1)})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["message"].startswith(f"{name} is too long")
    assert send(github_host, "PATCH", "/issues/1", **{name: "é" * (longest + 1)}).status_code == 422
    assert len(github_host.issues()) == 1


def test_a_comment_is_no_longer_than_github_takes(github_host: Host) -> None:
    post(github_host)
    assert send(github_host, "POST", "/issues/1/comments", body="x" * LONGEST_BODY).status_code == 201
    long = "x" * (LONGEST_BODY + 1)
    assert send(github_host, "POST", "/issues/1/comments", body=long).status_code == 422
    comment = github_host.comments(1)[0]["id"]
    assert send(github_host, "PATCH", f"/issues/comments/{comment}", body=long).status_code == 422


def test_a_duplicate_stays_one_until_it_is_opened_again(github_host: Host) -> None:
    post(github_host)
    closed = send(github_host, "PATCH", "/issues/1", state="closed", state_reason="duplicate")
    assert closed.json()["state_reason"] == "duplicate"
    assert send(github_host, "GET", "/issues/1").json()["state_reason"] == "duplicate"
    assert [one["state_reason"] for one in github_host.issues()] == ["duplicate"]
    send(github_host, "PATCH", "/issues/1", state="open")
    assert send(github_host, "PATCH", "/issues/1", state="closed").json()["state_reason"] == "completed"


def test_a_label_that_is_there_is_called_so(github_host: Host) -> None:
    assert send(github_host, "POST", "/labels", name="kind: wrong").status_code == 201
    refused = send(github_host, "POST", "/labels", name="kind: wrong")
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "already_exists")


def test_an_archived_repository_can_be_read_alone(github_host: Host) -> None:
    post(github_host)
    github_host.archive()
    assert send(github_host, "GET", "").json()["archived"] is True
    assert send(github_host, "GET", "/issues").status_code == 200
    refused = post(github_host)
    assert (refused.status_code, refused.json()["message"]) == (
        403,
        "Repository was archived so is read-only.",
    )


def test_a_renamed_repository_is_found_at_its_number(github_host: Host) -> None:
    post(github_host)
    old = github_host.repository
    new = github_host.rename("another-name")
    where = f"{github_host.api}/repos/{old}"
    headers = {"Authorization": f"token {github_host.token}"}
    for path in ("", "/issues", "/issues/1?x=1"):
        moved = requests.get(f"{where}{path}", headers=headers, timeout=20, allow_redirects=False)
        assert moved.status_code == 301
        assert "/repositories/" in moved.headers["Location"]
    github_host.invalid.clear()  # x=1
    assert requests.get(where, headers=headers, timeout=20).json()["full_name"] == new
    assert requests.get(f"{where}/issues", headers=headers, timeout=20).json()[0]["number"] == 1


def test_a_ref_is_made_once_moved_forwards_and_removed_once(github_host: Host) -> None:
    first = github_host.code.find("refs/heads/main")
    after = github_host.commit({"a": "1\n"})
    beside = github_host.commit({"b": "1\n"}, "other")
    make = {"ref": "refs/heads/held", "sha": after}
    assert send(github_host, "POST", "/git/refs", **make).status_code == 201
    again = send(github_host, "POST", "/git/refs", **make)
    assert (again.status_code, again.json()["message"]) == (422, "Reference already exists")
    for sha, status in ((first, 422), (beside, 200), (after, 422)):
        moved = send(github_host, "PATCH", "/git/refs/heads/held", sha=sha, force=False)
        assert moved.status_code == status
        if status == 422:
            assert moved.json()["message"] == "Update is not a fast forward"
    assert send(github_host, "DELETE", "/git/refs/heads/held").status_code == 204
    gone = send(github_host, "DELETE", "/git/refs/heads/held")
    assert (gone.status_code, gone.json()["message"]) == (422, "Reference does not exist")


def test_times_are_whole_seconds_and_answers_have_the_servers_clock(github_host: Host) -> None:
    text = 'a "2026-12-01T00:00:00.123Z" that somebody wrote'
    answer = send(github_host, "POST", "/issues", title="t", body=text)
    assert len(answer.json()["created_at"]) == len("2026-12-01T00:00:00Z")
    assert answer.json()["body"] == text
    assert {"Date", "X-GitHub-Request-Id", "X-RateLimit-Remaining"} <= answer.headers.keys()


# Pull requests

BEFORE, AFTER = "one\ntwo\nthree\n", "one\n2\nthree\nfour\n"
MODEL = "models/net.py"


def test_a_pull_requests_files_and_lines_are_those_that_git_tells(github_host: Host) -> None:
    github_host.commit({MODEL: BEFORE, "gone.py": "x\n"})
    number = github_host.pull({MODEL: AFTER, "gone.py": None, "new/file.py": "y\n"})
    github_host.commit({"later.py": "on main\n"})
    files = {one["filename"]: one for one in send(github_host, "GET", f"/pulls/{number}/files").json()}
    assert {name: one["status"] for name, one in files.items()} == {
        MODEL: "modified",
        "gone.py": "removed",
        "new/file.py": "added",
    }
    command = ["git", "--git-dir", str(github_host.git), "diff", "main...patch", "--", MODEL]
    diff = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert files[MODEL]["patch"] == diff[diff.index("@@") :].rstrip("\n")
    pull = send(github_host, "GET", f"/pulls/{number}").json()
    assert (pull["changed_files"], pull["additions"], pull["deletions"]) == (3, 3, 2)
    assert [
        one["filename"]
        for page in (1, 2)
        for one in send(github_host, "GET", f"/pulls/{number}/files?per_page=2&page={page}").json()
    ] == list(files)
    first = send(github_host, "GET", f"/pulls/{number}/files?per_page=2")
    assert 'rel="next"' in first.headers["Link"]


def test_a_pull_requests_head_moves_with_its_branch(github_host: Host) -> None:
    number = github_host.pull({MODEL: BEFORE})
    after = github_host.commit({MODEL: AFTER}, "patch")
    assert send(github_host, "GET", f"/pulls/{number}").json()["head"]["sha"] == after
    files = send(github_host, "GET", f"/pulls/{number}/files").json()
    assert "+four" in files[0]["patch"]


def test_a_forks_commit_is_read_here_and_fetched_by_its_name(github_host: Host, tmp_path: Path) -> None:
    github_host.commit({MODEL: BEFORE})
    number = github_host.pull({MODEL: AFTER}, fork=True)
    pull = send(github_host, "GET", f"/pulls/{number}").json()
    head = pull["head"]["sha"]
    assert (pull["head"]["repo"]["full_name"], pull["user"]["login"]) == (github_host.fork, STRANGER)
    told = send(github_host, "GET", f"/contents/{MODEL}?ref={head}").json()
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "clone")], check=True)
    clone = ["git", "-C", str(tmp_path / "clone")]
    subprocess.run([*clone, "fetch", "--quiet", "--depth=1", str(github_host.git), head], check=True)
    blob = subprocess.run(
        [*clone, "rev-parse", f"{head}:{MODEL}"], capture_output=True, text=True, check=True
    )
    assert told["sha"] == blob.stdout.strip()


def test_a_pull_request_is_an_issue_that_says_so(github_host: Host) -> None:
    post(github_host)
    number = github_host.pull({MODEL: BEFORE}, title="Faster")
    issue = send(github_host, "GET", f"/issues/{number}").json()
    assert (issue["title"], issue["user"]["login"]) == ("Faster", WRITER)
    assert issue["pull_request"]["url"].endswith(f"/pulls/{number}")
    assert "pull_request" not in send(github_host, "GET", "/issues/1").json()


def test_annotations_are_added_to_those_before_and_fifty_at_most(github_host: Host) -> None:
    head = github_host.commit({MODEL: BEFORE}, "patch")
    one = {"path": MODEL, "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"}
    run = send(github_host, "POST", "/check-runs", name="n", head_sha=head).json()["id"]
    for count, status in ((50, 200), (3, 200), (51, 422)):
        output = {"title": "t", "summary": "s", "annotations": [one] * count}
        assert send(github_host, "PATCH", f"/check-runs/{run}", output=output).status_code == status
    github_host.invalid.clear()  # the 51
    listed = send(github_host, "GET", f"/commits/{head}/check-runs?check_name=n").json()["check_runs"]
    assert [run["output"]["annotations_count"] for run in listed] == [53]
    assert len(github_host.annotations(run)) == 53


ANSWERS = [
    ("GET", "/collaborators/sam/permission", "/collaborators/{username}/permission", 200, {}),
    ("GET", "/collaborators/wanda/permission", "/collaborators/{username}/permission", 200, {}),
    ("POST", "/issues/1/reactions", "/issues/{issue_number}/reactions", 201, {"content": "eyes"}),
    ("GET", "/issues/2", "/issues/{issue_number}", 200, {}),
    ("PATCH", "/issues/1", "/issues/{issue_number}", 200, {"state": "closed", "state_reason": "duplicate"}),
    ("GET", "/pulls/2", "/pulls/{pull_number}", 200, {}),
    ("GET", "/pulls/2/files", "/pulls/{pull_number}/files", 200, {}),
    ("GET", "/check-runs/{run}", "/check-runs/{check_run_id}", 200, {}),
    ("GET", "/commits/{head}/check-runs", "/commits/{ref}/check-runs", 200, {}),
    ("GET", "/check-runs/{run}/annotations", "/check-runs/{check_run_id}/annotations", 200, {}),
]


def test_what_the_rig_answers_is_what_githubs_description_says(github_host: Host) -> None:
    post(github_host)
    github_host.pull({MODEL: AFTER})
    head = github_host.code.find("refs/heads/patch")
    one = {"path": MODEL, "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"}
    output = {"title": "t", "summary": "s", "annotations": [one]}
    run = send(github_host, "POST", "/check-runs", name="n", head_sha=head, output=output).json()["id"]
    for method, path, template, status, body in ANSWERS:
        answer = send(github_host, method, path.format(run=run, head=head), **body)
        assert answer.status_code == status, (path, answer.text)
        described = f"/repos/{{owner}}/{{repo}}{template}"
        assert description().answer_problems(method, described, status, answer.json()) == [], path


# Payloads


def test_a_payload_of_ours_tells_of_the_rig_and_of_a_pull_request_as_one(github_host: Host) -> None:
    post(github_host)
    number = github_host.pull({MODEL: BEFORE})
    plain = payloads.commented(github_host, 1, "/fuzz retest", READER)
    assert (plain["comment"]["body"], plain["sender"]["login"]) == ("/fuzz retest", READER)
    assert plain["issue"]["comments"] == 1
    assert plain["repository"]["full_name"] == github_host.repository
    assert "pull_request" not in plain["issue"]
    assert payloads.commented(github_host, number, "/fuzz")["issue"]["pull_request"]
    edited = payloads.issue_comment(github_host, 1, plain["comment"], "edited")
    assert edited["action"] == "edited"
    assert [one.method for one in github_host.requests] == ["POST"], "what others do is not among the bot's"


def test_githubs_own_payloads_are_there_by_event_and_action() -> None:
    assert len(payloads.events()) > 50
    created = payloads.examples("issue_comment", "created")
    assert created and all(one["action"] == "created" for one in created)
    assert len(payloads.examples("issue_comment")) > len(created)
    created[0]["action"] = "changed"
    assert payloads.examples("issue_comment", "created")[0]["action"] == "created"


def test_a_payload_that_is_none_is_found() -> None:
    newest = payloads.examples("issue_comment", "created")[-1]
    assert description().event_problems("issue_comment", "created", newest) == []
    del newest["comment"]["user"]
    assert description().event_problems("issue_comment", "created", newest)


# By hand


@pytest.mark.parametrize("ended", [signal.SIGTERM, signal.SIGKILL])
def test_by_hand_it_serves_until_it_is_ended_and_leaves_nothing_behind(
    tmp_path: Path, ended: signal.Signals
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.rig", "--out", str(tmp_path / "out")],
        cwd=TREE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.strip())
        if line.startswith("#"):
            break
    given = dict(line.removeprefix("export ").split("=", 1) for line in lines if line.startswith("export "))
    api, repository = given["NIGHTFUZZ_API"], given["NIGHTFUZZ_REPOSITORY"]
    about = requests.get(
        f"{api}/repos/{repository}",
        headers={"Authorization": f"token {given['NIGHTFUZZ_TOKEN']}"},
        timeout=20,
    )
    assert about.json()["full_name"] == repository
    children = psutil.Process(process.pid).children(recursive=True)
    assert any("node" in child.name() for child in children)
    process.send_signal(ended)
    assert process.wait(timeout=20) == (0 if ended is signal.SIGTERM else -ended)
    process.stdout.close()
    assert psutil.wait_procs(children, timeout=10)[1] == []


def test_a_machine_without_node_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert missing() == ""
    old = tmp_path / "node"
    old.write_text("#!/bin/sh\necho v18.1.0\n")
    old.chmod(0o755)
    (tmp_path / "npm").symlink_to(old)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert missing() == "node v18.1.0 is older than 20"
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert missing() == "node and npm are not installed"
