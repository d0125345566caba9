"""A GitHub with a bot, a repository and people, for one test."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.rig.node import node_modules
from tests.rig.proxy import Do, Fault, Proxy, Seen

BOT, WRITER, READER, STRANGER = "nightfuzz-bot", "wanda", "rita", "sam"

START_SECONDS = 30


@dataclass
class Host:
    """`api` is the proxy's address; `emulate` the service itself, for what a test does as somebody else."""

    proxy: Proxy
    emulate: str
    repository: str
    token: str

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

    def fault(self, do: Do, nth: int = 0, method: str = "", path: str = "", times: int = 1) -> None:
        """Inject a fault: at the nth request from now, or at the first that is of a method and has this in
        its path."""
        first = len(self.requests)

        def when(number: int, seen: str, where: str) -> bool:
            if nth:
                return number == first + nth
            return method in ("", seen) and path in where

        self.proxy.state.faults.append(Fault(do, when, times))

    def reactions(self, comment: int | str) -> list[str]:
        """What the bot has put on a comment."""
        return self.proxy.state.reactions.get(("comment", str(comment)), [])

    def ask(self, method: str, path: str, who: str = WRITER, **body: Any) -> Any:
        """A request of somebody else, past the proxy."""
        answer = requests.request(
            method,
            f"{self.emulate}/repos/{self.repository}{path}",
            headers={"Authorization": f"token {who}-token"},
            json=body or None,
            timeout=30,
        )
        assert answer.status_code < 400, (answer.status_code, answer.text)
        return answer.json() if answer.text else None

    def issues(self) -> list[dict[str, Any]]:
        """Every issue, oldest first."""
        return sorted(self._all("/issues?state=all"), key=lambda one: int(one["number"]))

    def comments(self, number: int | str) -> list[dict[str, Any]]:
        """An issue's comments."""
        return self._all(f"/issues/{number}/comments?")

    def _all(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        page = 1
        while part := self.ask("GET", f"{path}&per_page=100&page={page}"):
            found += part
            page += 1
        return found

    def environment(self, out: Path) -> dict[str, str]:
        """What the command line takes its settings from."""
        return {
            "NIGHTFUZZ_TRACKER": "github",
            "NIGHTFUZZ_REPOSITORY": self.repository,
            "NIGHTFUZZ_API": self.api,
            "NIGHTFUZZ_TOKEN": self.token,
            "NIGHTFUZZ_MARKER_KEY": "a long random text",
            "NIGHTFUZZ_WRITE_PAUSE": "0",
            "NIGHTFUZZ_OUT": str(out),
        }


@contextmanager
def emulated(folder: Path, repositories: int) -> Iterator[str]:
    """`emulate` with as many repositories `nightfuzz-bot/triage-<n>`; its address."""
    seed = folder / "seed.yaml"
    people = (BOT, WRITER, READER, STRANGER)
    plain = {
        "tokens": {f"{who}-token": {"login": who, "scopes": ["repo"]} for who in people}
        # One a test: a token has so many requests an hour.
        | {f"bot-token-{n}": {"login": BOT, "scopes": ["repo"]} for n in range(repositories)}
        | {"bot-token": {"login": BOT, "scopes": ["repo"]}},
        "github": {
            "users": [{"login": who, "name": who, "email": f"{who}@example.invalid"} for who in people],
            "repos": [
                {"owner": BOT, "name": f"triage-{number}", "auto_init": True, "private": False}
                for number in range(repositories)
            ],
        },
    }
    seed.write_text(json.dumps(plain))  # JSON is YAML
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = [
        "node", str(node_modules() / "emulate/dist/index.js"), "start",
        "--service", "github", "--port", str(port), "--seed", str(seed),
    ]  # fmt: skip
    log = (folder / "emulate.log").open("w")
    process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        url = f"http://localhost:{port}"
        _wait(url, process)
        for number in range(repositories):
            root = f"{url}/repos/{BOT}/triage-{number}/collaborators"
            for who, may in ((WRITER, "push"), (READER, "pull")):
                requests.put(
                    f"{root}/{who}",
                    headers={"Authorization": "token bot-token"},
                    json={"permission": may},
                    timeout=30,
                ).raise_for_status()
        yield url
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        log.close()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, "emulate has ended"
        try:
            if requests.get(f"{url}/user", headers={"Authorization": "token bot-token"}, timeout=2).ok:
                return
        except requests.ConnectionError:
            time.sleep(0.1)
    raise AssertionError("emulate does not answer")


@contextmanager
def host(emulate: str, repository: str) -> Iterator[Host]:
    """A proxy of its own before one of emulate's repositories."""
    address = emulate.removeprefix("http://").split(":")
    proxy = Proxy((address[0], int(address[1])))
    try:
        yield Host(proxy, emulate, repository, f"bot-token-{repository.rpartition('-')[2]}")
    finally:
        proxy.shutdown()
        proxy.server_close()
