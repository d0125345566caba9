"""One store taken into another.

Invariant: what the other store has and this one lacks is added, what both have is merged by the rules of
`bot.merge`, and nothing of either is lost; doing it again, after a kill too, changes nothing. All files
are replaced in one batch; folders of findings that have become one with another go after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from bot import wire
from bot.files import Batch, is_leftover
from bot.merge import (
    Kept,
    groups,
    join_kept,
    merge_findings,
    merge_holds,
    merge_kept,
    merge_ledgers,
    merge_publications,
    merge_states,
    merge_suspects,
)
from bot.store import Store
from fuzzers.records import Finding

R = TypeVar("R")


@dataclass(frozen=True)
class Merged:
    """How many suspects, findings, trials, runs and holds are new here, how many findings are the same
    bug as another and were `joined` with it."""

    suspects: int = 0
    findings: int = 0
    joined: int = 0
    trials: int = 0
    runs: int = 0
    holds: int = 0


def merge(store: Store, other: Store) -> Merged:
    """Take all that `other` has into `store`. `other` stays as it is, but for what has to be set aside."""
    with store.shelf.held():
        before = store.catalogue.now().parts
        with Batch(store.root) as batch:
            suspects = _merge_suspects(store, other, batch)
            wholes = list(_merge_findings(store, other, batch))
            trials = _merge_ledger(store, other, batch)
            holds = _merge_holds(store, other, batch)
            _merge_file(store, other, batch, "published.json", Store.all_publications, merge_publications)
            runs = _merge_runs(store, other, batch)
        for whole in wholes:
            # Only what was read as a finding: an alias is whatever the other store says.
            for alias in sorted(before.keys() & set(whole.aliases)):
                store.drop(alias, whole.signature)
        after = store.catalogue.now()
    theirs = other.catalogue.now().parts
    return Merged(
        suspects=suspects,
        findings=len(after.parts.keys() - before.keys()),
        joined=len((before.keys() | theirs.keys()) - after.parts.keys()),
        trials=trials,
        runs=runs,
        holds=holds,
    )


def _merge_suspects(store: Store, other: Store, batch: Batch) -> int:
    new = 0
    for folder in other.shelf.folders("suspects", "suspect.json"):
        ident = folder.name
        theirs = other.suspect(ident)
        if theirs is None:
            continue
        ours = store.suspect(ident)
        merged = merge_suspects(ours, theirs) if ours else theirs
        if merged != ours:
            batch.write(store.suspect_path(ident), wire.text(merged))
        state = store.state(ident)
        further = merge_states(state, other.state(ident))
        if further != state:
            batch.write(store.state_path(ident), wire.text(further))
        new += ours is None
    return new


def _merge_findings(store: Store, other: Store, batch: Batch) -> Iterator[Finding]:
    """Write what `other` adds to our findings; those that more than one record went into."""
    ours, theirs = store.catalogue.now().parts, other.catalogue.now().parts
    for group in groups(_united(ours, theirs)):
        if len(group) == 1 and group[0].signature not in theirs:
            continue
        whole, *others = (_kept(f.signature, ours, theirs, store, other) for f in group)
        for each in others:
            whole = join_kept(whole, each)
        store.write(whole, batch.write)
        if others:
            yield whole.finding


def _united(ours: Mapping[str, Finding], theirs: Mapping[str, Finding]) -> list[Finding]:
    both = {name: merge_findings(ours[name], theirs[name]) for name in ours.keys() & theirs.keys()}
    return list({**ours, **theirs, **both}.values())


def _kept(
    signature: str, ours: Mapping[str, Finding], theirs: Mapping[str, Finding], store: Store, other: Store
) -> Kept:
    """What the two stores have of one signature."""
    sides = [
        side.kept(parts[signature]) for side, parts in ((store, ours), (other, theirs)) if signature in parts
    ]
    return merge_kept(*sides) if len(sides) == 2 else sides[0]


def _merge_file(
    store: Store,
    other: Store,
    batch: Batch,
    name: str,
    read: Callable[[Store], R],
    merged: Callable[[R, R], R],
) -> tuple[R, R]:
    """Merge a file that is one record; what we had, and what we have now."""
    ours = read(store)
    whole = merged(ours, read(other))
    if whole != ours:
        batch.write(store.root / name, wire.text(whole))
    return ours, whole


def _merge_ledger(store: Store, other: Store, batch: Batch) -> int:
    ours, whole = _merge_file(store, other, batch, "ledger.json", Store.ledger, merge_ledgers)
    return len(whole.builds) - len(ours.builds)


def _merge_holds(store: Store, other: Store, batch: Batch) -> int:
    ours, whole = _merge_file(store, other, batch, "holds.json", Store.all_holds, merge_holds)
    return len(whole.holds) - len(ours.holds)


def _merge_runs(store: Store, other: Store, batch: Batch) -> int:
    """A run's name is unique to it, so that two of one name are one, of which the fuller text is kept."""
    new = 0
    for path in sorted((other.root / "runs").glob("*.json")):
        theirs = None if is_leftover(path) else other.shelf.read_plain(path)
        if theirs is None:
            continue
        place = store.root / "runs" / path.name
        ours = store.shelf.read_plain(place)
        texts = [wire.text(run) for run in (ours, theirs) if run is not None]
        kept = max(texts, key=lambda text: (len(text), text))
        if ours is None or kept != texts[0]:
            batch.write(place, kept)
        new += ours is None
    return new
