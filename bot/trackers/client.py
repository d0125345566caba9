"""Requests to a tracker's API, one at a time: tries, pauses, rate limits, and what a refusal means.

Invariant: what is not idempotent is sent once; when its answer is lost, `UncertainError` says so. Refusals
become one line that says what to do, and never hold a header, so that no token is in any message.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias

import requests
import urllib3

from bot.defang import redact
from bot.files import utc_now
from bot.trackers.protocol import MissingError, ThrottledError, TrackerError, UncertainError

PER_PAGE = 100
TIMEOUT_SECONDS = 30
TRIES = 4
"""Of what is idempotent, when the server or the connection fails."""

BACKOFF_SECONDS = 1.0
"""Before the second try; twice that before each further one."""

WRITE_PAUSE_SECONDS = 1.0
"""Between writes: what GitHub asks for, below which its secondary limits begin."""

PATIENCE_SECONDS = 120.0
"""What a client waits for rate limits, all in all; a longer wait is the next run's."""

NO_RETRY_AFTER_SECONDS = 60.0
"""What GitHub asks for when a limit comes without a time."""

WRITES = frozenset({"POST", "PATCH", "PUT", "DELETE"})

LINES: dict[int, str] = {
    401: "the token is wrong or has expired: set NIGHTFUZZ_TOKEN to one that is valid",
    404: "not there, or the token may not see it",
    410: "issues are switched off in this repository: switch them on in its settings",
    451: "this repository has been blocked",
}
"""What a refusal means, where its status alone tells."""


class MovedError(TrackerError):
    """It has another address now, which was not followed."""

    def __init__(self, what: str, to: str) -> None:
        super().__init__(f"{what}: it has moved to {to}")
        self.to = to


@dataclass(frozen=True)
class Answer:
    """A good answer: its parsed body, and headers by lower-case name."""

    status: int
    data: Any
    headers: Mapping[str, str]


Send: TypeAlias = Callable[
    [str, str, Mapping[str, Any], Mapping[str, Any] | None], tuple[int, Mapping[str, str], str]
]
"""One request (method, path, parameters, body); status, headers by lower-case name, text. Raises what
`requests` does, and TrackerError."""


@dataclass
class Client:
    """An account's requests to one API at `host`. `pause` is between writes, `backoff` before the second
    try of what is idempotent, `patience` what rate limits may take, all in seconds."""

    transport: Send
    host: str
    pause: float = WRITE_PAUSE_SECONDS
    backoff: float = BACKOFF_SECONDS
    patience: float = PATIENCE_SECONDS
    calls: int = 0
    clock: str = ""
    """What the server's clock said last."""
    _wrote: float = field(default=-1e9, repr=False)

    def get(self, path: str, **parameters: Any) -> Answer:
        """GET, patiently."""
        return self.send("GET", path, parameters=parameters)

    def pages(self, path: str, **parameters: Any) -> Iterator[Any]:
        """The items of a listing, over all its pages."""
        page = 1
        while True:
            answer = self.get(path, per_page=PER_PAGE, page=page, **parameters)
            items = answer.data
            if isinstance(items, dict):  # check runs, search: the list is one of the values
                items = next((value for value in items.values() if isinstance(value, list)), [])
            yield from items
            if 'rel="next"' not in answer.headers.get("link", ""):
                return
            page += 1

    def send(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        idempotent: bool = True,
    ) -> Answer:
        """One request, with as many tries as it may have."""
        for attempt in range(TRIES):
            is_last = attempt == TRIES - 1
            try:
                status, headers, text = self._once(method, path, parameters, body)
            except _UnreachableError as failure:
                if is_last:
                    raise TrackerError(f"{self.host} cannot be reached: {failure}") from None
            except _LostError as failure:
                if not idempotent:
                    raise UncertainError(f"{method} {path}: the answer was lost ({failure})") from None
                if is_last:
                    raise TrackerError(f"{method} {path}: no answer ({failure})") from None
            else:
                if wait := _asked_to_wait(status, headers, text):
                    self._be_patient(wait)
                    continue
                if status < 300:
                    return self._answer(method, path, status, headers, text, idempotent=idempotent)
                if status < 400:
                    to = headers.get("location") or "a place that it does not name"
                    raise MovedError(f"{method} {path}", redact(to))
                if status < 500:
                    raise _refusal(method, path, status, headers, text)
                if not idempotent:
                    raise UncertainError(f"{method} {path}: the server answered {status}")
                if is_last:
                    raise TrackerError(f"{method} {path}: the server answered {status}, {TRIES} times")
            time.sleep(self.backoff * 2**attempt)
        raise ThrottledError(f"{method} {path}: the server's rate limit holds; the next run goes on")

    def _once(
        self, method: str, path: str, parameters: Mapping[str, Any] | None, body: Mapping[str, Any] | None
    ) -> tuple[int, Mapping[str, str], str]:
        if method in WRITES:
            time.sleep(max(0.0, self._wrote + self.pause - time.monotonic()))
        self.calls += 1
        try:
            status, headers, text = self.transport(method, path, parameters or {}, body)
        except (requests.ConnectTimeout, requests.exceptions.SSLError) as error:
            raise _UnreachableError(_said(error)) from error
        except requests.ConnectionError as error:
            kind = _UnreachableError if _is_before_sending(error) else _LostError
            raise kind(_said(error)) from error
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            raise _LostError(_said(error)) from error
        finally:
            if method in WRITES:
                self._wrote = time.monotonic()
        self._note_clock(headers.get("date", ""))
        return status, headers, text

    def _answer(
        self, method: str, path: str, status: int, headers: Mapping[str, str], text: str, *, idempotent: bool
    ) -> Answer:
        try:
            return Answer(status, json.loads(text) if text else None, headers)
        except ValueError:
            said = f"{method} {path}: the answer is not JSON"
            raise (TrackerError(said) if idempotent else UncertainError(said)) from None

    def _note_clock(self, date: str) -> None:
        try:
            told = parsedate_to_datetime(date).astimezone(UTC)
        except (TypeError, ValueError):
            return
        self.clock = told.strftime("%Y-%m-%dT%H:%M:%SZ")

    def _be_patient(self, wait: float) -> None:
        if wait > self.patience:
            raise ThrottledError(f"the server asks to wait {wait:.0f} s; the next run goes on")
        self.patience -= wait
        time.sleep(wait)

    def now(self) -> str:
        """The server's clock as it was last told; ours before that."""
        return self.clock or utc_now()


