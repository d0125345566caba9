"""The client of a model: what it sends, what it makes of every answer, what it may spend; and that the key
is nowhere."""

from __future__ import annotations

import json
import socket
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fuzzers.alignguard.llm import client as module
from fuzzers.alignguard.llm.client import LARGEST_ANSWER, Client, Unanswered, Unusable
from fuzzers.alignguard.llm.endpoint import Secret, flaw_of_address, flaw_of_key
from fuzzers.alignguard.llm.spending import estimated
from tests.unit.answering import Says, answering
from tests.unit.modelling import KEY, MESSAGES, client, completion

LIMIT = Says(429, {"error": {"message": "slow down"}}, {"Retry-After": "0"})


def asked(one: Client, seed: int = 0) -> str:
    return one.ask(MESSAGES, seed).text


def assert_ends(one: Client, *said: str) -> None:
    """The endpoint is not asked any more, which is one line, the same for good and without the key."""
    with pytest.raises(Unusable) as first:
        asked(one)
    with pytest.raises(Unusable) as second:
        one.ask([{"role": "user", "content": "another"}], 1)
    line = str(first.value)
    assert line == str(second.value) == one.unusable
    assert "\n" not in line
    for part in ("is not asked any more", *said):
        assert part in line


def assert_no_answer(one: Client, *said: str) -> None:
    with pytest.raises(Unanswered) as told:
        asked(one)
    for part in said:
        assert part in str(told.value)


def test_what_is_sent_is_a_chat_request_with_the_key_in_its_header() -> None:
    with answering(completion("hello")) as server:
        assert asked(client(server.url)) == "hello"
    ((verb, path, headers),) = server.asked
    assert (verb, path) == ("POST", "/v1/chat/completions")
    assert headers["Authorization"] == f"Bearer {KEY}"


def test_without_a_key_no_header_is_sent_whatever_netrc_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine localhost login me password other\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with answering(completion("hello")) as server:
        asked(client(server.url, key=""))
        asked(client(server.url))
    assert "Authorization" not in server.asked[0][2]
    assert server.asked[1][2]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("status", [401, 402, 403, 404, 405, 410])
def test_a_refusal_ends_the_endpoint_at_once(status: int) -> None:
    with answering(Says(status, {"error": {"message": "no"}})) as server:
        assert_ends(client(server.url), str(status), "no")
        assert len(server.asked) == 1


def test_a_redirect_is_not_followed_since_the_key_would_go_along() -> None:
    with (
        answering(completion("stolen")) as other,
        answering(Says(302, "", {"Location": other.url})) as server,
    ):
        assert_ends(client(server.url), "points elsewhere")
        assert other.asked == []


def test_a_rate_limit_is_waited_out() -> None:
    with answering(LIMIT, LIMIT, completion("hello")) as server:
        assert asked(client(server.url)) == "hello"
        assert len(server.asked) == 3


def test_retry_after_is_respected_as_a_number_and_as_a_date() -> None:
    later = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 2))
    for told in ("0.4", later):
        with answering(Says(429, {}, {"Retry-After": told}), completion("hello")) as server:
            began = time.monotonic()
            assert asked(client(server.url)) == "hello"
            assert 0.3 < time.monotonic() - began < 4


def test_a_longer_wait_than_there_is_patience_ends_the_endpoint() -> None:
    with answering(Says(429, {}, {"Retry-After": "86400"})) as server:
        assert_ends(client(server.url), "429", "86400 s")


@pytest.mark.parametrize("told", ["nan", "-5", "soon", "", "1e-9"])
def test_an_odd_retry_after_neither_hangs_nor_loops(told: str) -> None:
    with answering(Says(429, {}, {"Retry-After": told})) as server:
        assert_no_answer(client(server.url), "429")
        assert len(server.asked) == module.MOST_WAITS + 1


def test_a_broken_server_is_tried_again_and_then_given_up() -> None:
    with answering(Says(500, "oops")) as server:
        one = client(server.url)
        assert_no_answer(one, "500")
        assert len(server.asked) == module.TRIES
        assert_no_answer(one)
        assert_no_answer(one)
        assert_ends(one, "3 requests in a row", "500")


def test_an_answer_in_between_makes_failures_forgotten() -> None:
    bad, good = Says(400, {"error": {"message": "no"}}), completion("hello")
    with answering(bad, bad, good, bad, bad, good) as server:
        one = client(server.url)
        for _ in range(2):
            assert_no_answer(one, "400", "no")
            assert_no_answer(one)
            assert asked(one) == "hello"


