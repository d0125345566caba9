"""Programs from a language model, ahead of a campaign.

Invariant: executes nothing: seeds and answers are read as texts. Whatever the endpoint does, what was made
until then is handed over, with one line about why there is no more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bot import wire
from bot.errors import UserMistake
from fuzzers.alignguard import form
from fuzzers.alignguard.llm.client import Unusable
from fuzzers.alignguard.llm.orders import Seed, orders
from fuzzers.alignguard.llm.writer import Writer
from fuzzers.alignguard.proposals import LARGEST_FILE, MOST_PROGRAMS, Proposal, Proposals, admitted
from fuzzers.alignguard.written import WRITTEN

LARGEST_SEED = 2**20
"""Bytes of one file of seeds."""

MOST_SEEDS = 10_000


@dataclass(frozen=True)
class Made:
    """What was made, and why there is no more."""

    proposals: Proposals
    ended: str


def propose(
    writer: Writer,
    seeds: Sequence[Seed],
    seed: int,
    say: Callable[[str], None],
    stop: threading.Event,
) -> Made:
    """Ask for mutants until the endpoint's allowance is used up. What came of each is told through `say`."""
    made: dict[str, Proposal] = {}
    ended = f"{MOST_PROGRAMS} requests are enough"
    for order in islice(orders(seeds, seed), MOST_PROGRAMS):
        if stop.is_set():
            ended = "it was stopped"
            break
        try:
            mutant = writer.mutant(order)
        except Unusable as failure:
            ended = str(failure)
            break
        names = tuple(one.name for one in order.characteristics)
        what = f"{order.seed.name}: {', '.join(names)}"
        if mutant.source:
            made.setdefault(
                form.digest(mutant.source), Proposal(mutant.source, order.seed.name, names, mutant.repairs)
            )
            say(f"{what}: a program" + (f" after {mutant.repairs} repairs" if mutant.repairs else ""))
        else:
            say(f"{what}: none ({'; '.join(mutant.why)[:200]})")
    return Made(Proposals(tuple(made.values()), writer.client.endpoint.model), ended)


def read_seeds(path: Path | None, say: Callable[[str], None]) -> list[Seed]:
    """The programs that come with the engine, without a path; or those in a file or the files of a folder:
    texts in the form (`.py`), or what `propose` wrote (`.json`). Files of a folder that hold none are
    counted. UserMistake when there is no program."""
    if path is None:
        return [Seed(f"written {name}", text) for name, text in WRITTEN.items()]
    if not path.exists():
        raise UserMistake(f"--seeds {path}: there is no such file or folder")
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    found: list[Seed] = []
    refused: list[str] = []
    for file in files[:MOST_SEEDS]:
        try:
            found += _read(file)
        except form.NotNormal as error:
            refused.append(f"{file.name}: {error}")
    if refused and found:
        say(f"seeds that are not in the form: {len(refused)} of {len(files)}; the first: {refused[0]}")
    if not found:
        raise UserMistake(f"--seeds {path}: no program in the form ({(refused or ['no file'])[0]})")
    return found


def _read(path: Path) -> list[Seed]:
    if path.suffix == ".json":
        return [Seed(one.seed or path.name, one.source) for one in read_proposals(path)]
    text = wire.bounded(path, LARGEST_SEED, "file of seeds").decode("utf-8", "replace")
    form.read(text)
    return [Seed(path.stem, text)]


def read_proposals(path: Path, say: Callable[[str], None] = lambda _: None) -> tuple[Proposal, ...]:
    """The programs of a file of `nightfuzz propose` that may run. UserMistake when it is no such file."""
    found = admitted(wire.read_file(Proposals, path, LARGEST_FILE, "file of proposals"))
    for why, count in found.refused.items():
        say(f"{path.name}: {count} programs refused: {why}")
    return found.programs