class _UnreachableError(Exception):
    """Nothing was sent."""


class _LostError(Exception):
    """It was sent, and nothing (whole) came back."""


def _is_before_sending(error: BaseException) -> bool:
    """Whether a connection error says that there never was a connection."""
    seen: BaseException | None = error
    while seen is not None:
        reason = getattr(seen, "reason", None)
        for one in (seen, reason, *(arg for arg in seen.args if isinstance(arg, BaseException))):
            if isinstance(one, urllib3.exceptions.NewConnectionError):
                return True
            inner = getattr(one, "reason", None)
            if isinstance(inner, urllib3.exceptions.NewConnectionError):
                return True
        seen = seen.__cause__ or seen.__context__
    return False


def _asked_to_wait(status: int, headers: Mapping[str, str], text: str) -> float:
    """Seconds that a rate limit asks for; 0 when the answer is none. Nothing was done on such an answer."""
    is_limit = status == 429 or (
        status == 403
        and (
            "retry-after" in headers
            or headers.get("x-ratelimit-remaining") == "0"
            or "rate limit" in text.lower()
        )
    )
    if not is_limit:
        return 0.0
    if headers.get("retry-after", "").isdigit():
        return max(1.0, float(headers["retry-after"]))
    if headers.get("x-ratelimit-remaining") == "0" and headers.get("x-ratelimit-reset", "").isdigit():
        return max(1.0, float(headers["x-ratelimit-reset"]) - time.time() + 1.0)
    return NO_RETRY_AFTER_SECONDS


def _refusal(method: str, path: str, status: int, headers: Mapping[str, str], text: str) -> TrackerError:
    said = _message(text)
    if status == 404 or (status == 410 and "deleted" in said):
        return MissingError(f"{method} {path}: {LINES[404]}")
    if status == 403:
        needed = headers.get("x-accepted-github-permissions", "")
        if "suspended" in said or "blocked" in said:
            return TrackerError(f"the account or the repository is blocked: {said}")
        if "archived" in said:
            return TrackerError(f"the repository is archived: {said}")
        hint = f"; it needs {needed}" if needed else ""
        return TrackerError(f"{method} {path}: the token may not do this{hint}: {said}")
    line = LINES.get(status)
    return TrackerError(line if line and status != 404 else f"{method} {path}: refused ({status}): {said}")


def _message(text: str) -> str:
    """What the server said, in one line without secrets."""
    try:
        found = json.loads(text)
    except ValueError:
        found = {}
    said = str(found.get("message", "")) if isinstance(found, dict) else ""
    errors = found.get("errors") if isinstance(found, dict) else None
    if errors:
        said = f"{said} {json.dumps(errors)}"
    return " ".join(redact(said).split())[:300] or "no reason given"


def _said(error: BaseException) -> str:
    return type(error).__name__
