"""What a Gitee-style host has and does, as far as trackers need it.

Invariant: what is unlike GitHub is as Gitee has it: numbers are texts whose case counts, labels one text of
which an empty one changes nothing, a state that an issue has already is refused, times have the offset of
China, a file that is not there is an empty list.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, TypeAlias

from tests.rig.faults import Fault
from tests.rig.proxy import Seen

OWNER, REPO = "mind", "triage"
BOT, WRITER, READER, STRANGER = "nightfuzz-bot", "wanda", "rita", "sam"
IDS = {BOT: 101, WRITER: 102, READER: 103, STRANGER: 104}
PERMISSIONS = {BOT: "admin", WRITER: "write", READER: "read"}
LABEL = re.compile(r"[\w./-]{2,20}")
STATES = ("open", "progressing", "closed")
CHINA = timezone(timedelta(hours=8))


class RefusedError(Exception):
    """An answer that is none of success."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class State:
    """What the host has. Issues and comments are as they are sent, oldest first."""

    issues: list[dict[str, Any]] = field(default_factory=list)
    comments: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    branches: dict[str, dict[str, str]] = field(default_factory=lambda: {"master": {}})
    """Of each branch: path -> content in base64."""
    requests: list[Seen] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def issue(self, number: str) -> dict[str, Any]:
        for one in self.issues:
            if one["number"] == number:
                return one
        raise RefusedError(404, "404 Issue Not Found")


@dataclass(frozen=True)
class Asked:
    """A request: who asks, what stands in its path, and its parameters."""

    who: str
    path: tuple[str, ...]
    given: dict[str, Any]


Serve: TypeAlias = Callable[[State, Asked], Any]


def user(login: str) -> dict[str, Any]:
    return {"id": IDS[login], "login": login, "name": login.title(), "type": "User"}


def now() -> str:
    return datetime.now(CHINA).isoformat(timespec="seconds")


def sha(content: str) -> str:
    return hashlib.sha1(content.encode()).hexdigest()


def get_user(state: State, asked: Asked) -> Any:
    return user(asked.who)


def get_repository(state: State, asked: Asked) -> Any:
    return {
        "id": 8649239, "full_name": f"{OWNER}/{REPO}", "human_name": "MIND/Triage", "path": REPO,
        "has_issues": True, "default_branch": "master",
    }  # fmt: skip


def list_issues(state: State, asked: Asked) -> Any:
    wanted = asked.given.get("state", "open")
    whose = asked.given.get("creator")
    found = [
        one
        for one in state.issues
        if wanted in ("all", one["state"]) and whose in (None, one["user"]["login"])
    ]
    return found if asked.given.get("direction", "desc") == "asc" else found[::-1]


def make_issue(state: State, asked: Asked) -> Any:
    if asked.given.get("repo") != REPO:
        raise RefusedError(404, "404 Project Not Found")
    number = f"I{'aA'[len(state.issues) % 2]}{len(state.issues) // 2:04X}"
    made = {
        "id": 5_000_000 + len(state.issues), "number": number, "title": asked.given["title"],
        "html_url": f"https://gitee.example/{OWNER}/{REPO}/issues/{number}",
        "body": asked.given.get("body"), "user": user(asked.who), "state": "open",
        "labels": named(asked.given.get("labels", "")), "created_at": now(), "updated_at": now(),
        "finished_at": None, "comments": 0,
    }  # fmt: skip
    state.issues.append(made)
    state.comments[number] = []
    return made


def named(labels: str) -> list[dict[str, Any]]:
    names = [name for name in labels.split(",") if name]
    for name in names:
        if not LABEL.fullmatch(name):
            raise RefusedError(400, f"label {name!r} must have 2 to 20 characters, none of them special")
    return [{"id": number, "name": name, "color": "ededed"} for number, name in enumerate(names)]


def get_issue(state: State, asked: Asked) -> Any:
    return state.issue(asked.path[0])


def edit_issue(state: State, asked: Asked) -> Any:
    issue, given = state.issue(asked.path[0]), asked.given
    to = given.get("state", "")
    if to and (to not in STATES or to == issue["state"]):
        raise RefusedError(400, f"the state cannot become {to}")
    if given.get("labels"):
        issue["labels"] = named(given["labels"])
    if to:
        issue |= {"state": to, "finished_at": now() if to == "closed" else None}
    return issue_changed(issue, {name: given[name] for name in ("title", "body") if name in given})


