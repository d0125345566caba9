"""What goes wrong on the way to a host, on demand: one fault at the request that a test picks.

Invariant: what a fault does to its request is exact, not made or made and its answer spoilt; what it answers
is what GitHub answers on a bad day, its headers with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

SLOW_SECONDS = 0.3


class Do(StrEnum):
    """What a fault does."""

    FAIL_BEFORE = "502 and nothing was done"
    FAIL_AFTER = "502 after it was done"
    DROP_BEFORE = "the connection drops before it is done"
    DROP_AFTER = "the connection drops after it was done"
    SECONDARY = "403, a secondary limit"
    SECONDARY_WHEN_UNSAID = "403, a secondary limit without Retry-After"
    EXHAUSTED = "403, no requests are left in this hour"
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
    LAGGING = "a search that has not heard of anything yet"


@dataclass
class Fault:
    """Happens `times` times, at requests that `when(number, method, path)` picks; numbers begin at 1."""

    do: Do
    when: Callable[[int, str, str], bool]
    times: int = 1


def fault(do: Do, *, after: int = 0, nth: int = 0, method: str = "", path: str = "", times: int = 1) -> Fault:
    """A fault at the first requests that are of a method and have this in their path, from the nth after the
    request of number `after` on."""

    def when(number: int, seen: str, where: str) -> bool:
        return number >= after + max(nth, 1) and method in ("", seen) and path in where

    return Fault(do, when, times)


LIMITED = {"Retry-After": "1"}

ANSWERS: dict[Do, tuple[int, Mapping[str, str], Any]] = {
    Do.FAIL_BEFORE: (502, {}, {"message": "Server Error"}),
    Do.FAIL_AFTER: (502, {}, {"message": "Server Error"}),
    Do.SECONDARY: (403, LIMITED, {"message": "You have exceeded a secondary rate limit."}),
    Do.SECONDARY_WHEN_UNSAID: (403, {}, {"message": "You have exceeded a secondary rate limit."}),
    Do.EXHAUSTED: (403, {"X-RateLimit-Remaining": "0"}, {"message": "API rate limit exceeded for user."}),
    Do.TOO_MANY: (429, {}, {"message": "API rate limit exceeded"}),
    Do.TOO_MANY_WHEN: (429, LIMITED, {"message": "API rate limit exceeded"}),
    Do.INVALID: (422, {}, {"message": "Validation Failed"}),
    Do.GONE: (410, {}, {"message": "Issues are disabled for this repo"}),
    Do.UNAUTHORIZED: (401, {}, {"message": "Bad credentials"}),
    Do.FORBIDDEN: (
        403,
        {"X-Accepted-GitHub-Permissions": "issues=write"},
        {"message": "Resource not accessible by personal access token"},
    ),
    Do.MISSING: (404, {}, {"message": "Not Found"}),
    Do.LAGGING: (200, {}, {"total_count": 0, "incomplete_results": False, "items": []}),
}
"""Status, headers and body of those that are an answer."""

AFTER = frozenset({Do.FAIL_AFTER, Do.DROP_AFTER, Do.SLOW, Do.GARBLED, Do.TRUNCATED})
"""What happens to the answer, so that the request was served."""

DROPS = frozenset({Do.DROP_BEFORE, Do.DROP_AFTER})


def answer(do: Do) -> tuple[int, dict[str, str], Any]:
    """What a fault answers. A quota that is used up comes back in a second."""
    status, headers, plain = ANSWERS[do]
    given = dict(headers)
    if do is Do.EXHAUSTED:
        given["X-RateLimit-Reset"] = str(int(time.time()) + 1)
    return status, given, plain
