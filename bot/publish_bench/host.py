"""A GitHub in memory: as much of one repository's API as publishing asks for.

Invariant: it answers as the real one does where publishing could tell: a listing does not say who closed an
issue, a ref is made once and moved only fast-forward, an edit that changes nothing leaves the times as they
are. Its clock goes on by a second a request, and by what `wait` adds. The reason: thousands of publishes,
with the real tracker and the real client, take seconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from hashlib import sha1
from typing import Any, TypeAlias

from fuzzers.records import Json

REPOSITORY = "nightly/triage"
REPOSITORY_NUMBER = 42
BOT = {"login": "nightfuzz[bot]", "id": 7, "type": "Bot"}
PERSON = {"login": "maintainer", "id": 11, "type": "User"}
ROOT = f"/repos/{REPOSITORY}"
FIRST_COMMIT = "0" * 40
TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Git's empty tree."""

Reply: TypeAlias = tuple[int, Any]


@dataclass
class MemoryHost:
    """One repository. `changes` counts what its visitors could see change, the lease apart."""

    now: datetime = datetime(2026, 12, 1, 1, 0, tzinfo=UTC)
    issues: dict[int, Json] = field(default_factory=dict)
    comments: dict[int, list[Json]] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    refs: dict[str, str] = field(default_factory=lambda: {"heads/main": FIRST_COMMIT})
    commits: dict[str, Json] = field(
        default_factory=lambda: {FIRST_COMMIT: {"sha": FIRST_COMMIT, "tree": {"sha": TREE}, "parents": []}}
    )
    changes: int = 0
    _comments_made: int = 0

    def send(
        self, method: str, path: str, parameters: Mapping[str, Any], body: Mapping[str, Any] | None
    ) -> tuple[int, Mapping[str, str], str]:
        """What `bot.trackers.client` calls a transport."""
        self.now += timedelta(seconds=1)
        headers = {"date": format_datetime(self.now, usegmt=True)}
        for verb, pattern, answer in ROUTES:
            if verb == method and (found := pattern.fullmatch(path)):
                status, data = answer(self, *found.groups(), {**parameters, **(body or {})})
                if isinstance(data, list):
                    data, headers["link"] = _page(data, parameters)
                return status, headers, json.dumps(data) if data is not None else ""
        return 404, headers, json.dumps({"message": "Not Found"})

    def wait(self, hours: float) -> None:
        """Let time go by."""
        self.now += timedelta(hours=hours)

    def at(self) -> str:
        """The time, as the API tells it."""
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def close(self, number: int, reason: str) -> None:
        """A person closes an issue."""
        self._set_state(self.issues[number], "closed", reason, PERSON)

    def reopen(self, number: int) -> None:
        """A person opens an issue again."""
        self._set_state(self.issues[number], "open", None, PERSON)

    # What the API answers

    def about(self, given: Json) -> Reply:
        """The repository."""
        return 200, {
            "id": REPOSITORY_NUMBER,
            "full_name": REPOSITORY,
            "has_issues": True,
            "default_branch": "main",
        }

    def user(self, given: Json) -> Reply:
        """Whose the token is."""
        return 200, BOT

    def list_issues(self, given: Json) -> Reply:
        """Issues by creator, the oldest first, without who closed them."""
        listed = [one for one in self.issues.values() if one["user"]["login"] == given["creator"]]
        return 200, [{key: value for key, value in one.items() if key != "closed_by"} for one in listed]

    def get_issue(self, number: str, given: Json) -> Reply:
        """One issue."""
        found = self.issues.get(int(number))
        return (200, found) if found else (404, {"message": "Not Found"})

    def new_issue(self, given: Json) -> Reply:
        """Open an issue."""
        number = max(self.issues, default=0) + 1
        at = self.at()
        self.changes += 1
        self.issues[number] = {
            "number": number,
            "html_url": f"https://github.com/{REPOSITORY}/issues/{number}",
            "title": given["title"],
            "body": given["body"],
            "user": BOT,
            "state": "open",
            "state_reason": None,
            "labels": [{"name": label} for label in given["labels"]],
            "created_at": at,
            "updated_at": at,
            "closed_at": None,
            "closed_by": None,
        }
        return 201, self.issues[number]

    def edit_issue(self, number: str, given: Json) -> Reply:
        """Change an issue."""
        issue = self.issues.get(int(number))
        if issue is None:
            return 404, {"message": "Not Found"}
        for key in ("title", "body"):
            if key in given and issue[key] != given[key]:
                self.changes += 1
                issue |= {key: given[key], "updated_at": self.at()}
        if "state" in given and given["state"] != issue["state"]:
            self._set_state(issue, given["state"], given.get("state_reason"), BOT)
        return 200, issue

    def _set_state(self, issue: Json, state: str, reason: str | None, by: Mapping[str, Any]) -> None:
        self.changes += 1
        is_closed = state == "closed"
        issue |= {
            "state": state,
            "state_reason": (reason or "completed") if is_closed else "reopened",
            "closed_at": self.at() if is_closed else None,
            "closed_by": by if is_closed else None,
            "updated_at": self.at(),
        }

    def list_comments(self, number: str, given: Json) -> Reply:
        """An issue's comments."""
        return 200, list(self.comments.get(int(number), []))

    def said(self, given: Json) -> Reply:
        """The comments of all issues that were changed since a time."""
        found = [
            one | {"issue_url": f"/issues/{number}"}
            for number, comments in self.comments.items()
            for one in comments
            if one["updated_at"] >= given["since"]
        ]
        return 200, sorted(found, key=lambda one: int(one["id"]))

    def new_comment(self, number: str, given: Json) -> Reply:
        """Comment on an issue."""
        if int(number) not in self.issues:
            return 404, {"message": "Not Found"}
        self.changes += 1
        self._comments_made += 1
        at = self.at()
        made = {"id": self._comments_made, "user": BOT, "body": given["body"], "created_at": at}
        self.comments.setdefault(int(number), []).append({**made, "updated_at": at, "html_url": ""})
        return 201, self.comments[int(number)][-1]

    def list_labels(self, given: Json) -> Reply:
        """The labels that there are."""
        return 200, [{"name": label} for label in self.labels]

    def new_label(self, given: Json) -> Reply:
        """Make a label."""
        if given["name"] in self.labels:
            return 422, {"message": "Validation Failed", "errors": [{"code": "already_exists"}]}
        self.changes += 1
        self.labels.append(given["name"])
        return 201, {"name": given["name"]}

    # Git, as far as the lease needs it

    def new_commit(self, given: Json) -> Reply:
        """A commit object; its name is what it says."""
        sha = sha1(json.dumps([given["message"], given["parents"], self.at()]).encode()).hexdigest()
        self.commits[sha] = {
            "sha": sha,
            "message": given["message"],
            "tree": {"sha": given["tree"]},
            "parents": list(given["parents"]),
        }
        return 201, self.commits[sha]

    def get_commit(self, sha: str, given: Json) -> Reply:
        """A commit object."""
        return 200, self.commits[sha]

    def get_ref(self, name: str, given: Json) -> Reply:
        """Where a ref is."""
        if name not in self.refs:
            return 404, {"message": "Not Found"}
        return 200, {"object": {"sha": self.refs[name]}}

    def new_ref(self, given: Json) -> Reply:
        """Make a ref, if there is none of that name."""
        name = given["ref"].removeprefix("refs/")
        if name in self.refs:
            return 422, {"message": "Reference already exists"}
        self.refs[name] = given["sha"]
        return 201, {"object": {"sha": given["sha"]}}

    def move_ref(self, name: str, given: Json) -> Reply:
        """Move a ref, forwards only."""
        if self.refs.get(name) not in (given["sha"], *self.commits[given["sha"]]["parents"]):
            return 422, {"message": "Update is not a fast forward"}
        self.refs[name] = given["sha"]
        return 200, {"object": {"sha": given["sha"]}}

    def delete_ref(self, name: str, given: Json) -> Reply:
        """Take a ref away."""
        if self.refs.pop(name, None) is None:
            return 422, {"message": "Reference does not exist"}
        return 204, None


