"""Files that survive a kill and a full disk: whole or not there, one writer at a time.

Invariant: a reader sees the old text of a file or the new one, never a part; a leftover of a killed
writer carries a name that `is_leftover` knows, and the next write of the same file replaces it. What the
disk refuses is a MachineryFailure in one line, and leaves the old text. A rename comes after the data that
it brings is on the disk, so that losing power is no worse than being killed.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from bot.errors import MachineryFailure, UserMistake


class InUseError(UserMistake):
    """Another nightfuzz has it."""


def write_atomically(path: Path, text: str) -> None:
    """Replace `path` by `text`, making its folder if need be. One writer a path at a time."""
    aside = _write_aside(path, text.encode(), wait=True)
    with reaching(path):
        aside.replace(path)


class Batch:
    """Many files replaced together; use as a context, which does it when it is left without an error.

    All are written aside, then the disk is waited for once, then they are renamed in the order in which
    they came, and it is waited for again: thousands of files cost two waits instead of one each, and no
    new text stands in for an old one before it is on the disk. One writer a path at a time.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._asides: dict[Path, Path] = {}

    def write(self, path: Path, data: str | bytes) -> None:
        """Replace `path`, once the batch is done."""
        self._asides.pop(path, None)
        whole = data.encode() if isinstance(data, str) else data
        self._asides[path] = _write_aside(path, whole, wait=False)

    def __enter__(self) -> Batch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        if kind is not None:
            for aside in self._asides.values():
                _discard(aside)
        elif self._asides:
            with reaching(self.root):
                sync_disk(self.root)
            for path, aside in self._asides.items():
                with reaching(path):
                    aside.replace(path)
            with reaching(self.root):
                sync_disk(self.root)


def remove_folder(folder: Path) -> None:
    """Remove a folder and what is in it, at once for every reader."""
    aside = folder.with_name(f".{folder.name}.tmp")
    with reaching(folder):
        if aside.exists():
            shutil.rmtree(aside)
        folder.rename(aside)
        shutil.rmtree(aside)


def is_leftover(path: Path) -> bool:
    """Whether `path` is what a killed writer leaves."""
    return path.name.startswith(".") and path.name.endswith(".tmp")


@contextmanager
def reaching(path: Path) -> Iterator[None]:
    """What the disk refuses in here is a MachineryFailure about `path`, in one line."""
    try:
        yield
    except OSError as error:
        raise MachineryFailure(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, waiting for it; excludes threads and processes alike."""
    with reaching(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def owned(path: Path, what: str) -> Iterator[None]:
    """Hold the lock file `path` or refuse at once: `what` is in use by another nightfuzz."""
    with reaching(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise InUseError(f"{what} is in use by another nightfuzz (process {holder})") from None
        # Who holds it is for people to read, and the lock holds without: a full disk need not end here.
        with suppress(OSError):
            os.ftruncate(file.fileno(), 0)
            os.write(file.fileno(), f"{os.getpid()}\n".encode())
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


def sync_disk(folder: Path) -> None:
    """Wait until all that was written to the file system of `folder` is on the disk; OSError when it is
    not (syncfs(2), which the standard library lacks)."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
    finally:
        os.close(descriptor)


def utc_now() -> str:
    """The time, UTC, to the second, ISO 8601."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _write_aside(path: Path, data: bytes, *, wait: bool) -> Path:
    """The file beside `path` that has the data and waits to be renamed; `wait` until it is on the disk."""
    aside = path.parent / f".{path.name}.tmp"
    with reaching(path):
        try:
            descriptor = _create(aside)
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(descriptor, left) :]
                if wait:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError:
            _discard(aside)
            raise
    return aside


def _create(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o666)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, 0o666)


def _discard(aside: Path) -> None:
    """Take away what will not be renamed; where even that fails, `is_leftover` knows it."""
    with suppress(OSError):
        aside.unlink()
