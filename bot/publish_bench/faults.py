"""Faults of a connection, one at a time, between a tracker's client and any host.

Invariant: a fault strikes one request, by its place in the run, and what it does to that request is exact:
never made, made and its answer lost, or refused. The exception is a kill, after which nothing is sent any
more, and no `finally` gets a word in either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import requests

from bot.trackers.client import Send


class Fault(StrEnum):
    """What happens to a request."""

    UNREACHABLE = "unreachable"
    """Nothing was sent."""
    DROPPED = "dropped before the write"
    LOST = "answer lost after the write"
    ERROR = "502 before the write"
    BAD_GATEWAY = "502 after the write"
    GARBLED = "answer is no JSON after the write"
    THROTTLED = "rate limit of an hour"
    FORBIDDEN = "403"
    MISSING = "404"
    KILLED_BEFORE = "killed before the write"
    KILLED_AFTER = "killed after the write"


KILLS = frozenset({Fault.KILLED_BEFORE, Fault.KILLED_AFTER})
AFTER = frozenset({Fault.LOST, Fault.BAD_GATEWAY, Fault.GARBLED, Fault.KILLED_AFTER})
"""The request has reached the host all the same."""

ANSWERS: dict[Fault, tuple[int, Mapping[str, str], str]] = {
    Fault.ERROR: (502, {}, "Bad Gateway"),
    Fault.BAD_GATEWAY: (502, {}, "Bad Gateway"),
    Fault.GARBLED: (200, {}, "<html>"),
    Fault.THROTTLED: (403, {"retry-after": "3600"}, '{"message": "secondary rate limit"}'),
    Fault.FORBIDDEN: (403, {}, '{"message": "Resource not accessible"}'),
    Fault.MISSING: (404, {}, '{"message": "Not Found"}'),
}

RAISES: dict[Fault, type[Exception]] = {
    Fault.UNREACHABLE: requests.ConnectTimeout,
    Fault.DROPPED: requests.ConnectionError,
    Fault.LOST: requests.ReadTimeout,
}


class Killed(BaseException):
    """The publisher is dead. No error, so that nothing takes it for one."""


@dataclass
class Faulty:
    """A transport with one fault, at the request of the number `at`, counted from 1. `tries` how often it
    strikes in a row: with more than the client's own tries, the fault gets through to the publisher."""

    send: Send
    fault: Fault | None = None
    at: int = 0
    tries: int = 1
    made: int = 0
    is_dead: bool = False

    def __call__(
        self, method: str, path: str, parameters: Mapping[str, Any], body: Mapping[str, Any] | None
    ) -> tuple[int, Mapping[str, str], str]:
        """One request."""
        if self.is_dead:
            raise Killed
        self.made += 1
        fault = self.fault
        if fault is None or not self.at <= self.made < self.at + self.tries:
            return self.send(method, path, parameters, body)
        if fault in AFTER:
            self.send(method, path, parameters, body)
        if fault in KILLS:
            self.is_dead = True
            raise Killed
        if fault in RAISES:
            raise RAISES[fault]
        return ANSWERS[fault]

    @property
    def has_struck(self) -> bool:
        """Whether the run came as far as the fault."""
        return self.fault is not None and self.made >= self.at
