"""`emulate`'s GitHub: started with a bot, people and repositories, ended with all that it started."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from tests.rig.node import node_modules

BOT, WRITER, READER, STRANGER = "nightfuzz-bot", "wanda", "rita", "sam"
"""The owner of the repositories, and people who may write, read, and nothing there."""

START_SECONDS = 30

# Ends what it runs with the process that started it: prctl(PR_SET_PDEATHSIG, SIGKILL).
_RUN = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execvp(sys.argv[1], sys.argv[1:])"


@contextmanager
def emulated(folder: Path, repositories: int) -> Iterator[str]:
    """`emulate` with as many repositories `nightfuzz-bot/triage-<n>`; its address."""
    seed = folder / "seed.yaml"
    seed.write_text(json.dumps(_seed(repositories)))  # JSON is YAML
    port = _free_port()
    command = [
        sys.executable, "-c", _RUN, "node", str(node_modules() / "emulate/dist/index.js"), "start",
        "--service", "github", "--port", str(port), "--seed", str(seed),
    ]  # fmt: skip
    with (folder / "emulate.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            url = f"http://localhost:{port}"
            _wait(url, process)
            yield url
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _seed(repositories: int) -> dict[str, object]:
    people = (BOT, WRITER, READER, STRANGER)
    # A bot's token a repository: a token has so many requests an hour.
    tokens = {f"{who}-token": who for who in people} | {f"bot-token-{n}": BOT for n in range(repositories)}
    tokens["bot-token"] = BOT
    return {
        "tokens": {token: {"login": who, "scopes": ["repo"]} for token, who in tokens.items()},
        "github": {
            "users": [{"login": who, "name": who, "email": f"{who}@example.invalid"} for who in people],
            "repos": [
                {"owner": BOT, "name": f"triage-{number}", "auto_init": True, "private": False}
                for number in range(repositories)
            ],
        },
    }


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return int(free.getsockname()[1])


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


def invite(emulate: str, repository: str) -> None:
    """Let people have in a repository what their names say."""
    for who, may in ((WRITER, "push"), (READER, "pull")):
        requests.put(
            f"{emulate}/repos/{repository}/collaborators/{who}",
            headers={"Authorization": "token bot-token"},
            json={"permission": may},
            timeout=30,
        ).raise_for_status()
