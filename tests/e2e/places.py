"""The three places where issues can live, each as the conformance suite needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from bot.trackers import gitee_lease, github_lease
from bot.trackers.gitee import Gitee, gitee_client
from bot.trackers.github import GitHub
from bot.trackers.github_client import token_client
from bot.trackers.outbox import Outbox
from bot.trackers.protocol import Account, Permission, Tracker
from tests.rig import faults, gitee_routes, gitee_server
from tests.rig.faults import Do
from tests.rig.gitee_server import GiteeServer
from tests.rig.host import READER, STRANGER, WRITER, Host
from tests.rig.proxy import Seen


@dataclass(frozen=True)
class Place:
    """An empty repository. `new` gives a tracker of the bot that has asked nothing yet, `stranger` opens an
    issue (title, body) as somebody else and gives its number, `requests` is what the host has been sent
    (None: it is no host), `fault` puts one at the first request of a method with a text in its path."""

    new: Callable[[], Tracker]
    stranger: Callable[[str, str], str]
    people: Mapping[str, Permission]
    requests: Callable[[], list[Seen]] | None = None
    fault: Callable[[Do, str, str], None] = lambda do, method, path: None
    expire: Callable[[str], Callable[[], object]] | None = None
    """Takes a lease that has expired at once, and gives what its late holder does in the end."""
    lease_path: str = ""
    """What is in the path of the request that takes a lease."""
    has_reasons: bool = True
    heeds_since: bool = True

    def strangers(self, many: int) -> None:
        """As many issues of somebody else."""
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda n: self.stranger(f"theirs {n}", ""), range(many)))


def outbox(folder: Path) -> Place:
    """A folder."""
    sam = Outbox(folder, bot=Account("sam", "2"))
    return Place(
        new=lambda: Outbox(folder),
        stranger=lambda title, body: sam.create(title, body).number,
        people={"whoever": Permission.ADMIN},
    )


def github(host: Host) -> Place:
    """GitHub, as far as `emulate` and its proxy are it."""

    def new() -> GitHub:
        client = token_client(host.api, host.token, 0.0)
        client.backoff = 0.01
        return GitHub(client, host.repository)

    def expire(holder: str) -> Callable[[], object]:
        lease = github_lease.Lease(new().client, host.repository, "main")
        mine = lease.take(holder, -1.0)
        return lambda: lease.give_back(mine)

    return Place(
        new=new,
        stranger=lambda title, body: str(
            host.ask("POST", "/issues", who=STRANGER, title=title, body=body)["number"]
        ),
        people={WRITER: Permission.WRITE, READER: Permission.READ, STRANGER: Permission.READ},
        requests=lambda: host.requests,
        lease_path="/git/refs",
        heeds_since=False,  # `emulate` takes it and gives all comments of an issue
        fault=lambda do, method, path: host.fault(do, method=method, path=path),
        expire=expire,
    )


@contextmanager
def gitee() -> Iterator[Place]:
    """A Gitee-style host; every request must be one that Gitee's description has."""
    server = GiteeServer()
    repository = f"{gitee_routes.OWNER}/{gitee_routes.REPO}"

    def new() -> Gitee:
        client = gitee_client(server.api, gitee_server.token(gitee_routes.BOT), 0.0)
        client.backoff = 0.01
        return Gitee(client, repository)

    def stranger(title: str, body: str) -> str:
        given = {"repo": gitee_routes.REPO, "title": title, "body": body}
        answer = requests.post(
            f"{server.api}/repos/{gitee_routes.OWNER}/issues",
            headers={"Authorization": f"Bearer {gitee_server.token(STRANGER)}"},
            json=given,
            timeout=30,
        )
        answer.raise_for_status()
        return str(answer.json()["number"])

    def fault(do: Do, method: str, path: str) -> None:
        after = len(server.state.requests)
        server.state.faults.append(faults.fault(do, after=after, method=method, path=path))

    def expire(holder: str) -> Callable[[], object]:
        tracker = new()
        lease = gitee_lease.Lease(tracker.client, tracker.root, "master")
        mine = lease.take(holder, -1.0)
        return lambda: lease.give_back(mine)

    try:
        yield Place(
            new=new,
            stranger=stranger,
            people={WRITER: Permission.WRITE, READER: Permission.READ, STRANGER: Permission.NONE},
            requests=lambda: server.state.requests,
            fault=fault,
            expire=expire,
            lease_path="/contents/",
            has_reasons=False,
        )
        assert server.state.invalid == []
    finally:
        server.shutdown()
        server.server_close()
