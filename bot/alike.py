"""How near two failures are that do not have the same name: by their words, and by where they were raised.

Invariant: both measures are pure and symmetric. They are taken of normalised messages and frames: what
differs between two occurrences of one bug never counts, and what differs between two versions of a framework
(a word more, another wrapping) counts little. Nearness only ever proposes: the reproducers decide.
"""

from __future__ import annotations

import re
from functools import lru_cache

from rapidfuzz.distance import Indel

from bot import normalise

ALIKE = 0.8
"""triage.md: messages more than this alike are near."""

ANOTHER_SUBJECT = 0.75
"""What a likeness is multiplied by when two messages speak of different operators: frameworks say the same of
many operators, and what is wrong with one is seldom what is wrong with another."""

SUBJECT = re.compile(
    r"(?:^|.*?[ :])in fake tensor call: (?P<fake>[\w.<> ]+?)\(\.\.\.\): got|^For (?P<primitive>\w+),"
    r"|^Select CPU operator\[(?P<kernel>\w+)\]|^Failed calling (?P<called>\w+)"
)
"""The operator that a message speaks of, after whatever preamble."""

PREAMBLE = re.compile(
    r"^(?:Observed exception: raised exception|backend=<quoted> raised:|C\+\+ compile error:)"
)
"""What stands before many messages and tells nothing of the bug."""

WORD = re.compile(r"<[\w ]+>|\w+(?:\.\w+)*|[^\w\s]")


def alike(a: str, b: str) -> float:
    """From 0 (no word in common) to 1 (the same words in the same order): twice the length of the longest
    common subsequence of words over the words of both, less if they speak of different operators. A message
    that is empty tells nothing, and is like no other."""
    (one, first), (other, second) = _parts(a), _parts(b)
    if not first or not second:
        return 0.0
    likeness: float = Indel.normalized_similarity(first, second)
    return likeness if one == other else likeness * ANOTHER_SUBJECT


def common_frames(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """How many framework frames two failures have in common, by function, plumbing aside."""
    first, second = (set(normalise.frames(frames, count=len(frames))) for frames in (a, b))
    return len(first & second)


@lru_cache(maxsize=8192)
def _parts(text: str) -> tuple[str, list[str]]:
    """The operator that a message speaks of, or an empty string, and the words of what it says."""
    message = normalise.message(text)
    if found := SUBJECT.match(message):
        return next(filter(None, found.groups())), WORD.findall(message[found.end() :])
    return "", WORD.findall(PREAMBLE.sub("", message))
