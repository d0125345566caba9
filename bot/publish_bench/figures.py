"""The figures of publishing: duplicates and losses under faults, and what it costs to find nothing to do.

Invariant: every fault strikes every request in turn: the first of a run, then the second, until a run makes
fewer; then the next fault. Each kind of change of the store comes between. Counted once nothing is left to
do, so that a loss is one that no further run would make good.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from bot.confine import private_folder
from bot.publish_bench.faults import Fault
from bot.publish_bench.world import World, finding
from bot.trackers.client import TRIES
from fuzzers.records import Json

PUBLISHES = 1_000
"""With a fault each; those that end before it are not counted."""

KNOWN = 500
"""Findings of the store for which nothing is to be done."""

PASSES = 3
"""Runs in a row that end before the fault: then there is no request that it has not struck."""


def measure(publishes: int = PUBLISHES, known: int = KNOWN, seed: int = 0) -> Json:
    """The figures as JSON. `unsettled` counts stores for which a third run without faults had something to
    do."""
    begun = time.monotonic()
    done = struck = duplicates = unsettled = 0
    lost: list[str] = []
    sorts = cycle(_sorts())
    while struck < publishes:
        fault, tries = next(sorts)
        with private_folder() as folder:
            world = World(folder, seed)
            seed += 1
            for has_struck in sweep(world, fault, tries):
                done += 1
                struck += has_struck
                if struck == publishes:
                    break
            unsettled += not world.settle()
            duplicates += world.duplicates + world.twice_told()
            lost += world.lost()
    with private_folder() as folder:
        calls = noop_calls(folder, known)
    return {
        "publishes": done,
        "faults": struck,
        "duplicates": duplicates,
        "lost": len(lost),
        "unsettled": unsettled,
        "noop_calls": calls,
        "known": known,
        "seconds": round(time.monotonic() - begun, 1),
        "losses": lost[:20],
    }


def sweep(world: World, fault: Fault, tries: int) -> Iterator[bool]:
    """Publishes with a fault at each request in turn; whether each was struck."""
    for _ in range(4):
        world.new()
    at, passed = 1, 0
    while passed < PASSES:
        world.new()
        world.transition()
        world.change()
        has_struck = world.publish(fault, at, tries).has_struck
        yield has_struck
        passed = 0 if has_struck else passed + 1
        at += has_struck


def noop_calls(folder: Path, known: int) -> int:
    """Requests of a publish of so many known findings."""
    world = World(folder)
    for number in range(known):
        world.store.put_finding(finding(number, world.host.at()))
    world.publish()
    return world.publish().made


def _sorts() -> Iterator[tuple[Fault, int]]:
    """Each fault as a passing one, which the client may mend itself, and as one that lasts."""
    for fault in Fault:
        yield fault, 1
        if not fault.startswith("killed"):
            yield fault, TRIES
