"""What a campaign's steps add up to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from bot.chains import Chain
from fuzzers.engine import StepStatus


@dataclass(frozen=True)
class Tally:
    """`counts` are the engine's own (`fuzzers.engine.StepOutcome`); `fates` says how many steps ended in
    which `StepStatus` or `bot.steps.Fate`."""

    counts: dict[str, int] = field(default_factory=dict)
    fates: dict[str, int] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        """Finished steps."""
        return sum(self.fates.values())

    @property
    def checked(self) -> int:
        """Programs that were executed *and* compared."""
        return self.fates.get(StepStatus.CHECKED, 0)

    @property
    def executed(self) -> int:
        """Programs that eager ran to the end."""
        return self.counts.get("executed", 0)

    @property
    def legal_rate(self) -> float:
        """Of the programs that passed the engine's filters, the share that eager ran to the end."""
        tried = self.executed + self.counts.get("eager_rejects", 0)
        return self.executed / tried if tried else 0.0

    @property
    def dropped(self) -> dict[str, int]:
        """Why programs were executed and not compared, and how many."""
        return {name.partition(":")[2]: n for name, n in self.counts.items() if name.startswith("dropped:")}

    def with_step(self, before: Chain, after: Chain) -> Tally:
        """With the one step that `after` has and `before` has not."""
        counts = Counter(self.counts)
        counts.update(after.counts)
        counts.subtract(before.counts)
        fates = Counter(self.fates)
        fates[after.trace[-1].status] += 1
        return Tally(dict(counts), dict(fates))


def tally(chains: list[Chain]) -> Tally:
    """The sum over these chains."""
    counts: Counter[str] = Counter()
    fates: Counter[str] = Counter()
    for chain in chains:
        counts.update(chain.counts)
        fates.update(taken.status for taken in chain.trace)
    return Tally(dict(counts), dict(fates))
