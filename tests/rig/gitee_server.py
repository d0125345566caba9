"""A Gitee-style host in this process: nobody else has written one that can be had.

Invariant: a request is taken only if `gitee_description` has it, in whichever of the ways in which Gitee
takes parameters (query, form, JSON); faults are those of the proxy before GitHub.
"""

from __future__ import annotations

import json
import re
import threading
import time
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.rig import faults
from tests.rig.faults import Do
from tests.rig.gitee_description import described, problems
from tests.rig.gitee_routes import IDS, PERMISSIONS, ROUTES, WRITERS_ONLY, Asked, RefusedError, State
from tests.rig.proxy import Seen

LONGEST_PAGE = 100


class GiteeServer(ThreadingHTTPServer):
    """Listens on a free port of localhost, below `/api/v5`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("localhost", 0), _Handler)
        self.state = State()
        described()  # once, and not in one of many threads
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://localhost:{self.server_address[1]}/api"

    @property
    def api(self) -> str:
        """The address for a bot."""
        return f"{self.address}/v5"


def token(who: str) -> str:
    return f"{who}-token-of-gitee"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body at once: apart, each answer waits 40 ms for an acknowledgement
    server: GiteeServer

    def _handle(self) -> None:
        address, state = urlsplit(self.path), self.server.state
        path = unquote(address.path).removeprefix("/api/v5")
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        given = dict(parse_qsl(address.query, keep_blank_values=True)) | _content(self.headers, raw)
        who = _who(self.headers, str(given.pop("access_token", "")))
        with state.lock:
            number = len(state.requests) + 1
            fault = next(
                (f for f in state.faults if f.times > 0 and f.when(number, self.command, path)), None
            )
            if fault is not None:
                fault.times -= 1
            do = fault.do if fault else None
            state.invalid += problems(self.command, path, given)
            status, data = (
                (0, None) if do and do not in faults.AFTER else _served(state, self.command, path, who, given)
            )
            shown = faults.ANSWERS[do][0] if do in faults.ANSWERS else status
            state.requests.append(Seen(self.command, self.path, given, shown))
        self._answer(do, status, data, given)

    def _answer(self, do: Do | None, status: int, data: Any, given: dict[str, Any]) -> None:
        if do in faults.DROPS:
            self.close_connection = True
            return
        if do is Do.SLOW:
            time.sleep(faults.SLOW_SECONDS)
        headers: dict[str, str] = {}
        if (
            isinstance(data, list)
            and status == 200
            and "/labels" not in self.path
            and "/contents" not in self.path
        ):
            size = min(int(given.get("per_page", 20)), LONGEST_PAGE)
            page = int(given.get("page", 1))
            headers = {"total_count": str(len(data)), "total_page": str(max(1, -(-len(data) // size)))}
            data = data[(page - 1) * size : page * size]
        if do in faults.ANSWERS:
            status, headers, data = faults.answer(do)
        text = b"<html>" if do is Do.GARBLED else json.dumps(data).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text[: len(text) // 2] if do is Do.TRUNCATED else text)
        self.close_connection = self.close_connection or do is Do.TRUNCATED

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _handle

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: `State.requests` has it."""


def _content(headers: Message, raw: str) -> dict[str, Any]:
    if not raw:
        return {}
    if headers.get_content_type() == "application/json":
        content: dict[str, Any] = json.loads(raw)
        return content
    return dict(parse_qsl(raw, keep_blank_values=True))


def _who(headers: Message, parameter: str) -> str:
    """Whose token it is; empty: nobody's."""
    told = parameter or str(headers.get("Authorization") or "").removeprefix("Bearer ")
    return next((who for who in IDS if token(who) == told), "")


def _served(state: State, verb: str, path: str, who: str, given: dict[str, Any]) -> tuple[int, Any]:
    if not who:
        return 401, {"message": "401 Unauthorized: Access token does not exist"}
    for method, pattern, status, serve in ROUTES:
        if method == verb and (found := re.fullmatch(pattern, path)):
            if serve in WRITERS_ONLY and PERMISSIONS.get(who) not in ("admin", "write"):
                return 403, {"message": "403 Forbidden"}
            try:
                # A copy: what is sent later must not change with the host.
                return status, json.loads(json.dumps(serve(state, Asked(who, found.groups(), given))))
            except RefusedError as refused:
                return refused.status, {"message": str(refused)}
    return 404, {"message": "404 Not Found"}
