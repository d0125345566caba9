"""What stands before `emulate`: what it lacks of GitHub, faults on demand, and a look at every request.

Added: reactions, GitHub's words for permissions, the limit on bodies. A fault is injected by a `Fault`, at
the request that its `when` picks; what a fault does is what the real thing does on a bad day.
"""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.rig.openapi import description

LONGEST_BODY = 65_536
CONTROL = "/_rig"


class Do(StrEnum):
    """What a fault does."""

    FAIL_BEFORE = "502 and nothing was done"
    FAIL_AFTER = "502 after it was done"
    DROP_BEFORE = "the connection drops before it is done"
    DROP_AFTER = "the connection drops after it was done"
    SECONDARY = "403, a secondary limit"
    TOO_MANY = "429"
    TOO_MANY_WHEN = "429 with Retry-After"
    INVALID = "422"
    GONE = "410"
    UNAUTHORIZED = "401"
    FORBIDDEN = "403"
    MISSING = "404"
    SLOW = "slow"
    GARBLED = "not JSON"
    TRUNCATED = "half an answer"


@dataclass
class Fault:
    """Happens `times` times, at requests that `when(number, method, path)` picks; numbers begin at 1."""

    do: Do
    when: Callable[[int, str, str], bool]
    times: int = 1


ANSWERS: dict[Do, tuple[int, dict[str, str], dict[str, str]]] = {
    Do.FAIL_BEFORE: (502, {}, {"message": "Server Error"}),
    Do.FAIL_AFTER: (502, {}, {"message": "Server Error"}),
    Do.SECONDARY: (
        403,
        {"Retry-After": "1"},
        {"message": "You have exceeded a secondary rate limit."},
    ),
    Do.TOO_MANY: (429, {}, {"message": "API rate limit exceeded"}),
    Do.TOO_MANY_WHEN: (429, {"Retry-After": "1"}, {"message": "API rate limit exceeded"}),
    Do.INVALID: (422, {}, {"message": "Validation Failed"}),
    Do.GONE: (410, {}, {"message": "Issues are disabled for this repo"}),
    Do.UNAUTHORIZED: (401, {}, {"message": "Bad credentials"}),
    Do.FORBIDDEN: (
        403,
        {"X-Accepted-GitHub-Permissions": "issues=write"},
        {"message": "Resource not accessible by personal access token"},
    ),
    Do.MISSING: (404, {}, {"message": "Not Found"}),
}
"""Status, headers and body of those that are an answer."""

AFTER = frozenset({Do.FAIL_AFTER, Do.DROP_AFTER, Do.SLOW, Do.GARBLED, Do.TRUNCATED})
"""What happens to the answer, so that the request was served."""


@dataclass(frozen=True)
class Seen:
    """One request, and the status that its caller was shown (0: none)."""

    method: str
    path: str
    body: Any
    status: int


@dataclass
class State:
    """What the proxy knows. `requests` are all that came in, `invalid` what GitHub's description does not
    allow."""

    upstream: tuple[str, int]
    faults: list[Fault] = field(default_factory=list)
    requests: list[Seen] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    reactions: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    extra: list[Callable[[str, str, bytes], tuple[int, Any] | None]] = field(default_factory=list)
    """Answers that tests add; the first that is not None counts."""
    lock: threading.Lock = field(default_factory=threading.Lock)


class Proxy(ThreadingHTTPServer):
    """Listens on a free port of localhost."""

    daemon_threads = True

    def __init__(self, upstream: tuple[str, int]) -> None:
        super().__init__(("localhost", 0), _Handler)
        self.state = State(upstream)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://localhost:{self.server_address[1]}"


REACTION = re.compile(r"/repos/[^/]+/[^/]+/issues/comments/(\d+)/reactions")
PERMISSION = re.compile(r"/repos/[^/]+/[^/]+/collaborators/([^/]+)/permission")
WORDS = {"push": "write", "pull": "read", "maintain": "write", "triage": "read"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        state = self.server.state
        path = urlsplit(self.path).path
        with state.lock:
            number = len(state.requests) + 1
            fault = next(
                (f for f in state.faults if f.times > 0 and f.when(number, self.command, path)), None
            )
            if fault is not None:
                fault.times -= 1
            state.invalid += description().problems(self.command, self.path, body)
            seen = len(state.requests)
            state.requests.append(Seen(self.command, self.path, _parsed(body), 0))
        do = fault.do if fault else None
        status = 0
        if do is None or do in AFTER:
            status, headers, answer = self._served(path, body)
        if do is Do.SLOW:
            time.sleep(0.3)
        if do in ANSWERS:
            status, headers, plain = ANSWERS[do]
            answer = json.dumps(plain).encode()
        if do in (Do.DROP_BEFORE, Do.DROP_AFTER):
            self.close_connection = True
            self.connection.close()
            return
        if do is Do.GARBLED:
            answer = b"<html>"
        with state.lock:
            state.requests[seen] = Seen(self.command, self.path, _parsed(body), status)
        self._answer(status, headers, answer, cut=do is Do.TRUNCATED)

    def _answer(self, status: int, headers: dict[str, str], answer: bytes, *, cut: bool) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer[: len(answer) // 2] if cut else answer)
        if cut:
            self.close_connection = True

    def _served(self, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """What GitHub would answer."""
        state = self.server.state
        for extra in state.extra:
            if (made := extra(self.command, self.path, body)) is not None:
                return made[0], {}, json.dumps(made[1]).encode()
        if found := REACTION.fullmatch(path):
            content = str((_parsed(body) or {}).get("content"))
            with state.lock:
                kept = state.reactions.setdefault(("comment", found[1]), [])
                is_new = content not in kept
                kept += [content] if is_new else []
            return 201 if is_new else 200, {}, json.dumps({"id": 1, "content": content}).encode()
        plain = _parsed(body)
        if isinstance(plain, dict) and len(str(plain.get("body") or "")) > LONGEST_BODY:
            said = {"message": "Validation Failed", "errors": [{"message": "body is too long"}]}
            return 422, {}, json.dumps(said).encode()
        status, headers, answer = self._forwarded(body)
        if PERMISSION.fullmatch(path) and status == 200:
            told = json.loads(answer)
            told["permission"] = WORDS.get(told["permission"], told["permission"])
            answer = json.dumps(told).encode()
        return status, headers, answer

    def _forwarded(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(*self.server.state.upstream, timeout=30)
        kept = {
            k: v for k, v in self.headers.items() if k.lower() in ("authorization", "content-type", "accept")
        }
        connection.request(self.command, self.path, body or None, kept)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        host = f"{self.server.state.upstream[0]}:{self.server.state.upstream[1]}".encode()
        here = self.server.url.removeprefix("http://").encode()
        wanted = ("link", "x-ratelimit-remaining", "x-ratelimit-limit", "x-ratelimit-reset", "location")
        headers = {
            k: v.replace(host.decode(), here.decode())
            for k, v in response.getheaders()
            if k.lower() in wanted
        }
        return response.status, headers, answer.replace(host, here)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _handle

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: `State.requests` has it."""


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return None
