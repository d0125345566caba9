"""Doing what a command on a finding's issue ordered: retest it, bisect it, make it smaller.

Invariant: runs in a job without a token, and only by our own commands, each a process of its own; what they
print is the result. The result is a claim that the report checks again: bounded, and text alone.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bot import wire
from bot.commands.order import Order
from bot.confine import private_folder
from bot.errors import UserMistake
from bot.store import Store
from fuzzers.records import SCHEMA

MOST_LINES = 200
LONGEST_TEXT = 20_000
LONGEST_SCRIPT = 30_000
LARGEST = 256 * 2**10
"""Bytes of a result."""

ON_FINDINGS = ("retest", "bisect", "reduce")
"""The verbs of orders on a finding."""

GOOD = frozenset({0, 1, 4})
"""Exit codes of a command that did its work."""


@dataclass(frozen=True)
class Worked:
    """What came of an order on a finding: what to say, and a smaller reproducer if there is one."""

    verb: str
    said: str
    script: str = ""
    failed: bool = False
    schema: int = SCHEMA


def on_finding(order: Order, out: Path) -> Worked:
    """Do it, on the store in `out`."""
    if Store(out / "store", lambda line: None).finding(order.signature) is None:
        return Worked(order.verb, f"There is no finding {order.signature} in the store.", failed=True)
    if order.verb == "reduce":
        return _reduced(order, out)
    build = order.build if order.build not in ("", "latest") else "nightly"
    commands = {
        "retest": ["retest", "--only", order.signature],
        "bisect": ["bisect", order.signature, "--build", "nightly" if build == "nightly" else "release"],
    }
    code, said = _nightfuzz([*commands[order.verb], "--out", str(out)])
    return Worked(order.verb, _cut(said), failed=code not in GOOD)


def read_worked(path: Path) -> Worked:
    """The result in a file. UserMistake."""
    found = wire.read_file(Worked, path, LARGEST, "result")
    if len(found.said) > LONGEST_TEXT + 200 or len(found.script) > LONGEST_SCRIPT:
        raise UserMistake(f"{path}: longer than a result is")
    return found


def _reduced(order: Order, out: Path) -> Worked:
    """Its reproducer through triage once more, with all of the budget."""
    store = Store(out / "store", lambda line: None)
    finding = store.finding(order.signature)
    assert finding is not None
    with private_folder() as folder:
        aside = Store(folder / "store", lambda line: None)
        aside.add(finding.suspect)
        limit = f"{order.budget:.0f}s"
        code, said = _nightfuzz(["triage", "--out", str(folder), "--triage-budget", limit])
        scripts = [found.script for found in aside.findings()]
    shorter = min([finding.script, *scripts], key=lambda text: (len(text.splitlines()), len(text)))
    if shorter == finding.script:
        return Worked(order.verb, _cut(said) or "It did not get smaller.", failed=code not in GOOD)
    lines = f"{len(finding.script.splitlines())} lines before, {len(shorter.splitlines())} now."
    return Worked(order.verb, lines, shorter[:LONGEST_SCRIPT])


def _nightfuzz(arguments: list[str]) -> tuple[int, str]:
    """One of our own commands; its exit code, and what it printed."""
    command = [sys.executable, "-I", "-m", "bot", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, done.stdout.strip() or done.stderr.strip()


def _cut(text: str) -> str:
    return "\n".join(text.splitlines()[-MOST_LINES:])[-LONGEST_TEXT:]
