"""What goes over the pipes: requests and replies as JSON lines, a child's result as one framed JSON object.

Invariant: a reader never trusts a length or a line that it has not bounded, and a frame is either whole
or reported as broken. The reason: the writer may be a process that a compiler bug is just destroying.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fuzzers.records import Ending, Json, Limits, decode_flat, encode

FRAME_CAP = 16 * 1024 * 1024
"""Bytes of one result. A campaign's largest real ones are some hundred kilobytes of program text; more
than this is a job that returns tensors by mistake, which is a failure of the machinery."""

_HEADER = struct.Struct(">Q")


class BrokenFrameError(Exception):
    """A frame that is cut off, too large, or not JSON."""


@dataclass(frozen=True)
class Request:
    """One job for the worker. `journal` is where `announce` writes what is about to run, or None."""

    id: int
    job: str
    args: Json = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    journal: str | None = None

    def line(self) -> bytes:
        """The request as one JSON line."""
        return json.dumps(encode(self)).encode() + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> Request:
        """ValueError or KeyError when the line is not a request."""
        data = json.loads(line)
        return cls(
            id=int(data["id"]),
            job=str(data["job"]),
            args=dict(data.get("args") or {}),
            limits=decode_flat(Limits, data.get("limits") or {}),
            journal=data.get("journal"),
        )


@dataclass(frozen=True)
class Reply:
    """How a job ended. `ended` is OK (then `value` is the result), EXCEPTION (our own job function raised:
    a failure of the machinery, in `error`), SIGNAL, TIMEOUT, or CANNOT_RUN (the child could not start,
    broke a limit on output, or went away without a result; `error` says which).

    `log` is the tail of what the child wrote to its standard output and error; `seconds` is wall clock.
    """

    id: int
    ended: Ending
    value: Any = None
    signal: str = ""
    error: Json | None = None
    log: str = ""
    seconds: float = 0.0

    def line(self) -> bytes:
        """The reply as one JSON line."""
        return json.dumps(encode(self)).encode() + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> Reply:
        """ValueError or KeyError when the line is not a reply."""
        data = json.loads(line)
        return cls(**{**data, "id": int(data["id"]), "ended": Ending(data["ended"])})


def failure(kind: str, message: str, traceback: str = "") -> Json:
    """The `error` of a reply."""
    return {"type": kind, "message": message, "traceback": traceback}


def pack(value: Mapping[str, Any]) -> bytes:
    """A child's result as one frame. BrokenFrameError when it is larger than FRAME_CAP."""
    body = json.dumps(value).encode()
    if len(body) > FRAME_CAP:
        raise BrokenFrameError(f"a result of {len(body)} bytes; the most is {FRAME_CAP}")
    return _HEADER.pack(len(body)) + body


def unpack(data: bytes) -> Json | None:
    """The frame in `data`; None when there is nothing. BrokenFrameError unless it is one whole frame."""
    if not data:
        return None
    if len(data) < _HEADER.size:
        raise BrokenFrameError("cut off in the header")
    (size,) = _HEADER.unpack_from(data)
    if size > FRAME_CAP:
        raise BrokenFrameError(f"a result of {size} bytes; the most is {FRAME_CAP}")
    body = data[_HEADER.size :]
    if len(body) != size:
        raise BrokenFrameError(f"{len(body)} bytes of {size}")
    try:
        value = json.loads(body)
    except ValueError as e:
        raise BrokenFrameError(f"not JSON: {e}") from e
    if not isinstance(value, dict):
        raise BrokenFrameError("not a JSON object")
    return value