def issue_changed(one: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    one |= {**changes, "updated_at": now()}
    return one


def list_comments(state: State, asked: Asked) -> Any:
    since = datetime.fromisoformat(asked.given.get("since", "2000-01-01T00:00:00Z"))
    state.issue(asked.path[0])
    found = [c for c in state.comments[asked.path[0]] if datetime.fromisoformat(c["updated_at"]) >= since]
    return found if asked.given.get("order", "asc") == "asc" else found[::-1]


def list_all_comments(state: State, asked: Asked) -> Any:
    since = datetime.fromisoformat(asked.given.get("since", "2000-01-01T00:00:00Z"))
    found = [
        c
        | {
            "target": {
                "issue": {"number": number, "title": state.issue(number)["title"]},
                "pull_request": None,
            }
        }
        for number, comments in state.comments.items()
        for c in comments
        if datetime.fromisoformat(c["updated_at"]) >= since
    ]
    rising = asked.given.get("direction", "desc") == "asc"
    return sorted(found, key=lambda c: (str(c["created_at"]), int(c["id"])), reverse=not rising)


def make_comment(state: State, asked: Asked) -> Any:
    state.issue(asked.path[0])
    number = 9_000_000 + sum(map(len, state.comments.values()))
    made = {
        "id": number, "body": asked.given["body"], "user": user(asked.who),
        "created_at": now(), "updated_at": now(),
    }  # fmt: skip
    state.comments[asked.path[0]].append(made)
    return made


def edit_comment(state: State, asked: Asked) -> Any:
    for one in (c for comments in state.comments.values() for c in comments):
        if str(one["id"]) == asked.path[0]:
            return issue_changed(one, {"body": asked.given["body"]})
    raise RefusedError(404, "404 Note Not Found")


def get_permission(state: State, asked: Asked) -> Any:
    if asked.path[0] not in PERMISSIONS:
        raise RefusedError(404, "404 Member Not Found")
    return user(asked.path[0]) | {"permission": PERMISSIONS[asked.path[0]]}


def list_labels(state: State, asked: Asked) -> Any:
    return [{"id": number, "name": name} for number, name in enumerate(state.labels)]


def make_label(state: State, asked: Asked) -> Any:
    (made,) = named(asked.given["name"])
    if made["name"] in state.labels:
        raise RefusedError(400, "the name is taken")
    state.labels.append(made["name"])
    return made


def get_branch(state: State, asked: Asked) -> Any:
    if asked.path[0] not in state.branches:
        raise RefusedError(404, "404 Branch Not Found")
    return {"name": asked.path[0]}


def make_branch(state: State, asked: Asked) -> Any:
    name, start = asked.given["branch_name"], asked.given["refs"]
    if name in state.branches or start not in state.branches:
        raise RefusedError(400, "the branch is there, or its start is not")
    state.branches[name] = dict(state.branches[start])
    return {"name": name}


def files(state: State, name: str) -> dict[str, str]:
    if name not in state.branches:
        raise RefusedError(404, "404 Branch Not Found")
    return state.branches[name]


def get_file(state: State, asked: Asked) -> Any:
    there, path = files(state, asked.given.get("ref", "master")), asked.path[0]
    if path not in there:
        return []
    return {
        "type": "file",
        "encoding": "base64",
        "path": path,
        "content": there[path],
        "sha": sha(there[path]),
    }


def make_file(state: State, asked: Asked) -> Any:
    there, path = files(state, asked.given.get("branch", "master")), asked.path[0]
    if path in there:
        raise RefusedError(400, "a file of this name is there")
    there[path] = asked.given["content"]
    return {"content": {"path": path, "sha": sha(there[path])}}


def edit_file(state: State, asked: Asked) -> Any:
    there, path = files(state, asked.given.get("branch", "master")), asked.path[0]
    if path not in there or sha(there[path]) != asked.given["sha"]:
        raise RefusedError(400, "the sha is not that of the file")
    there[path] = asked.given["content"]
    return {"content": {"path": path, "sha": sha(there[path])}}


def remove_file(state: State, asked: Asked) -> Any:
    there, path = files(state, asked.given.get("branch", "master")), asked.path[0]
    if path not in there or sha(there[path]) != asked.given["sha"]:
        raise RefusedError(400, "the sha is not that of the file")
    del there[path]
    return {"content": None}


HERE = f"/repos/{OWNER}/{REPO}"
ROUTES: tuple[tuple[str, str, int, Serve], ...] = (
    ("GET", "/user", 200, get_user),
    ("GET", HERE, 200, get_repository),
    ("GET", f"{HERE}/issues", 200, list_issues),
    ("POST", f"/repos/{OWNER}/issues", 201, make_issue),
    ("GET", f"{HERE}/issues/comments", 200, list_all_comments),
    ("GET", f"{HERE}/issues/([^/]+)", 200, get_issue),
    ("PATCH", f"/repos/{OWNER}/issues/([^/]+)", 200, edit_issue),
    ("GET", f"{HERE}/issues/([^/]+)/comments", 200, list_comments),
    ("POST", f"{HERE}/issues/([^/]+)/comments", 201, make_comment),
    ("PATCH", f"{HERE}/issues/comments/([^/]+)", 200, edit_comment),
    ("GET", f"{HERE}/collaborators/([^/]+)/permission", 200, get_permission),
    ("GET", f"{HERE}/labels", 200, list_labels),
    ("POST", f"{HERE}/labels", 201, make_label),
    ("GET", f"{HERE}/branches/([^/]+)", 200, get_branch),
    ("POST", f"{HERE}/branches", 201, make_branch),
    ("GET", f"{HERE}/contents/(.+)", 200, get_file),
    ("POST", f"{HERE}/contents/(.+)", 201, make_file),
    ("PUT", f"{HERE}/contents/(.+)", 200, edit_file),
    ("DELETE", f"{HERE}/contents/(.+)", 200, remove_file),
)
WRITERS_ONLY = frozenset({make_label, make_branch, make_file, edit_file, remove_file})
