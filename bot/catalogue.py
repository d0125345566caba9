"""The findings of a store as the disk has them now, by every name that they go by.

Invariant: no name means two findings. Findings that share a name (one says that it was joined with the
other, or the current recipe of signatures names both alike) are shown as one, whether or not anybody has
written that yet, so that a join that was killed half-way or a migration that is still to be written files
nothing twice. A file is read again only when its stamp has changed, which also sees other processes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bot import migrate
from bot.merge import one_each
from bot.shelf import Shelf
from fuzzers.records import Finding

Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Findings:
    """One look at the folder: `by_signature` has one finding a bug, in order; `owner` maps every name,
    aliases too, to a signature in there; `parts` are the records as the folder has them."""

    by_signature: Mapping[str, Finding] = field(default_factory=dict)
    owner: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, Finding] = field(default_factory=dict)

    def named(self, name: str) -> Finding | None:
        """The finding that goes by this name."""
        return self.by_signature.get(self.owner.get(name, ""))

    def sharing(self, finding: Finding) -> list[Finding]:
        """The records besides it that are of one bug with `finding`, which may be new or changed."""
        owners = {self.owner[name] for name in finding.names if name in self.owner}
        members = {
            name: self.parts[name]
            for owner in owners
            for name in self.by_signature[owner].names
            if name in self.parts and name != finding.signature
        }
        return list(members.values())


class Catalogue:
    """Looks at the findings folder of one shelf."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._read: dict[str, tuple[Stamp, Finding]] = {}
        self._seen = Findings()

    def now(self) -> Findings:
        """The findings as they are now."""
        read: dict[str, tuple[Stamp, Finding]] = {}
        for folder in self._shelf.folders("findings", "finding.json"):
            path = folder / "finding.json"
            stamp = _stamp(path)
            known = self._read.get(folder.name)
            if stamp is not None and known is not None and known[0] == stamp:
                read[folder.name] = known
            elif stamp is not None and (finding := self._finding(path)) is not None:
                read[folder.name] = (stamp, finding)
        if read != self._read or not self._seen.parts:
            self._seen = _findings({name: finding for name, (_, finding) in read.items()})
        self._read = read
        return self._seen

    def _finding(self, path: Path) -> Finding | None:
        name = path.parent.name
        finding = self._shelf.read(Finding, path, lambda f: f.signature == name)
        return migrate.named_now(finding) if finding is not None else None


def _findings(parts: dict[str, Finding]) -> Findings:
    whole = {finding.signature: finding for finding in one_each(parts.values())}
    owner = {alias: signature for signature, finding in whole.items() for alias in finding.aliases}
    return Findings(whole, {**owner, **{signature: signature for signature in whole}}, parts)


def _stamp(path: Path) -> Stamp | None:
    """Changes with every replacement of the file: a new file has another inode or another time."""
    try:
        found = os.stat(path)  # noqa: PTH116 - thousands of them a look
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
