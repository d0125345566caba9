"""HTTP, with an end to everything: to waiting, to size, to trying again.

Invariant: a call returns the whole answer or fails within its time, in one line that names the address. The
reason for a clock of our own: a server that sends a byte a second never runs into a read time-out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import requests
import urllib3

from bot.errors import MachineryFailure

T = TypeVar("T")

CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0
TRIES = 3
BACKOFF_SECONDS = 0.5
"""Before the second try; twice as long before each one after it."""
MOST_REDIRECTS = 5
PAGE_BYTES = 64 * 2**20
"""The page of torch's nightlies, with every kept version, has about one mebibyte."""
WHEEL_BYTES = 16 * 2**30

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_CHUNK = 1 << 18
_WORTH_ANOTHER_TRY = frozenset({429, 500, 502, 503, 504})
_NOT_THERE = frozenset({403, 404, 410})
"""An object store says 403 of a thing that it does not have."""


class NotThereError(MachineryFailure):
    """The server answers, and says that it does not have it."""


class _PassingError(Exception):
    """What may be otherwise at the next try; the message says what it was."""


@dataclass(frozen=True)
class Page:
    """A page, whole. `url` is where it came from in the end: its relative links start there."""

    url: str
    kind: str
    """Media type, `text/html`."""
    content: bytes


@dataclass(frozen=True)
class Web:
    """`page_seconds` and `wheel_seconds` bound one call, with all its tries."""

    page_seconds: float = 60.0
    wheel_seconds: float = 3600.0
    stopped: Callable[[], bool] = field(default=lambda: False)

    def page(self, url: str) -> Page:
        """What is at an address of at most PAGE_BYTES."""

        def read(answer: requests.Response, end: float) -> Page:
            content = b"".join(self._chunks(answer, end, PAGE_BYTES))
            kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            return Page(answer.url, kind, content)

        return self._patiently(url, self.page_seconds, read)

    def download(self, url: str, to: Path) -> None:
        """Write what is at an address to a file. OSError from the disk."""

        def read(answer: requests.Response, end: float) -> None:
            with to.open("wb") as file:
                for chunk in self._chunks(answer, end, WHEEL_BYTES):
                    file.write(chunk)

        self._patiently(url, self.wheel_seconds, read)

    def _patiently(self, url: str, seconds: float, read: Callable[[requests.Response, float], T]) -> T:
        end = time.monotonic() + seconds
        last = f"no answer within {seconds:g} s"
        for attempt in range(TRIES):
            if attempt:
                pause = BACKOFF_SECONDS * 2 ** (attempt - 1)
                if time.monotonic() + pause >= end:
                    break
                time.sleep(pause)
            try:
                return self._once(url, end, read)
            except _PassingError as failure:
                last = str(failure)
        raise MachineryFailure(f"{url}: {last}")

    def _once(self, url: str, end: float, read: Callable[[requests.Response, float], T]) -> T:
        left = max(0.1, end - time.monotonic())
        within = (min(CONNECT_SECONDS, left), min(READ_SECONDS, left))
        with requests.Session() as session:
            session.max_redirects = MOST_REDIRECTS
            try:
                answer = session.get(url, stream=True, timeout=within, headers={"Accept": ACCEPT})
            except (requests.ConnectionError, requests.Timeout) as error:
                raise _PassingError(_first_cause(error)) from error
            except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
                # An address that cannot be read, also a redirect's, comes up as any of the three.
                raise MachineryFailure(f"{url}: {error}") from error
            with closing(answer):
                said = f"the server answered {answer.status_code} {answer.reason or ''}".rstrip()
                if answer.status_code in _WORTH_ANOTHER_TRY:
                    raise _PassingError(said)
                if answer.status_code in _NOT_THERE:
                    raise NotThereError(f"{url}: {said}")
                if answer.status_code != requests.codes.ok:
                    raise MachineryFailure(f"{url}: {said}")
                return read(answer, end)

    def _chunks(self, answer: requests.Response, end: float, most: int) -> Iterator[bytes]:
        """The body, as it comes in."""
        size = 0
        while True:
            try:
                # Not `iter_content`: it waits for a chunk to be full, however slowly that fills.
                chunk = answer.raw.read1(_CHUNK, decode_content=True)
            except urllib3.exceptions.HTTPError as error:
                raise _PassingError(_first_cause(error)) from error
            if not chunk:
                return
            size += len(chunk)
            if size > most:
                raise MachineryFailure(f"{answer.url}: more than {most} bytes")
            if self.stopped():
                raise KeyboardInterrupt  # the person's Ctrl-C, which was only written down when it came
            if time.monotonic() > end:
                raise _PassingError(f"not all of it came in time; {size} bytes did")
            yield chunk


def _first_cause(error: BaseException) -> str:
    """What a chain of wrapped network errors began with, in one line."""
    while (inner := error.__cause__ or error.__context__ or getattr(error, "reason", None)) is not None:
        if not isinstance(inner, BaseException):
            break
        error = inner
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
