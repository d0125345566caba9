"""The hidden marks that tell the bot its own issues, comments and parts of bodies.

Invariant: a mark counts only if its code is right (HMAC-SHA256 over the repository's number and what the
mark says), so that text which somebody copied or made up is text. What the bot did not write it never
changes: its part of a body lies between two lines, and the rest stays byte for byte.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bot.errors import UserMistake
from bot.settings import Settings
from bot.trackers.protocol import Issue, Tracker

BEGIN = "<!-- nightfuzz:begin -->"
END = "<!-- nightfuzz:end -->"

PART = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
MARK = re.compile(r"<!-- nightfuzz (?P<kind>[a-z]+) (?P<words>[^<>\n]{1,200}) (?P<code>[0-9a-f]{32}) -->")

ISSUE = "issue"
"""On an issue: signature and state."""

TOLD = "told"
"""On a comment about a transition: signature and transition."""

ROOM = 512
"""Characters that the lines around our part of a body take, and a mark."""

REPLY = "reply"
"""On a reply to a command: the number of the comment that gave it, and how far its work is."""


@dataclass(frozen=True)
class Seal:
    """What marks are made and read with: the bot's key, and the repository that they are for."""

    key: bytes
    repository: str

    def mark(self, kind: str, *words: str) -> str:
        """A hidden line that says so."""
        told = " ".join(_word(word) for word in words)
        return f"<!-- nightfuzz {kind} {told} {self._code(kind, told)} -->"

    def read(self, kind: str, text: str) -> list[tuple[str, ...]]:
        """What the true marks of a kind in a text say, in their order."""
        found = []
        for mark in MARK.finditer(text):
            code = self._code(mark["kind"], mark["words"])
            if mark["kind"] == kind and hmac.compare_digest(code, mark["code"]):
                found.append(tuple(mark["words"].split(" ")))
        return found

    def _code(self, kind: str, told: str) -> str:
        said = f"{self.repository}\n{kind}\n{told}".encode()
        return hmac.new(self.key, said, hashlib.sha256).hexdigest()[:32]


def sealed(settings: Settings, tracker: Tracker) -> Seal:
    """What marks are made with on a tracker. On a host the key must be a secret, or anybody could make
    marks."""
    key = settings.marker_key.get_secret_value()
    if not key and settings.tracker != "outbox":
        raise UserMistake(
            "no key for the marks in issues: set NIGHTFUZZ_MARKER_KEY to a long random text, and keep it"
        )
    return Seal(key.encode(), tracker.repository_id())


def named(issues: Iterable[Issue], seal: Seal) -> Iterator[tuple[str, Issue]]:
    """The issues that say which finding they are of, with its name at the time, in their order."""
    for issue in issues:
        for name, *_ in seal.read(ISSUE, issue.body)[:1]:
            yield name, issue


def part(text: str, mark: str) -> str:
    """Our part of a body."""
    return f"{BEGIN}\n{text.strip()}\n\n{mark}\n{END}"


def ours(body: str) -> str:
    """Our part as a body has it; empty where somebody has taken it away. A browser sends other line ends."""
    found = PART.search(body.replace("\r\n", "\n"))
    return found[0] if found else ""


def rewritten(body: str, new: str) -> str:
    """A body with `new` in place of our part; above what people wrote where it has none."""
    plain = body.replace("\r\n", "\n")
    if PART.search(plain):
        return PART.sub(lambda _: new, plain, count=1)
    return f"{new}\n\n{plain}" if plain.strip() else new


def digest(text: str) -> str:
    """Short name of a text, to see that it has not changed."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _word(word: str) -> str:
    """A word of a mark: no spaces, nothing that ends a comment."""
    return re.sub(r"[^\w.,:;+@/#-]", "_", word).replace("--", "_") or "_"
