"""The candidate of one step: made, announced, and told of.

Invariant: pure but for eager runs. What a step makes follows from its task alone, and what it hands back from
the candidate, the oracle's report and what the compiler was seen to do; so it does not matter whether it was
executed on its own or together with others. Everything random comes from a `random.Random` seeded with the
text `seed/chain/step`, which is the same in every process.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from fuzzers.engine import Sighting, StepOutcome, StepStatus, StepTask
from fuzzers.flowmut.chooser import Chooser
from fuzzers.flowmut.choosing import Choice, Guidance
from fuzzers.flowmut.claim import Claim
from fuzzers.flowmut.differing import Difference, Report, claim_of, expect_of
from fuzzers.flowmut.edge import FLOATING
from fuzzers.flowmut.program import Program, from_json, to_json
from fuzzers.flowmut.proposal import Mutant, judge, propose, tidy
from fuzzers.flowmut.rejection import Refused
from fuzzers.flowmut.runtime import States, runtime
from fuzzers.flowmut.seeds.table import SEEDS
from fuzzers.flowmut.window import window
from fuzzers.records import Aspect, Ending, Expect, Json, Kind

TRIES = 20
"""Proposals of one step before it gives up."""

MOST_MUTATIONS = 3
"""Mutations of one step before it executes, drawn from one to this many."""

FULL_SHARE = 0.25
"""Share of `mixed` steps that compare gradients as well: a backward pass is a compile of its own, and most
of what breaks a backward kernel breaks a forward one."""


def start(rng: Random, aspects: str, seeds: Sequence[Program] = SEEDS) -> Program:
    """A window around a drawn site of a drawn seed; in `full`, its floating inputs want gradients."""
    seed, states = _running(rng, seeds)
    cut = runtime().fitted(tidy(window(seed, rng.choice(seed.nodes).name, states)))
    cut = replace(cut, seed=rng.randrange(100))
    if aspects != "full":
        return cut
    wanting = tracked(cut)
    return wanting if judge(wanting, Counter()) is not None else cut


def _running(rng: Random, seeds: Sequence[Program]) -> tuple[Program, States]:
    """A drawn seed that this build runs, with its states. The last one's Refused when it runs none."""
    drawn = rng.sample(seeds, len(seeds))
    for seed in drawn[:-1]:
        try:
            return seed, runtime().record(seed, None)
        except Refused:
            continue
    return drawn[-1], runtime().record(drawn[-1], None)


def tracked(program: Program) -> Program:
    """The program with every floating input wanting a gradient."""
    wanting = tuple(replace(i, requires_grad=i.dtype in FLOATING) for i in program.inputs)
    return replace(program, inputs=wanting)


def find(base: Program, rng: Random, counts: Counter[str], chooser: Chooser | None = None) -> Mutant | None:
    """A legal mutant of `base`, one to MOST_MUTATIONS away; None after too many tries."""
    chooser = chooser or Chooser()
    current = judge(base, Counter())
    if current is None:
        return None
    wanted = rng.randint(1, MOST_MUTATIONS)
    program, names = base, list[str]()
    for _ in range(TRIES):
        mutant = propose(program, current, rng, counts, chooser)
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
        script=runtime().script(program, claim),
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
        script=runtime().script(program, claim),
        expect=Expect(ending=Ending.SIGNAL, signal="SIGSEGV"),
        program=payload(program, claim),
        detail={"origin": program.origin},
    )


@dataclass(frozen=True)
class Candidate:
    """What a step is about to execute, and what it was made from."""

    program: Program
    name: str
    base: Json
    aspects: str
    counts: dict[str, int]
    choice: Choice

    @property
    def options(self) -> Json:
        """For the compiler."""
        return {} if self.program.dynamic is None else {"dynamic": self.program.dynamic}


def plan(task: StepTask) -> Candidate | StepOutcome:
    """The step's candidate; the outcome where there is none."""
    rng = Random(f"{task.seed}/{task.chain}/{task.step}")
    if task.aspects == "mixed":
        task = replace(task, aspects="full" if rng.random() < FULL_SHARE else "forward")
    counts: Counter[str] = Counter()
    seeds = tuple(map(from_json, task.seeds)) or tuple(filter(runtime().expresses, SEEDS))
    base = from_json(task.state) if task.state else start(rng, task.aspects, seeds)
    chooser = Chooser(Guidance.from_json(task.guidance) if task.guidance else None)
    found = find(base, rng, counts, chooser)
    if found is None:
        refused = replace(chooser.choice, taken=[], refused=chooser.choice.refused)
        return StepOutcome(
            StepStatus.REJECTED,
            task.state,
            counts=dict(counts),
            name="rejected",
            choice=refused.to_json() if task.guidance else None,
        )
    program = replace(found.program, origin=base.origin)
    return Candidate(program, found.name, to_json(base), task.aspects, dict(counts), chooser.choice)


def as_it_stands(program: Program, aspects: str) -> Candidate:
    """A program that nothing has been done to."""
    return Candidate(program, "as it stands", to_json(program), aspects, {}, Choice())


def outcome(candidate: Candidate, report: Report, events: tuple[str, ...], kernels: int) -> StepOutcome:
    """What the step hands back once its candidate was examined. `events` are what the compiler was seen to
    do, `kernels` how many it made."""
    counts = Counter(candidate.counts)
    counts["executed"] += 1
    counts.update(report.counts)
    program = candidate.program
    told = StepOutcome(
        StepStatus.CHECKED,
        to_json(program),
        counts=dict(counts),
        name=candidate.name,
        digest=digest(program),
        events=events,
        choice=replace(candidate.choice, kernels=kernels).to_json(),
    )
    if report.dropped:
        counts[f"dropped:{report.dropped}"] += 1
        return replace(told, status=StepStatus.DROPPED, state=candidate.base, counts=dict(counts))
    if not report.differences:
        return told
    worst, *others = report.differences
    detail: Json = {
        "seed": program.origin,
        "mutations": candidate.name,
        "others": [[d.kind, d.aspect, d.where] for d in others],
    }
    return replace(told, state=None, sightings=(sighting(worst, program, detail),))
