"""The FlowMuT engine on MindSpore: the same chains of mutants, PyNative against Graph mode.

Invariant: as `fuzzers.flowmut.engine`. What is different is only how a candidate is executed: there is no
second phase for gradients in `forward`, and in `full` the program under test is the gradient function too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mindspore as ms

from fuzzers.engine import Announce, Page, StepOutcome, StepTask
from fuzzers.flowmut import shrink
from fuzzers.flowmut.candidate import Candidate, crash_of, outcome, plan
from fuzzers.flowmut.claim import claim_from_json
from fuzzers.flowmut.on_mindspore.emit import script
from fuzzers.flowmut.on_mindspore.examine import examine
from fuzzers.flowmut.on_mindspore.source import build
from fuzzers.flowmut.program import from_json
from fuzzers.records import Json


@dataclass(frozen=True)
class FlowMutOnMindSpore:
    """The engine. It holds no state."""

    name: str = "flowmut"
    revision: str = "1"
    chain_length: int = 20

    def step(self, task: StepTask, announce: Announce) -> StepOutcome:
        """One mutant, executed and examined."""
        candidate = plan(task)
        return candidate if isinstance(candidate, StepOutcome) else self._execute(candidate, announce)

    def _execute(self, candidate: Candidate, announce: Announce) -> StepOutcome:
        announce(crash_of(candidate.program))
        call, inputs = build(candidate.program)

        def compiled(level: str) -> Callable[..., Any]:
            made: Callable[..., Any] = ms.jit(call, jit_level=level)
            return made

        return outcome(candidate, examine(call, inputs, compiled), (), 0)

    def candidates(self, program: Json) -> list[Json]:
        """Smaller payloads, most promising first."""
        return shrink.candidates(program)

    def page(self, program: Json, start: int, count: int, hints: Sequence[Sequence[str]]) -> Page:
        """Some of them, with their scripts."""
        return shrink.page(program, start, count, hints)

    def emit(self, program: Json) -> str:
        """The reproducer of a payload."""
        return script(from_json(program["program"]), claim_from_json(program["claim"]))

    def operators(self, program: Json) -> tuple[list[str], list[str]]:
        """(sorted operator names, sorted dtype names) of a payload."""
        return shrink.named(program)


ENGINE = FlowMutOnMindSpore()
