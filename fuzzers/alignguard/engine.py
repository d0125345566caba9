"""The AlignGuard engine: one program of its guide's a step, run uncompiled, on the cheap rung, and compiled.

Invariant: a step is a pure function of its task. A program that eager refuses is never compiled; one that the
cheap rung finds right, and whose graphs ask of the lowerings nothing that was not seen before, is not built.
Whatever the rung shows, a sighting is what `torch.compile` as users call it shows.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from fuzzers.alignguard import form, opinfo, reduction
from fuzzers.alignguard.claim import Claim, claim_from_json, claim_of, expect_of, seen
from fuzzers.alignguard.emit import script
from fuzzers.alignguard.known import Seen
from fuzzers.alignguard.ladder import Noted
from fuzzers.alignguard.program import Mode, Program, Subject, from_json, subject
from fuzzers.alignguard.written import WRITTEN
from fuzzers.engine import Announce, Sighting, StepOutcome, StepStatus, StepTask
from fuzzers.events import watching
from fuzzers.oracle import Difference, Report, Settings, examine
from fuzzers.records import Aspect, Ending, Expect, Json, Kind

FULL_SHARE = 0.3
"""Share of `mixed` steps that compare gradients as well: a backward pass is a compile of its own."""

RUNG = Settings(repeats=1, backend_gates=False)
"""The cheap rung decides only whether to build, so it asks once."""

SILENT = frozenset({"nothing-compiled", "eager-raises", "eager-nondeterministic"})
"""What the rung drops a program for, and building it would too."""

MOST_MEMORY = 1 << 22
"""Elements that the arguments may have in all: what a mutation blows up teaches nothing."""


class Refused(Exception):
    """A program that is not worth compiling; the message is a short reason."""


def prepared(program: Program) -> tuple[Subject, Any]:
    """The program loaded and run once, uncompiled: what the oracle needs, and what it returned."""
    import torch

    try:
        made = subject(program)
        elements = sum(a.numel() for a in made.arguments if isinstance(a, torch.Tensor))
        if elements > MOST_MEMORY:
            raise Refused("too large")
        torch.manual_seed(0)
        return made, made.fn(*made.loaded.arguments())
    except Refused:
        raise
    except Exception as error:
        raise Refused(type(error).__name__) from error


def payload(program: Program, claim: Claim) -> Json:
    """What a suspect carries so that it can be made smaller."""
    return {"program": program.to_json(), "claim": claim.to_json()}


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


def sighting(difference: Difference, program: Program, claim: Claim, others: list[Difference]) -> Sighting:
    """The difference, ready to be handed over. It comes without a program: the source passes make texts
    smaller than an engine that knows no more of them than that they are texts."""
    return Sighting(
        kind=difference.kind,
        aspect=difference.aspect,
        script=script(program, claim),
        expect=expect_of(difference),
        program=None,
        detail={
            "where": difference.where,
            **difference.detail,
            "origin": program.origin,
            "others": [[d.kind, d.aspect, d.where] for d in others],
        },
    )


def own(task: StepTask, rng: Random) -> Json:
    """What to run without a guide: a given seed or one written here, seeded anew, in some mode."""
    texts = {str(s.get("origin", "seed")): str(s["source"]) for s in task.seeds} or WRITTEN
    name = rng.choice(sorted(texts))
    source = re.sub(r"manual_seed\(\d+\)", f"manual_seed({rng.randrange(1000)})", texts[name])
    mode = Mode(dynamic=True) if rng.random() < 0.2 else Mode()
    return {"program": Program(source, mode, f"written {name}").to_json(), "by": "seed"}


@dataclass(frozen=True)
class AlignGuard:
    """The engine. It holds no state."""

    name: str = "alignguard"
    revision: str = "1"
    chain_length: int = 20

    def step(self, task: StepTask, announce: Announce) -> StepOutcome:
        """One program, executed and examined; or a block of seeds, where the guide wants one."""
        rng = Random(f"{task.seed}/{task.chain}/{task.step}")
        given = task.given or own(task, rng)
        if "block" in given:
            return _block(given["block"])
        if task.aspects == "mixed":
            task = replace(task, aspects="full" if rng.random() < FULL_SHARE else "forward")
        program, by = from_json(given["program"]), str(given.get("by", "seed"))
        counts: Counter[str] = Counter({"proposed": 1, f"made:{by}": 1})
        try:
            form.read(program.source)
            made, returned = prepared(program)
        except (form.NotNormal, Refused) as refusal:
            counts["eager_rejects"] += 1
            said = str(refusal) if isinstance(refusal, Refused) else "not in the normal form"
            return StepOutcome(
                StepStatus.REJECTED, None, counts=dict(counts), name=by, choice={"refused": said}
            )
        counts[f"ran:{by}"] += 1
        counts.update(f"used:{way}" for way in given.get("ways", ()) if way != by)
        announce(crash_of(program))
        return self._executed(program, made, returned, task, by, counts)

    def _executed(
        self, program: Program, made: Subject, returned: Any, task: StepTask, by: str, counts: Counter[str]
    ) -> StepOutcome:
        known = Seen.from_json(task.guidance["seen"]) if task.guidance else Seen()
        report, events = judged(made, task.aspects, known, counts)
        counts["executed"] += 1
        counts.update(report.counts)
        status = StepStatus.CHECKED
        found: tuple[Sighting, ...] = ()
        if report.dropped:
            status = StepStatus.DROPPED
            counts[f"dropped:{report.dropped}"] += 1
        elif report.differences:
            worst, *others = report.differences
            places = seen(returned, made.arguments, made.first, made.loaded.again is not None)
            found = (sighting(worst, program, claim_of(worst, places), others),)
        return StepOutcome(
            status,
            None,
            found,
            dict(counts),
            by,
            program.digest,
            events=known.new(events),
            choice={"outputs": described(returned), "inputs": described(made.arguments)},
        )

    def candidates(self, program: Json) -> list[Json]:
        """Smaller payloads, most promising first."""
        smaller = reduction.candidates(from_json(program["program"]))
        return [{**program, "program": p.to_json()} for p in smaller]

    def emit(self, program: Json) -> str:
        """The reproducer of a payload."""
        return script(from_json(program["program"]), claim_from_json(program["claim"]))

    def operators(self, program: Json) -> tuple[list[str], list[str]]:
        """(sorted operator names, sorted dtype names) of a payload, read from its text."""
        return reduction.operators(str(program["program"]["source"]))


def judged(made: Subject, aspects: str, known: Seen, counts: Counter[str]) -> tuple[Report, tuple[str, ...]]:
    """The oracle's report on a program, and what the compiler was seen to do."""
    noted = Noted()
    arguments = {k: v for k, v in made.mode.arguments().items() if k != "options"}
    rung = examine(
        made.fn,
        made.arguments,
        compile_options={**arguments, "backend": noted.backend()},
        aspects=aspects,
        settings=RUNG,
        compiler=made.compiler,
    )
    events = tuple(noted.events)
    if rung.dropped in SILENT:
        return rung, events
    if not rung.differences and not known.new(events) and not made.mode.options:
        counts["not-built"] += 1
        return replace(rung, counts={}), events
    counts["built"] += 1
    with watching() as watch:
        report = examine(
            made.fn,
            made.arguments,
            compile_options=available(made.mode).arguments(),
            aspects=aspects,
            compiler=made.compiler,
        )
        return report, (*events, *watch.take())


def available(mode: Mode) -> Mode:
    """The mode without settings that this build does not have."""
    import torch._inductor

    there = set(torch._inductor.list_options())
    return replace(mode, options={k: v for k, v in mode.options.items() if k in there})


def described(values: Any) -> list[Json]:
    """Dtype and shape of each tensor leaf, for whoever wants to feed one to another program."""
    import torch
    from torch.utils._pytree import tree_leaves

    return [
        {"dtype": str(v.dtype).removeprefix("torch."), "shape": list(v.shape)} if torch.is_tensor(v) else {}
        for v in tree_leaves(values)
    ]


def _block(wish: Json) -> StepOutcome:
    """A block of seeds as the step's outcome: it costs time, but is no program."""
    made = opinfo.block(int(wish["seed"]), int(wish["start"]), int(wish["size"]))
    return StepOutcome(StepStatus.REJECTED, None, name="seeds", choice=made)


ENGINE = AlignGuard()
