"""One mutant from a model: ask, look at the answer, tell the model what is wrong with it, at most twice.

Invariant: what comes out has passed the form and the gate; the writer runs nothing. Who runs a mutant, and
sees it fail, may hand it back with what was said: that is a repair like any other. When the endpoint cannot
be used, every later mutant is refused at no cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from fuzzers.alignguard.llm.answer import judged
from fuzzers.alignguard.llm.client import Client, Unanswered, Unusable
from fuzzers.alignguard.llm.endpoint import Message
from fuzzers.alignguard.llm.orders import Order
from fuzzers.alignguard.llm.prompt import conversation, repair
from fuzzers.records import Json

REPAIRS = 2


@dataclass(frozen=True)
class Mutant:
    """What an order came to: a program after `repairs` repairs, or why there is none. `messages` is what
    led to the model's last words, `said`."""

    order: Order
    source: str = ""
    repairs: int = 0
    why: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()
    said: str = ""


@dataclass
class Writer:
    """Asks one model. `counts`: orders `asked`, `programs` made, the `repairs` of those, `refused`
    orders, and `unanswered` ones."""

    client: Client
    counts: Counter[str] = field(default_factory=Counter)

    def mutant(self, order: Order) -> Mutant:
        """One mutant; the same order, the same one. Unusable when the endpoint is not, or no longer."""
        self.counts["asked"] += 1
        return self._made(order, conversation(order.seed.source, order.characteristics), 0, ())

    def again(self, mutant: Mutant, problem: str) -> Mutant:
        """The mutant repaired of a problem that running it has shown. Unusable as above."""
        if mutant.repairs >= REPAIRS:
            return Mutant(mutant.order, repairs=mutant.repairs, why=(problem,))
        messages = [*mutant.messages, *repair(mutant.said, (problem,))]
        return self._made(mutant.order, messages, mutant.repairs + 1, (problem,))

    def _made(self, order: Order, messages: Sequence[Message], repairs: int, why: tuple[str, ...]) -> Mutant:
        while True:
            try:
                said = self.client.ask(messages, order.number).text
            except Unanswered as failure:
                self.counts["unanswered"] += 1
                return Mutant(order, repairs=repairs, why=(str(failure),))
            except Unusable:
                if not why:
                    raise
                return Mutant(order, repairs=repairs, why=why)
            verdict = judged(said, order.seed.source)
            if verdict.source:
                self.counts["programs"] += 1
                self.counts["repairs"] += repairs
                return Mutant(order, verdict.source, repairs, (), tuple(messages), said)
            why = verdict.problems
            if repairs == REPAIRS:
                self.counts["refused"] += 1
                return Mutant(order, repairs=repairs, why=why)
            repairs += 1
            messages = [*messages, *repair(said, why)]

    def document(self) -> Json:
        """What was asked, made and spent."""
        return {**self.counts, **self.client.spending.document()}
