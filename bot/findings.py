"""How a finding is made, and how another suspect joins it.

Invariant: pure; joining is idempotent, and never changes what was first reported (signature, script,
title), so that doing it again after a kill changes nothing.
"""

from __future__ import annotations

from dataclasses import replace

from bot import fingerprint, reading
from bot.confirm import SlipKey
from bot.localise import Place
from bot.merge import VARIANTS
from fuzzers.records import Aspect, Finding, Json, Kind, Run, Suspect

SYMPTOMS: dict[Kind, str] = {
    Kind.WRONG: "wrong result",
    Kind.NONDETERMINISTIC: "result changes from call to call",
    Kind.CRASH: "crash",
    Kind.HANG: "hang",
    Kind.EXCEPTION: "exception",
    Kind.GRADIENT: "wrong gradient",
    Kind.METADATA: "wrong metadata",
    Kind.EAGER: "eager result far from float64",
    Kind.ALIASING: "outputs share storage differently",
    Kind.EXTREME: "wrong result on extreme values",
    Kind.NONFINITE: "NaN or infinity differs",
    Kind.ACCEPTS_INVALID: "invalid input accepted",
    Kind.LAYOUT: "strides differ",
}
"""What a title leads with."""

ASPECTS: dict[Aspect, str] = {
    Aspect.DTYPE: "wrong dtype",
    Aspect.SHAPE: "wrong shape",
    Aspect.STRUCTURE: "wrong number of outputs",
    Aspect.MUTATION: "input mutated differently",
    Aspect.INDICES: "wrong indices",
    Aspect.REQUIRES_GRAD: "wrong requires_grad",
    Aspect.DEVICE: "wrong device",
}
"""Where the aspect says more than the kind."""

LONGEST_TITLE = 120


def title(stage: str, kind: Kind, aspect: Aspect, script: str, exception: str) -> str:
    """Symptom, then the program: `[inductor] wrong result: cat(neg(abs(uint8))) differs from eager`."""
    symptom = ASPECTS.get(aspect, SYMPTOMS[kind]) if kind in (Kind.WRONG, Kind.METADATA) else SYMPTOMS[kind]
    program = reading.sketch(script) or "program"
    match kind:
        case Kind.EXCEPTION:
            text = f"[{stage}] {exception}: {program} runs in eager"
        case Kind.CRASH | Kind.HANG | Kind.NONDETERMINISTIC | Kind.ACCEPTS_INVALID | Kind.EAGER:
            text = f"[{stage}] {symptom}: {program}"
        case _:
            text = f"[{stage}] {symptom}: {program} differs from eager"
    return text if len(text) <= LONGEST_TITLE else text[: LONGEST_TITLE - 1] + "…"


def traits(
    framework: str,
    slip: SlipKey,
    run: Run,
    place: Place,
    operators: tuple[str, ...] = (),
    dtypes: tuple[str, ...] = (),
    part: tuple[str, str] = ("", ""),
) -> fingerprint.Traits:
    """What names the bug. `run` is one of the confirming runs of the unreduced script, so that an exception
    has its name before it is reduced; `part` is (subsystem, debug name)."""
    return fingerprint.Traits(
        framework=framework,
        kind=slip.kind,
        aspect=slip.aspect,
        stage=place.stage,
        subsystem=part[0],
        debug_name=part[1],
        operators=operators,
        dtypes=dtypes,
        exception=run.exception,
        message=fingerprint.message_of(run),
        signal=run.signal,
        frames=fingerprint.frames_of(run),
    )


def join(finding: Finding, suspect: Suspect, variant: Json, seen_at: str) -> Finding:
    """`finding` with one more suspect that led to it."""
    if suspect.id in finding.suspects:
        return finding
    variants = [*finding.detail.get("variants", []), {"suspect": suspect.id, **variant}][:VARIANTS]
    return replace(
        finding,
        suspects=tuple(sorted({*finding.suspects, suspect.id})),
        detail={**finding.detail, "variants": variants},
        last_seen=max(finding.last_seen, seen_at),
    )
