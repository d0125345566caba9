"""The FlowMuT engine: chains of mutants of windows of real models, each compiled and examined.

Invariant: a step is a pure function of its task (`candidate`), and the state between steps is the accepted
program alone. A step that saw a difference hands back no state, so that its chain starts over from another
seed and one bug is not seen ten times in a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fuzzers.engine import Announce, Page, Reading, StepOutcome, StepTask
from fuzzers.events import watching
from fuzzers.flowmut import model_file, shrink
from fuzzers.flowmut.candidate import Candidate, as_it_stands, crash_of, outcome, plan
from fuzzers.flowmut.emit import build, claim_from_json, script
from fuzzers.flowmut.program import from_json
from fuzzers.oracle import examine
from fuzzers.records import Json


@dataclass(frozen=True)
class FlowMut:
    """The engine. It holds no state."""

    name: str = "flowmut"
    revision: str = "2"
    chain_length: int = 20

    def step(self, task: StepTask, announce: Announce) -> StepOutcome:
        """One mutant, executed and examined."""
        candidate = plan(task)
        return candidate if isinstance(candidate, StepOutcome) else self._execute(candidate, announce)

    def _execute(self, candidate: Candidate, announce: Announce) -> StepOutcome:
        announce(crash_of(candidate.program))
        fn, inputs = build(candidate.program)
        with watching() as watch:
            report = examine(fn, inputs(), compile_options=candidate.options, aspects=candidate.aspects)
        kernels = watch.kernels
        return outcome(candidate, report, watch.take(), kernels)

    def read(self, path: str, lines: Sequence[int]) -> Reading:
        """A model file: what its model calls, and windows of that."""
        return model_file.read(path, lines)

    def check_file(self, path: str, aspects: str, announce: Announce) -> StepOutcome:
        """A model file's model, eager against compiled."""
        return model_file.check(path, aspects, announce)

    def check_piece(self, program: Json, aspects: str, announce: Announce) -> StepOutcome:
        """One program as it stands."""
        return self._execute(as_it_stands(from_json(program), aspects), announce)

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


ENGINE = FlowMut()
