"""The programs that a campaign mutates: those that ran, each once, and what is still to be run.

Invariant: everything in the corpus ran uncompiled in the build under test; its size is bounded; what was
proposed before, in other words or not, is known by its digest and not proposed again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from fuzzers.alignguard import form, pairs
from fuzzers.records import Json

MOST_ENTRIES = 3000
"""Programs kept; a new one takes the place of one drawn at random."""

PARTNERS = 40
"""Programs looked at for one that fits another."""


@dataclass(frozen=True)
class Entry:
    """A program that ran: its text, where it came from, and its tensors (`described` by the engine)."""

    source: str
    origin: str
    outputs: tuple[Json, ...] = ()
    inputs: tuple[Json, ...] = ()

    def to_json(self) -> Json:
        """The JSON form."""
        return {
            "source": self.source,
            "origin": self.origin,
            "outputs": list(self.outputs),
            "inputs": list(self.inputs),
        }


def entry_from_json(data: Json) -> Entry:
    """The entry from its JSON form."""
    return Entry(
        str(data["source"]),
        str(data["origin"]),
        tuple(data.get("outputs", ())),
        tuple(data.get("inputs", ())),
    )


@dataclass
class Corpus:
    """`waiting` are seeds that have not run yet, first come first; `known` the digests of all proposed."""

    entries: list[Entry] = field(default_factory=list)
    waiting: deque[Entry] = field(default_factory=deque)
    known: set[str] = field(default_factory=set)

    def await_all(self, seeds: Iterable[Entry]) -> None:
        """Queue seeds that are in the normal form and were not there before."""
        self.waiting.extend(seed for seed in seeds if self.is_new(seed.source))

    def is_new(self, source: str) -> bool:
        """Whether a text is a program that was not proposed before; from now on it was."""
        try:
            name = form.digest(form.read(source).source)
        except form.NotNormal:
            return False
        if name in self.known:
            return False
        self.known.add(name)
        return True

    def keep(self, entry: Entry, rng: Random) -> None:
        """Take in a program that ran."""
        if len(self.entries) < MOST_ENTRIES:
            self.entries.append(entry)
        else:
            self.entries[rng.randrange(MOST_ENTRIES)] = entry

    def pair(self, rng: Random) -> Entry | None:
        """Two programs of the corpus in one; None when none of a few fits."""
        first = rng.choice(self.entries)
        for _ in range(PARTNERS):
            second = rng.choice(self.entries)
            fits = pairs.joints(first.outputs, second.inputs)
            if not fits:
                continue
            text = pairs.join(first.source, second.source, rng.choice(fits))
            if text is not None:
                return Entry(text, f"{first.origin} > {second.origin}")
        return None

    def to_json(self) -> Json:
        """The JSON form."""
        return {
            "entries": [e.to_json() for e in self.entries],
            "waiting": [e.to_json() for e in self.waiting],
            "known": sorted(self.known),
        }

    @classmethod
    def from_json(cls, data: Json) -> Corpus:
        """ValueError when it is not one."""
        try:
            return cls(
                [entry_from_json(e) for e in data["entries"]],
                deque(entry_from_json(e) for e in data["waiting"]),
                set(map(str, data["known"])),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"no corpus: {error!r}") from error
