"""What this machine has of what nightfuzz needs, and the line that gets what is missing.

Invariant: looks only; installs nothing, contacts nobody.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from bot.errors import NightfuzzError
from bot.memory import available_mib, cores
from bot.target import probe

FREE_GIB = 4.0
"""A precompiled header takes half a gibibyte, a day's kernels one or two."""
CACHE_GIB = 12.0
"""The largest environment, torch for CUDA, takes six gibibytes; its wheel is beside it while it is made."""
MEMORY_GIB_A_WORKER = 1.5
"""A worker with torch takes 0.4 GiB, a compile in its child as much again, g++ the rest."""


class Standing(StrEnum):
    """What a check says."""

    OK = "ok"
    MISSING = "missing"
    """`run` does not work without it."""
    NOTE = "note"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at; `remedy` is the line that puts it right."""

    name: str
    standing: Standing
    found: str
    remedy: str = ""


def examine(interpreter: Path, out: Path, cache: Path) -> list[Check]:
    """All checks, for this interpreter as the target, this output folder, and this folder of environments."""
    return [
        _python(),
        _system(),
        _compiler(),
        *_frameworks(interpreter),
        _disk(out),
        _cache(cache),
        _memory(),
    ]


def _python() -> Check:
    # An older one cannot import this module.
    return Check("python", Standing.OK, f"{platform.python_version()} at {sys.executable}")


def _system() -> Check:
    found = f"{platform.system()} {platform.release()}, {platform.machine()}"
    if sys.platform == "linux":
        return Check("system", Standing.OK, found)
    return Check("system", Standing.MISSING, found, "nightfuzz runs on Linux only: forks, signals, /proc")


def _compiler() -> Check:
    for name in filter(None, (os.environ.get("CXX"), "g++", "clang++")):
        path = shutil.which(name)
        if path is None:
            continue
        told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=60)
        if told.returncode == 0:
            return Check("compiler", Standing.OK, told.stdout.partition("\n")[0])
    return Check("compiler", Standing.MISSING, "no C++ compiler", "apt-get install g++")


def _frameworks(interpreter: Path) -> Iterator[Check]:
    try:
        build = probe(interpreter)
        yield Check("torch", Standing.OK, f"{build.version} ({build.variant}, {build.git_sha[:12]})")
    except NightfuzzError as error:
        yield Check("torch", Standing.MISSING, str(error), f"{interpreter} -m pip install torch")
    asked = "import importlib.metadata as m; print(m.version('mindspore'))"
    try:
        told = subprocess.run(
            [str(interpreter), "-c", asked], capture_output=True, text=True, check=False, timeout=60
        )
    except OSError:
        return
    if told.returncode == 0:
        yield Check("mindspore", Standing.OK, told.stdout.strip())
    else:
        yield Check("mindspore", Standing.NOTE, "not installed; no engine needs it yet")


def _free_gib(folder: Path) -> float:
    """Free space where `folder` is, or will be."""
    there = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists())
    return shutil.disk_usage(there).free / 2**30


def _disk(out: Path) -> Check:
    free = _free_gib(out)
    found = f"{free:.1f} GiB free for {out}"
    if free >= FREE_GIB:
        return Check("disk", Standing.OK, found)
    return Check("disk", Standing.MISSING, found, f"free {FREE_GIB:g} GiB, or name another --out")


def _cache(cache: Path) -> Check:
    free = _free_gib(cache)
    found = f"{free:.1f} GiB free for environments in {cache}"
    if free >= CACHE_GIB:
        return Check("cache", Standing.OK, found)
    remedy = f"builds other than the installed one may need {CACHE_GIB:g} GiB; name another --cache"
    return Check("cache", Standing.NOTE, found, remedy)


def _memory() -> Check:
    free, most = available_mib() / 1024, cores()
    fitting = int(free / MEMORY_GIB_A_WORKER)
    found = f"{free:.1f} GiB available, {most} cores"
    if fitting >= most:
        return Check("memory", Standing.OK, found)
    if fitting >= 1:
        return Check("memory", Standing.NOTE, found, f"use --workers {fitting}")
    return Check("memory", Standing.MISSING, found, f"free {MEMORY_GIB_A_WORKER:g} GiB")
