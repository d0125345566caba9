"""A smaller script that fails in the same way: greedy descent, judged by running scripts and nothing else.

Invariant: the result *holds* (it was judged to have the slip key) or is the start itself; what is taken
does not depend on timing, because candidates are judged in batches and the first of a batch that holds wins.
Candidates are made as they are needed: those of a large program cost more than judging the few that it takes.
Only the budget depends on the clock, and it ends the search with the best so far. An answer "unknown" (the
machinery failed) is neither: the candidate is not taken, and asked again should it come up again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

from fuzzers.records import Json


@dataclass(frozen=True)
class Candidate:
    """A script, and the program it was emitted from if an engine made it."""

    script: str
    program: Json | None = None


class End(StrEnum):
    """Why a reduction ended."""

    MINIMAL = "minimal"
    """No candidate of the result holds."""
    BUDGET = "budget"
    UNKNOWN = "unknown"
    """No candidate holds, but some could not be judged."""


@dataclass(frozen=True)
class Reduced:
    """`tried` scripts were run, `taken` of them were steps of the descent, `unknown` could not be judged."""

    best: Candidate
    end: End
    tried: int
    taken: int
    unknown: int


@dataclass(frozen=True)
class Options:
    """Some of the candidates of one, most promising first. `places` says where each stands, rising; `after`
    is where the rest begins, None when there is none."""

    candidates: Sequence[Candidate]
    places: Sequence[int]
    after: int | None = None


Smaller = Callable[[Candidate, int], Options]
"""Candidates of one that stand at a place or later, at least one unless there is none; taking them
repeatedly must end."""

Hold = Callable[[Sequence[str]], list[bool | None]]
"""Which scripts fail with the slip key; None where it cannot be told."""

Placed = tuple[int, Candidate]


class _Gate:
    """Every attempt goes through here: remembers answers by content, counts, and judges in batches."""

    def __init__(self, hold: Hold, batch: int) -> None:
        self._hold = hold
        self._batch = batch
        self._known: dict[str, bool] = {}
        self.tried = 0
        self.unknown = 0

    def first(self, options: Iterable[Placed], out_of_time: Callable[[], bool]) -> Placed | None:
        """The first option that holds; None when none does or time is up."""
        for chunk in self._chunks(options):
            asked = [s for s in dict.fromkeys(c.script for _, c in chunk) if s not in self._known]
            if asked:
                if out_of_time():
                    return None
                self._ask(asked)
            for place, candidate in chunk:
                if self._known.get(candidate.script):
                    return place, candidate
        return None

    def _ask(self, scripts: Sequence[str]) -> None:
        self.tried += len(scripts)
        for script, answer in zip(scripts, self._hold(scripts), strict=True):
            if answer is None:
                self.unknown += 1
            else:
                self._known[script] = answer

    def _chunks(self, options: Iterable[Placed]) -> Iterator[list[Placed]]:
        """`options` cut so that each part has a batch of scripts that are not known yet, or ends with one
        that holds."""
        chunk: list[Placed] = []
        news: set[str] = set()
        for option in options:
            chunk.append(option)
            script = option[1].script
            if script not in self._known:
                news.add(script)
            if len(news) == self._batch or self._known.get(script):
                yield chunk
                chunk, news = [], set()
        if chunk:
            yield chunk


def reduce(
    start: Candidate, smaller: Smaller, hold: Hold, *, batch: int, out_of_time: Callable[[], bool]
) -> Reduced:
    """Descend from `start`, which must hold, until no candidate holds or time is up.

    After a step the search goes on at the same place among the new candidates: those before it have
    just failed on a larger program and are tried again last.
    """
    gate = _Gate(hold, batch)
    best, taken, place = start, 0, 0
    while not out_of_time():
        unknown = gate.unknown
        step = gate.first(_turned(best, place, smaller, out_of_time), out_of_time)
        if step is not None:
            place, best = step
            taken += 1
        elif not out_of_time():
            end = End.UNKNOWN if gate.unknown > unknown else End.MINIMAL
            return Reduced(best, end, gate.tried, taken, gate.unknown)
    return Reduced(best, End.BUDGET, gate.tried, taken, gate.unknown)


def _turned(
    best: Candidate, place: int, smaller: Smaller, out_of_time: Callable[[], bool]
) -> Iterator[Placed]:
    """All candidates once: those from `place` on, then those before it."""

    def from_to(start: int, end: int | None) -> Iterator[Placed]:
        after: int | None = start
        while after is not None and (end is None or after < end) and not out_of_time():
            options = smaller(best, after)
            for at, candidate in zip(options.places, options.candidates, strict=True):
                if (end is None or at < end) and candidate.script != best.script:
                    yield at, candidate
            after = options.after

    return chain(from_to(place, None), from_to(0, place))
