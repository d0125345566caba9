"""Pieces of one job, each in a process of its own that is forked from the job's.

Invariant: no piece sees what another did, except for the folder of the job: kernels that one has built the
next need not build. What a killed one may have left half built is thrown away before the next.
The reason for not asking for as many jobs: each has a folder of its own, and building takes most of the time.
To be called in a job's own process only: whatever else the process has started is killed with the piece.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

from fuzzers.records import Ending, Json, Limits, Run, encode
from fuzzers.worker.protocol import BrokenFrameError, pack, unpack
from fuzzers.worker.supervise import Watched, adopt_orphans, watch


def apart(work: Callable[[], Json], limits: Limits) -> Json:
    """What `work` returns; {"run"} with how its process ended when it did not live to return. Like every
    child, it has `limits.seconds` and `limits.output_kib`; its memory is what the job may use."""
    adopt_orphans()
    result_read, result_write = os.pipe()
    output_read, output_write = os.pipe()
    quiet_read, quiet_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _live(work, result_write, output_write)
    os.close(result_write)
    os.close(output_write)
    try:
        watched = watch(pid, result_read, output_read, limits, lambda: True, quiet_read)
    finally:
        for fd in (result_read, output_read, quiet_read, quiet_write):
            os.close(fd)
    return _result(watched)


def _live(work: Callable[[], Json], result_fd: int, output_fd: int) -> NoReturn:
    status = 1
    try:
        os.dup2(output_fd, 1)
        os.dup2(output_fd, 2)
        view = memoryview(pack(work()))
        sys.stdout.flush()
        sys.stderr.flush()
        while view:
            view = view[os.write(result_fd, view) :]
        status = 0
    except BaseException:  # noqa: BLE001
        # Anything at all must end in _exit: returning would run the job's code a second time.
        traceback.print_exc()
    finally:
        os._exit(status)


def _result(watched: Watched) -> Json:
    try:
        frame = unpack(watched.frame)
    except BrokenFrameError:
        frame = None
    if frame is not None and not watched.timed_out and not watched.flooded:
        return frame
    kernels = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if kernels:
        shutil.rmtree(kernels, ignore_errors=True)
    return {"run": encode(_ended(watched))}


def _ended(watched: Watched) -> Run:
    if watched.timed_out:
        return Run(Ending.TIMEOUT, log=watched.log, seconds=watched.seconds)
    if watched.flooded or not os.WIFSIGNALED(watched.status):
        reason = "too much output" if watched.flooded else "its process ended without a result"
        return Run(Ending.CANNOT_RUN, log=watched.log, seconds=watched.seconds, reason=reason)
    name = signal.Signals(os.WTERMSIG(watched.status)).name
    return Run(Ending.SIGNAL, signal=name, log=watched.log, seconds=watched.seconds)
