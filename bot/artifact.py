"""A shard's artifact, read: first its files, then its records, all of them before anything is made of them.

Invariant: no link is followed, nothing but plain files with a store's names is read, and what is read is
bounded. An artifact that cannot be read as a store is refused whole, in one line: a machine that ran foreign
code may hand in anything, and it must not be able to end the job that publishes.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import scandir
from pathlib import Path

from bot.branch import KEPT, LARGEST_FILE, LARGEST_STORE, MOST_FILES
from bot.errors import UserMistake
from bot.states import TriageState, Trial
from bot.store import Store
from fuzzers.records import Finding, Json, Suspect

DEEPEST = 3
"""Folders between an artifact and a store's deepest file."""

SILENT = ("lock", "set-aside/")
"""What every store may have beside its records, and nobody asks for."""


@dataclass(frozen=True)
class Artifact:
    """What one shard says. `findings` are the records as they lie there, none joined with another; `evidence`
    is by signature, `states` by content hash."""

    suspects: tuple[Suspect, ...]
    states: dict[str, TriageState]
    findings: tuple[Finding, ...]
    evidence: dict[str, Json]
    trials: tuple[Trial, ...]


def read(place: Path, aside: Path, refuse: Callable[[str], None]) -> Artifact | None:
    """The artifact in `place`, copied to `aside` first; None when it was refused whole."""
    try:
        if not _copied(place, aside, refuse):
            return None
    except OSError as error:
        refuse(f"cannot be read: {error.strerror or error}")
        return None
    other = Store(aside, refuse)
    try:
        suspects = tuple(other.suspects())
        findings = tuple(other.catalogue.now().parts.values())
        return Artifact(
            suspects,
            {suspect.id: other.state(suspect.id) for suspect in suspects},
            findings,
            {finding.signature: other.evidence(finding.signature) for finding in findings},
            tuple(other.ledger().builds.values()),
        )
    except UserMistake as error:
        refuse(f"it is no store: {error}")
        return None


def _copied(place: Path, to: Path, refuse: Callable[[str], None]) -> bool:
    """Copy an artifact's files that a store may have; False when there is too much of it to look at."""
    size = number = 0
    for path, relative in _entries(place):
        number += 1
        if number > MOST_FILES:
            refuse(f"more than {MOST_FILES} files: none is taken")
            return False
        if relative.startswith(SILENT):
            continue
        if path is None:
            refuse(f"{relative}: neither a file nor a folder of a store")
        elif not KEPT.fullmatch(relative):
            refuse(f"{relative}: a store has no such file")
        else:
            with path.open("rb") as file:
                content = file.read(LARGEST_FILE + 1)
            size += len(content)
            if size > LARGEST_STORE:
                refuse(f"more than {LARGEST_STORE // 2**20} MiB: none is taken")
                return False
            if len(content) > LARGEST_FILE:
                refuse(f"{relative}: more than {LARGEST_FILE // 2**20} MiB")
                continue
            target = to / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    return True


def _entries(place: Path) -> Iterator[tuple[Path | None, str]]:
    """What is below a folder but folders: the plain files with their names from there, and for anything else
    (links, pipes, folders too deep) the name alone."""
    waiting = [place]
    while waiting:
        with scandir(waiting.pop()) as entries:
            here = sorted(entries, key=lambda entry: entry.name)
        for entry in here:
            path = Path(entry.path)
            relative = path.relative_to(place).as_posix()
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode) and relative.count("/") < DEEPEST:
                waiting.append(path)
            else:
                yield (path if stat.S_ISREG(mode) else None), relative
