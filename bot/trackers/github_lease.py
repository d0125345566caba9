"""The lease of a GitHub repository: a branch at a commit that names the holder and the end.

Invariant: a ref is made or moved by one request that fails when somebody was quicker; a lease that stands is
replaced only by a commit whose parent it is, so that of two who take over one loses. Time is the server's.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.trackers.client import Client
from bot.trackers.protocol import BusyError, MissingError, TrackerError

REF = "heads/nightfuzz-lease"
"""The ref whose existence is the lease. A branch, since rulesets, which let nobody but the bot write it, are
about branches."""

TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Held:
    """The lease that stands: its commit, the tree of that, who has it and until when."""

    sha: str
    tree: str
    holder: str
    expires: str


@dataclass(frozen=True)
class Lease:
    """The lease of one repository, `owner/name`, whose default branch is `branch`."""

    client: Client
    repository: str
    branch: str

    @property
    def _git(self) -> str:
        return f"/repos/{self.repository}/git"

    def take(self, holder: str, seconds: float) -> str:
        """The sha of our lease's commit, once the ref is at it. BusyError."""
        held = self.now()
        body: dict[str, object]
        if held is None:
            mine = self._commit(holder, seconds, self._some_tree(), [])
            method, path, body = "POST", "refs", {"ref": f"refs/{REF}", "sha": mine}
        elif held.expires > self.client.now():
            raise BusyError(f"{held.holder} is publishing (until {held.expires}); the next run goes on")
        else:
            mine = self._commit(holder, seconds, held.tree, [held.sha])
            # Fast-forward only: if somebody else has taken it over since, this is none.
            method, path, body = "PATCH", f"refs/{REF}", {"sha": mine, "force": False}
        try:
            self.client.send(method, f"{self._git}/{path}", body=body)
        except TrackerError as refusal:
            self._check_ours(mine, refusal)
        return mine

    def give_back(self, mine: str) -> None:
        """Remove it, if it is still ours."""
        if not self._is_at(mine):
            return
        try:
            self.client.send("DELETE", f"{self._git}/refs/{REF}")
        except TrackerError:
            if self._is_at(mine):
                raise  # else a try of ours got through all the same

    def now(self) -> Held | None:
        """The lease that stands."""
        try:
            sha = str(self.client.get(f"{self._git}/ref/{REF}").data["object"]["sha"])
        except MissingError:
            return None
        commit = self.client.get(f"{self._git}/commits/{sha}").data
        try:
            told = json.loads(commit["message"])
            who, expires = str(told["holder"]), str(told["expires"])
        except (ValueError, KeyError, TypeError):
            who, expires = "somebody", ""  # not ours: as if it had expired, since nobody can hold it
        return Held(sha, str(commit["tree"]["sha"]), who, expires)

    def _is_at(self, mine: str) -> bool:
        held = self.now()
        return held is not None and held.sha == mine

    def _check_ours(self, mine: str, refusal: TrackerError) -> None:
        """After a refusal: a try of ours may have got through all the same, or somebody was quicker."""
        held = self.now()
        if held is None:
            raise refusal
        if held.sha != mine:
            raise BusyError(f"{held.holder} is publishing; the next run goes on")

    def _some_tree(self) -> str:
        """A tree for the lease's commit, which needs one: that of the default branch."""
        head = self.client.get(f"{self._git}/ref/heads/{self.branch}").data["object"]["sha"]
        return str(self.client.get(f"{self._git}/commits/{head}").data["tree"]["sha"])

    def _commit(self, holder: str, seconds: float, tree: str, parents: list[str]) -> str:
        now = datetime.strptime(self.client.now(), TIME).replace(tzinfo=UTC)
        expires = (now + timedelta(seconds=seconds)).strftime(TIME)
        # Two commits of one content are one commit, and two publishers would both have the lease.
        message = json.dumps({"holder": holder, "expires": expires, "once": secrets.token_hex(8)})
        body = {"message": message, "tree": tree, "parents": parents}
        return str(self.client.send("POST", f"{self._git}/commits", body=body).data["sha"])
