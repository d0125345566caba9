"""AlignGuard's guide with a language model beside it, or with what one has made ahead.

Invariant: the guide inside decides everything else and keeps all that is learned; without the model's
programs it behaves as if it were alone, and with them the bandit gives them their share by what they yield.
Answers come when they come, so a campaign with a live model is not deterministic; one with a file of
proposals is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from random import Random

from fuzzers.alignguard.guide import MAKERS, MODES, AlignGuardGuide
from fuzzers.alignguard.llm.orders import Seed
from fuzzers.alignguard.llm.supply import Supply
from fuzzers.alignguard.llm.writer import Mutant
from fuzzers.alignguard.proposals import Proposal
from fuzzers.engine import Ask, StepOutcome, StepStatus, StepTask
from fuzzers.records import Json

LLM = "llm"
"""Who made a program, as counts and the bandit know it."""

REFRESH = 25
"""Steps after which the supply is told the newest seeds."""


@dataclass
class Assisted:
    """The guide `inner` with programs of a model: `offered` ones, and those of a live `supply`."""

    inner: AlignGuardGuide
    offered: deque[Proposal] = field(default_factory=deque)
    supply: Supply | None = None
    running: dict[str, Mutant] = field(default_factory=dict)
    """Mutants whose steps are under way, by their text."""
    steps: int = 0

    @classmethod
    def of(cls, inner: AlignGuardGuide, offered: Iterable[Proposal], supply: Supply | None) -> Assisted:
        """The guide with these programs, in their order."""
        return cls(inner, deque(offered), supply)

    def prepare(self, ask: Ask) -> None:
        """As the guide inside; from then on the model is asked, about seeds that wait until some have run."""
        self.inner.prepare(ask)
        if self.supply is not None:
            self._refresh()
            self.supply.start()

    def before(self, task: StepTask) -> StepTask:
        """A program of the model when it is its turn and there is one."""
        self.steps += 1
        if self.supply is not None and self.steps % REFRESH == 0:
            self._refresh()
        rng = Random(f"{self.inner.seed}/{self.steps}/llm")
        if self.inner.yields.draw((LLM, *MAKERS), rng) == LLM:
            made = self._offered() or self._made()
            if made is not None:
                return self._task(task, made, rng)
        return self.inner.before(task)

    def after(self, task: StepTask, outcome: StepOutcome | None, seconds: float) -> None:
        """As the guide inside; what failed uncompiled is handed back to the model."""
        self.inner.after(task, outcome, seconds)
        given = task.given or {}
        if given.get("by") != LLM:
            return
        mutant = self.running.pop(given["program"]["source"], None)
        refused = outcome is not None and outcome.status is StepStatus.REJECTED
        if mutant is not None and refused and self.supply is not None:
            assert outcome is not None
            said = str((outcome.choice or {}).get("refused", "an error"))[:200]
            self.supply.failed(mutant, f"it fails in eager PyTorch: {said}")

    def state(self) -> Json:
        """What the guide inside has learned."""
        return self.inner.state()

    def restore(self, state: Json) -> None:
        """What `state` gave. ValueError when it is not that."""
        self.inner.restore(state)

    def _offered(self) -> Json | None:
        while self.offered:
            proposal = self.offered.popleft()
            if self.inner.corpus.is_new(proposal.source):
                return _given(proposal.source, proposal.seed, proposal.characteristics)
        return None

    def _made(self) -> Json | None:
        mutant = self.supply.take() if self.supply is not None else None
        if mutant is None or not self.inner.corpus.is_new(mutant.source):
            return None
        self.running[mutant.source] = mutant
        names = tuple(one.name for one in mutant.order.characteristics)
        return _given(mutant.source, mutant.order.seed.name, names)

    def _task(self, task: StepTask, made: Json, rng: Random) -> StepTask:
        mode = rng.choices([mode for _, mode in MODES], [weight for weight, _ in MODES])[0]
        given = {**made, "program": {**made["program"], "mode": mode}}
        return replace(task, given=given, guidance={"seen": self.inner.seen.to_json()})

    def _refresh(self) -> None:
        assert self.supply is not None
        entries = self.inner.corpus.entries or self.inner.corpus.waiting
        self.supply.give([Seed(entry.origin, entry.source) for entry in entries])


def _given(source: str, origin: str, characteristics: tuple[str, ...]) -> Json:
    """A program as the engine takes it, without its mode."""
    told = f"{origin} + {' + '.join(characteristics)} by a model"
    return {"program": {"source": source, "origin": told}, "by": LLM, "ways": [LLM]}
