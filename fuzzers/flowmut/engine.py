"""The FlowMuT engine: chains of mutants of windows of real models, each compiled and examined.

Invariant: a step is a pure function of its task. Everything random comes from a `random.Random` seeded
with the text `seed/chain/step`, which is the same in every process, and the state between steps is the
accepted program alone. A step that saw a difference hands back no state, so that its chain starts over
from another seed and one bug is not seen ten times in a row.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from fuzzers.engine import Announce, Page, Reading, Sighting, StepOutcome, StepStatus, StepTask
from fuzzers.flowmut import model_file, shrink
from fuzzers.flowmut.differing import claim_of, expect_of
from fuzzers.flowmut.edge import FLOATING
from fuzzers.flowmut.emit import Claim, build, claim_from_json, script
from fuzzers.flowmut.program import Program, from_json, to_json
from fuzzers.flowmut.proposal import Mutant, judge, propose, tidy
from fuzzers.flowmut.record import record
from fuzzers.flowmut.seeds import SEEDS
from fuzzers.flowmut.window import window
from fuzzers.oracle import Difference, examine
from fuzzers.records import Aspect, Ending, Expect, Json, Kind

TRIES = 20
"""Proposals of one step before it gives up."""

MOST_MUTATIONS = 3
"""Mutations of one step before it executes, drawn from one to this many."""

FULL_SHARE = 0.25
"""Share of `mixed` steps that compare gradients as well: a backward pass is a compile of its own, and most
of what breaks a backward kernel breaks a forward one."""

AS_IT_STANDS = "as it stands"
"""The name of a step that mutates nothing."""


def start(rng: Random, aspects: str, seeds: Sequence[Program] = SEEDS) -> Program:
    """A window around a drawn site of a drawn seed; in `full`, its floating inputs want gradients."""
    seed = rng.choice(seeds)
    states = record(seed)
    cut = replace(tidy(window(seed, rng.choice(seed.nodes).name, states)), seed=rng.randrange(100))
    if aspects != "full":
        return cut
    wanting = tracked(cut)
    return wanting if judge(wanting, Counter()) is not None else cut


def tracked(program: Program) -> Program:
    """The program with every floating input wanting a gradient."""
    wanting = tuple(replace(i, requires_grad=i.dtype in FLOATING) for i in program.inputs)
    return replace(program, inputs=wanting)


def find(base: Program, rng: Random, counts: Counter[str]) -> Mutant | None:
    """A legal mutant of `base`, one to MOST_MUTATIONS away; None after too many tries."""
    current = judge(base, Counter())
    if current is None:
        return None
    wanted = rng.randint(1, MOST_MUTATIONS)
    program, names = base, list[str]()
    for _ in range(TRIES):
        mutant = propose(program, current, rng, counts)
        if mutant is None:
            continue
        program, current = mutant.program, mutant.states
        names.append(mutant.name)
        if len(names) == wanted:
            break
    if not names or program == base:
        return None
    return Mutant(program, current, " + ".join(names))


def digest(program: Program) -> str:
    """Identifies a candidate whatever made it."""
    plain = {k: v for k, v in to_json(program).items() if k != "origin"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


def payload(program: Program, claim: Claim) -> Json:
    """What a suspect carries so that it can be made smaller."""
    return {"program": to_json(program), "claim": claim.to_json()}


def sighting(difference: Difference, program: Program, detail: Json) -> Sighting:
    """The difference, ready to be handed over. What the oracle saw when it let every floating input want a
    gradient is shown by a program whose inputs do."""
    if difference.detail.get("phase") == "gradient":
        program = tracked(program)
    claim = claim_of(difference, [i.requires_grad for i in program.inputs])
    return Sighting(
        kind=difference.kind,
        aspect=difference.aspect,
        script=script(program, claim),
        expect=expect_of(difference),
        program=payload(program, claim),
        detail={"where": difference.where, **difference.detail, **detail},
    )


def crash_of(program: Program) -> Sighting:
    """What to report should the process die while it compiles or runs `program`."""
    claim = Claim(kind=str(Kind.CRASH), aspect=str(Aspect.OUTCOME))
    return Sighting(
        kind=Kind.CRASH,
        aspect=Aspect.OUTCOME,
        script=script(program, claim),
        expect=Expect(ending=Ending.SIGNAL, signal="SIGSEGV"),
        program=payload(program, claim),
        detail={"origin": program.origin},
    )


@dataclass(frozen=True)
class FlowMut:
    """The engine. It holds no state."""

    name: str = "flowmut"
    revision: str = "1"
    chain_length: int = 10

    def step(self, task: StepTask, announce: Announce) -> StepOutcome:
        """One mutant, executed and examined."""
        rng = Random(f"{task.seed}/{task.chain}/{task.step}")
        if task.aspects == "mixed":
            task = replace(task, aspects="full" if rng.random() < FULL_SHARE else "forward")
        counts: Counter[str] = Counter()
        seeds = tuple(map(from_json, task.seeds)) or SEEDS
        base = from_json(task.state) if task.state else start(rng, task.aspects, seeds)
        found = find(base, rng, counts)
        if found is None:
            return StepOutcome(StepStatus.REJECTED, task.state, counts=dict(counts), name="rejected")
        program = replace(found.program, origin=base.origin)
        return self._execute(program, found.name, to_json(base), task, announce, counts)

    def _execute(
        self,
        program: Program,
        name: str,
        before: Json,
        task: StepTask,
        announce: Announce,
        counts: Counter[str],
    ) -> StepOutcome:
        announce(crash_of(program))
        fn, inputs = build(program)
        options = {} if program.dynamic is None else {"dynamic": program.dynamic}
        report = examine(fn, inputs(), compile_options=options, aspects=task.aspects)
        counts["executed"] += 1
        counts.update(report.counts)
        if report.dropped:
            counts[f"dropped:{report.dropped}"] += 1
            return StepOutcome(StepStatus.DROPPED, before, (), dict(counts), name, digest(program))
        if not report.differences:
            return StepOutcome(StepStatus.CHECKED, to_json(program), (), dict(counts), name, digest(program))
        worst, *others = report.differences
        detail: Json = {
            "seed": program.origin,
            "mutations": name,
            "others": [[d.kind, d.aspect, d.where] for d in others],
        }
        seen = sighting(worst, program, detail)
        return StepOutcome(StepStatus.CHECKED, None, (seen,), dict(counts), name, digest(program))

    def read(self, path: str, lines: Sequence[int]) -> Reading:
        """A model file: what its model calls, and windows of that."""
        return model_file.read(path, lines)

    def check_file(self, path: str, aspects: str, announce: Announce) -> StepOutcome:
        """A model file's model, eager against compiled."""
        return model_file.check(path, aspects, announce)

    def check_piece(self, program: Json, aspects: str, announce: Announce) -> StepOutcome:
        """One program as it stands."""
        task = StepTask(0, 0, 0, aspects)
        return self._execute(from_json(program), AS_IT_STANDS, program, task, announce, Counter())

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
        given = from_json(program["program"])
        cast = {str(v) for n in given.nodes for k, v in n.attrs if k == "dtype"}
        return sorted({n.op for n in given.nodes}), sorted({i.dtype for i in given.inputs} | cast)


ENGINE = FlowMut()
