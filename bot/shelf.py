"""Records as JSON files below one folder, read with validation; what is broken or foreign is set aside.

Invariant: a read gives a record that is exactly what its class declares, or None; what is no such record
is moved to `set-aside/`, whole, and named in one line. Reading takes no lock, because files are replaced
whole; only what looks broken is looked at again under the lock, in case somebody is just putting it right.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import TypeVar

from bot import wire
from bot.errors import UserMistake
from bot.files import is_leftover, locked, reaching
from fuzzers.records import Json

T = TypeVar("T")

BEFORE = frozenset({"evidence.json", "repro.py"})
"""Files that are written before the main one of their folder, and say nothing without it."""


class Shelf:
    """The files of one store. `warn` gets one line for each thing set aside."""

    def __init__(self, root: Path, warn: Callable[[str], None]) -> None:
        self.root = root
        self.warn = warn
        self._depth = threading.local()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else changes the store in here. May be entered again by the thread that holds it."""
        depth = getattr(self._depth, "value", 0)
        if depth:
            yield
            return
        with locked(self.root / "lock"):
            self._depth.value = 1
            try:
                yield
            finally:
                self._depth.value = 0

    def read(self, kind: type[T], path: Path, is_right: Callable[[T], bool] = lambda _: True) -> T | None:
        """The record in `path`; None when there is none, and None and set aside when it is no such record
        or another's (`is_right`)."""
        try:
            data = _bytes(path)
            if data is None:
                return None
            record = wire.read(kind, data)
        except wire.UnreadableError:
            record = None
        return record if record is not None and is_right(record) else self._doubt(kind, path, is_right)

    def read_plain(self, path: Path) -> Json | None:
        """The JSON object in `path`, of no class; else as `read`."""
        try:
            data = _bytes(path)
            return None if data is None else _plain(data)
        except wire.UnreadableError:
            with self.held():
                try:
                    return _plain(_bytes(path) or b"")
                except wire.UnreadableError as error:
                    self.set_aside(path, f"{path.name} is {error}")
                return None

    def bytes(self, path: Path) -> bytes | None:
        """What is in a file; None when it is not there, and None and set aside when it is no plain file."""
        try:
            return _bytes(path)
        except wire.UnreadableError as error:
            with self.held():
                self.set_aside(path, f"{path.name} is {error}")
            return None

    def folders(self, kind: str, main: str) -> Iterator[Path]:
        """The folders below `kind` that may hold a record in `main`, by name. What is no such folder is
        set aside, except what an addition that was cut short leaves (a folder without anything but leftovers
        and BEFORE): whoever was adding does it again."""
        parent = self.root / kind
        for name in _names(parent):
            path = parent / name
            if is_leftover(path):
                continue
            if os.path.exists(f"{path}/{main}"):  # noqa: PTH110 - twice as quick, and there are thousands
                yield path
            else:
                self._judge(path, kind, main)

    def set_aside(self, path: Path, why: str) -> None:
        """Move a file or folder that is not what it should be out of the way, and say so."""
        place = path.relative_to(self.root) if path.is_relative_to(self.root) else Path(path.name)
        flat = "__".join(place.parts)
        folder = self.root / "set-aside"
        with reaching(folder):
            folder.mkdir(parents=True, exist_ok=True)
            names = (f"{flat}.{n}" if n else flat for n in range(10**6))
            target = next(t for name in names if not (t := folder / name).exists())
            path.rename(target)
        self.warn(f"set aside {place}: {why}; it is now {target}, the rest goes on")

    def _judge(self, path: Path, kind: str, main: str) -> None:
        """Set aside what is in the place of a record's folder, unless that is a cut addition."""
        with self.held():
            if not path.exists() or (path / main).exists():
                return
            if not path.is_dir() or any(not is_leftover(p) and p.name not in BEFORE for p in path.iterdir()):
                self.set_aside(path, f"no {kind[:-1]} (it has no {main})")

    def _doubt(self, kind: type[T], path: Path, is_right: Callable[[T], bool]) -> T | None:
        """Read again where nobody can write, and set aside what is still not right."""
        with self.held():
            try:
                data = _bytes(path)
                if data is None:
                    return None
                record = wire.read(kind, data)
            except wire.TooNewError as error:
                raise UserMistake(f"{path}: {error}") from error
            except wire.UnreadableError as error:
                self.set_aside(_unit(path), f"{path.name} is {error}")
                return None
            if not is_right(record):
                self.set_aside(_unit(path), "it does not belong under this name")
                return None
            return record


def _names(parent: Path) -> list[str]:
    try:
        return sorted(os.listdir(parent))  # noqa: PTH208 - names alone, in thousands
    except FileNotFoundError:
        return []
    except NotADirectoryError as error:
        raise UserMistake(f"{parent} is no folder, so what holds it is no store") from error


def _bytes(path: Path) -> bytes | None:
    """The whole of a plain file; UnreadableError of anything else. A link in a store that came from elsewhere
    would show a file of this machine to whoever reads the store, and a pipe would be waited for."""
    try:
        with FileIO(path, opener=_opened) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise wire.UnreadableError("no plain file")
            return file.readall()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError as error:
        raise wire.UnreadableError("a folder") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise wire.UnreadableError("a link") from error
        raise


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _plain(data: bytes) -> Json:
    plain = wire.parsed(data)
    if not isinstance(plain, dict):
        raise wire.UnreadableError(f"a JSON {type(plain).__name__}")
    return plain


def _unit(path: Path) -> Path:
    """What is set aside together: without its main record, a suspect's or finding's folder says nothing."""
    return path.parent if path.name in ("suspect.json", "finding.json") else path
