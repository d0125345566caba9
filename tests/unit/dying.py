"""Dying at the n-th change of the disk, for every n, and a disk that is full.

What it does to the process under test is what kill -9 does: the change that it dies at does not happen (a
write: half of it does), and nothing after it does either, clean-up included.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

CHANGES = ("write", "fsync", "replace", "rename", "unlink", "rmdir", "mkdir")
"""The functions of `os` through which everything in `bot` changes the disk."""


class KilledError(BaseException):
    """The process is dead."""


@contextmanager
def dying_at(change: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """The process dies at its n-th change of the disk. Gives how many there have been."""
    lock, count = threading.Lock(), [0]

    def deadly(name: str) -> Callable[..., Any]:
        really = getattr(os, name)

        def changing(*args: Any, **kwargs: Any) -> Any:
            with lock:
                count[0] += 1
                if count[0] == change and name == "write":
                    descriptor, data = args
                    really(descriptor, data[: len(data) // 2])
                if count[0] >= change:
                    raise KilledError
                return None if name == "fsync" else really(*args, **kwargs)

        return changing

    with monkeypatch.context() as patch:
        for name in CHANGES:
            patch.setattr(os, name, deadly(name))
        # Waiting for the disk changes nothing that a killed process could lose.
        patch.setattr("bot.files.sync_disk", lambda folder: os.fsync(-1))
        yield lambda: count[0]


def deaths(
    root: Path,
    prepare: Callable[[Path], None],
    act: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
    most: int = 2000,
) -> Iterator[Path]:
    """Prepare a folder below `root` and act on it, dying at the n-th change, for n from 1 until it
    survives; gives each folder that a death has left."""
    for change in range(1, most):
        folder = root / f"dies-{change}"
        prepare(folder)
        with dying_at(change, monkeypatch) as count:
            with suppress(KilledError):
                act(folder)
            if count() < change:
                return
        yield folder
    pytest.fail(f"still dying after {most} changes")


@contextmanager
def full_at(change: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """The disk is full from the n-th write on: half of that write fits. Gives how many there have been."""
    count, really = [0], os.write

    def writing(descriptor: int, data: bytes) -> int:
        count[0] += 1
        if count[0] < change:
            return really(descriptor, data)
        if count[0] == change and len(data) > 1:
            return really(descriptor, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", writing)
        yield lambda: count[0]
