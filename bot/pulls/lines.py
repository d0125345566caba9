"""Which line of a changed file a finding is about.

Invariant: pure; the answer is a line that the file's own run has called something on, or 0. The rule: the
fewest calls in a row that apply the most of the finding's operators, on its dtypes if that can be; of these,
calls on lines that the pull request changed; of the calls, the last, because there the wrong value is seen.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from fuzzers.engine import Call

FARTHEST = 40
"""Calls between the first and the last that count as in a row: a finding has a handful of operators."""


@dataclass(frozen=True)
class Place:
    """A line, and the names of the finding's operators that are applied there and just before."""

    line: int
    names: frozenset[str]


def place(
    calls: Sequence[Call],
    operators: Collection[str],
    dtypes: Collection[str],
    changed: Collection[int],
    within: Collection[int] = (),
) -> Place | None:
    """Where a finding of these operators and dtypes stands; `within` are lines that it is known to come from.
    None when the file applies none of them."""
    wanted = frozenset(operators)
    hits = [
        (k, call)
        for k, call in enumerate(calls)
        if call.line and wanted & set(call.names) and (not within or call.line in within)
    ]
    best: tuple[tuple[int, int, bool, int], Place] | None = None
    for at, (end, _) in enumerate(hits):
        group = _group(hits[: at + 1], end, wanted)
        names = wanted & {name for _, call in group for name in call.names}
        touched = [call.line for _, call in group if call.line in changed]
        suits = sum(bool(set(dtypes) & set(call.dtypes)) for _, call in group)
        span = end - group[0][0]
        score = (len(names), suits, bool(touched), -span)
        if best is None or score > best[0]:
            best = score, Place(touched[-1] if touched else group[-1][1].line, names)
    return best[1] if best else None


def _group(hits: Sequence[tuple[int, Call]], end: int, wanted: frozenset[str]) -> list[tuple[int, Call]]:
    """The calls up to the last that add an operator each, nearest first taken."""
    taken: list[tuple[int, Call]] = []
    have: set[str] = set()
    for k, call in reversed(hits):
        if end - k > FARTHEST:
            break
        new = (wanted & set(call.names)) - have
        if new:
            taken.append((k, call))
            have |= new
    return taken[::-1]


def own(calls: Sequence[Call], operators: Collection[str]) -> frozenset[str]:
    """Which of the operators a file applies."""
    return frozenset(operators) & {name for call in calls for name in call.names}
