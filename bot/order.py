"""In which order suspects are triaged, and which of them are one failure by their exception alone.

Invariant: pure and deterministic, from the suspects only. The reason for an order: a budget may end triage
anywhere, and what was done by then should be the worst bugs and as many different ones as can be.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot import fingerprint, normalise, reading
from fuzzers.records import Ending, Kind, Suspect

Twins = tuple[str, ...]


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


def twins(suspect: Suspect) -> Twins | None:
    """What suspects that are exact duplicates have in common: exception class, normalised message and
    innermost frames. None where that does not name a bug, because then only the reduced program tells two
    bugs apart."""
    expect = suspect.expect
    seen = suspect.detail.get("actual")
    frames = tuple(map(str, seen.get("frames", ()))) if isinstance(seen, dict) else ()
    if expect.ending is not Ending.EXCEPTION or not expect.message:
        return None
    if not fingerprint.is_named_by_message(Kind.EXCEPTION, frames):
        return None
    return (
        suspect.build.framework,
        expect.exception,
        normalise.message(expect.message),
        *normalise.frames(frames),
    )
