"""Files of a checkout of foreign code.

Invariant: what is handed out is a plain file inside the checkout, of a size that is looked at: no link, no
path that leads out.
"""

from __future__ import annotations

from pathlib import Path

LARGEST = 1 << 20
"""Bytes of a file that is looked at."""


def file_in(root: Path, name: str) -> Path | None:
    """A changed file in a checkout; None unless it is a plain file there, of a size that is looked at."""
    top = root.resolve()
    path = top / name
    if path.is_symlink() or not path.is_file() or not path.resolve().is_relative_to(top):
        return None
    return path.resolve() if path.stat().st_size <= LARGEST else None


def text_of(root: Path, name: str) -> str | None:
    """Its text."""
    path = file_in(root, name)
    try:
        return path.read_text(encoding="utf-8") if path else None
    except (OSError, UnicodeDecodeError):
        return None
