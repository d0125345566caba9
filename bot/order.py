"""In which order suspects are triaged, and which of them are one failure by their exception alone.

Invariant: pure and deterministic, from the suspects only. The reason for an order: a budget may end triage
anywhere, and what was done by then should be the worst bugs and as many different ones as can be.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot import normalise, reading
from fuzzers.records import Ending, Expect, Suspect

Twins = tuple[str, str, str]


def ordered(suspects: Sequence[Suspect]) -> list[Suspect]:
    """Most severe kind first; within one, greedily the suspect with most operators not seen before, and
    the shorter script when that is equal."""
    left = sorted(suspects, key=lambda s: (s.kind.severity, len(s.script), s.id))
    operators = {s.id: frozenset(reading.operators(s.script)) for s in left}
    seen: set[str] = set()
    done: list[Suspect] = []
    while left:
        worst = [s for s in left if s.kind is left[0].kind]
        best = max(worst, key=lambda s: len(operators[s.id] - seen))
        left.remove(best)
        seen |= operators[best.id]
        done.append(best)
    return done


def twins(suspect: Suspect, expect: Expect | None = None) -> Twins | None:
    """What suspects that are exact duplicates have in common: exception class and normalised message. None
    where nothing was raised, because then only the reduced program tells two bugs apart."""
    expect = expect or suspect.expect
    if expect.ending is not Ending.EXCEPTION or not expect.message:
        return None
    return suspect.build.framework, expect.exception, normalise.message(expect.message)
