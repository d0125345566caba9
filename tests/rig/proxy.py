"""What stands before `emulate`: faults on demand, a look at every request, and what `emulate` lacks.

Invariant: every request is written down with what its caller was shown, and checked against GitHub's own
description, whatever then happens to it.
"""

from __future__ import annotations

import http.client
import itertools
import re
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.rig import faults
from tests.rig.exchange import Reply, Request
from tests.rig.faults import Do, Fault
from tests.rig.lacking import Lacking
from tests.rig.openapi import description

CONTROL = "/_rig/"
"""Paths of the rig's own, for a test in another process; they are neither written down nor checked."""

PASSED_ON = ("authorization", "content-type", "accept")
PASSED_BACK = ("link", "x-ratelimit-remaining", "x-ratelimit-limit", "x-ratelimit-reset", "location")

POLL_SECONDS = 0.02
"""How long shutting down takes at most."""

FRACTION = re.compile(rb'("\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+(?=Z")')
"""Of a second: GitHub tells whole ones."""


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
    lacking: Lacking = field(default_factory=Lacking)
    extra: list[Callable[[str, str, bytes], tuple[int, Any] | None]] = field(default_factory=list)
    """Answers that tests add; the first that is not None counts."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def arrived(self, request: Request) -> tuple[int, Do | None]:
        """Write a request down; its place, and the fault that strikes it."""
        with self.lock:
            number = len(self.requests) + 1
            struck = next(
                (f for f in self.faults if f.times > 0 and f.when(number, request.method, request.path)), None
            )
            if struck is not None:
                struck.times -= 1
            self.invalid += description().problems(request.method, request.target, request.body)
            self.requests.append(Seen(request.method, request.target, request.plain, 0))
        return number - 1, struck.do if struck else None

    def answered(self, place: int, status: int) -> None:
        """Write down what the caller was shown."""
        with self.lock:
            seen = self.requests[place]
            self.requests[place] = Seen(seen.method, seen.path, seen.body, status)


class Proxy(ThreadingHTTPServer):
    """Listens on localhost; port 0 is a free one."""

    daemon_threads = True

    def __init__(self, upstream: tuple[str, int], port: int = 0) -> None:
        super().__init__(("localhost", port), _Handler)
        self.state = State(upstream)
        self.ids = itertools.count(1)
        threading.Thread(target=self.serve_forever, args=(POLL_SECONDS,), daemon=True).start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://localhost:{self.server_address[1]}"

    def forward(self, request: Request) -> Reply:
        """What `emulate` answers, with our address for its own."""
        connection = http.client.HTTPConnection(*self.state.upstream, timeout=30)
        kept = {name: value for name, value in request.headers.items() if name.lower() in PASSED_ON}
        connection.request(request.method, request.target, request.body or None, kept)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        there = "{}:{}".format(*self.state.upstream)
        here = self.url.removeprefix("http://")
        headers = {k: v.replace(there, here) for k, v in response.getheaders() if k.lower() in PASSED_BACK}
        return Reply(
            response.status, FRACTION.sub(rb"\1", body.replace(there.encode(), here.encode())), headers
        )

    def served(self, request: Request) -> Reply:
        """What GitHub would answer."""
        for extra in self.state.extra:
            if (made := extra(request.method, request.target, request.body)) is not None:
                return Reply.of(*made)
        return self.state.lacking.answer(request, self.forward, self.url)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one packet: apart, each request waits 40 ms for an acknowledgement
    server: Proxy

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        target = self.server.state.lacking.target(self.path)
        request = Request(self.command, target, body, dict(self.headers.items()))
        if self.path.startswith(CONTROL):
            self._answer(control(self.server.state, request))
            return
        place, do = self.server.state.arrived(request)
        reply = self.server.served(request) if do is None or do in faults.AFTER else Reply(0)
        if do is Do.SLOW:
            time.sleep(faults.SLOW_SECONDS)
        if do in faults.DROPS:
            self.close_connection = True
            return
        if do in faults.ANSWERS:
            status, headers, plain = faults.answer(do)
            reply = Reply.of(status, plain, **headers)
        if do is Do.GARBLED:
            reply = Reply(reply.status, b"<html>", reply.headers)
        self.server.state.answered(place, reply.status)
        self._answer(reply, cut=do is Do.TRUNCATED)

    def _answer(self, reply: Reply, *, cut: bool = False) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("X-GitHub-Request-Id", f"RIG:{next(self.server.ids):08X}")
        if reply.status != 204:
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body[: len(reply.body) // 2] if cut else reply.body)
        if cut:
            self.close_connection = True

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _handle

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: `State.requests` has it."""


def control(state: State, request: Request) -> Reply:
    """Faults and the log, for a test in another process: POST /_rig/faults with what `faults.fault` takes
    (`do` by its name; `nth` counts from now), DELETE /_rig/faults, GET /_rig/log, GET /_rig/invalid."""
    match request.method, request.path.removeprefix(CONTROL):
        case "POST", "faults":
            given = dict(request.plain)
            do = Do[given.pop("do")]
            state.faults.append(faults.fault(do, after=len(state.requests), **given))
            return Reply.of(201, {})
        case "DELETE", "faults":
            state.faults.clear()
            return Reply(204)
        case "GET", "log":
            return Reply.of(200, [asdict(one) for one in state.requests])
        case "GET", "invalid":
            return Reply.of(200, state.invalid)
    return Reply.of(404, {"message": "Not Found"})
