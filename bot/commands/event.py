"""A webhook's `issue_comment` payload, as far as commands need it.

Invariant: a payload that is not one is a UserMistake in one line; unknown fields are ignored, since GitHub
adds some, and nothing is read that a commenter could set but the comment's text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from bot import wire
from bot.errors import UserMistake

LARGEST = 4 * 2**20
"""Bytes of a payload; GitHub's own limit is 25 MB, which an issue and a comment never reach."""


class _Read(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class User(_Read):
    """An account."""

    login: str
    id: int
    type: str = "User"

    @property
    def is_bot(self) -> bool:
        """Whether GitHub says so, or the name."""
        return self.type == "Bot" or self.login.endswith("[bot]")


class CommentPart(_Read):
    """The comment. Its author is empty when the account has been deleted."""

    id: int
    body: str | None = ""
    user: User | None = None
    created_at: str = ""
    updated_at: str = ""


class IssuePart(_Read):
    """The issue, or the pull request that it belongs to."""

    number: int
    state: str = "open"
    locked: bool = False
    body: str | None = ""
    user: User | None = None
    pull_request: dict[str, Any] | None = None


class RepositoryPart(_Read):
    """Where."""

    full_name: str


class CommentEvent(_Read):
    """A comment was created, edited or deleted."""

    action: str
    comment: CommentPart
    issue: IssuePart
    repository: RepositoryPart
    sender: User | None = None


def read_event(path: Path) -> CommentEvent:
    """The payload in a file."""
    data = wire.bounded(path, LARGEST, "comment's event")
    try:
        return CommentEvent.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise UserMistake(f"{path} is no issue_comment event: {where}: {first['msg']}") from None
