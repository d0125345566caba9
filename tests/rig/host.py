"""A GitHub with a bot, a repository and people, for one test."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from tests.rig.commits import MAIN, Commits
from tests.rig.exchange import Request
from tests.rig.faults import Do, Fault, fault
from tests.rig.proxy import Proxy, Seen
from tests.rig.service import BOT, READER, STRANGER, WRITER, invite

MARKER_KEY = "a long random text"


@dataclass
class Host:
    """`api` is the proxy's address, `emulate` the service's; `folder` is for what it keeps in files."""

    proxy: Proxy
    emulate: str
    repository: str
    token: str
    folder: Path

    bot: ClassVar[str] = BOT
    people: ClassVar[Mapping[str, str]] = {"writer": WRITER, "reader": READER, "stranger": STRANGER}

    @property
    def api(self) -> str:
        """The address for the bot."""
        return self.proxy.url

    @property
    def requests(self) -> list[Seen]:
        """What the bot has sent."""
        return self.proxy.state.requests

    @property
    def invalid(self) -> list[str]:
        """Requests that GitHub's description does not allow."""
        return self.proxy.state.invalid

    @property
    def faults(self) -> list[Fault]:
        """Those that are still to come."""
        return self.proxy.state.faults

    def fault(self, do: Do, nth: int = 0, method: str = "", path: str = "", times: int = 1) -> None:
        """Inject a fault: at the first requests from the nth from now on that are of a method and have this
        in their path."""
        made = fault(do, after=len(self.requests), nth=nth, method=method, path=path, times=times)
        self.faults.append(made)

    # What somebody else does

    def ask(self, method: str, path: str, who: str = WRITER, **body: Any) -> Any:
        """A request of somebody else, which no fault strikes and which is not among the bot's; a path that
        begins with `/repos/` is as it stands, another is the repository's."""
        target = path if path.startswith("/repos/") else f"/repos/{self.repository}{path}"
        headers = {"Authorization": f"token {who}-token", "Content-Type": "application/json"}
        plain = json.dumps(body).encode() if body or method == "POST" else b""
        reply = self.proxy.served(Request(method, target, plain, headers))
        assert reply.status < 400, (reply.status, reply.body)
        return reply.plain

    def archive(self) -> None:
        """From now on the repository can only be read."""
        self.ask("PATCH", "", "bot", archived=True)
        self.proxy.state.lacking.archived.add(self.repository)

    def rename(self, name: str) -> str:
        """The repository gets another name, and its old one leads there; the new one, with the owner."""
        about = self.ask("PATCH", "", "bot", name=name)
        self.proxy.state.lacking.moved[self.repository] = (about["full_name"], about["id"])
        self.repository = str(about["full_name"])
        return self.repository

    # What there is

    def reactions(self, comment: int | str) -> list[str]:
        """What the bot has put on a comment."""
        return self.proxy.state.lacking.reactions.get(("comment", str(comment)), [])

    def issues(self) -> list[dict[str, Any]]:
        """Every issue, oldest first."""
        return sorted(self._all("/issues?state=all"), key=lambda one: int(one["number"]))

    def comments(self, number: int | str) -> list[dict[str, Any]]:
        """An issue's comments."""
        return self._all(f"/issues/{number}/comments?")

    def annotations(self, check_run: int | str) -> list[dict[str, Any]]:
        """A check run's."""
        return self.proxy.state.lacking.annotations.get(str(check_run), [])

    def _all(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        page = 1
        while part := self.ask("GET", f"{path}&per_page=100&page={page}"):
            found += part
            page += 1
        return found

    # Commits and pull requests

    @cached_property
    def code(self) -> Commits:
        """The repository's commits and those of its forks."""
        return Commits(
            self.folder / f"{self.repository.rpartition('/')[2]}.git",
            self.repository,
            lambda method, path, **body: self.ask(method, path, "bot", **body),
        )

    @property
    def git(self) -> Path:
        """A bare repository with the commits that the API tells of."""
        return self.code.place

    def commit(
        self, files: Mapping[str, str | None], branch: str = MAIN, start: str = MAIN, fork: bool = False
    ) -> str:
        """Commit files (None: removed) to a branch, which begins at the head of another; the commit."""
        ref = f"refs/forks/{STRANGER}/{branch}" if fork else f"refs/heads/{branch}"
        have = self.code.find(ref)
        sha = self.code.commit(files, have or self.code.find(f"refs/heads/{start}"))
        self.code.set(ref, sha)
        self.push(sha, branch, fork=fork, is_new=not have)
        return sha

    def push(self, sha: str, branch: str = MAIN, *, fork: bool = False, is_new: bool = False) -> None:
        """Let the API know of a commit that is in the bare repository."""
        self.code.give(sha)
        where = self.repository
        if fork:
            where = self.fork
            self.code.give(sha, where)
        if is_new:
            self.ask("POST", f"/repos/{where}/git/refs", "bot", ref=f"refs/heads/{branch}", sha=sha)
        else:
            self.ask("PATCH", f"/repos/{where}/git/refs/heads/{branch}", "bot", sha=sha, force=True)

    @cached_property
    def fork(self) -> str:
        """The stranger's fork of the repository, in which the bot may write for the test's sake."""
        name = str(self.ask("POST", "/forks", STRANGER)["full_name"])
        self.ask("PUT", f"/repos/{name}/collaborators/{BOT}", STRANGER, permission="push")
        return name

    def pull(
        self,
        files: Mapping[str, str | None],
        branch: str = "patch",
        *,
        title: str = "A patch",
        fork: bool = False,
    ) -> str:
        """Open a pull request with one commit to main, from a branch here or from the fork; its number."""
        sha = self.commit(files, branch, fork=fork)
        head = f"{STRANGER}:{branch}" if fork else branch
        made = self.ask(
            "POST", "/pulls", STRANGER if fork else WRITER, title=title, head=head, base=MAIN, body=""
        )
        self.code.set(f"refs/pull/{made['number']}/head", sha)
        return str(made["number"])

    def environment(self, out: Path) -> dict[str, str]:
        """What the command line takes its settings from."""
        return {
            "NIGHTFUZZ_TRACKER": "github",
            "NIGHTFUZZ_REPOSITORY": self.repository,
            "NIGHTFUZZ_API": self.api,
            "NIGHTFUZZ_TOKEN": self.token,
            "NIGHTFUZZ_MARKER_KEY": MARKER_KEY,
            "NIGHTFUZZ_WRITE_PAUSE": "0",
            "NIGHTFUZZ_OUT": str(out),
        }


@contextmanager
def host(emulate: str, repository: str, folder: Path, port: int = 0) -> Iterator[Host]:
    """A proxy of its own before one of emulate's repositories."""
    invite(emulate, repository)
    address = emulate.removeprefix("http://").split(":")
    proxy = Proxy((address[0], int(address[1])), port)
    try:
        yield Host(proxy, emulate, repository, f"bot-token-{repository.rpartition('-')[2]}", folder)
    finally:
        proxy.shutdown()
        proxy.server_close()
