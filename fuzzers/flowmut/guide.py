"""FlowMuT's guide: what the campaign's steps did becomes what the next ones are told.

Invariant: what is learned depends on the outcomes and their order alone, never on the clock; and the state
has a bounded size whatever the campaign meets.

The reward of a step is half the share of new events plus half the share of new transitions (an event and the
one noted after it), discounted by rarity, for the work that its kernels are; 0 for a candidate that was
rejected or could not be compared. A step whose process died teaches nothing: crashing the compiler is what we
are here for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from fuzzers.engine import Ask, StepOutcome, StepStatus, StepTask
from fuzzers.flowmut.choosing import EVENT_BITS, Choice, Counts, Guidance
from fuzzers.records import Json

STALE = 3
"""Steps in a row below the share below, after which a chain starts over from a seed."""

STALE_SHARE = 0.5
"""Of what steps gain on average: less, STALE times, and the chain has stopped yielding."""

MEMORY = 0.02
"""Weight of the newest step in the average gain."""

BASE_SECONDS, KERNEL_SECONDS = 0.25, 0.8
"""CPU seconds of a program, and of each of its kernels (torch 2.13.0, g++, 2 cores). Reward is for what a
step costs by this rule rather than by the clock: a busy machine must not change what is chosen."""

_MOST_CHAINS = 4096
"""Chains whose gains are remembered; more than ever run at once."""


def rarity(seen: Counts, keys: Iterable[str]) -> float:
    """The share of the keys that is new, each seen n times before counting for 2^-n."""
    values = [0.5 ** seen.of(key) for key in keys]
    return sum(values) / len(values) if values else 0.0


def work(kernels: int) -> float:
    """What a program of one kernel costs, as a share of what one of so many does; at most 1."""
    return min(1.0, (BASE_SECONDS + KERNEL_SECONDS) / (BASE_SECONDS + KERNEL_SECONDS * kernels))


@dataclass
class FlowMutGuide:
    """The guide. `events` and `transitions` count what was seen; `gains` has the last gains of each chain."""

    guidance: Guidance = field(default_factory=Guidance.fresh)
    events: Counts = field(default_factory=lambda: Counts.fresh(EVENT_BITS))
    transitions: Counts = field(default_factory=lambda: Counts.fresh(EVENT_BITS))
    average: float = 1.0
    gains: dict[int, list[float]] = field(default_factory=dict)

    def prepare(self, ask: Ask) -> None:
        """There is nothing to ask for: seeds and mutations are the worker's."""

    def before(self, task: StepTask) -> StepTask:
        """With all that was learned; from a seed again where the chain has stopped yielding."""
        state = None if self._stale(task.chain) else task.state
        if state is None:
            self.gains.pop(task.chain, None)
        return replace(task, state=state, guidance=self.guidance.to_json())

    def after(self, task: StepTask, outcome: StepOutcome | None, seconds: float) -> None:
        """Reward what the step chose."""
        if outcome is None or outcome.choice is None:
            return
        choice = Choice.from_json(outcome.choice)
        useful = outcome.status is StepStatus.CHECKED
        gain = self._gain(outcome.events) if useful else 0.0
        for pick in choice.refused:
            self.guidance.bandit.learn(pick.arm, pick.x, 0.0)
        for pick in choice.taken:
            self.guidance.bandit.learn(pick.arm, pick.x, gain * work(choice.kernels))
            self.guidance.covered.add(pick.keys)
        if useful:
            self.events.add(outcome.events)
            self.transitions.add(_transitions(outcome.events))
            self.average += MEMORY * (gain - self.average)
        self._remember(task.chain, gain)

    def _gain(self, events: tuple[str, ...]) -> float:
        return (rarity(self.events, events) + rarity(self.transitions, _transitions(events))) / 2

    def _remember(self, chain: int, gain: float) -> None:
        self.gains[chain] = [*self.gains.pop(chain, []), gain][-STALE:]
        while len(self.gains) > _MOST_CHAINS:
            del self.gains[next(iter(self.gains))]

    def _stale(self, chain: int) -> bool:
        gains = self.gains.get(chain, [])
        return len(gains) == STALE and max(gains) < STALE_SHARE * self.average

    def state(self) -> Json:
        """All that was learned."""
        return {
            "guidance": self.guidance.to_json(),
            "events": self.events.to_json(),
            "transitions": self.transitions.to_json(),
            "average": self.average,
            "gains": {str(chain): gains for chain, gains in self.gains.items()},
        }

    def restore(self, state: Json) -> None:
        """What `state` gave; ValueError when it is not that, and then nothing has changed."""
        read = _read(state)
        self.guidance, self.events, self.transitions = read.guidance, read.events, read.transitions
        self.average, self.gains = read.average, read.gains


def _read(state: Mapping[str, Any]) -> FlowMutGuide:
    try:
        gains = {int(chain): list(map(float, gained)) for chain, gained in state["gains"].items()}
        return FlowMutGuide(
            Guidance.from_json(state["guidance"]),
            Counts.from_json(state["events"], EVENT_BITS),
            Counts.from_json(state["transitions"], EVENT_BITS),
            float(state["average"]),
            gains,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not what a guide of FlowMuT has learned: {error!r}") from error


def _transitions(events: tuple[str, ...]) -> list[str]:
    return [f"{first}\n{second}" for first, second in pairwise(events)]


def make(seed: int) -> FlowMutGuide:
    """The guide of a new campaign. What is random in choosing is the step's."""
    return FlowMutGuide()
