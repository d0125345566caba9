"""Running a script in a fresh process of a build's interpreter, as a maintainer would who pastes it.

Invariant: stock settings and stock threads, nothing imported beforehand, and a private cache in which at
most the precompiled header lies, so that no run can be helped or spoilt by another. The process is the
child of a *cold* worker, which has imported nothing but the standard library: so the limits, the killing
and the reading of signals are those of every other run.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from bot.asking import Asker
from bot.confine import private_folder
from bot.target import Worker
from fuzzers.records import Build, Limits, Run

HEADERS = "tmp/torchinductor_*/precompiled_headers"
"""Where torch keeps its precompiled header below a folder of `bot.target.Worker`."""

FRESH_LIMITS = Limits(seconds=240.0, memory_mib=32768, output_kib=4096)
"""Importing and a first compile take 5 s, without a precompiled header 30, on a loaded machine thrice
that. Address space, not memory: each thread of a many-core machine reserves its own."""


def run(
    build: Build,
    script: str,
    *,
    headers: Path | None = None,
    limits: Limits = FRESH_LIMITS,
    backend: str | None = None,
    perturb: int | None = None,
) -> Run:
    """How `script` ends in a fresh process.

    `headers` is the folder of warm workers whose precompiled header is copied (None: build one, 20 s);
    `perturb` fills fresh memory with that byte (MALLOC_PERTURB_), which shows up uninitialised reads.
    """
    extra = {} if perturb is None else {"MALLOC_PERTURB_": str(perturb)}
    with private_folder() as folder:
        if headers is not None:
            copy_headers(headers, folder)
        with Worker(build, folder, cold=True, extra=extra) as worker:
            (run,) = Asker(worker, limits).runs([(script, backend)])
    return run


def copy_headers(source: Path, target: Path) -> None:
    """Copy the precompiled headers, and nothing else, from one worker's folder to another's."""
    for found in source.glob(HEADERS):
        shutil.copytree(found, target / found.relative_to(source), ignore=shutil.ignore_patterns("locks"))
