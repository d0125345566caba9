"""A Gitee-style v5 API as a tracker: MindSpore's has moved between hosts that all speak it.

Invariant: as `bot.trackers.protocol` says. What differs from GitHub: the repository stands in the body of
what makes or changes an issue, numbers are case-sensitive texts, labels one text with commas, and there are
no reactions. Of the four states only people give `rejected`, which is closed as not planned: the API takes
none but `open`, `progressing` and `closed`, and refuses the one that an issue has already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import requests

from bot.trackers.client import TIMEOUT_SECONDS, WRITE_PAUSE_SECONDS, Client
from bot.trackers.gitee_lease import Lease
from bot.trackers.github_lease import TIME
from bot.trackers.hosted import Hosted
from bot.trackers.protocol import (
    Account,
    Comment,
    Issue,
    IssueState,
    MissingError,
    Reaction,
    Reason,
    ThrottledError,
    TrackerError,
    UncertainError,
)

API = "https://gitee.com/api/v5"
LONGEST_BODY = 65_535
LABEL_COLOUR = "ededed"
LONGEST_LABEL = 20
"""Characters of a label that the host takes, of at least two; none of them may be special."""

PLAIN = re.compile(r"\w[\w.-]*", re.ASCII)


def gitee_client(api: str, token: str, pause: float = WRITE_PAUSE_SECONDS) -> Client:
    """A client that acts as the owner of a token."""
    host = api or API
    session = requests.Session()
    session.auth = lambda request: request  # or .netrc's password would go in place of the token
    session.headers.update({"Authorization": f"Bearer {token}", "User-Agent": "nightfuzz"})

    def transport(
        method: str, path: str, parameters: Mapping[str, Any], body: Mapping[str, Any] | None
    ) -> tuple[int, Mapping[str, str], str]:
        answer = session.request(
            method,
            f"{host.rstrip('/')}{path}",
            params=dict(parameters),
            json=body,
            timeout=TIMEOUT_SECONDS,
            allow_redirects=False,
        )
        return answer.status_code, {k.lower(): v for k, v in answer.headers.items()}, answer.text

    return Client(transport, host, pause)


@dataclass
class Gitee(Hosted):
    """One repository, `owner/name`."""

    longest_body: int = LONGEST_BODY
    _made: set[str] = field(default_factory=set, repr=False)

    @property
    def name(self) -> str:
        """The key of what was published here."""
        return f"gitee:{self.repository}"

    @property
    def _owner(self) -> str:
        return self.repository.partition("/")[0]

    @property
    def _repo(self) -> str:
        return self.repository.partition("/")[2]

    @cached_property
    def _account(self) -> Account:
        return _account(self.client.get("/user").data)

    def account(self) -> Account:
        """Who the token's owner is."""
        return self._account

    def own_issues(self) -> Iterator[Issue]:
        """All that this account has opened here, the oldest first."""
        me = self.account()
        found = self._pages(
            f"{self.root}/issues", creator=me.login, state="all", sort="created", direction="asc"
        )
        for plain in found:
            issue = _issue(plain)
            if issue.author.ident == me.ident:
                yield issue

    def issue(self, number: str) -> Issue:
        """One issue, as it is now."""
        return _issue(self.client.get(f"{self.root}/issues/{_plain(number)}").data)

    def create(self, title: str, body: str, labels: Sequence[str] = ()) -> Issue:
        """Open an issue."""
        content = {"repo": self._repo, "title": title, "body": body, "labels": _labels(labels)}
        path = f"/repos/{self._owner}/issues"
        return _issue(self.client.send("POST", path, body=content, idempotent=False).data)

    def edit(
        self,
        number: str,
        *,
        title: str | None = None,
        body: str | None = None,
        state: IssueState | None = None,
        reason: Reason | None = None,
        labels: Sequence[str] | None = None,
    ) -> Issue:
        """Change what is given."""
        given = {
            "title": title,
            "body": body,
            "state": state,
            "labels": None if labels is None else _labels(labels),
        }
        content = {name: value for name, value in given.items() if value is not None}
        path = f"/repos/{self._owner}/issues/{_plain(number)}"
        try:
            return _issue(self.client.send("PATCH", path, body={"repo": self._repo, **content}).data)
        except TrackerError as refusal:
            if state is None or isinstance(refusal, MissingError | ThrottledError):
                raise
            issue = self.issue(number)
            if not _is_so(issue, title, body, state):
                raise
            return issue  # its state was this already, maybe by a try of ours whose answer was lost

    def comments(self, number: str, since: str = "") -> Iterator[Comment]:
        """An issue's comments, oldest first."""
        changed = {"since": since} if since else {}
        for plain in self._pages(f"{self.root}/issues/{_plain(number)}/comments", order="asc", **changed):
            yield _comment(plain)

    def spoken(self, since: str) -> Iterator[tuple[str, Comment]]:
        """Comments of the repository."""
        listed = self._pages(f"{self.root}/issues/comments", since=since, sort="created", direction="asc")
        for plain in listed:
            target = plain.get("target") or {}
            if issue := target.get("issue"):
                yield str(issue["number"]), _comment(plain)

    def comment(self, number: str, body: str) -> Comment:
        """Add a comment."""
        path = f"{self.root}/issues/{_plain(number)}/comments"
        return _comment(self.client.send("POST", path, body={"body": body}, idempotent=False).data)

    def edit_comment(self, ident: str, body: str) -> Comment:
        """Replace a comment's text."""
        path = f"{self.root}/issues/comments/{_plain(ident)}"
        return _comment(self.client.send("PATCH", path, body={"body": body}).data)

    def react(self, comment: str, reaction: Reaction) -> None:
        """There are none here: the reply says it."""

    def ensure_labels(self, labels: Sequence[str]) -> None:
        """Make the labels that are not there."""
        wanted = [label for label in dict.fromkeys(map(_label, labels)) if label not in self._made]
        if not wanted:
            return
        self._made |= {str(one["name"]) for one in self.client.get(f"{self.root}/labels").data}
        for label in wanted:
            if label not in self._made:
                self._make_label(label)
                self._made.add(label)

    def _make_label(self, label: str) -> None:
        try:
            self.client.send("POST", f"{self.root}/labels", body={"name": label, "color": LABEL_COLOUR})
        except TrackerError:
            there = self.client.get(f"{self.root}/labels").data
            if label not in {str(one["name"]) for one in there}:
                raise  # else somebody was quicker, or our first try got through

    def _in_path(self, login: str) -> str:
        return _plain(login)

    def _lease(self) -> Lease:
        return Lease(self.client, self.root, str(self._about.get("default_branch", "master")))

    def _pages(self, path: str, **parameters: Any) -> Iterator[Any]:
        """The items of a listing; the host tells how many pages there are."""
        page = 1
        while True:
            answer = self.client.get(path, per_page=100, page=page, **parameters)
            yield from answer.data
            told = answer.headers.get("total_page", "")
            if page >= int(told) if told.isdigit() else len(answer.data) < 100:
                return
            page += 1


