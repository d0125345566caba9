"""What the trackers on a host with a REST API share, whichever host it is.

Invariant: as `bot.trackers.protocol` says. What is asked of a repository and of an account is asked once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from bot.trackers.client import Client
from bot.trackers.protocol import MissingError, Permission, TrackerError

PERMISSIONS: dict[str, Permission] = {
    "admin": Permission.ADMIN,
    "maintain": Permission.WRITE,
    "write": Permission.WRITE,
    "push": Permission.WRITE,
    "triage": Permission.READ,
    "read": Permission.READ,
    "pull": Permission.READ,
    "none": Permission.NONE,
}
"""A host's word for what an account may do; one that is not here is nothing."""


class Lease(Protocol):
    """What marks the lease of a repository on its host."""

    def take(self, holder: str, seconds: float) -> str:
        """What tells ours from another. BusyError."""

    def give_back(self, mine: str) -> None:
        """Take it away, if it is still ours."""


@dataclass
class Hosted(ABC):
    """One repository, `owner/name`, seen by one account."""

    client: Client
    repository: str

    @property
    def root(self) -> str:
        """The path of the repository's part of the API."""
        return f"/repos/{self.repository}"

    @cached_property
    def _about(self) -> Mapping[str, Any]:
        """The repository as its host describes it, checked."""
        try:
            about = self._described()
        except MissingError:
            raise TrackerError(
                f"there is no repository {self.repository}, or the token may not see it"
            ) from None
        found = str(about.get("full_name", ""))
        if found.lower() != self.repository.lower():
            raise TrackerError(f"{self.repository} has moved to {found}: set `repository` to that")
        if about.get("archived"):
            raise TrackerError(f"{self.repository} is archived: nothing can be written there")
        if about.get("has_issues") is False:
            raise TrackerError(
                f"issues are switched off in {self.repository}: switch them on in its settings"
            )
        return about

    def _described(self) -> Mapping[str, Any]:
        about: Mapping[str, Any] = self.client.get(self.root).data
        return about

    def repository_id(self) -> str:
        """The repository's number."""
        return str(self._about["id"])

    def permission(self, login: str) -> Permission:
        """The host's own word."""
        try:
            told = self.client.get(f"{self.root}/collaborators/{self._in_path(login)}/permission").data
        except MissingError:
            return Permission.NONE
        return PERMISSIONS.get(str(told.get("permission", "")), Permission.NONE)

    @abstractmethod
    def _in_path(self, login: str) -> str:
        """A login as part of a path. MissingError when it is none."""

    @contextmanager
    def lease(self, holder: str, seconds: float) -> Iterator[None]:
        """As the protocol says."""
        lease = self._lease()
        mine = lease.take(holder, seconds)
        try:
            yield
        finally:
            lease.give_back(mine)

    @abstractmethod
    def _lease(self) -> Lease:
        """What marks the lease on this host."""

    def now(self) -> str:
        """The server's clock."""
        return self.client.now()

    def calls(self) -> int:
        """Requests made."""
        return self.client.calls
