"""GitHub's issues as a tracker.

Invariant: as `bot.trackers.protocol` says. An issue is the bot's own when the account that opened it has the
bot's number; the name alone could be taken by somebody else after a rename.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bot.trackers.client import MovedError
from bot.trackers.github_lease import Lease
from bot.trackers.hosted import Hosted
from bot.trackers.protocol import (
    Account,
    Comment,
    Issue,
    IssueState,
    MissingError,
    Reaction,
    Reason,
    TrackerError,
    UncertainError,
)

LONGEST_BODY = 65_536
"""Characters of an issue's or a comment's body that GitHub takes."""

BY_NUMBER = re.compile(r"/repositories/\d+$")
FRACTION = re.compile(r"\.\d+(?=Z$)")


@dataclass
class GitHub(Hosted):
    """One repository, `owner/name`. `login` is the bot's, where the token cannot tell it (an App's)."""

    login: str = ""
    longest_body: int = LONGEST_BODY
    _made: set[str] = field(default_factory=set, repr=False)

    @property
    def name(self) -> str:
        """The key of what was published here."""
        return f"github:{self.repository}"

    def _described(self) -> Mapping[str, Any]:
        try:
            return super()._described()
        except MovedError as moved:
            return self._moved(moved)

    def _moved(self, moved: MovedError) -> Mapping[str, Any]:
        """The repository that GitHub says it is now, by its number, which stays."""
        number = BY_NUMBER.search(moved.to)
        if number is None:
            raise moved
        there: Mapping[str, Any] = self.client.get(number[0]).data
        return there

    @cached_property
    def _account(self) -> Account:
        if self.login:
            return _account(self.client.get(f"/users/{self.login}").data)
        try:
            return _account(self.client.get("/user").data)
        except TrackerError as refusal:
            if "may not do this" not in str(refusal):
                raise
            raise TrackerError(
                "the token belongs to an App, so it cannot tell whose it is: set `bot_login`, such as "
                "github-actions[bot]"
            ) from None

    def account(self) -> Account:
        """Who the token's owner is."""
        return self._account

    def own_issues(self) -> Iterator[Issue]:
        """All that this account has opened here, the oldest first."""
        me = self.account()
        found = self.client.pages(
            f"{self.root}/issues", creator=me.login, state="all", sort="created", direction="asc"
        )
        for plain in found:
            issue = _issue(plain)
            if not issue.is_pull and issue.author.ident == me.ident:
                yield issue

    def issue(self, number: str) -> Issue:
        """One issue, as it is now."""
        return self._here("GET", number)

    def create(self, title: str, body: str, labels: Sequence[str] = ()) -> Issue:
        """Open an issue."""
        content = {"title": title, "body": body, "labels": list(labels)}
        return _issue(self._post(f"{self.root}/issues", content))

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
            "state_reason": reason,
            "labels": None if labels is None else list(labels),
        }
        content = {name: value for name, value in given.items() if value is not None}
        return self._here("PATCH", number, content)

    def _here(self, method: str, number: str, content: Mapping[str, Any] | None = None) -> Issue:
        """An issue that has been moved to another repository is none of this one's any more."""
        try:
            answer = self.client.send(method, f"{self.root}/issues/{number_in_path(number)}", body=content)
        except MovedError as moved:
            self.repository_id()  # or is it the repository that has moved?
            raise MissingError(str(moved)) from None
        return _issue(answer.data)

    def comments(self, number: str, since: str = "") -> Iterator[Comment]:
        """An issue's comments, oldest first."""
        changed = {"since": since} if since else {}
        for plain in self.client.pages(f"{self.root}/issues/{number_in_path(number)}/comments", **changed):
            yield _comment(plain)

    def spoken(self, since: str) -> Iterator[tuple[str, Comment]]:
        """Comments of the repository, pull requests' too: they count with the issues."""
        listed = self.client.pages(
            f"{self.root}/issues/comments", since=since, sort="created", direction="asc"
        )
        for plain in listed:
            yield str(plain["issue_url"]).rpartition("/")[2], _comment(plain)

    def comment(self, number: str, body: str) -> Comment:
        """Add a comment."""
        return _comment(self._post(f"{self.root}/issues/{number_in_path(number)}/comments", {"body": body}))

    def edit_comment(self, ident: str, body: str) -> Comment:
        """Replace a comment's text."""
        path = f"{self.root}/issues/comments/{number_in_path(ident)}"
        return _comment(self.client.send("PATCH", path, body={"body": body}).data)

    def react(self, comment: str, reaction: Reaction) -> None:
        """Put a reaction on a comment; once more is the same one."""
        path = f"{self.root}/issues/comments/{number_in_path(comment)}/reactions"
        self.client.send("POST", path, body={"content": reaction})

    def ensure_labels(self, labels: Sequence[str]) -> None:
        """Make the labels that are not there."""
        wanted = [label for label in dict.fromkeys(labels) if label.lower() not in self._made]
        if not wanted:
            return
        self._made |= {str(one["name"]).lower() for one in self.client.pages(f"{self.root}/labels")}
        for label in wanted:
            if label.lower() not in self._made:
                self._make_label(label)
                self._made.add(label.lower())

    def _make_label(self, label: str) -> None:
        try:
            self.client.send("POST", f"{self.root}/labels", body={"name": label})
        except TrackerError as refusal:
            if "already_exists" not in str(refusal):  # somebody was quicker, or our first try got through
                raise

    def _in_path(self, login: str) -> str:
        return _login(login)

    def _lease(self) -> Lease:
        return Lease(self.client, self.repository, str(self._about["default_branch"]))

    def _post(self, path: str, content: Mapping[str, Any]) -> Any:
        return self.client.send("POST", path, body=content, idempotent=False).data


