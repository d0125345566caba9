"""Replies kept on disk, by the content of what was asked.

Invariant: a file is whole or not there, and one that is not what it should be counts as not there. No key
is in it: what is asked has none, and what is kept had it blotted out. Newest replies stay when there are
too many.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fuzzers.records import Json

MOST_FILES = 5_000
LARGEST_FILE = 2 * 2**20


@dataclass
class Cache:
    """The folder of replies; None keeps nothing. A disk that refuses only costs the reply's second use."""

    folder: Path | None

    def find(self, asked: Json) -> Json | None:
        """What was answered to exactly this."""
        if self.folder is None:
            return None
        try:
            path = self._path(asked)
            if path.stat().st_size > LARGEST_FILE:
                return None
            kept = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        whole = isinstance(kept, dict) and isinstance(kept.get("text"), str)
        return kept if whole else None

    def keep(self, asked: Json, answered: Json) -> None:
        """Keep an answer."""
        if self.folder is None:
            return
        path = self._path(asked)
        aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            aside.write_text(json.dumps(answered), encoding="utf-8")
            aside.replace(path)
            self._prune()

    def _path(self, asked: Json) -> Path:
        assert self.folder is not None
        digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
        return self.folder / f"{digest}.json"

    def _prune(self) -> None:
        assert self.folder is not None
        files = list(self.folder.glob("*.json"))
        if len(files) > MOST_FILES:
            files.sort(key=lambda path: path.stat().st_mtime)
            for path in files[: len(files) - MOST_FILES]:
                path.unlink(missing_ok=True)
