"""The short stable name of a bug.

Invariant: a signature depends on nothing but `Traits`, and `Traits` hold nothing that differs between two
occurrences of one bug: no line numbers, seeds, sizes, values, tensor names or paths. The version tag goes up
when the recipe changes, so that an old store can be mapped to the new names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bot import crash_log, normalise
from fuzzers.records import Finding, Kind, Run

VERSION = "v2"
DIGITS = 12

GENERATED = ("<generated>", "torch._inductor.cpp_builder:", "torch._inductor.runtime.triton_heuristics:")
"""Where an exception comes from when generated code is built or run: one message there has many causes."""

DTYPE_CLASSES: dict[str, str] = {
    "bool": "bool",
    **dict.fromkeys(("uint8", "uint16", "uint32", "uint64"), "uint"),
    **dict.fromkeys(("int8", "int16", "int32", "int64"), "int"),
    **dict.fromkeys(("float16", "bfloat16"), "half"),
    **dict.fromkeys(("float32", "float64"), "float"),
    **dict.fromkeys(("complex32", "complex64", "complex128"), "complex"),
}
"""Widths of one class share their code paths in a compiler; half precision has casts of its own."""


@dataclass(frozen=True)
class Traits:
    """What a bug is named by. `operators` and `dtypes` are those of the reduced program; `exception`,
    `message`, `signal` and `frames` may be raw: the signature normalises them."""

    framework: str
    kind: Kind
    aspect: str
    stage: str
    subsystem: str = ""
    debug_name: str = ""
    operators: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    exception: str = ""
    message: str = ""
    signal: str = ""
    frames: tuple[str, ...] = ()


def dtype_class(dtypes: Iterable[str]) -> tuple[str, ...]:
    """The sorted classes of some dtype names; a name that the table lacks stands for itself."""
    return tuple(sorted({DTYPE_CLASSES.get(d.removeprefix("torch."), d) for d in dtypes}))


def is_named_by_message(kind: Kind, frames: Sequence[str]) -> bool:
    """Whether a failure is named by what was raised rather than by the reduced program: one bug in a
    lowering is reached by many operators. What generated code raises names the symptom only (two operators
    that promote wrongly end in the same C++ error), so there the program counts, too."""
    return kind is Kind.EXCEPTION and not any(frame.startswith(GENERATED) for frame in frames)


def traits_hashed(traits: Traits) -> tuple[object, ...]:
    """The part of the traits that makes the name.

    A name by message is known before anything is reduced or switched off. A crash has a signal and perhaps
    frames, a hang has nothing, so both are named by their operators too.
    """
    common: tuple[object, ...] = (traits.framework, traits.kind, traits.aspect, traits.stage)
    raised = (traits.exception, normalise.message(traits.message), normalise.frames(traits.frames))
    if is_named_by_message(traits.kind, traits.frames):
        return (*common, *raised)
    operators = tuple(sorted(set(traits.operators)))
    named = (*common, traits.subsystem, traits.debug_name, operators, dtype_class(traits.dtypes))
    match traits.kind:
        case Kind.EXCEPTION:
            return (*named, *raised)
        case Kind.CRASH | Kind.HANG:
            return (*named, traits.signal, *raised)
        case _:
            return named


def signature(traits: Traits) -> str:
    """The version tag and twelve hex digits."""
    body = json.dumps(traits_hashed(traits), separators=(",", ":"))
    return f"{VERSION}-{hashlib.sha256(body.encode()).hexdigest()[:DIGITS]}"


def traits_of(finding: Finding) -> Traits:
    """The traits that name a finding, from what it keeps."""
    run = finding.runs[0] if finding.runs else Run(finding.suspect.expect.ending)
    return Traits(
        framework=finding.suspect.build.framework,
        kind=finding.suspect.kind,
        aspect=finding.suspect.aspect,
        stage=finding.stage,
        subsystem=finding.subsystem,
        debug_name=finding.debug_name,
        operators=finding.operators,
        dtypes=finding.dtypes,
        exception=run.exception,
        message=message_of(run),
        signal=run.signal,
        frames=frames_of(run),
    )


def message_of(run: Run) -> str:
    """What a run said of its failure: the exception, or the last words of a dying process."""
    return run.message or crash_log.reason(run.log)


def frames_of(run: Run) -> tuple[str, ...]:
    """Where a run failed: the exception's frames, or those that a dying process told."""
    return run.frames or crash_log.frames(run.log)