def test_a_server_that_comes_back_is_no_failure() -> None:
    with answering(Says(503, ""), Says(0), completion("hello")) as server:
        assert asked(client(server.url)) == "hello"


def test_a_slow_server_ends_in_time() -> None:
    with answering(Says(200, {}, hangs=True)) as server:
        one = client(server.url, seconds=0.2)
        began = time.monotonic()
        assert_no_answer(one, "0.2 s")
        assert time.monotonic() - began < 0.9


@contextmanager
def talking(words: bytes, pause: float) -> Iterator[str]:
    """A server that says these bytes, one after another with a pause."""
    with socket.create_server(("localhost", 0)) as listening:

        def work() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1 << 16)
                for byte in words:
                    try:
                        connection.sendall(bytes([byte]))
                    except OSError:
                        return
                    time.sleep(pause)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        yield f"http://localhost:{listening.getsockname()[1]}"
        thread.join(5)


def test_a_server_that_sends_a_byte_now_and_then_ends_in_time() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    with talking(head + b" " * 60, 0.02) as url:
        began = time.monotonic()
        assert_no_answer(client(url, seconds=0.3), "in time")
        assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    "words", [b"", b"\r\n\r\n", b"SSH-2.0-x\r\n", b"HTTP/1.1 999 \xff\r\n\r\n", b"HTTP/1.1 200 OK\r\n"]
)
def test_what_speaks_no_http_is_no_answer(words: bytes) -> None:
    with talking(words, 0) as url, pytest.raises((Unanswered, Unusable)):
        asked(client(url, seconds=1.0))


@pytest.mark.parametrize(
    "plain",
    [
        "", "no JSON", "[]", "{}", "null", '{"choices": []}', '{"choices": [{}]}',
        '{"choices": [{"message": {}}]}',
        '{"choices": [{"message": {"content": null}}]}', '{"choices": [{"message": {"content": 3}}]}',
        '{"choices": {"0": 1}}', '{"choices": "abc"}', "[" * 100_000, "9" * 10_000,
    ],
)  # fmt: skip
def test_what_is_no_completion_is_no_answer(plain: str) -> None:
    with answering(Says(200, plain)) as server:
        assert_no_answer(client(server.url), "its answer")


def test_an_answer_without_end_is_cut() -> None:
    with answering(Says(200, "x" * (LARGEST_ANSWER + 1))) as server:
        assert_no_answer(client(server.url), "more than")


def test_an_answer_in_parts_is_put_together() -> None:
    with answering(completion([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, 3])) as server:
        assert asked(client(server.url)) == "ab"


def test_a_parameter_that_the_model_does_not_take_is_left_out() -> None:
    no = Says(400, {"error": {"message": "Unsupported parameter: 'max_tokens' and 'temperature'"}})
    with answering(no, completion("hello")) as server:
        one = client(server.url)
        assert asked(one) == "hello"
        body = one._body(MESSAGES, 0)
        assert "max_completion_tokens" in body
        assert not {"max_tokens", "temperature"} & set(body)


def test_nobody_there_is_no_answer() -> None:
    assert_no_answer(client("http://localhost:1"), "connection")


def test_bounds_are_not_passed() -> None:
    with answering(completion("hello", (100, 50))) as server:
        assert_ends(client(server.url, calls=0), "0 calls")
        assert_ends(client(server.url, tokens=500), "tokens")
        assert_ends(client(server.url, money=0.001, price_in=1.0, price_out=2.0), "money")
        assert server.asked == []
        one = client(server.url, calls=2)
        asked(one, 0)
        asked(one, 1)
        assert_ends(one, "2 calls")


def test_every_try_counts_as_a_call() -> None:
    with answering(Says(500, "")) as server:
        one = client(server.url, calls=2)
        assert_ends(one, "2 calls")
        assert len(server.asked) == 2


def test_what_was_spent_is_told() -> None:
    with answering(completion("hello", (100, 50)), completion("x" * 300, None)) as server:
        one = client(server.url, price_in=1.0, price_out=10.0)
        asked(one, 0)
        asked(one, 1)
    told = one.spending.document()
    assert told["calls"] == 2
    assert told["tokens_out"] == 50 + estimated("x" * 300)
    assert told["money"] == pytest.approx((told["tokens_in"] + 10 * told["tokens_out"]) / 1e6)


