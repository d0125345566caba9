"""The worker's loop: read a request, fork, watch, reply.

Invariant: one thread, one child at a time, one reply a request, in order. One thread, because a child's
parent-death signal follows the *thread* that forked it, and because a fork copies only one.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from fuzzers.records import Build, Ending, Json, encode
from fuzzers.worker.child import Place, live
from fuzzers.worker.jobs import JOBS
from fuzzers.worker.protocol import FRAME_CAP, BrokenFrameError, Reply, Request, failure, unpack
from fuzzers.worker.supervise import ControllerGoneError, Watched, adopt_orphans, watch

NO_MEMORY = "std::bad_alloc"
"""What the C++ runtime prints as it aborts for lack of memory: our limit's doing, not a bug's."""


@dataclass
class Server:
    """Answers requests read from `source` on `sink` until the controller closes its end.

    `build` is what `hello` tells; `folders` gives each child a temporary folder of its own.
    """

    source: int
    sink: int
    build: Build | None
    folders: bool = True
    _pending: bytearray = field(default_factory=bytearray)

    def serve(self) -> None:
        """Return when the controller is gone."""
        adopt_orphans()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            while (line := self._line()) is not None:
                self._send(self._answer(Request.parse(line)))
        except (ControllerGoneError, BrokenPipeError):
            return

    def _answer(self, request: Request) -> Reply:
        if request.job == "hello":
            return Reply(request.id, Ending.OK, self._hello())
        if request.job not in JOBS:
            return Reply(request.id, Ending.EXCEPTION, error=failure("KeyError", f"no job {request.job!r}"))
        began = time.monotonic()
        folder = tempfile.mkdtemp(prefix=f"job-{os.getpid()}-") if self.folders else None
        try:
            return self._fork(request, folder)
        except OSError as e:
            error = failure(type(e).__name__, str(e))
            return Reply(request.id, Ending.CANNOT_RUN, error=error, seconds=time.monotonic() - began)
        finally:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)

    def _hello(self) -> Json:
        return {"build": encode(self.build) if self.build else None, "pid": os.getpid()}

    def _fork(self, request: Request, folder: str | None) -> Reply:
        frame_read, frame_write = os.pipe()
        output_read, output_write = os.pipe()
        size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        server_fds = (self.source, self.sink, frame_read, output_read)
        place = Place(frame_write, output_write, folder, server_fds, os.getpid(), size)
        pid = os.fork()
        if pid == 0:
            live(request, place)
        with suppress(OSError):
            os.setpgid(pid, pid)  # the child does the same: whoever is first
        os.close(frame_write)
        os.close(output_write)
        try:
            watched = watch(pid, frame_read, output_read, request.limits, self._listen, self.source)
        finally:
            os.close(frame_read)
            os.close(output_read)
        return read(request, watched)

    def _line(self) -> bytes | None:
        """The next request; None when the controller closed its end."""
        while b"\n" not in self._pending:
            if not self._listen():
                return None
        line, _, rest = bytes(self._pending).partition(b"\n")
        self._pending = bytearray(rest)
        return line

    def _listen(self) -> bool:
        data = os.read(self.source, 1 << 16)
        self._pending += data
        return bool(data)

    def _send(self, reply: Reply) -> None:
        view = memoryview(reply.line())
        while view:
            view = view[os.write(self.sink, view) :]


def read(request: Request, watched: Watched) -> Reply:
    """What the end of a child means."""

    def reply(
        ended: Ending, value: object = None, name: str = "", error: tuple[str, str] | None = None
    ) -> Reply:
        problem = failure(*error) if error else None
        return Reply(request.id, ended, value, name, problem, watched.log, watched.seconds)

    limits = request.limits
    if watched.timed_out:
        return reply(Ending.TIMEOUT, error=("TimeLimit", f"more than {limits.seconds:g} s"))
    if watched.flooded:
        return reply(Ending.CANNOT_RUN, error=("OutputLimit", f"more than {limits.output_kib} KiB of output"))
    if len(watched.frame) > FRAME_CAP:
        return reply(Ending.CANNOT_RUN, error=("BrokenFrame", f"a result of more than {FRAME_CAP} bytes"))
    try:
        frame = unpack(watched.frame)
    except BrokenFrameError as e:
        if not os.WIFSIGNALED(watched.status):
            # Our own code writes whole frames, so what ran in the child has written to all it could find.
            return reply(Ending.CANNOT_RUN, error=("BrokenFrame", str(e)))
        frame = None
    if frame is not None:
        problem = frame.get("error")
        ended = Ending.EXCEPTION if problem else Ending.OK
        return Reply(request.id, ended, frame.get("value"), "", problem, watched.log, watched.seconds)
    if os.WIFSIGNALED(watched.status):
        if os.WTERMSIG(watched.status) == signal.SIGABRT and NO_MEMORY in watched.log:
            return reply(Ending.CANNOT_RUN, error=("MemoryLimit", "out of memory"))
        return reply(Ending.SIGNAL, name=signal.Signals(os.WTERMSIG(watched.status)).name)
    code = os.waitstatus_to_exitcode(watched.status)
    return reply(Ending.CANNOT_RUN, error=("NoResult", f"the child exited with status {code} and no result"))
