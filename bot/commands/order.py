"""What a command asks of the jobs after the gate.

Invariant: JSON that is checked again where it is read; a commit is a full sha, and a path one of the files
that the pull request changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bot import wire
from bot.files import write_atomically
from bot.trackers.pulls import ChangedFile
from fuzzers.records import SCHEMA

LARGEST = 2 * 2**20
"""Bytes of an order: 3,000 files with their lines."""


@dataclass(frozen=True)
class Order:
    """Work for later. `verb` is `run`, `retest`, `bisect` or `reduce`; `reply` our reply to the comment;
    `signature` the finding that it is about. On a pull request: what it changes, the engines that may look
    at it, and the paths that were named (all when empty); `settings_sha` is the head of the default branch,
    at which settings are read. `budget` is in seconds."""

    verb: str
    issue: str
    comment: str
    reply: str
    actor: str
    signature: str = ""
    pull: str = ""
    head_sha: str = ""
    base_sha: str = ""
    head_repository: str = ""
    is_fork: bool = False
    files: tuple[ChangedFile, ...] = ()
    engines: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    framework: str = ""
    build: str = ""
    budget: float = 600.0
    seed: int = 0
    settings_sha: str = ""
    schema: int = SCHEMA


def write_order(path: Path, order: Order) -> None:
    """Write it down."""
    write_atomically(path, wire.text(order))


def read_order(path: Path) -> Order:
    """The order in a file. UserMistake."""
    return wire.read_file(Order, path, LARGEST, "order")
