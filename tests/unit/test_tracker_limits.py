"""Rate limits: waited for within reason, put off beyond it; and the pace of writes. On both kinds of host."""

from __future__ import annotations

import time

import pytest

from bot.trackers.protocol import MissingError, ThrottledError
from tests.unit.answering import Make, Says, answering, gitee_at, github_at, message

pytestmark = pytest.mark.parametrize("make", [github_at, gitee_at])

LIMITS = [
    Says(429, message("slow down"), {"Retry-After": "1"}),
    Says(403, message("You have exceeded a secondary rate limit."), {"Retry-After": "1"}),
    Says(403, message("API rate limit exceeded"), {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}),
]


@pytest.mark.parametrize("said", LIMITS, ids=["429", "secondary", "used up"])
def test_a_limit_is_waited_for_as_long_as_it_asks(make: Make, said: Says) -> None:
    with answering(said, Says(404, message("Not Found"))) as server:
        began = time.monotonic()
        with pytest.raises(MissingError):
            make(server.url).create("one", "text")
        assert 0.9 < time.monotonic() - began < 10
        assert len(server.asked) == 2


PUT_OFF = [
    Says(429, message("slow down"), {"Retry-After": "3600"}),
    Says(403, message("Rate Limit Exceeded"), {"Retry-After": "3600"}),
    Says(403, message("limit"), {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999"}),
]


@pytest.mark.parametrize("said", PUT_OFF, ids=["429", "secondary", "used up"])
def test_a_limit_longer_than_a_run_is_for_the_next_one(make: Make, said: Says) -> None:
    with answering(said) as server:
        with pytest.raises(ThrottledError, match="the next run goes on") as put_off:
            make(server.url).create("one", "text")
        assert put_off.value.exit_code == 4
        assert len(server.asked) == 1


@pytest.mark.parametrize("text", ["You have exceeded a secondary rate limit", "Rate Limit Exceeded"])
def test_a_limit_without_a_time_is_known_by_its_words(make: Make, text: str) -> None:
    with answering(Says(403, message(text))) as server:
        host = make(server.url)
        host.client.patience = 30.0
        with pytest.raises(ThrottledError):
            host.create("one", "text")


def test_patience_is_for_all_requests_together(make: Make) -> None:
    wait = Says(429, message("slow down"), {"Retry-After": "1"})
    with answering(wait) as server:
        host = make(server.url)
        host.client.patience = 2.5
        with pytest.raises(ThrottledError):
            host.create("one", "text")
        assert len(server.asked) == 3


def test_writes_are_spaced_and_readings_are_not(make: Make) -> None:
    with answering(Says(404, message("Not Found"))) as server:
        host = make(server.url)
        host.client.pause = 0.3
        began = time.monotonic()
        for _ in range(3):
            with pytest.raises(MissingError):
                host.create("one", "text")
        assert time.monotonic() - began >= 0.6
        began = time.monotonic()
        for _ in range(5):
            with pytest.raises(MissingError):
                host.issue("1")
        assert time.monotonic() - began < 0.6