def test_the_same_question_is_asked_once(tmp_path: Path) -> None:
    with answering(completion("one"), completion("two"), completion("three")) as server:
        assert asked(client(server.url, tmp_path), 0) == "one"
        assert asked(client(server.url, tmp_path), 0) == "one"
        assert asked(client(server.url, tmp_path), 1) == "two"
        assert len(server.asked) == 2
        another = client(server.url, tmp_path, calls=0)
        assert asked(another, 0) == "one", "what is kept costs nothing"
        for file in tmp_path.iterdir():
            file.write_text("{")
        assert asked(client(server.url, tmp_path), 0) == "three", "a broken file counts as not there"


def test_a_disk_that_refuses_costs_no_answer(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with answering(completion("one")) as server:
        assert asked(client(server.url, tmp_path / "file")) == "one"


def test_a_stop_ends_a_wait() -> None:
    with answering(Says(429, {}, {"Retry-After": "60"})) as server:
        one = client(server.url)
        threading.Timer(0.2, one.stopped.set).start()
        began = time.monotonic()
        assert_ends(one, "stopped")
        assert time.monotonic() - began < 5


def failures() -> list[Says]:
    """Every kind of failure, with the key in whatever the server says."""
    echoed = {"error": {"message": f"bad key Bearer {KEY} " + "x" * 90 + KEY}}
    return [
        *(Says(status, echoed) for status in (400, 401, 402, 403, 404, 410, 413, 418, 422, 429, 500, 503)),
        Says(400, "x" * 1590 + KEY),
        Says(400, {"error": {"message": "x" * 190 + KEY}}),
        Says(302, echoed, {"Location": f"http://localhost:1/{KEY}"}),
        Says(401, KEY),
        Says(401, {"error": KEY}),
        Says(429, echoed, {"Retry-After": f"9{KEY}"}),
        Says(429, echoed, {"Retry-After": "99999"}),
        Says(0),
        Says(200, {}, hangs=True),
        Says(200, KEY),
        completion(None),
        completion(f"the key is {KEY}"),
    ]


@pytest.mark.parametrize("failure", failures(), ids=lambda one: f"{one.status}-{str(one.plain)[:12]}")
def test_the_key_is_in_no_message_no_traceback_no_file(failure: Says, tmp_path: Path) -> None:
    shown: list[str] = []
    with answering(failure) as server:
        one = client(server.url, tmp_path, seconds=0.5)
        for seed in range(4):
            try:
                shown.append(asked(one, seed))
            except (Unanswered, Unusable):
                shown.append(traceback.format_exc())
    shown += [repr(one), str(vars(one)), json.dumps(one.spending.document()), one.unusable]
    shown += [file.read_text() for file in tmp_path.rglob("*") if file.is_file()]
    for text in shown:
        for length in (len(KEY), 16):
            assert KEY[:length] not in text


def test_a_secret_shows_itself_to_nobody() -> None:
    one = Secret(f" {KEY}\n")
    assert one.reveal() == KEY
    assert KEY not in f"{one} {one!r} {[one]}"
    assert one.hide(f"a {KEY} b") == "a <key> b"
    assert Secret("").hide("text") == "text"


@pytest.mark.parametrize(
    "url",
    ["", "localhost", "ftp://a/b", "http://", "https:///x", "http://u:p@host/v1", "http://[::1", "http://a:b/",
     "http://host/v1?key=1", "http://host/#x", "http://ho st/", "http://host/\n", "file:///etc/passwd"],
)  # fmt: skip
def test_what_is_no_address_is_refused(url: str) -> None:
    assert flaw_of_address(url)


@pytest.mark.parametrize(
    "url", ["http://localhost:8000/v1", "https://models.example/inference", "http://[::1]:1/v1"]
)
def test_addresses_of_endpoints_are_taken(url: str) -> None:
    assert flaw_of_address(url) == ""


def test_a_key_that_no_header_can_hold_is_refused_without_saying_it() -> None:
    assert flaw_of_key(f"{KEY}\n") == ""
    for bad in (f"{KEY}\nX: y", f"{KEY} {KEY}", KEY + "é"):
        assert flaw_of_key(bad)
        assert KEY not in flaw_of_key(bad)
