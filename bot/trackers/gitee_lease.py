"""The lease of a Gitee-style repository: a file on a branch of its own that names the holder and the end.

Invariant: making a file that is there fails, and changing or removing one takes the sha that it had; who has
the lease is read back after it was written, so that it is never believed on the word of an answer alone. A
branch alone would do for the mark, but this API cannot remove one. Time is the server's.
"""

from __future__ import annotations

import base64
import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.trackers.client import Client
from bot.trackers.github_lease import TIME
from bot.trackers.protocol import BusyError, MissingError, TrackerError

BRANCH = "nightfuzz-lease"
FILE = "lease.json"


@dataclass(frozen=True)
class Held:
    """The lease that stands: its file's sha, who has it, until when, and what no other lease says."""

    sha: str
    holder: str
    expires: str
    once: str


@dataclass(frozen=True)
class Lease:
    """The lease of the repository at a path of the API, whose default branch is `branch`."""

    client: Client
    root: str
    branch: str

    @property
    def _file(self) -> str:
        return f"{self.root}/contents/{FILE}"

    def take(self, holder: str, seconds: float) -> str:
        """What is said once, by ours, which stands. BusyError."""
        held = self.now()
        if held is not None and held.expires > self.client.now():
            raise BusyError(f"{held.holder} is publishing (until {held.expires}); the next run goes on")
        if held is None:
            self._make_branch()
        once = secrets.token_hex(8)
        body = {"content": self._content(holder, seconds, once), "message": "a lease", "branch": BRANCH}
        try:
            if held is None:
                self.client.send("POST", self._file, body=body, idempotent=False)
            else:
                self.client.send("PUT", self._file, body={**body, "sha": held.sha})
        except TrackerError as refusal:
            self._check_ours(once, refusal)
        else:
            self._check_ours(once, TrackerError(f"{self._file}: it was written and is not there"))
        return once

    def give_back(self, once: str) -> None:
        """Remove it, if it is still ours."""
        held = self.now()
        if held is None or held.once != once:
            return
        given = {"sha": held.sha, "message": "the lease goes back", "branch": BRANCH}
        try:
            self.client.send("DELETE", self._file, parameters=given)
        except TrackerError:
            held = self.now()
            if held is not None and held.once == once:
                raise  # else a try of ours got through all the same

    def now(self) -> Held | None:
        """The lease that stands."""
        try:
            plain = self.client.get(self._file, ref=BRANCH).data
        except MissingError:
            return None
        if not isinstance(plain, dict) or "sha" not in plain:
            return None  # the host answers a missing file by an empty list
        try:
            told = json.loads(base64.b64decode(plain["content"]))
            return Held(str(plain["sha"]), str(told["holder"]), str(told["expires"]), str(told["once"]))
        except (ValueError, KeyError, TypeError):
            return Held(str(plain["sha"]), "somebody", "", "")  # not ours: nobody can hold it

    def _check_ours(self, once: str, refusal: TrackerError) -> None:
        """A try that was refused or lost may have got through, and one that was not may have come second."""
        held = self.now()
        if held is None:
            raise refusal
        if held.once != once:
            raise BusyError(f"{held.holder} is publishing; the next run goes on")

    def _make_branch(self) -> None:
        where = f"{self.root}/branches"
        try:
            self.client.get(f"{where}/{BRANCH}")
        except MissingError:
            try:
                self.client.send("POST", where, body={"refs": self.branch, "branch_name": BRANCH})
            except TrackerError:
                self.client.get(f"{where}/{BRANCH}")  # somebody was quicker, or our first try got through

    def _content(self, holder: str, seconds: float, once: str) -> str:
        now = datetime.strptime(self.client.now(), TIME).replace(tzinfo=UTC)
        expires = (now + timedelta(seconds=seconds)).strftime(TIME)
        text = json.dumps({"holder": holder, "expires": expires, "once": once})
        return base64.b64encode(text.encode()).decode()
