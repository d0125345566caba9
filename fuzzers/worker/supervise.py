"""Watching one child from the worker: its output, its result, its end, the clock, and the controller.

Invariant: when `watch` returns or raises, the child and every process it started are dead and reaped.
The worker is a child subreaper, so a compiler process that left the child's group is found as well.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fuzzers.records import Limits
from fuzzers.worker.protocol import FRAME_CAP

PR_SET_CHILD_SUBREAPER = 36
LOG_TAIL = 16 * 1024
"""Bytes of a child's output that go into the reply: a traceback through the compiler is 5 to 10 kB."""

STACK_SIGNAL = signal.SIGUSR1
"""Asks a child for its Python stack, which tells one hang from another."""
STACK_SECONDS = 0.5

_CHUNK = 1 << 16


@dataclass(frozen=True)
class Watched:
    """How a child ended: its wait status, its frame, the tail of its output, and which limit it broke."""

    status: int
    frame: bytes
    log: str
    seconds: float
    timed_out: bool
    flooded: bool


class ControllerGoneError(Exception):
    """The controller closed its pipe or died: there is nobody to answer."""


def adopt_orphans() -> None:
    """Make this process the one that orphaned descendants are handed to."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def watch(
    pid: int, frame_fd: int, output_fd: int, limits: Limits, control: Callable[[], bool], fd: int
) -> Watched:
    """Wait for child `pid`, reading both its pipes, and kill it at a limit.

    `control` is called when `fd`, the controller's pipe, has something; it returns False when the
    controller is gone, and ControllerGoneError is raised once the child is dead.
    """
    began = time.monotonic()
    deadline = began + limits.seconds
    frame, tail, written = bytearray(), bytearray(), 0
    timed_out = flooded = ended = False
    for pipe in (frame_fd, output_fd):
        os.set_blocking(pipe, False)
    pidfd = os.pidfd_open(pid)
    poll = select.poll()
    for source in (pidfd, frame_fd, output_fd, fd):
        poll.register(source, select.POLLIN)
    try:
        while not (ended or timed_out or flooded):
            ready = {source for source, _ in poll.poll(max(0.0, deadline - time.monotonic()) * 1000)}
            ended = pidfd in ready
            if fd in ready and not control():
                raise ControllerGoneError
            for pipe, into in ((frame_fd, frame), (output_fd, tail)):
                if pipe in ready and not _read(pipe, into):
                    poll.unregister(pipe)
            written += _trim(tail)
            flooded = written + len(tail) > limits.output_kib * 1024
            if len(frame) > FRAME_CAP + _CHUNK:
                break
            timed_out = not ended and time.monotonic() >= deadline
        if timed_out:
            os.kill(pid, STACK_SIGNAL)
            time.sleep(STACK_SECONDS)
        if ended or timed_out:
            _drain(frame_fd, frame)
            _drain(output_fd, tail)
        seconds = time.monotonic() - began
    finally:
        os.close(pidfd)
        status = end(pid)
    return Watched(
        status, bytes(frame), tail[-LOG_TAIL:].decode(errors="replace"), seconds, timed_out, flooded
    )


def end(pid: int) -> int:
    """Kill the child, its group and whatever it left elsewhere; the child's own wait status."""
    os.kill(
        pid, signal.SIGKILL
    )  # alone, should its group not exist yet; it is not reaped, so the pid is its own
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    while strays := _children():
        for stray in strays:
            with suppress(ProcessLookupError):
                os.kill(stray, signal.SIGKILL)
        for stray in strays:
            with suppress(ChildProcessError):
                os.waitpid(stray, 0)
    return status


def _children() -> list[int]:
    me = os.getpid()
    return [int(p) for p in Path(f"/proc/{me}/task/{me}/children").read_text().split()]


def _read(fd: int, into: bytearray) -> bool:
    """Append what is there; False at the end of the pipe."""
    try:
        data = os.read(fd, _CHUNK)
    except BlockingIOError:
        return True
    into += data
    return bool(data)


def _drain(fd: int, into: bytearray) -> None:
    """Append all that is left; a stray may still hold the other end, so never wait for the end."""
    with suppress(BlockingIOError):
        while data := os.read(fd, _CHUNK):
            into += data
            if len(into) > FRAME_CAP + _CHUNK:
                return


def _trim(tail: bytearray) -> int:
    """Drop what is too old to be shown; how many bytes that was."""
    extra = max(0, len(tail) - 2 * LOG_TAIL)
    del tail[:extra]
    return extra
