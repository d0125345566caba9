"""A host that answers what a test tells it, over a real connection, and trackers in a hurry at it."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

from bot.trackers.client import Client
from bot.trackers.gitee import Gitee, gitee_client
from bot.trackers.github import GitHub
from bot.trackers.github_client import token_client

HANG_SECONDS = 1.0
TOKEN = "ghp_" + "s3cretS3cretS3cretS3cretS3cret123456"


@dataclass(frozen=True)
class Says:
    """An answer. Without a status the connection ends instead, or first hangs."""

    status: int = 0
    plain: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False


class Answering(ThreadingHTTPServer):
    """Gives its answers in turn, the last of them for good; `asked` is what it was sent."""

    daemon_threads = True

    def __init__(self, *answers: Says, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("localhost", 0), _Handler)
        self.scheme = "https" if tls else "http"
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.answers = list(answers)
        self.asked: list[tuple[str, str, Mapping[str, str]]] = []

    @property
    def url(self) -> str:
        return f"{self.scheme}://localhost:{self.server_address[1]}"

    @property
    def paths(self) -> list[str]:
        """Verb and path of what it was sent."""
        return [f"{verb} {path}" for verb, path, _ in self.asked]


@contextmanager
def answering(*answers: Says, tls: ssl.SSLContext | None = None) -> Iterator[Answering]:
    server = Answering(*answers, tls=tls)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    server: Answering

    def _handle(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.command, self.path, dict(self.headers.items())))
        said = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        if said.hangs:
            time.sleep(HANG_SECONDS)
        if not said.status:
            self.close_connection = True
            return
        text = said.plain.encode() if isinstance(said.plain, str) else json.dumps(said.plain).encode()
        self.send_response(said.status)
        for name, value in said.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _handle

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: `asked` has it."""


def message(text: str) -> dict[str, str]:
    """What hosts say when they refuse."""
    return {"message": text}


def hurried(client: Client) -> Client:
    client.backoff = 0.01
    return client


def github_at(url: str, login: str = "") -> GitHub:
    return GitHub(hurried(token_client(url, TOKEN, 0.0)), "o/r", login)


def gitee_at(url: str) -> Gitee:
    return Gitee(hurried(gitee_client(url, TOKEN, 0.0)), "o/r")


Make: TypeAlias = Callable[[str], GitHub | Gitee]
"""The tracker of `o/r` at an address."""
