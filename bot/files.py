"""Files that survive a kill: whole or not there, one writer at a time.

Invariant: a reader sees the old text of a file or the new one, never a part; a leftover of a killed
writer carries a name that `is_leftover` knows, and the next write of the same file replaces it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from bot.errors import UserMistake


class InUseError(UserMistake):
    """Another nightfuzz has it."""


def write_atomically(path: Path, text: str) -> None:
    """Replace `path` by `text`, making its folder if need be. One writer a path at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.tmp")
    with aside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


def is_leftover(path: Path) -> bool:
    """Whether `path` is what a killed `write_atomically` leaves."""
    return path.name.startswith(".") and path.name.endswith(".tmp")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, waiting for it; excludes threads and processes alike."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def owned(path: Path, what: str) -> Iterator[None]:
    """Hold the lock file `path` or refuse at once: `what` is in use by another nightfuzz."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise InUseError(f"{what} is in use by another nightfuzz (process {holder})") from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def check_writable(folder: Path) -> None:
    """Make `folder` and write a file in it, or say in one line why that cannot be."""
    probe = folder / ".writable.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise UserMistake(f"cannot write to the output folder {folder}: {error.strerror or error}") from error


def utc_now() -> str:
    """The time, UTC, to the second, ISO 8601."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
