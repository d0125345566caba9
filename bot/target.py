"""The controller's side of a target: finding out what an interpreter has, and driving its workers.

Invariant: a call always ends, by the worker's reply or by its death, which is answered for by a reply
too; and when a worker is gone so is every process of its session.
"""

from __future__ import annotations

import itertools
import json
import os
import selectors
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import LifoQueue
from types import TracebackType
from typing import TypeAlias

from bot import wire
from bot.confine import FLAGS, environment, kill_session, private_folder
from bot.errors import MachineryFailure, UserMistake
from fuzzers import framework
from fuzzers.records import Build, Ending, Json, Limits
from fuzzers.worker.protocol import Reply, Request, failure

PROBE_SECONDS = 120.0
START_SECONDS = 300.0
"""Importing, and building the precompiled header while other workers wait for it on a loaded machine."""
GRACE_SECONDS = 10.0
"""How much later than its limit a worker may answer: killing and cleaning up after a child."""
START_ATTEMPTS = 2
WORKER_DIED = "WorkerDied"
"""Type in the `error` of a reply that stands in for a worker's own."""

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
"""A campaign runs one worker a core; see `fuzzers.worker.warmup` for why threads break forking."""

_serial = itertools.count()
_CHUNK = 1 << 16

Question: TypeAlias = tuple[str, Json]
"""A job's name and its arguments."""


def probe(interpreter: str | Path, name: str = "torch") -> Build:
    """What build of a framework an interpreter has. UserMistake when there is no such interpreter or no such
    framework in it; MachineryFailure when it does not answer."""
    path = shutil.which(str(interpreter))
    if path is None:
        raise UserMistake(f"there is no interpreter at {interpreter}")
    path = str(Path(path).absolute())
    with private_folder() as folder:
        command = [path, *FLAGS, "-m", "fuzzers.worker.identity"]
        try:
            done = subprocess.run(
                command, env=environment(folder, **{framework.VARIABLE: name}), cwd=folder,
                capture_output=True, text=True,
                errors="replace", stdin=subprocess.DEVNULL, timeout=PROBE_SECONDS, check=False,
            )  # fmt: skip
        except OSError as e:
            raise UserMistake(f"{interpreter} cannot be run: {e.strerror}") from e
        except subprocess.TimeoutExpired as e:
            raise MachineryFailure(f"{interpreter} did not import {name} within {PROBE_SECONDS:g} s") from e
    last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    if f"No module named '{name}'" in last:
        raise UserMistake(f"{interpreter} has no {name}; install it there, or name another interpreter")
    try:
        data = json.loads(done.stdout)
    except ValueError:
        raise UserMistake(f"{interpreter} is no Python with a {name} that can be imported: {last}") from None
    try:
        return wire.convert(Build, data)
    except wire.UnreadableError as e:
        raise UserMistake(f"{interpreter} is no Python with a {name} that can be imported: {e}") from e


