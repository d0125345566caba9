"""The packages from npm that tests run against, installed once a user.

Invariant: a folder that is there is whole: it is made aside and renamed. Where node or the registry cannot
be had a test is skipped, and the reason says which.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

WANTED = Path(__file__).parent / "package.json"
OLDEST_NODE = 20
INSTALL_SECONDS = 300


@cache
def node_modules(wanted: Path = WANTED, *flags: str) -> Path:
    """Where the packages of a package.json are; `flags` are for npm. Skips where they cannot be had."""
    if why := missing():
        pytest.skip(why)
    digest = hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nightfuzz-rig"
    place = cached / digest
    cached.mkdir(parents=True, exist_ok=True)
    with (cached / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.is_dir():
            _install(wanted, flags, cached, place)
    return place / "node_modules"


def missing() -> str:
    """What this machine lacks for the rig; empty when nothing."""
    if not shutil.which("node") or not shutil.which("npm"):
        return "node and npm are not installed"
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if int(told.strip().lstrip("v").split(".")[0]) < OLDEST_NODE:
        return f"node {told.strip()} is older than {OLDEST_NODE}"
    return ""


def _install(wanted: Path, flags: tuple[str, ...], cached: Path, place: Path) -> None:
    with tempfile.TemporaryDirectory(dir=cached) as folder:
        shutil.copy(wanted, Path(folder) / "package.json")
        quiet = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"]
        done = subprocess.run(
            ["npm", "install", *quiet, *flags],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"npm cannot install the rig's packages: {done.stderr.strip()[-200:]}")
        made = Path(folder) / "whole"
        made.mkdir()
        (Path(folder) / "node_modules").rename(made / "node_modules")
        made.rename(place)
