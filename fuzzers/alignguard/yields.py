"""Sharing effort by what it brings: a weight for every way to make a program, from what came of it.

Invariant: weights depend on the outcomes and their order alone; everything keeps a share, since what brought
nothing for an hour may still hold the one bug that is left. A way that finds again and again is no better for
it: what it finds is one bug, most likely, and everything after the first few is work for triage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from fuzzers.records import Json

MEMORY = 0.05
"""Weight of the newest outcome in an average."""

HOPE = 0.5
"""What a way that was never tried is taken to bring: more than most do, so that all are tried."""

FLOOR = 0.05
"""What a way counts for at least."""

SIGHTING = 3.0
"""What the first difference counts for; the second half of it, the third a third."""

EVENTS = 8.0
"""New events that count for 1/2; the rest of the way to 1 takes ever more."""


@dataclass
class Way:
    """One way to make programs: its average gain, how often it was tried, and how often it found."""

    gain: float = HOPE
    tries: int = 0
    found: int = 0

    @property
    def weight(self) -> float:
        """How often to go it, relative to others."""
        return max(FLOOR, self.gain) / (1 + self.found / 4)


@dataclass
class Yields:
    """All ways, by name."""

    ways: dict[str, Way] = field(default_factory=dict)

    def draw(self, names: Sequence[str], rng: Random) -> str:
        """One of them, by weight."""
        weights = [self.ways.get(name, Way()).weight for name in names]
        return rng.choices(list(names), weights)[0]

    def learn(self, name: str, events: int, found: bool, useful: bool) -> None:
        """What came of going one way: new events, a difference, and whether it was a program at all."""
        way = self.ways.setdefault(name, Way())
        gain = events / (events + EVENTS) if useful else 0.0
        if found:
            way.found += 1
            gain += SIGHTING / way.found
        way.tries += 1
        way.gain += max(MEMORY, 1 / (1 + way.tries)) * (gain - way.gain)

    def to_json(self) -> Json:
        """The JSON form."""
        return {name: [way.gain, way.tries, way.found] for name, way in sorted(self.ways.items())}

    @classmethod
    def from_json(cls, data: Json) -> Yields:
        """ValueError when it is not one."""
        try:
            return cls({n: Way(float(g), int(t), int(f)) for n, (g, t, f) in data.items()})
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"no yields: {error}") from error
