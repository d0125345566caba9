"""One program, examined: run both sides, compare everything, let the gates speak.

Invariant: cheap checks come first. Most programs end after three runs of each side that agree; the
float64 run, its perturbations and a second compile happen only for a program that differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo
import torch._inductor.config

from fuzzers.oracle import compare
from fuzzers.oracle.execution import Observation, fresh_memory_filled, observe
from fuzzers.oracle.inputs import Inputs, UnsupportedInput, take
from fuzzers.oracle.report import Difference, Report, by_severity
from fuzzers.oracle.thresholds import DEFAULTS, FILL_PATTERNS, Settings

Compiler = Callable[..., Callable[..., Any]]


def examine(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    *,
    kwargs: dict[str, Any] | None = None,
    compile_options: dict[str, Any] | None = None,
    aspects: str = "full",
    layout: bool = False,
    settings: Settings = DEFAULTS,
    compiler: Compiler | None = None,
) -> Report:
    """Compare `fn` with what the compiler makes of it, on copies of the arguments."""
    inputs = take(args, kwargs)
    torch._dynamo.reset()
    compiled = (compiler or torch.compile)(fn, **(compile_options or {}))
    gradients = aspects == "full" and any(inputs.requires_grad)
    a = observe(fn, inputs, settings.seed, gradients)
    b = observe(compiled, inputs, settings.seed, gradients)
    if a.raised is not None:
        return Report(dropped="eager-raises")
    if b.raised is not None:
        return Report((Difference(compare.KINDS[compare.Aspect.OUTCOME], compare.Aspect.OUTCOME, "outcome"),))
    found = [
        Difference(r.kind or compare.KINDS[r.aspect], r.aspect, r.where, r.index)
        for r in compare.differences(a, b, layout)
    ]
    return Report(by_severity(found), captured_graphs=1)
