"""A repository that people comment in: the real gate, tracker and client, on a GitHub in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.commands.event import CommentEvent
from bot.commands.handle import Gate, Handled
from bot.publish_bench.host import REPOSITORY, ROOT, MemoryHost
from bot.publish_bench.world import SEAL, finding, settings
from bot.publishing.marks import MARK
from bot.publishing.publisher import Publisher
from bot.settings import Settings
from bot.store import Store
from bot.trackers.client import Client
from bot.trackers.github import GitHub
from bot.trackers.github_pulls import GitHubPulls
from fuzzers.records import Finding, Json

WRITER, READER, OWNER, GONE = (
    {"login": login, "id": ident, "type": "User"}
    for login, ident in (("wanda", 21), ("rita", 22), ("olaf", 23), ("ghost/../x", 24))
)
PERMISSIONS = {"wanda": "write", "rita": "read", "olaf": "read", "maintainer": "admin"}
"""`olaf` is an OWNER by association, and may do nothing here any more."""

HEAD, BASE, MAIN = "a1" * 20, "b2" * 20, "c3" * 20
CHANGED = "kernels/softmax.py"

FINDING, PLAIN, PULL, FORK, CLOSED_PULL, OTHER_FINDING = 1, 3, 4, 5, 6, 2
"""Numbers of the issues and pull requests that there are."""


@dataclass
class CommentedHost(MemoryHost):
    """With people's permissions, reactions and pull requests. `reactions` are (comment, reaction)."""

    reactions: list[tuple[str, str]] = field(default_factory=list)
    pulls: dict[int, Json] = field(default_factory=dict)
    heads: list[str] = field(default_factory=list)
    """What the head of a pull request moves to, one a look."""
    deleted: set[str] = field(default_factory=set)

    def send(
        self, method: str, path: str, parameters: Mapping[str, Any], body: Mapping[str, Any] | None
    ) -> tuple[int, Mapping[str, str], str]:
        """What publishing asks for, and what comments do beside it."""
        for verb, pattern, answer in ROUTES:
            if verb == method and (found := re.fullmatch(ROOT + pattern, path)):
                return _told(answer(self, *found.groups(), **(body or {})))
        return super().send(method, path, parameters, body)

    def permission(self, login: str) -> Any:
        """By name, as GitHub."""
        return {"permission": PERMISSIONS[login]} if login in PERMISSIONS else None

    def react(self, comment: str, content: str) -> Any:
        """Nobody reacts to what has been deleted."""
        if comment in self.deleted:
            return None
        self.reactions.append((comment, content))
        return {"content": content}

    def edit_comment(self, ident: str, body: str) -> Any:
        """Another text for a comment."""
        for one in (one for comments in self.comments.values() for one in comments):
            if str(one["id"]) == ident:
                one |= {"body": body, "updated_at": self.at()}
                return one
        return None

    def pull(self, number: str) -> Any:
        """A pull request, whose head may move."""
        found = self.pulls.get(int(number))
        if found and self.heads:
            found["head"]["sha"] = self.heads.pop(0)
        return found

    def files(self, number: str) -> Any:
        """One file, of which two lines are new."""
        return [{"filename": CHANGED, "status": "modified", "patch": "@@ -1 +1,2 @@\n+a\n+b"}]

    def compare(self) -> Any:
        """Where every branch began."""
        return {"merge_base_commit": {"sha": BASE}}

    def branch(self) -> Any:
        """The default branch's head."""
        return {"commit": {"sha": MAIN}}


ROUTES: tuple[tuple[str, str, Any], ...] = (
    ("GET", r"/collaborators/([^/]+)/permission", CommentedHost.permission),
    ("POST", r"/issues/comments/(\d+)/reactions", CommentedHost.react),
    ("PATCH", r"/issues/comments/(\d+)", CommentedHost.edit_comment),
    ("GET", r"/pulls/(\d+)", CommentedHost.pull),
    ("GET", r"/pulls/(\d+)/files", CommentedHost.files),
    ("GET", r"/compare/.*", CommentedHost.compare),
    ("GET", r"/branches/main", CommentedHost.branch),
)