def _is_so(issue: Issue, title: str | None, body: str | None, state: IssueState) -> bool:
    """Whether an issue is what an edit asks for."""
    wanted = (title or issue.title, issue.body if body is None else body, state)
    return (issue.title, issue.body, issue.state) == wanted


def _labels(labels: Sequence[str]) -> str:
    """As one text; an empty one would leave those that are there."""
    return ",".join(dict.fromkeys(map(_label, labels))) or ","


def _label(name: str) -> str:
    """`kind: wrong` as `kind/wrong`, which is how labels look there."""
    plain = re.sub(r"[^\w./-]+", "-", re.sub(r"\s*:\s*", "/", name.strip()))
    return plain[:LONGEST_LABEL].ljust(2, "_")


def _issue(plain: Mapping[str, Any]) -> Issue:
    try:
        word = str(plain["state"])
        is_closed = word in ("closed", "rejected")
        return Issue(
            number=str(plain["number"]),
            url=str(plain["html_url"]),
            title=str(plain["title"]),
            body=str(plain.get("body") or ""),
            author=_account(plain.get("user") or {}),
            state=IssueState.CLOSED if is_closed else IssueState.OPEN,
            reason={"rejected": Reason.NOT_PLANNED, "closed": Reason.COMPLETED}.get(word, ""),
            labels=tuple(str(one["name"]) for one in plain.get("labels") or ()),
            created_at=_utc(plain.get("created_at")),
            updated_at=_utc(plain.get("updated_at")),
            closed_at=_utc(plain.get("finished_at")),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UncertainError(f"an answer is no issue: {type(error).__name__}: {error}") from None


def _comment(plain: Mapping[str, Any]) -> Comment:
    try:
        return Comment(
            ident=str(plain["id"]),
            author=_account(plain.get("user") or {}),
            body=str(plain.get("body") or ""),
            created_at=_utc(plain.get("created_at")),
            updated_at=_utc(plain.get("updated_at")),
            url=str(plain.get("html_url") or ""),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UncertainError(f"an answer is no comment: {type(error).__name__}: {error}") from None


def _account(plain: Mapping[str, Any]) -> Account:
    return Account(str(plain.get("login", "ghost")), str(plain.get("id", "")))


def _utc(told: object) -> str:
    """The host's times have the offset of its own country."""
    return datetime.fromisoformat(str(told)).astimezone(UTC).strftime(TIME) if told else ""


def _plain(text: str) -> str:
    if not PLAIN.fullmatch(text):
        raise MissingError(f"{text!r} is no number or name")
    return text
