"""What choosing is made of, on both sides of the pipe: coverage, contexts, and what a step says it chose.

Invariant: no framework is imported, all of it has a JSON form of bounded size, and nothing depends on time or
on the machine, so that a campaign with one worker makes the same choices again.

Coverage is kept in a table of a fixed number of counters under hashed keys: a long campaign meets more sites
and events than it should remember by name, and two keys that share a counter cost a little of the novelty of
one of them.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fuzzers.bandit import LinUCB

FEATURES = ("site", "state", "mutation", "downstream", "sensitivity")
"""The context x, in order: how new the site is, the state on it and the mutation; the share of the nodes that
lie downstream; how much the outputs move with the edge. All in [0, 1]."""

COVERAGE_BITS = 12
"""log2 of the counters of sites, states and mutations; all of them travel with every task."""

EVENT_BITS = 18
"""log2 of the counters of events; these stay in the controller."""

MOST = 255
"""Where a counter stops."""

_BROKEN = (binascii.Error, zlib.error, TypeError, ValueError, AttributeError)


@dataclass
class Counts:
    """Saturating counters under hashed keys."""

    bits: int
    table: bytearray

    @classmethod
    def fresh(cls, bits: int) -> Counts:
        """All zero."""
        return cls(bits, bytearray(1 << bits))

    def _place(self, key: str) -> int:
        return zlib.crc32(key.encode()) & ((1 << self.bits) - 1)

    def of(self, key: str) -> int:
        """How often the key was added, at most MOST."""
        return self.table[self._place(key)]

    def add(self, keys: Iterable[str]) -> None:
        """Each of the keys once more."""
        for key in keys:
            place = self._place(key)
            self.table[place] = min(self.table[place] + 1, MOST)

    def to_json(self) -> str:
        """The JSON form: compressed, as text."""
        return base64.b64encode(zlib.compress(bytes(self.table))).decode()

    @classmethod
    def from_json(cls, text: Any, bits: int) -> Counts:
        """ValueError when it is not a table of that size."""
        try:
            table = bytearray(zlib.decompress(base64.b64decode(text, validate=True)))
        except _BROKEN as error:
            raise ValueError(f"no counters: {error!r}") from error
        if len(table) != 1 << bits:
            raise ValueError(f"{len(table)} counters, not {1 << bits}")
        return cls(bits, table)


def novelty(count: int) -> float:
    """1 for what was never seen, falling as its square root does."""
    return float((1 + count) ** -0.5)


@dataclass(frozen=True)
class Pick:
    """One mutation at one site: its arm, its context, and the keys of what it covers."""

    arm: str
    x: tuple[float, ...]
    keys: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {"arm": self.arm, "x": list(self.x), "keys": list(self.keys)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Pick:
        """From the JSON form."""
        return cls(str(data["arm"]), tuple(map(float, data["x"])), tuple(map(str, data["keys"])))


@dataclass
class Choice:
    """What a step chose: the picks that led to its candidate, those that were no good, and how many kernels
    the compiler made of the candidate."""

    taken: list[Pick] = field(default_factory=list)
    refused: list[Pick] = field(default_factory=list)
    kernels: int = 0

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "taken": [pick.to_json() for pick in self.taken],
            "refused": [pick.to_json() for pick in self.refused],
            "kernels": self.kernels,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Choice:
        """From the JSON form."""
        taken, refused = ([Pick.from_json(p) for p in data[key]] for key in ("taken", "refused"))
        return cls(taken, refused, int(data["kernels"]))


@dataclass
class Guidance:
    """What a step is told: the models, and what has been covered."""

    bandit: LinUCB
    covered: Counts

    @classmethod
    def fresh(cls) -> Guidance:
        """Nothing learned yet."""
        return cls(LinUCB.fresh(len(FEATURES)), Counts.fresh(COVERAGE_BITS))

    def context(self, keys: Sequence[str], downstream: float, sensitivity: float) -> tuple[float, ...]:
        """x of a candidate whose site, state and mutation have these keys, in the order of FEATURES."""
        return (*(novelty(self.covered.of(key)) for key in keys), downstream, sensitivity)

    def best(self, picks: Sequence[Pick]) -> int:
        """Which of the picks scores highest; the first of equals."""
        scores = self.bandit.scores([pick.arm for pick in picks], [pick.x for pick in picks])
        return max(range(len(picks)), key=lambda k: scores[k])

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {"bandit": self.bandit.to_json(), "covered": self.covered.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Guidance:
        """ValueError when it is none."""
        try:
            bandit, covered = data["bandit"], data["covered"]
        except (KeyError, TypeError) as error:
            raise ValueError(f"no guidance: {error!r}") from error
        read = LinUCB.from_json(bandit)
        if read.width != len(FEATURES):
            raise ValueError(f"models of width {read.width}, not {len(FEATURES)}")
        return cls(read, Counts.from_json(covered, COVERAGE_BITS))
