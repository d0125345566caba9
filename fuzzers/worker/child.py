"""What a forked child does: put itself under its limits, run one job, send the result, and be gone.

Invariant: a child never returns into the server's code and never outlives the worker; whatever a job
raises becomes data in its result frame. The reason for `_exit`: interpreter shutdown after a compiler
bug may hang or crash, and that would be blamed on the candidate.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import signal
import sys
import tempfile
import traceback
from dataclasses import dataclass
from typing import NoReturn

from fuzzers.records import Json
from fuzzers.worker.jobs import JOBS, Context
from fuzzers.worker.protocol import BrokenFrameError, Request, failure, pack
from fuzzers.worker.supervise import STACK_SIGNAL

PR_SET_PDEATHSIG = 1
FILE_BYTES = 4 * 1024**3
"""Largest file a child may write: a precompiled header is some hundred megabytes."""


@dataclass(frozen=True)
class Place:
    """Where a child runs: the write ends of its pipes, its own temporary folder (None: keep the worker's),
    the descriptors that belong to the server alone, and the worker's pid and address space in bytes."""

    result_fd: int
    output_fd: int
    folder: str | None
    server_fds: tuple[int, ...]
    worker: int
    worker_bytes: int


def live(request: Request, place: Place) -> NoReturn:
    """The whole life of a child, from just after the fork."""
    status = 1
    try:
        _confine(request, place)
        _send(place.result_fd, _run(request))
        status = 0
    except BaseException:  # noqa: BLE001
        # Anything at all must end in _exit: returning would run the server's code a second time.
        traceback.print_exc()
    finally:
        os._exit(status)


def _confine(request: Request, place: Place) -> None:
    os.setpgid(0, 0)
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != place.worker:
        os._exit(1)  # the worker died before the line above
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(place.output_fd, 1)
    os.dup2(place.output_fd, 2)
    for fd in (nothing, place.output_fd, *place.server_fds):
        os.close(fd)
    sys.stdout = os.fdopen(1, "w", buffering=1, errors="backslashreplace", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    faulthandler.enable()
    faulthandler.register(STACK_SIGNAL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if place.folder is not None:
        # The precompiled header's folder was fixed when the framework was imported, so it stays shared.
        os.environ["TMPDIR"] = tempfile.tempdir = place.folder
        # Kernels are built in place: what a killed child left half written would fail in the next one.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{place.folder}/inductor"
        os.chdir(place.folder)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    if request.limits.memory_mib:
        most = place.worker_bytes + request.limits.memory_mib * 1024**2
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _run(request: Request) -> bytes:
    try:
        value = JOBS[request.job](request.args, Context(journal=request.journal))
        return pack({"value": value})
    except BrokenFrameError as e:
        return pack({"error": failure("BrokenFrame", str(e))})
    except BaseException as e:  # noqa: BLE001
        # The job's own failure, whatever it is, is data for the controller.
        return pack({"error": _describe(e)})


def _describe(error: BaseException) -> Json:
    text = "".join(traceback.format_exception(error))
    return failure(type(error).__name__, str(error)[:4096], text[-16384:])


def _send(fd: int, frame: bytes) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    view = memoryview(frame)
    while view:
        view = view[os.write(fd, view) :]
