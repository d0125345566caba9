"""Findings as Markdown issues in a folder, each with its reproducer beside it: what `nightfuzz run` leaves.

Invariant: rendering the same finding again writes the same bytes.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from pathlib import Path

from bot import bodies
from bot.evidence import publishable
from bot.files import write_atomically
from fuzzers.records import Finding, Kind


def is_published(finding: Finding, down_to: Kind) -> bool:
    """Whether a finding becomes an issue: severe enough, and not held back by the oracle."""
    difference = finding.detail.get("difference") or {}
    return finding.suspect.kind.severity <= down_to.severity and publishable(difference)


def render(
    findings: Iterable[Finding],
    outbox: Path,
    down_to: Kind = Kind.ALIASING,
    hosts: Sequence[str] | None = None,
) -> list[Path]:
    """Write `<signature>.md` and `<signature>/repro.py` for each published finding; the Markdown files."""
    named = [socket.gethostname()] if hosts is None else hosts
    written = []
    for finding in findings:
        if not is_published(finding, down_to):
            continue
        path = outbox / f"{finding.signature}.md"
        text = bodies.issue(finding, hosts=named)
        write_atomically(outbox / finding.signature / "repro.py", finding.script)
        write_atomically(path, f"# {text.title}\n\n{text.body}")
        written.append(path)
    return written