def _route(verb: str, path: str, answer: Callable[..., Reply]) -> tuple[str, re.Pattern[str], Any]:
    return verb, re.compile(path), answer


ROUTES = (
    _route("GET", ROOT, MemoryHost.about),
    _route("GET", "/user", MemoryHost.user),
    _route("GET", f"{ROOT}/issues", MemoryHost.list_issues),
    _route("POST", f"{ROOT}/issues", MemoryHost.new_issue),
    _route("GET", rf"{ROOT}/issues/(\d+)", MemoryHost.get_issue),
    _route("PATCH", rf"{ROOT}/issues/(\d+)", MemoryHost.edit_issue),
    _route("GET", rf"{ROOT}/issues/comments", MemoryHost.said),
    _route("GET", rf"{ROOT}/issues/(\d+)/comments", MemoryHost.list_comments),
    _route("POST", rf"{ROOT}/issues/(\d+)/comments", MemoryHost.new_comment),
    _route("GET", f"{ROOT}/labels", MemoryHost.list_labels),
    _route("POST", f"{ROOT}/labels", MemoryHost.new_label),
    _route("POST", f"{ROOT}/git/commits", MemoryHost.new_commit),
    _route("GET", rf"{ROOT}/git/commits/(\w+)", MemoryHost.get_commit),
    _route("GET", rf"{ROOT}/git/ref/(.+)", MemoryHost.get_ref),
    _route("POST", f"{ROOT}/git/refs", MemoryHost.new_ref),
    _route("PATCH", rf"{ROOT}/git/refs/(.+)", MemoryHost.move_ref),
    _route("DELETE", rf"{ROOT}/git/refs/(.+)", MemoryHost.delete_ref),
)


def _page(items: list[Any], given: Mapping[str, Any]) -> tuple[list[Any], str]:
    """One page of a listing, and the header that tells whether there is another."""
    size, page = int(given.get("per_page", 30)), int(given.get("page", 1))
    is_last = page * size >= len(items)
    return items[(page - 1) * size : page * size], "" if is_last else '<next>; rel="next"'
