"""Environments: an interpreter for each build, made once, shared, bounded in disk.

Invariant: an environment that is found is whole, holds the wheel that its offer tells, and stays while it
is used. It is made aside, under the lock of its key, and renamed into place; what a killed install left is
removed by the next one, of whatever build. Of those that nobody uses the least recently used go when they
take more than the bound.

    environments/<key>/     a virtual environment, with `nightfuzz.json` in it: its build, hash and size
    aside/<key>/            one that is being made, or taken away
    first/<key>.json        the hash of the wheel that was first fetched for that build
    locks/<key>             held by those who make, use (shared) or take away an environment
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from bot import wire
from bot.builds.installing import EXTRAS, CannotError, Installer, check, unpacked_bytes
from bot.builds.offer import Offer
from bot.builds.pip import PIP_SECONDS
from bot.builds.pythons import examine
from bot.builds.web import Web
from bot.errors import MachineryFailure
from bot.files import reaching, utc_now, write_atomically
from bot.target import probe
from fuzzers.records import SCHEMA, Build

RECORD = "nightfuzz.json"
POLL_SECONDS = 0.1
DELETE_TRIES = 5


@dataclass(frozen=True)
class CannotInstall:
    """No environment, and that is the build's fault. `reason` is one line."""

    offer: Offer
    reason: str


@dataclass(frozen=True)
class Kept:
    """What is written down beside an environment. `sha256` is the framework wheel's, in hexadecimal;
    `size` is in bytes on the disk."""

    build: Build
    sha256: str
    size: int
    made_at: str
    schema: int = SCHEMA


@dataclass(frozen=True)
class First:
    """The wheel that was first fetched for a build."""

    sha256: str
    url: str
    at: str
    schema: int = SCHEMA


