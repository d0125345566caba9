"""A user's model file in the worker: loaded, run, cut into pieces, and checked as it stands.

Invariant: the file is foreign code, so it runs in a job's child only; what goes back is plain data. A model
that does not give the same result twice (it draws, or keeps state that matters) is refused, because a
difference would say nothing. State comes from one seed, set before the model is made.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from fuzzers.engine import Announce, Piece, Reading, StepOutcome, StepStatus
from fuzzers.flowmut.calls import Recorder
from fuzzers.flowmut.model_script import Plain, crash_of, sighting
from fuzzers.flowmut.model_source import ModelSource, Unusable, read_source
from fuzzers.flowmut.program import to_json
from fuzzers.flowmut.proposal import MOST_ELEMENTS, judge, tidy
from fuzzers.flowmut.window import WIDEST, around, window
from fuzzers.oracle import examine
from fuzzers.oracle.compare import identical
from fuzzers.oracle.execution import observe
from fuzzers.oracle.inputs import Inputs, UnsupportedInput, take
from fuzzers.records import Kind

SEED = 0
"""Set before the model is made and before its inputs are, here and in scripts."""

MOST_PIECES = 48
"""Programs cut from one file; a campaign of minutes checks some hundred."""

WIDTHS = (WIDEST, 3, 1)
"""Nodes of a piece: where a wide one may not run on its own, a narrower one may."""

MODULE = "user_model"


@dataclass(frozen=True)
class Model:
    """A model that was made: its text, the callable, what it is called with, and how that is spread."""

    source: ModelSource
    net: Callable[..., Any]
    inputs: Inputs
    spread: str

    def plain(self) -> Plain:
        """What a script needs to know of it."""
        seen = observe(self.net, self.inputs, SEED, gradients=False)
        args, kwargs, _ = self.inputs.copies()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = self.net(*args, **kwargs)
        before = self.inputs.tensors
        mutates = any(not torch.equal(a, b) for a, b in zip(before, seen.inputs, strict=True))
        return Plain.of(self.source, self.spread, result, mutates)


def load(path: Path) -> Model:
    """The model of a file. Unusable, also when its code raises."""
    source = read_source(path)
    spec = importlib.util.spec_from_file_location(MODULE, path)
    if spec is None or spec.loader is None:
        raise Unusable(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
        torch.manual_seed(SEED)
        net = eval(source.make, vars(module))
        given = eval(source.inputs, vars(module))
        return Model(source, net, *_taken(given))
    except Unusable:
        raise
    except UnsupportedInput as error:
        raise Unusable(f"its inputs cannot be copied: {error}") from error
    except BaseException as error:
        # Whatever foreign code raises while it is loaded, its own exit included, is why it is not used.
        raise Unusable(f"it raises {type(error).__name__} while it is loaded: {str(error)[:200]}") from error
    finally:
        sys.path.remove(str(path.parent))


def _taken(given: Any) -> tuple[Inputs, str]:
    if isinstance(given, dict):
        return take((), given), "**"
    if isinstance(given, list | tuple):
        return take(tuple(given), None), "*"
    return take((given,), None), ""


def read(path: str, lines: Sequence[int]) -> Reading:
    """What the model calls, and pieces of it, those with any of the lines first."""
    try:
        model = load(Path(path))
        recorder = _recorded(model, path)
    except Unusable as error:
        return Reading(refused=str(error))
    pieces = _pieces(recorder, Path(path).name, frozenset(lines))
    covered = {line for piece in pieces for line in piece.lines}
    missed = sorted({call.line for call in recorder.calls} - covered - {0})
    left = ""
    if missed:
        shown = ", ".join(map(str, missed[:10])) + (" and others" if len(missed) > 10 else "")
        left = f"lines {shown} have calls that are not declared, or tensors over {MOST_ELEMENTS} elements"
    return Reading(tuple(recorder.calls), tuple(pieces), left)


def _recorded(model: Model, path: str) -> Recorder:
    """One run, recorded, of a model that gives the same twice. Unusable."""
    args, kwargs, _ = model.inputs.copies()
    recorder = Recorder(path)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        first = observe(model.net, model.inputs, SEED, gradients=False)
        if first.raised is not None:
            said = f"{type(first.raised).__name__}: {str(first.raised)[:200]}"
            raise Unusable(f"it does not run uncompiled: {said}")
        second = observe(model.net, model.inputs, SEED + 1, gradients=False)
        if second.raised is not None or not identical(first, second, 0.0):
            raise Unusable("it draws random numbers or keeps state: two runs differ")
        with recorder:
            model.net(*args, **kwargs)
    return recorder


def _pieces(recorder: Recorder, origin: str, wanted: frozenset[int]) -> list[Piece]:
    """Legal windows around every node, each once, those with wanted lines first."""
    if not recorder.nodes:
        return []
    program, states = recorder.program(origin), recorder.states
    sites = [node.name for node in program.nodes]
    sites.sort(key=lambda name: recorder.lines[name] not in wanted)
    found: dict[str, Piece] = {}
    for site in sites:
        for widest in WIDTHS:
            lines = tuple(sorted({recorder.lines[name] for name in around(program, site, widest)} - {0}))
            cut = tidy(window(program, site, states, widest))
            if judge(cut, Counter()) is not None:
                plain = to_json(replace(cut, origin=f"{origin}:{','.join(map(str, lines))}"))
                found.setdefault(str({**plain, "origin": ""}), Piece(plain, lines))
                break
        if len(found) == MOST_PIECES:
            break
    return list(found.values())


def check(path: str, aspects: str, announce: Announce) -> StepOutcome:
    """The model eager against compiled."""
    try:
        model = load(Path(path))
    except Unusable as error:
        return StepOutcome(StepStatus.REJECTED, None, name=str(error))
    plain = model.plain()
    announce(crash_of(plain))
    args, kwargs, _ = model.inputs.copies()
    report = examine(model.net, args, kwargs=kwargs, aspects=aspects)
    counts = {"executed": 1, **report.counts}
    if report.dropped:
        return StepOutcome(StepStatus.DROPPED, None, counts=counts, name=report.dropped)
    seen = [sighting(difference, plain) for difference in report.differences]
    unwritten = sorted(
        {str(Kind(d.kind)) for d, s in zip(report.differences, seen, strict=True) if s is None}
    )
    name = f"no script shows: {', '.join(unwritten)}" if unwritten else "as it stands"
    return StepOutcome(StepStatus.CHECKED, None, tuple(s for s in seen if s), counts, name)
