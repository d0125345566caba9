"""What to ask a model for: which seed, which characteristics.

Invariant: a pure function of the seeds and a number, so that the same night asks the same and finds the
answers in its cache. Every seed has its turn before one has a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from fuzzers.alignguard.characteristics.declaration import Characteristic
from fuzzers.alignguard.characteristics.table import CHARACTERISTICS
from fuzzers.alignguard.rules import detect

TWO_SHARE = 0.3
"""Share of the orders with two characteristics: bugs sit where two things meet, and a small model
manages one."""


@dataclass(frozen=True)
class Seed:
    """A program to be changed; `name` says where it came from."""

    name: str
    source: str


@dataclass(frozen=True)
class Order:
    """One request. `number` keeps two requests for the same thing apart."""

    seed: Seed
    characteristics: tuple[Characteristic, ...]
    number: int


def orders(seeds: Sequence[Seed], seed: int) -> Iterator[Order]:
    """Orders without end, for at least one seed."""
    rng = Random(f"orders/{seed}")
    number = 0
    while seeds:
        for one in rng.sample(list(seeds), len(seeds)):
            yield Order(one, _drawn(one, rng), number)
            number += 1


def _drawn(seed: Seed, rng: Random) -> tuple[Characteristic, ...]:
    """One or two characteristics that the seed does not have yet; any, when it has them all."""
    has = detect(seed.source)
    lacking = [one for one in CHARACTERISTICS if one.name not in has] or list(CHARACTERISTICS)
    return tuple(rng.sample(lacking, min(len(lacking), 2 if rng.random() < TWO_SHARE else 1)))