class Environments:
    """The environments below one folder, made with one interpreter. Threads and processes share them.
    `warn` gets a line for each thing that takes a while; `stopped`, once true, ends a wait or an install by
    KeyboardInterrupt; `extras` are the requirements that go in beside a framework."""

    def __init__(
        self,
        root: Path,
        *,
        bound_gib: float,
        warn: Callable[[str], None],
        python: str = sys.executable,
        extras: Mapping[str, tuple[str, ...]] = EXTRAS,
        web: Web | None = None,
        pip_seconds: float = PIP_SECONDS,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.root = root.absolute()
        self.bound = int(bound_gib * 2**30)
        self.warn = warn
        self.python = examine(python)
        self._stopped = stopped
        web = replace(web or Web(), stopped=stopped)
        self._installer = Installer(self.python, web, extras, pip_seconds, stopped)

    @contextmanager
    def using(self, offer: Offer) -> Iterator[Build | CannotInstall]:
        """The offer's build, installed if need be; it stays while the context lasts. MachineryFailure when
        the network, the disk or a hash fails; then nothing of the install is left."""
        if offer.interpreter:
            yield probe(offer.interpreter, offer.framework)
            return
        key = self.key(offer)
        with self._open_lock(key) as lock:
            got = self._installed(offer, key, lock)
            if isinstance(got, Kept):
                with reaching(self.root):
                    os.utime(self._record(key))
                    self._make_room(0)
            yield got.build if isinstance(got, Kept) else got

    def has(self, offer: Offer) -> bool:
        """Whether the offer's environment is there now."""
        return bool(offer.interpreter) or self._found(offer, self.key(offer)) is not None

    def key(self, offer: Offer) -> str:
        """The name of the offer's environment: framework, version, variant, Python, platform."""
        variant = "" if offer.version.endswith(f"+{offer.variant}") else offer.variant
        # A wheel that somebody names may have the version of a release and be another thing.
        named = hashlib.sha256(offer.url.encode()).hexdigest()[:8] if offer.url and not offer.index else ""
        python = f"py{self.python.version}"
        parts = (offer.framework, offer.version, variant, python, self.python.platform, named)
        return re.sub(r"[^\w.+-]", "_", "-".join(part for part in parts if part))

    # Making

    def _installed(self, offer: Offer, key: str, lock: BinaryIO) -> Kept | CannotInstall:
        """The environment, under a shared lock that is held on return; or why there is none."""
        while True:
            self._acquire(lock, fcntl.LOCK_SH)
            if found := self._found(offer, key):
                return found
            # Let go first: two who each wait for the other's shared lock would wait for ever.
            fcntl.flock(lock, fcntl.LOCK_UN)
            self._acquire(lock, fcntl.LOCK_EX)
            cannot = self._make(offer, key) if self._found(offer, key) is None else None
            fcntl.flock(lock, fcntl.LOCK_UN)
            if cannot is not None:
                return cannot
            # From here to the shared lock it may be taken away: look again.

    def _make(self, offer: Offer, key: str) -> CannotInstall | None:
        """Install under the exclusive lock of the key."""
        self.warn(f"installing {offer.name}")
        aside = self.root / "aside" / key
        try:
            self._sweep()
            self._remove(self.root / "environments" / key)
            self._remove(aside)
            aside.mkdir(parents=True)
            wheel, sha256 = self._installer.fetch(offer, aside / "wheel")
            self._check_first(offer, key, sha256)
            self._make_room(wheel.stat().st_size + unpacked_bytes(wheel))
            build = self._installer.make(offer, wheel, aside)
            self._put(build, sha256, aside / "env", key)
        except CannotError as error:
            return CannotInstall(offer, str(error))
        except OSError as error:
            said = f"{error.strerror or error}"
            raise MachineryFailure(f"cannot install {offer.name} in {self.root}: {said}") from error
        finally:
            with reaching(aside):
                self._remove(aside)
        return None

    def _check_first(self, offer: Offer, key: str, sha256: str) -> None:
        """An index that tells no hash is held to the first wheel that it served of a build."""
        path = self.root / "first" / f"{key}.json"
        if not path.exists():
            write_atomically(path, wire.text(First(sha256, offer.url, utc_now())))
        elif not offer.digest:
            try:
                first = wire.read(First, path.read_bytes())
            except wire.UnreadableError as error:
                raise MachineryFailure(f"{path} is {error}; remove it to trust the next download") from error
            said = f"when first fetched ({path}) it had"
            check(offer, f"sha256={first.sha256}", sha256, said)

    def _put(self, build: Build, sha256: str, made: Path, key: str) -> None:
        """Rename a new environment into its place."""
        home = self.root / "environments" / key
        home.parent.mkdir(parents=True, exist_ok=True)
        build = replace(build, interpreter=str(home / "bin" / "python"))
        write_atomically(made / RECORD, wire.text(Kept(build, sha256, _bytes_below(made), utc_now())))
        made.rename(home)

    # Finding

    def _found(self, offer: Offer, key: str) -> Kept | None:
        """The environment of this key, if it is whole, runs, and has the wheel that the offer tells."""
        kept = self._read(key)
        if kept is None or not Path(kept.build.interpreter).exists():
            return None
        return kept if offer.digest in ("", f"sha256={kept.sha256}") else None

    def _read(self, key: str) -> Kept | None:
        try:
            return wire.read(Kept, self._record(key).read_bytes())
        except (FileNotFoundError, NotADirectoryError, wire.UnreadableError):
            return None

    def _record(self, key: str) -> Path:
        return self.root / "environments" / key / RECORD

    # Taking away

    def _make_room(self, needed: int) -> None:
        """Take away the least recently used until `needed` bytes more fit in the bound."""
        if needed > self.bound:
            sizes = f"{needed / 2**30:.1f} GiB and the cache takes {self.bound / 2**30:.1f}"
            raise MachineryFailure(f"the build needs {sizes}: give it more (cache_gib)")
        folders = self.root / "environments"
        keys = [path.name for path in folders.iterdir()] if folders.is_dir() else []
        kept = {key: found for key in keys if (found := self._read(key)) is not None}
        total = sum(one.size for one in kept.values()) + needed
        for key in sorted(kept, key=self._last_use):
            if total <= self.bound:
                return
            if self._take_away(key):
                self.warn(f"took away the environment of {kept[key].build.name}: the cache is full")
                total -= kept[key].size

    def _last_use(self, key: str) -> float:
        try:
            return self._record(key).stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def _take_away(self, key: str) -> bool:
        """Remove an environment unless somebody uses it."""
        with self._open_lock(key) as lock:
            if not _try(lock, fcntl.LOCK_EX):
                return False
            self._remove(self.root / "environments" / key)
            return True

    def _sweep(self) -> None:
        """Remove what killed installs left. Those under way hold their locks, ours included."""
        aside = self.root / "aside"
        for left in aside.iterdir() if aside.is_dir() else ():
            with self._open_lock(left.name) as lock:
                if _try(lock, fcntl.LOCK_EX):
                    self._remove(left)

    def _remove(self, path: Path) -> None:
        """Take a folder away, first by name, so that no half of it is ever found."""
        if not path.exists():
            return
        aside = self.root / "aside" / path.name
        if path != aside:
            _delete(aside)
            aside.parent.mkdir(parents=True, exist_ok=True)
            path.rename(aside)
        _delete(aside)

    # Locks

    @contextmanager
    def _open_lock(self, key: str) -> Iterator[BinaryIO]:
        """The lock file of a key, not yet locked; it is never removed, since others may wait for it."""
        path = self.root / "locks" / key
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("ab")
        except OSError as error:
            raise MachineryFailure(f"cannot write to the cache {self.root}: {error.strerror}") from error
        with file:
            yield file

    def _acquire(self, lock: BinaryIO, how: int) -> None:
        """Wait for a lock; by polling, so that a person who has had enough is heard."""
        waited = False
        while not _try(lock, how):
            if not waited:
                self.warn("another nightfuzz installs or removes this build; waiting for it")
                waited = True
            if self._stopped():
                raise KeyboardInterrupt  # the person's Ctrl-C, which was only written down when it came
            time.sleep(POLL_SECONDS)


def _delete(folder: Path) -> None:
    """Delete a folder in which a child of a killed run may still be writing: again, if it has filled anew."""
    for attempt in range(DELETE_TRIES):
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or attempt == DELETE_TRIES - 1:
                raise
            time.sleep(POLL_SECONDS)
        else:
            return


def _try(lock: BinaryIO, how: int) -> bool:
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _bytes_below(folder: Path) -> int:
    """What the files of a folder take on the disk, in bytes."""
    return sum(
        (Path(parent) / name).lstat().st_blocks * 512
        for parent, _, names in os.walk(folder)
        for name in names
    )
