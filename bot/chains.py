"""A campaign's progress on disk: one file a chain, written whole after each step.

Invariant: a chain's file holds everything that its finished steps amount to (state, counts, trace), so
the campaign's totals are sums over these files, exact whatever was killed in between; and a step's journal
is older than the file only while that step's outcome is not stored.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot import wire
from bot.errors import UserMistake
from bot.files import is_leftover, write_atomically
from fuzzers.records import SCHEMA, Json


@dataclass(frozen=True)
class Taken:
    """One finished step: what the engine called it, which candidate it was, and what became of it
    (a `StepStatus`, or one of the endings that only the controller sees: `bot.steps`)."""

    step: int
    name: str
    digest: str
    status: str


@dataclass(frozen=True)
class Chain:
    """One chain: the next step and the state it starts from; counts and trace of the steps before it.
    `interrupted` is how often the controller died during the next step."""

    chain: int
    step: int = 0
    state: Json | None = None
    done: bool = False
    interrupted: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    trace: tuple[Taken, ...] = ()
    schema: int = SCHEMA

    def after(self, taken: Taken, state: Json | None, counts: dict[str, int], done: bool) -> Chain:
        """This chain with one more step behind it. A chain that is done drops its state."""
        return replace(
            self,
            step=self.step + 1,
            state=None if done else state,
            done=done,
            interrupted=0,
            counts=dict(Counter(self.counts) + Counter(counts)),
            trace=(*self.trace, taken),
        )

    def again(self) -> Chain:
        """This chain, its next step interrupted once more."""
        return replace(self, interrupted=self.interrupted + 1)


class Progress:
    """The chains of one campaign folder."""

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        self.folder = folder
        self.warn = warn
        self.journals = folder / "journal"
        self.journals.mkdir(parents=True, exist_ok=True)

    def load(self) -> list[Chain]:
        """Every chain that has begun, in order. A file that cannot be read is set aside: its chain
        starts over, which finds the same suspects again and adds none twice."""
        chains = []
        parent = self.folder / "chains"
        for path in sorted(parent.iterdir()) if parent.is_dir() else []:
            if is_leftover(path):
                continue
            try:
                chain = wire.read(Chain, path.read_bytes())
                if self._path(chain.chain) != path:
                    raise wire.UnreadableError(f"not chain {path.stem}")
                chains.append(chain)
            except wire.TooNewError as error:
                raise UserMistake(f"{path}: {error}") from error
            except wire.UnreadableError as error:
                target = self.folder / f"{path.name}.set-aside"
                path.replace(target)
                self.warn(f"set aside {path.name}: {error}; it is now {target}, its chain starts over")
        return sorted(chains, key=lambda chain: chain.chain)

    def save(self, chain: Chain) -> None:
        """Replace the chain's file."""
        write_atomically(self._path(chain.chain), wire.text(chain))

    def journal(self, chain: int, step: int) -> Path:
        """Where the worker announces the candidate of this step."""
        return self.journals / f"{chain:06}-{step:04}.json"

    def left_journals(self) -> Iterator[tuple[int, int, Path]]:
        """(chain, step, path) of every journal that is there."""
        for path in sorted(self.journals.glob("*-*.json")):
            chain, _, step = path.stem.partition("-")
            if chain.isdigit() and step.isdigit():
                yield int(chain), int(step), path

    def write_trace(self, chains: list[Chain]) -> None:
        """`candidates.jsonl`: a line a step, by chain and step, so that two campaigns can be compared."""
        lines = [
            json.dumps(
                {"chain": c.chain, "step": t.step, "name": t.name, "digest": t.digest, "status": t.status}
            )
            for c in sorted(chains, key=lambda c: c.chain)
            for t in c.trace
        ]
        write_atomically(self.folder / "candidates.jsonl", "".join(line + "\n" for line in lines))

    def _path(self, chain: int) -> Path:
        return self.folder / "chains" / f"{chain:06}.json"
