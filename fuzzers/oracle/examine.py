"""One program, examined: run both sides, compare everything, let the gates speak.

Invariant: cheap checks come first. Most programs end after a few runs of each side that agree; the
float64 run, its perturbations and a second compile happen only for a program that differs. Whatever the
oracle patches in the framework (recompile limit, random numbers, memory fill) is put back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch._dynamo
import torch._dynamo.config
import torch._inductor.config
from torch._dynamo.utils import counters

from fuzzers.oracle import compare
from fuzzers.oracle.case import Case, Drop
from fuzzers.oracle.compare import Raw
from fuzzers.oracle.evidence import difference
from fuzzers.oracle.execution import Observation, fresh_memory_filled, observe
from fuzzers.oracle.gates import OF_VALUES, pass_gates
from fuzzers.oracle.inputs import Inputs, UnsupportedInput, take
from fuzzers.oracle.report import Difference, Report, by_severity
from fuzzers.oracle.thresholds import DEFAULTS, FILL_PATTERNS, NONDETERMINISTIC_FACTOR, Settings
from fuzzers.records import Aspect, Kind

Compiler = Callable[..., Callable[..., Any]]
"""`torch.compile` or something like it: (fn, **options) -> callable. What it returns may carry an
attribute `captured_graphs`; without one, dynamo's own count is taken."""


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
    """Compare `fn` with what the compiler makes of it, on copies of the arguments.

    `aspects` is `full` or `forward` (no gradients). Gradients are those of the arguments that require
    them; when none does, a second phase lets every floating argument require one. `layout` also compares
    strides. `fn` needs a code object of its own: dynamo's caches hang on it. ValueError for other
    `aspects`; whatever `fn` or the compiler raises is in the report.
    """
    if aspects not in ("full", "forward"):
        raise ValueError(f"aspects is 'full' or 'forward', not {aspects!r}")
    try:
        inputs = take(args, kwargs)
    except UnsupportedInput as refusal:
        return Report(dropped=f"unsupported-input: {refusal}")
    bench = _Bench(fn, compiler or torch.compile, dict(compile_options or {}), layout, settings)
    given = any(inputs.requires_grad)
    report = bench.phase("forward", inputs, gradients=aspects == "full" and given)
    if aspects == "forward" or given or report.dropped or report.differences:
        return report
    wanted = inputs.differentiable()
    if not any(wanted):
        return report
    return _joined(report, bench.phase("gradient", inputs.with_grad(wanted), gradients=True))


def _joined(forward: Report, gradient: Report) -> Report:
    """A gradient phase adds what it found; that it could not be had is only counted."""
    counts = Counter(forward.counts) + Counter(gradient.counts)
    if gradient.dropped:
        counts[f"gradient-skipped:{gradient.dropped}"] += 1
    graphs = max(forward.captured_graphs, gradient.captured_graphs)
    return Report(gradient.differences, "", graphs, dict(counts))


@dataclass(frozen=True)
class _Bench:
    """Where one callable is run on both sides."""

    fn: Callable[..., Any]
    compiler: Compiler
    options: dict[str, Any]
    layout: bool
    settings: Settings

    def phase(self, name: str, inputs: Inputs, gradients: bool) -> Report:
        """Run, compare and judge with one set of `requires_grad` flags."""
        eager = self._repeat(self.fn, inputs, gradients)
        if any(not compare.identical(eager[0], other, 0.0) for other in eager[1:]):
            return Report(dropped="eager-nondeterministic")
        if name == "gradient" and (
            eager[0].raised or eager[0].backward_raised or not eager[0].differentiated
        ):
            return Report(dropped="eager has no gradient")
        with (
            torch._dynamo.config.patch(fail_on_recompile_limit_hit=True),
            torch._inductor.config.patch(fallback_random=True),
        ):
            compiled_fn = self._compile()
            compiled = self._repeat(compiled_fn, inputs, gradients)
            captured = int(getattr(compiled_fn, "captured_graphs", counters["stats"]["unique_graphs"]))
            case = Case(
                self.fn,
                inputs,
                eager[0],
                self._compile,
                gradients=gradients,
                seed=self.settings.seed,
                captured_graphs=captured,
                emulate=self.settings.backend_gates,
            )
            return self._judge(name, case, eager[0], compiled)

    def _compile(self) -> Callable[..., Any]:
        torch._dynamo.reset()
        counters.clear()
        return self.compiler(self.fn, **self.options)

    def _repeat(self, fn: Callable[..., Any], inputs: Inputs, gradients: bool) -> list[Observation]:
        """Several runs, the fill of fresh memory alternating; one is enough when it raises."""
        runs: list[Observation] = []
        for k in range(self.settings.repeats):
            with fresh_memory_filled(FILL_PATTERNS[k % len(FILL_PATTERNS)]):
                runs.append(observe(fn, inputs, self.settings.seed, gradients))
            if runs[-1].raised is not None:
                break
        return runs

    def _judge(self, phase: str, case: Case, eager: Observation, compiled: list[Observation]) -> Report:
        if eager.raised is not None and any(c.raised is not None for c in compiled):
            return Report(dropped="eager-raises", captured_graphs=case.captured_graphs)
        counts: Counter[str] = Counter()
        kept: list[Difference] = []
        for raw in _unlike(eager, compiled, self.layout):
            judged = pass_gates(case, raw)
            if isinstance(judged, Drop):
                counts[f"dropped:{judged.reason}"] += 1
                continue
            known = case.tracked(judged) if judged.aspect in OF_VALUES else None
            kept.append(difference(judged, known, phase))
        dropped = "" if kept else next((k.removeprefix("dropped:") for k in counts if k not in _EQUAL), "")
        if not kept and not dropped and case.captured_graphs == 0:
            dropped = "nothing-compiled"
        return Report(by_severity(kept), dropped, case.captured_graphs, dict(counts))


_EQUAL = frozenset({"dropped:within-bound", "dropped:another valid position"})
"""Reasons that mean the two sides agree after all, so the program was comparable."""


def _unlike(eager: Observation, compiled: list[Observation], layout: bool) -> list[Raw]:
    """Everything that is unlike: outcomes, the compiled side against itself, then against eager."""
    last = compiled[-1]
    if eager.raised is not None:
        return [Raw(Aspect.OUTCOME, "outcome", -1, eager.raised, "returned", kind=Kind.ACCEPTS_INVALID)]
    if last.raised is not None:
        kind = Kind.EXCEPTION if len(compiled) == 1 else Kind.NONDETERMINISTIC
        return [Raw(Aspect.OUTCOME, "outcome", -1, "returned", last.raised, kind=kind)]
    if last.backward_raised is not None and eager.backward_raised is None:
        return [
            Raw(Aspect.OUTCOME, "outcome", -1, "backward returned", last.backward_raised, kind=Kind.EXCEPTION)
        ]
    unstable: list[Raw] = []
    for other in compiled[1:]:
        if not compare.identical(compiled[0], other, NONDETERMINISTIC_FACTOR):
            again = compare.differences(compiled[0], other, layout=False)
            unstable = [replace(r, kind=Kind.NONDETERMINISTIC) for r in again]
            break
    places = {r.where for r in unstable}
    return unstable + [r for r in compare.differences(eager, compiled[0], layout) if r.where not in places]
