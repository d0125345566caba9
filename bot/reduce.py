"""A smaller script that fails in the same way: greedy descent, judged by running scripts and nothing else.

Invariant: the result *holds* (it was judged to have the slip key) or is the start itself; what is taken
does not depend on timing, because candidates are judged in batches and the first of a batch that holds wins.
Only the budget depends on the clock, and it ends the search with the best so far. An answer "unknown" (the
machinery failed) is neither: the candidate is not taken, and asked again should it come up again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

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


Smaller = Callable[[Candidate], list[Candidate]]
"""All candidates of one, most promising first; taking them repeatedly must end."""

Hold = Callable[[Sequence[str]], list[bool | None]]
"""Which scripts fail with the slip key; None where it cannot be told."""


class _Gate:
    """Every attempt goes through here: remembers answers by content, counts, and judges in batches."""

    def __init__(self, hold: Hold, batch: int) -> None:
        self._hold = hold
        self._batch = batch
        self._known: dict[str, bool] = {}
        self.tried = 0
        self.unknown = 0

    def first(
        self, scripts: Sequence[str], order: Sequence[int], out_of_time: Callable[[], bool]
    ) -> int | None:
        """The first index in `order` whose script holds; None when none does or time is up."""
        for chunk in self._chunks(scripts, order):
            asked = [s for s in dict.fromkeys(scripts[i] for i in chunk) if s not in self._known]
            if asked:
                if out_of_time():
                    return None
                self._ask(asked)
            for index in chunk:
                if self._known.get(scripts[index]):
                    return index
        return None

    def _ask(self, scripts: Sequence[str]) -> None:
        self.tried += len(scripts)
        for script, answer in zip(scripts, self._hold(scripts), strict=True):
            if answer is None:
                self.unknown += 1
            else:
                self._known[script] = answer

    def _chunks(self, scripts: Sequence[str], order: Sequence[int]) -> Iterator[list[int]]:
        """`order` cut so that each part has a batch of scripts that are not known yet."""
        chunk: list[int] = []
        news: set[str] = set()
        for index in order:
            chunk.append(index)
            if scripts[index] not in self._known:
                news.add(scripts[index])
            if len(news) == self._batch:
                yield chunk
                chunk, news = [], set()
        if chunk:
            yield chunk


def reduce(
    start: Candidate, smaller: Smaller, hold: Hold, *, batch: int, out_of_time: Callable[[], bool]
) -> Reduced:
    """Descend from `start`, which must hold, until no candidate holds or time is up.

    After a step the search goes on at the same place in the new list of candidates: those before it have
    just failed on a larger program and are tried again last.
    """
    gate = _Gate(hold, batch)
    best, taken, place = start, 0, 0
    while not out_of_time():
        options = smaller(best)
        scripts = [option.script for option in options]
        turned = [*range(place, len(options)), *range(min(place, len(options)))]
        order = [i for i in turned if scripts[i] != best.script]
        unknown = gate.unknown
        index = gate.first(scripts, order, out_of_time)
        if index is not None:
            best, place, taken = options[index], index, taken + 1
        elif not out_of_time():
            end = End.UNKNOWN if gate.unknown > unknown else End.MINIMAL
            return Reduced(best, end, gate.tried, taken, gate.unknown)
    return Reduced(best, End.BUDGET, gate.tried, taken, gate.unknown)