def _issue(plain: Mapping[str, Any]) -> Issue:
    try:
        return Issue(
            number=str(plain["number"]),
            url=str(plain["html_url"]),
            title=str(plain["title"]),
            body=str(plain.get("body") or ""),
            author=_account(plain.get("user") or {}),
            state=IssueState(plain["state"]),
            reason=str(plain.get("state_reason") or ""),
            labels=tuple(
                str(one["name"]) if isinstance(one, dict) else str(one) for one in plain.get("labels", ())
            ),
            is_locked=bool(plain.get("locked")),
            is_pull="pull_request" in plain,
            created_at=_time(plain.get("created_at")),
            updated_at=_time(plain.get("updated_at")),
            closed_at=_time(plain.get("closed_at")),
            closed_by=str((plain.get("closed_by") or {}).get("login", "")),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UncertainError(f"an answer is no issue: {type(error).__name__}: {error}") from None


def _comment(plain: Mapping[str, Any]) -> Comment:
    try:
        return Comment(
            ident=str(plain["id"]),
            author=_account(plain.get("user") or {}),
            body=str(plain.get("body") or ""),
            created_at=_time(plain.get("created_at")),
            updated_at=_time(plain.get("updated_at")),
            url=str(plain.get("html_url") or ""),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise UncertainError(f"an answer is no comment: {type(error).__name__}: {error}") from None


def _account(plain: Mapping[str, Any]) -> Account:
    """Of a deleted account nothing is left but that it was one."""
    login = str(plain.get("login", "ghost"))
    is_bot = plain.get("type") == "Bot" or login.endswith("[bot]")
    return Account(login, str(plain.get("id", "")), is_bot)


def _time(told: object) -> str:
    """A time to the second: not every host stops there."""
    return FRACTION.sub("", str(told)) if told else ""


def number_in_path(text: str) -> str:
    """An issue's or a comment's number as part of a path."""
    if not (text.isascii() and text.isdigit()):
        raise MissingError(f"{text!r} is no number of an issue or a comment")
    return text


def _login(text: str) -> str:
    if not text or not all(c.isascii() and (c.isalnum() or c in "-_[]") for c in text):
        raise MissingError(f"{text!r} is no name of an account")
    return text
