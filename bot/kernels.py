"""Asking a worker about kernels: the controller's side of Dirigo.

Invariant: a check always ends in a report. A child that dies, runs out of time or out of memory while it ran
foreign code is `unknown` with that reason.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot import wire
from bot.confine import private_folder
from bot.errors import MachineryFailure, UserMistake
from bot.target import Pool, probe
from fuzzers.dirigo.verdict import Report, unknown
from fuzzers.records import Build, Ending, Json, Limits

SECONDS = 60.0
LOCATIONS = 8
MEMORY_MIB = 2048
"""Of one kernel."""
GRACE = 5.0
"""Seconds that a child has beyond its own limit, to say that it ran out."""
LARGEST = 4 * 2**20
"""Bytes of a source."""


@dataclass(frozen=True)
class Pair:
    """A kernel's file and its reference's."""

    name: str
    kernel: Path
    reference: Path


@contextmanager
def checkers(interpreter: Path | None, jobs: int, *, cold: bool = False) -> Iterator[Pool]:
    """Workers that check kernels. Cold ones start at once and import torch for each kernel."""
    build: Build = probe(interpreter or sys.executable)
    with private_folder() as folder, Pool(build, jobs, folder, cold=cold) as pool:
        yield pool


def readable(path: Path, what: str) -> Path:
    """A source that can be read. UserMistake in one line."""
    if not path.is_file():
        raise UserMistake(f"{path}: there is no such {what}")
    if path.stat().st_size > LARGEST:
        raise UserMistake(f"{path}: a {what} of more than {LARGEST >> 20} MiB")
    try:
        path.read_text()
    except UnicodeDecodeError:
        raise UserMistake(f"{path} is no text, so no {what}") from None
    return path.resolve()


def check(pool: Pool, pair: Pair, locations: int = LOCATIONS, seconds: float = SECONDS) -> Report:
    """One kernel."""
    args: Json = {
        "kernel": str(pair.kernel),
        "reference": str(pair.reference),
        "locations": locations,
        "seconds": seconds,
    }
    limits = Limits(seconds=seconds + GRACE, memory_mib=MEMORY_MIB)
    reply = pool.call("dirigo.check", args, limits)
    if reply.ended is Ending.OK:
        try:
            return wire.convert(Report, reply.value)
        except wire.UnreadableError as error:
            raise MachineryFailure(f"a worker's report cannot be read: {error}") from error
    if reply.ended is Ending.TIMEOUT:
        return unknown("time: the limit of a kernel")
    if reply.ended is Ending.SIGNAL:
        return unknown(f"died: {reply.signal}")
    told = reply.error or {}
    if told.get("type") in ("MemoryError", "_ArrayMemoryError"):
        return unknown("memory: the limit of a kernel")
    raise MachineryFailure(f"the check failed in itself: {told.get('type')}: {told.get('message')}")


REFERENCES = ("reference.py", "ref.py")
KERNELS = ("kernel.cu", "kernel.py", "custom.py", "model_new.py")


def pairs(folder: Path) -> list[Pair]:
    """The pairs of a corpus: folders that hold a reference and a kernel each, or files NAME.cu or NAME.py
    beside NAME_ref.py. UserMistake where there is none."""
    if not folder.is_dir():
        raise UserMistake(f"{folder}: there is no such folder")
    found = []
    for place in sorted({path.parent for path in folder.rglob("*.py")}):
        for reference in sorted(place.glob("*.py")):
            if reference.name in REFERENCES:
                found += [
                    Pair(str(place.relative_to(folder)), place / name, reference)
                    for name in KERNELS
                    if (place / name).is_file()
                ][:1]
            elif stem := re.fullmatch(r"(.+)_ref\.py", reference.name):
                kernels = [place / f"{stem[1]}{ending}" for ending in (".cu", ".py")]
                name = str((place / stem[1]).relative_to(folder))
                found += [Pair(name, kernel, reference) for kernel in kernels if kernel.is_file()][:1]
    if not found:
        raise UserMistake(
            f"{folder}: no pair: a folder with {KERNELS[0]} or {KERNELS[1]} and {REFERENCES[0]}"
        )
    return found


def check_all(
    pool: Pool, corpus: Sequence[Pair], locations: int, seconds: float
) -> list[tuple[Pair, Report, float]]:
    """Every pair with its report and the seconds that it took, as many at a time as there are workers."""

    def one(pair: Pair) -> tuple[Pair, Report, float]:
        began = time.monotonic()
        return pair, check(pool, pair, locations, seconds), time.monotonic() - began

    with ThreadPoolExecutor(pool.size) as threads:
        return list(threads.map(one, corpus))
