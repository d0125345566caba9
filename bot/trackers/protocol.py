"""What publishing and commands need of a place where issues live.

Invariant: a write is made once or raises; `UncertainError` is raised when it may have happened all the
same, so that the caller looks before it tries again. An implementation retries only what is idempotent,
spaces its writes, obeys the rate limits of its host up to a bound, and gives times in UTC, as
`2026-12-01T00:00:00Z`. The reason: no host has an idempotency key for new issues, and a duplicate is what
people forgive least.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bot.errors import MachineryFailure


class TrackerError(MachineryFailure):
    """The host refused, or cannot be reached: one line that says what to do. Nothing was written. Exit 3."""


class UncertainError(TrackerError):
    """A write was sent and its answer was lost: it may have been made."""


class ThrottledError(TrackerError):
    """The host asks for more patience than a run has; the next run goes on. Exit 4."""

    exit_code = 4


class BusyError(TrackerError):
    """Another publisher has the lease. Exit 4."""

    exit_code = 4


class MissingError(TrackerError):
    """There is no such issue, comment or file (any more)."""


class IssueState(StrEnum):
    """Whether an issue is open."""

    OPEN = "open"
    CLOSED = "closed"


class Reason(StrEnum):
    """Why an issue was closed; a host that has no reasons forgets it."""

    COMPLETED = "completed"
    NOT_PLANNED = "not_planned"
    DUPLICATE = "duplicate"


class Reaction(StrEnum):
    """What is put on a comment, by GitHub's names."""

    EYES = "eyes"
    ROCKET = "rocket"
    CONFUSED = "confused"
    MINUS_ONE = "-1"


class Permission(StrEnum):
    """What an account may do in a repository, least first."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    @property
    def may_write(self) -> bool:
        """Whether this lets an account command the bot."""
        return self in (Permission.WRITE, Permission.ADMIN)


@dataclass(frozen=True)
class Account:
    """Somebody on the host. `ident` is the host's own number, which stays when the name changes."""

    login: str
    ident: str
    is_bot: bool = False


@dataclass(frozen=True)
class Issue:
    """An issue as the host has it. `number` is a string: not every host counts. Times are empty when unknown;
    `closed_by` is the login of who closed it, empty when open or unknown."""

    number: str
    url: str
    title: str
    body: str
    author: Account
    state: IssueState = IssueState.OPEN
    reason: str = ""
    labels: tuple[str, ...] = ()
    is_locked: bool = False
    is_pull: bool = False
    created_at: str = ""
    updated_at: str = ""
    closed_at: str = ""
    closed_by: str = ""


@dataclass(frozen=True)
class Comment:
    """A comment on an issue. It was edited when `updated_at` is not `created_at`."""

    ident: str
    author: Account
    body: str
    created_at: str = ""
    updated_at: str = ""
    url: str = ""


class Tracker(Protocol):
    """One repository's issues, seen by one account. `name` is the key of what was published there;
    `repository_id` is the host's own number of the repository, which a rename keeps. `longest_body` is in
    characters, of issues and of comments."""

    longest_body: int

    @property
    def name(self) -> str:
        """Kind and repository: `github:owner/name`."""

    def repository_id(self) -> str:
        """TrackerError in one line when the repository cannot be used: a wrong token, no such repository,
        issues switched off, archived, moved (then the message has the new name)."""

    def account(self) -> Account:
        """Who the bot is here."""

    def own_issues(self) -> Iterator[Issue]:
        """Every issue that the bot's account has opened, open and closed, by listing, never by search."""

    def issue(self, number: str) -> Issue:
        """One issue, as it is now. MissingError."""

    def create(self, title: str, body: str, labels: Sequence[str] = ()) -> Issue:
        """Open an issue. Not idempotent: UncertainError when the answer was lost."""

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
        """Change what is given, in one write; the issue as it is afterwards. Idempotent."""

    def comments(self, number: str, since: str = "") -> Iterator[Comment]:
        """Comments on an issue, oldest first; those changed since a time."""

    def spoken(self, since: str) -> Iterator[tuple[str, Comment]]:
        """Comments on any issue that were changed since a time, oldest first, with their issues' numbers."""

    def comment(self, number: str, body: str) -> Comment:
        """Add a comment. Not idempotent: UncertainError when the answer was lost."""

    def edit_comment(self, ident: str, body: str) -> Comment:
        """Replace a comment's text. Idempotent."""

    def react(self, comment: str, reaction: Reaction) -> None:
        """Put a reaction on a comment. Idempotent; nothing where the host has none."""

    def permission(self, login: str) -> Permission:
        """What an account may do here, by the host's own word, never by its association with an issue."""

    def ensure_labels(self, labels: Sequence[str]) -> None:
        """Make the labels that are not there. Idempotent."""

    def lease(self, holder: str, seconds: float) -> AbstractContextManager[None]:
        """Be the only publisher while inside: an atomic mark on the host, with expiry by the host's own
        clock. BusyError when another has it. One whose holder died is taken over once it has expired."""

    def now(self) -> str:
        """The host's clock as its last answer told it; ours where there was none."""

    def calls(self) -> int:
        """Requests made so far, tries included."""
