"""What killed campaigns have left: journals of candidates that were running when everything died.

Invariant: a candidate whose end nobody saw becomes a suspect, once, and only when no controller is there
to see it; one whose outcome is stored does not.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from bot import wire
from bot.chains import Chain, Progress
from bot.files import InUseError, owned, utc_now
from bot.record import read_record
from bot.steps import interrupted
from bot.store import Store
from fuzzers.engine import Sighting


def adopt(out: Path, store: Store) -> int:
    """Make suspects of what the campaigns below `out` have left; how many are new."""
    folders = sorted((out / "campaigns").glob("*/"))
    return sum(_adopt_from(folder, store) for folder in folders if (folder / "journal").is_dir())


def _adopt_from(folder: Path, store: Store) -> int:
    try:
        with owned(folder / "lock", f"the campaign {folder.name}"):
            return _adopt_owned(folder, store)
    except InUseError as busy:
        store.warn(f"{busy}: its journals are left to it")
        return 0


def _adopt_owned(folder: Path, store: Store) -> int:
    progress = Progress(folder, store.warn)
    left = list(progress.left_journals())
    record = read_record(folder / "campaign.json", store.warn) if left else None
    if record is None:
        return 0
    chains = {chain.chain: chain for chain in progress.load()}
    new = 0
    for number, step, path in left:
        chain = chains.get(number, Chain(number))
        if step >= chain.step and not chain.done:
            try:
                sighting = wire.read(Sighting, path.read_bytes())
            except wire.UnreadableError as error:
                target = path.rename(path.with_suffix(".set-aside"))
                store.warn(f"set aside {path}: {error}; it is now {target.name}, the rest goes on")
                continue
            done = interrupted(record.spec, chain, sighting, utc_now())
            new += sum(store.add(suspect) for suspect in done.suspects)
        path.unlink()
    return new


def forget(folder: Path, store: Store) -> None:
    """Remove a campaign's progress, so that it starts over; what it found and left stays in the store."""
    if not folder.is_dir():
        return
    with owned(folder / "lock", f"the campaign {folder.name}"):
        _adopt_owned(folder, store)
        for part in ("chains", "journal", "failures"):
            shutil.rmtree(folder / part, ignore_errors=True)
        for part in ("campaign.json", "candidates.jsonl"):
            (folder / part).unlink(missing_ok=True)
