"""Where in the compiler a difference first appears, and the label that upstream's triage would put.

Invariant: `place` is a pure function of how the script ended on each rung of the ladder; a rung that could
not be run is *unknown* and makes the answer unknown when it lies below the first failing rung, because
then the first failing rung is not known to be the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fuzzers.records import Ending, Kind, Run

LADDER = ("eager", "aot_eager", "aot_eager_decomp_partition", "inductor")
"""Backends of `torch.compile`, each adding one stage to the one before. `eager` is dynamo alone."""

LADDERS: dict[str, tuple[str, ...]] = {"torch": LADDER, "mindspore": ("O0", "O1")}
"""Framework -> its ladder. MindSpore's are the levels of `ms.jit` that run on the CPU: the graph with its
passes, then fused kernels."""


@dataclass(frozen=True)
class Place:
    """A stage of the compiler. `rung` is the first failing backend, `below` the one before it (None when
    it is the first); `label` is upstream's; `reason` says why the stage is unknown, when it is."""

    stage: str
    label: str
    rung: str = ""
    below: str | None = None
    reason: str = ""


STAGES: dict[str, tuple[str, str]] = {
    "eager": ("dynamo", "module: dynamo"),
    "aot_eager": ("aot", "module: pt2-dispatcher"),
    "aot_eager_decomp_partition": ("decomp", "module: pt2-dispatcher"),
    "inductor": ("inductor", "module: inductor"),
    "O0": ("graph", ""),
    "O1": ("kernel fusion", ""),
}
"""First failing backend -> (stage, label)."""

DYNAMIC_SHAPES = "module: dynamic shapes"
DYNAMIC = re.compile(r"\bdynamic=True\b")

FAILING = frozenset({Ending.ASSERTION, Ending.EXCEPTION, Ending.SIGNAL, Ending.TIMEOUT})


def failed(run: Run) -> bool:
    """Whether a rung's run is a failure of the compiled program. A kill from outside is not: it says
    something about the machine."""
    return run.ending in FAILING and run.signal != "SIGKILL"


def unknown(run: Run) -> bool:
    """Whether a rung's run says nothing about the compiler."""
    return run.ending is Ending.CANNOT_RUN or run.signal == "SIGKILL"


def place(
    kind: Kind, rungs: Mapping[str, Run], gone_when_static: bool = False, ladder: Sequence[str] = LADDER
) -> Place:
    """The stage to blame. A bug that eager has on its own (kind `eager`) needs no ladder."""
    if kind is Kind.EAGER:
        return Place("eager", "")
    for index, rung in enumerate(ladder):
        run = rungs.get(rung)
        if run is None:
            return Place("unknown", "", reason=f"{rung} was not run")
        if unknown(run):
            return Place(
                "unknown", "", reason=f"{rung} cannot run: {run.reason or run.message or run.signal}"
            )
        if failed(run):
            stage, label = STAGES[rung]
            below = ladder[index - 1] if index else None
            return Place(stage, DYNAMIC_SHAPES if gone_when_static else label, rung, below)
    return Place("unknown", "", reason="every backend agrees with eager in a warm worker")


def climb(
    script: str,
    run_all: Callable[[list[tuple[str, str | None]]], list[Run]],
    ladder: Sequence[str] = LADDER,
) -> dict[str, Run]:
    """How `script` ends on each rung. `run_all` runs (script, backend) pairs, in parallel if it can."""
    return dict(zip(ladder, run_all([(script, rung) for rung in ladder]), strict=True))


def localise(
    kind: Kind,
    script: str,
    run_all: Callable[[list[tuple[str, str | None]]], list[Run]],
    framework: str = "torch",
) -> tuple[Place, dict[str, Run]]:
    """The ladder, and for a script compiled with `dynamic=True` whether it is gone with static shapes."""
    ladder = LADDERS[framework]
    rungs = climb(script, run_all, ladder)
    found = place(kind, rungs, ladder=ladder)
    if found.rung and DYNAMIC.search(script):
        (static,) = run_all([(DYNAMIC.sub("dynamic=False", script), None)])
        found = place(kind, rungs, gone_when_static=static.ending is Ending.OK)
    return found, rungs
