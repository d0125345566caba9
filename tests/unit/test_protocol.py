"""Framing: whole or reported as broken, whatever the writer did."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzers.records import Ending, Limits
from fuzzers.worker import protocol
from fuzzers.worker.protocol import BrokenFrameError, Reply, Request, failure, pack, unpack

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), json_values))
def test_a_frame_comes_back_as_it_was(value: dict[str, Any]) -> None:
    assert unpack(pack(value)) == value


@given(st.dictionaries(st.text(), json_values), st.data())
def test_a_frame_cut_anywhere_is_broken(value: dict[str, Any], data: st.DataObject) -> None:
    frame = pack(value)
    cut = data.draw(st.integers(1, len(frame) - 1))
    with pytest.raises(BrokenFrameError):
        unpack(frame[:cut])


@given(st.binary(min_size=1))
def test_bytes_that_are_no_frame_never_become_a_result(data: bytes) -> None:
    with pytest.raises(BrokenFrameError):
        unpack(data + b"\xff")


def test_no_frame_is_none() -> None:
    assert unpack(b"") is None


def test_a_frame_followed_by_more_is_broken() -> None:
    with pytest.raises(BrokenFrameError, match="3 bytes of 2"):
        unpack(pack({}) + b"x")


def test_a_result_beyond_the_cap_is_refused_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pack({"value": "x" * 100})
    monkeypatch.setattr(protocol, "FRAME_CAP", 50)
    with pytest.raises(BrokenFrameError, match="most is 50"):
        pack({"value": "x" * 100})
    with pytest.raises(BrokenFrameError, match="most is 50"):
        unpack(frame)


def test_a_request_and_a_reply_come_back_as_they_were() -> None:
    request = Request(3, "engine.step", {"state": None, "text": "a\nb"}, Limits(1.5, 7, 9), "/j")
    assert request.line().count(b"\n") == 1
    assert Request.parse(request.line()) == request
    reply = Reply(3, Ending.SIGNAL, None, "SIGSEGV", failure("A", "b"), "log\nlog", 0.5)
    assert reply.line().count(b"\n") == 1
    assert Reply.parse(reply.line()) == reply


@pytest.mark.parametrize(
    "line", [b"{}", b"[]", b"nonsense", b'{"id": 1, "job": "x", "limits": {"hours": 3}}']
)
def test_a_line_that_is_no_request_is_refused(line: bytes) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        Request.parse(line)
