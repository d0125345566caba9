"""What `/fuzz` on a pull request needs of a host, beside its issues: the pull request, its files, check runs.

Invariant: a commit is named by its full sha, never by a branch; what is read from the default branch is read
at one sha. Only GitHub has this; elsewhere `/fuzz` works on issues alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True)
class Pull:
    """A pull request as it is now. `is_fork` tells that its head is another repository; `base_sha` is the
    commit that it branched from (the merge base where the host tells it), `head_repository` is `owner/name`,
    empty when that has been deleted."""

    number: str
    head_sha: str
    base_sha: str
    base_ref: str
    head_repository: str
    is_fork: bool
    is_open: bool
    title: str = ""


@dataclass(frozen=True)
class ChangedFile:
    """A file that a pull request adds or changes; `lines` are the numbers (from 1) of the lines that it adds
    or changes in the new version."""

    path: str
    status: str
    lines: tuple[int, ...] = ()


class Conclusion(StrEnum):
    """What a check run came to."""

    SUCCESS = "success"
    FAILURE = "failure"
    NEUTRAL = "neutral"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Annotation:
    """A remark on lines of a file; `level` is `notice`, `warning` or `failure`. Longest: title 255
    characters, message 64 KiB."""

    path: str
    start_line: int
    end_line: int
    level: str
    title: str
    message: str


class PullHost(Protocol):
    """A repository's pull requests and check runs."""

    def pull(self, number: str) -> Pull:
        """One pull request. MissingError."""

    def changed_files(self, number: str) -> list[ChangedFile]:
        """The files that it adds or changes (removed ones are left out), at most 3,000."""

    def default_branch(self) -> tuple[str, str]:
        """(name, sha of its head)."""

    def text_at(self, path: str, sha: str) -> str | None:
        """A file's text at a commit; None when it is not there or is no text."""

    def check_started(self, sha: str, name: str, external: str) -> str:
        """Open a check run in progress; its id. `external` names the command that asked for it: when a check
        run of that name and `external` is there already, that one's id."""

    def check_done(
        self, ident: str, conclusion: Conclusion, title: str, summary: str, annotations: Sequence[Annotation]
    ) -> None:
        """Complete it; annotations go in requests of 50, a summary over 65,535 characters is cut."""
