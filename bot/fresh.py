"""Running a script in a fresh process of a build's interpreter, as a maintainer would who pastes it.

Invariant: stock settings and stock threads, nothing imported beforehand, and a private cache in which at
most the precompiled header and the probes of the vector unit lie, so that no run can be helped or spoilt by
another: both are facts about the machine and the build, none about a program. The process is the child of a
*cold* worker, which has imported nothing but the standard library: so the limits, the killing and the
reading of signals are those of every other run.
"""

from __future__ import annotations

import os
import shutil
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.asking import Asker
from bot.confine import private_folder
from bot.target import Worker
from fuzzers.records import Build, Limits, Run

HEADERS = "tmp/torchinductor_*/precompiled_headers"
"""Where torch keeps its precompiled header below a folder of `bot.target.Worker`, and a fresh process below
its own all that it builds."""

PROBES = "inductor/??/*.cpp"
"""Where, among the kernels, a warm worker keeps the sources of torch's probes."""

PROBE_MARK = "_chk_kernel"
"""In the names of the functions that torch compiles and loads to see what the vector unit can do. Without the
precompiled header that takes twice as long as a kernel, and every fresh process would do it."""

ELF_START, ELF_TABLE = b"\x7fELF\x02", struct.Struct("<40xQ10xHH")
"""A 64-bit ELF file, and in its header the place, the entry size and the number of its section headers, which
the linker writes last."""

FRESH_LIMITS = Limits(seconds=240.0, memory_mib=32768, output_kib=4096)
"""Importing and a first compile take 5 s, without a precompiled header 30, on a loaded machine thrice
that. Address space, not memory: each thread of a many-core machine reserves its own."""


class Running:
    """Fresh processes that run side by side in several threads, so that any thread can end them all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: set[Worker] = set()
        self._closed = False

    @contextmanager
    def among(self, worker: Worker) -> Iterator[None]:
        """The worker is one of them in here; when they have been ended already, so is this one."""
        with self._lock:
            self._workers.add(worker)
            late = self._closed
        if late:
            worker.close()
        try:
            yield
        finally:
            with self._lock:
                self._workers.remove(worker)

    def close(self) -> None:
        """End them: calls that wait end, and those that are still to come are refused."""
        with self._lock:
            self._closed, workers = True, list(self._workers)
        for worker in workers:
            worker.close()


def run(
    build: Build,
    script: str,
    *,
    headers: Path | None = None,
    limits: Limits = FRESH_LIMITS,
    backend: str | None = None,
    perturb: int | None = None,
    running: Running | None = None,
) -> Run:
    """How `script` ends in a fresh process. MachineryFailure when `running`, to which it belongs, is closed.

    `headers` is the folder of warm workers whose precompiled header is used (None: build one, 20 s);
    `perturb` fills fresh memory with that byte (MALLOC_PERTURB_), which shows up uninitialised reads.
    """
    extra = {} if perturb is None else {"MALLOC_PERTURB_": str(perturb)}
    with private_folder() as folder:
        if headers is not None:
            carry_over(headers, folder)
        worker = Worker(build, folder, cold=True, extra=extra)
        with worker, (running or Running()).among(worker):
            (run,) = Asker(worker, limits).runs([(script, backend)])
    return run


def carry_over(source: Path, target: Path) -> None:
    """Put the precompiled headers and the probes, and nothing else, of one worker's folder into another's."""
    for found in source.glob(HEADERS):
        headers = target / found.relative_to(source)
        shutil.copytree(found, headers, ignore=shutil.ignore_patterns("locks"), copy_function=_share)
        for probe in probes(source):
            built = headers.parent / probe.parent.name / probe.name
            built.parent.mkdir(exist_ok=True)
            _share(probe, built)


def probes(source: Path) -> Iterator[Path]:
    """The probes that lie whole in a warm worker's folder: what the linker was stopped at would tell every
    fresh process that there is no vector unit."""
    for text in source.glob(PROBES):
        built = text.with_suffix(".so")
        if built.exists() and PROBE_MARK in text.read_text(errors="replace") and _is_whole(built):
            yield built


def _is_whole(library: Path) -> bool:
    with library.open("rb") as file:
        head = file.read(64)
    if len(head) < 64 or not head.startswith(ELF_START):
        return False
    table: tuple[int, int, int] = ELF_TABLE.unpack_from(head)
    place, size, number = table
    return 0 < place <= library.stat().st_size - size * number


def _share(source: str | Path, target: str | Path) -> None:
    """One file under two names, for it is large and nobody writes to it: a compiler that finds another header
    or flag makes another name. Across file systems, a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