class Worker:
    """One worker process. Started by the first call and again by the first call after a death.

    `folder` holds what workers of one campaign share (`tmp` with the precompiled header, `inductor` with
    the kernels). `cold` serves without importing the framework or changing a setting (see `bot.fresh`);
    `extra` adds or replaces variables of its environment.
    Calls from several threads take turns; any thread may `close`.
    """

    size = 1

    def __init__(
        self, build: Build, folder: Path, *, cold: bool = False, extra: dict[str, str] | None = None
    ) -> None:
        self.build, self.folder, self.cold = build, folder.resolve(), cold
        self.starts = 0
        self._extra = dict(extra or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._received = b""
        self._next = 0
        self._closed = False
        self._calling = threading.Lock()
        self._log_path = self.folder / f"worker-{os.getpid()}-{next(_serial)}.log"

    @property
    def restarts(self) -> int:
        """How often the worker had to be started again."""
        return max(0, self.starts - 1)

    @property
    def pid(self) -> int | None:
        """The running worker's process id."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the process, unless it runs, and wait until it answers. MachineryFailure when it does not."""
        with self._calling:
            self._start()

    def _start(self) -> None:
        if self._process is not None:
            return
        for attempt in range(1, START_ATTEMPTS + 1):
            self._spawn()
            reply = self._exchange(Request(0, "hello"), START_SECONDS)
            if reply.ended is Ending.OK:
                return
            self._kill()
            if self._closed:
                raise MachineryFailure("the worker was closed while it started")
            if attempt == START_ATTEMPTS:
                told = (reply.error or {}).get("message", "")
                raise MachineryFailure(
                    f"a worker for {self.build.name} does not start: {told}\n{self._log()}"
                )

    def call(self, job: str, args: Json, limits: Limits | None = None, journal: Path | None = None) -> Reply:
        """Run one job in a child. A worker that dies, or is silent beyond the time limit and the grace,
        is killed with all its processes and answered for by a reply that ended by SIGKILL.
        MachineryFailure when the worker is closed or does not start."""
        with self._calling:
            if self._closed:
                raise MachineryFailure("the worker is closed")
            self._start()
            limits = limits or Limits()
            self._next += 1
            request = Request(self._next, job, args, limits, str(journal.resolve()) if journal else None)
            reply = self._exchange(request, limits.seconds + GRACE_SECONDS)
            if (reply.error or {}).get("type") == WORKER_DIED:
                self._kill()
            return reply

    def map(self, questions: Sequence[Question], limits: Limits | None = None) -> list[Reply]:
        """The replies to (job, arguments) pairs, one after the other: a pool of one."""
        return [self.call(job, args, limits) for job, args in questions]

    def close(self) -> None:
        """End the worker and everything it started. A call that waits in another thread ends."""
        self._closed = True
        while not self._calling.acquire(timeout=0.05):
            if (process := self._process) is not None:
                kill_session(process.pid)
        self._kill()
        self._calling.release()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def _spawn(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [self.build.interpreter, *FLAGS, "-m", "fuzzers.worker"]
        settings = (
            {} if self.cold else dict(ONE_THREAD, TORCHINDUCTOR_CACHE_DIR=str(self.folder / "inductor"))
        )
        settings[framework.VARIABLE] = self.build.framework
        env = environment(self.folder, **settings, **self._extra)
        with self._log_path.open("wb") as log:
            try:
                self._process = subprocess.Popen(
                    [*command, "--cold"] if self.cold else command,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                    env=env, cwd=self.folder, start_new_session=True, bufsize=0,
                )  # fmt: skip
            except OSError as e:
                raise MachineryFailure(f"cannot start {self.build.interpreter}: {e.strerror}") from e
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        self.starts += 1
        self._received = b""

    def _exchange(self, request: Request, seconds: float) -> Reply:
        """Send a request and wait for its reply; a death, a silence or nonsense becomes one."""
        began = time.monotonic()
        try:
            line = self._send_and_receive(request.line(), began + seconds)
            reply = Reply.parse(line)
        except TimeoutError:
            return _died(request, began, f"no reply within {seconds:g} s")
        except (BrokenPipeError, ConnectionResetError, EOFError):
            return _died(request, began, "the worker ended")
        except (ValueError, KeyError, TypeError) as e:
            return _died(request, began, f"the worker's reply cannot be read: {e}")
        if reply.id != request.id:
            return _died(request, began, f"the worker answered request {reply.id} instead of {request.id}")
        return reply

    def _send_and_receive(self, message: bytes, deadline: float) -> bytes:
        """Neither side of this blocks: a stopped worker takes no more than a pipe's worth of a request."""
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        sink, source = process.stdin.fileno(), process.stdout.fileno()
        unsent = memoryview(message)
        with selectors.DefaultSelector() as selector:
            selector.register(source, selectors.EVENT_READ)
            selector.register(sink, selectors.EVENT_WRITE)
            while b"\n" not in self._received:
                ready = {key.fd for key, _ in selector.select(max(0.0, deadline - time.monotonic()))}
                if not ready and time.monotonic() >= deadline:
                    raise TimeoutError
                if sink in ready:
                    unsent = unsent[os.write(sink, unsent[:_CHUNK]) :]
                    if not unsent:
                        selector.unregister(sink)
                if source in ready:
                    data = os.read(source, _CHUNK)
                    if not data:
                        raise EOFError
                    self._received += data
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        kill_session(process.pid)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        for left in (self.folder / "tmp").glob(f"job-{process.pid}-*"):
            shutil.rmtree(left, ignore_errors=True)

    def _log(self) -> str:
        return self._log_path.read_text(errors="replace")[-2000:]


def _died(request: Request, began: float, why: str) -> Reply:
    seconds = time.monotonic() - began
    return Reply(
        request.id, Ending.SIGNAL, signal="SIGKILL", error=failure(WORKER_DIED, why), seconds=seconds
    )


class Pool:
    """`size` workers on one build, sharing a folder. Usable from any number of threads; each worker does
    one job at a time. `with` starts all workers at once and ends them. Cold ones import no framework."""

    def __init__(
        self,
        build: Build,
        size: int,
        folder: Path,
        *,
        cold: bool = False,
        extra: dict[str, str] | None = None,
    ) -> None:
        self.build, self.size, self.folder = build, size, folder
        self._workers = [Worker(build, folder, cold=cold, extra=extra) for _ in range(size)]
        self._idle: LifoQueue[Worker] = LifoQueue()

    @property
    def restarts(self) -> int:
        """How often a worker had to be started again."""
        return sum(w.restarts for w in self._workers)

    @property
    def pids(self) -> list[int]:
        """The running workers' process ids."""
        return [w.pid for w in self._workers if w.pid is not None]

    def __enter__(self) -> Pool:
        threads = ThreadPoolExecutor(self.size)
        try:
            list(threads.map(Worker.start, self._workers))
        except BaseException:
            self.close()
            raise
        finally:
            threads.shutdown()
        for worker in self._workers:
            self._idle.put(worker)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all workers; calls that wait in other threads end."""
        for worker in self._workers:
            worker.close()

    @contextmanager
    def borrow(self) -> Iterator[Worker]:
        """An idle worker, waiting for one if need be."""
        worker = self._idle.get()
        try:
            yield worker
        finally:
            self._idle.put(worker)

    def call(self, job: str, args: Json, limits: Limits | None = None, journal: Path | None = None) -> Reply:
        """`Worker.call` on whichever worker is idle."""
        with self.borrow() as worker:
            return worker.call(job, args, limits, journal)

    def map(self, questions: Sequence[Question], limits: Limits | None = None) -> list[Reply]:
        """The replies to (job, arguments) pairs in their order, `size` at a time."""
        with ThreadPoolExecutor(self.size) as threads:
            return list(threads.map(lambda q: self.call(q[0], q[1], limits), questions))