def _told(data: Any) -> tuple[int, Mapping[str, str], str]:
    return (200, {}, json.dumps(data)) if data is not None else (404, {}, '{"message": "Not Found"}')


@dataclass
class Desk:
    """One repository with its bot, and what has been said to it."""

    host: CommentedHost
    store: Store
    settings: Settings

    @classmethod
    def at(cls, folder: Path, **given: object) -> Desk:
        """Two findings published, an issue of somebody who copied the first, three pull requests."""
        host = CommentedHost()
        told = settings(folder, upstream="pytorch/pytorch", upstream_form="general", **given)
        desk = cls(host, Store(folder / "store", _never), told)
        for number in (1, 2):
            desk.store.put_finding(finding(number, host.at()))
        Publisher(desk.store, desk.tracker, told, hosts=()).publish()
        copied = {"number": PLAIN, "user": READER, "html_url": f"https://github.com/{REPOSITORY}/issues/3"}
        host.issues[PLAIN] = {**host.issues[FINDING], **copied}
        for number, is_fork, state in ((PULL, 0, "open"), (FORK, 1, "open"), (CLOSED_PULL, 0, "closed")):
            desk._open_pull(number, f"rita/{REPOSITORY[8:]}" if is_fork else REPOSITORY, state)
        return desk

    def _open_pull(self, number: int, repository: str, state: str) -> None:
        plain = {"number": number, "state": state, "user": READER, "body": "", "pull_request": {}}
        self.host.issues[number] = {**self.host.issues[PLAIN], **plain}
        head = {"sha": HEAD, "repo": {"full_name": repository}}
        base = {"sha": MAIN, "ref": "main"}
        self.host.pulls[number] = {"number": number, "state": state, "head": head, "base": base}

    @property
    def client(self) -> Client:
        """A new one, as each run of the command has."""
        return Client(self.host.send, "memory", pause=0.0, backoff=0.0)

    @property
    def tracker(self) -> GitHub:
        """The real one."""
        return GitHub(self.client, REPOSITORY)

    def told(self, event: CommentEvent) -> Handled:
        """What the gate makes of an event."""
        pulls = GitHubPulls(self.client, REPOSITORY)
        return Gate(self.tracker, pulls, self.store, self.settings, SEAL).handle(event)

    def say(self, body: str, on: int = FINDING, who: Json = WRITER, **changes: Any) -> Handled:
        """Somebody comments."""
        return self.told(self.event(body, on, who, **changes))

    def event(self, body: str, on: int = FINDING, who: Json = WRITER, **changes: Any) -> CommentEvent:
        """The event of a new comment. `changes` are of its parts: `comment={...}`, `action="edited"`."""
        at = self.host.at()
        plain: Json = {
            "action": "created",
            "comment": {"id": 900, "body": body, "user": who, "created_at": at, "updated_at": at},
            "issue": {**self.host.issues.get(on, {"number": on}), "locked": False},
            "repository": {"full_name": REPOSITORY},
            "sender": who,
        }
        for name, changed in changes.items():
            plain[name] = {**plain[name], **changed} if isinstance(changed, dict) else changed
        return CommentEvent.model_validate(plain)

    def finding(self, on: int = FINDING) -> Finding:
        """The finding of an issue, as the store has it."""
        found = self.store.finding(f"nf1-{on:016x}")
        assert found is not None
        return found

    def replies(self, on: int = FINDING) -> list[str]:
        """What the bot has said there, without its marks."""
        return [MARK.sub("", one["body"]) for one in self.host.comments.get(on, [])]

    def reactions(self) -> list[str]:
        """What the bot has put on comments."""
        return [reaction for _, reaction in self.host.reactions]

    def kept(self) -> str:
        """All that the store says, to see whether it has changed."""
        files = sorted(path for path in self.store.root.rglob("*.json"))
        return "\n".join(f"{path}\n{path.read_text()}" for path in files)


def _never(line: str) -> None:
    raise AssertionError(line)
