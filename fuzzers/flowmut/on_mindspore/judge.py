"""The reducer's predicate on MindSpore (`fuzzers.judge`): run a script; when it fails, say how it differs.

Invariant: what is examined is what the script's last `ms.jit` was first called with, as it was before that
call. A tensor is copied through numpy, which is all that there is to one.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import mindspore as ms

from fuzzers.flowmut.on_mindspore.examine import examine
from fuzzers.flowmut.on_mindspore.observe import to_numpy
from fuzzers.records import Ending, Json, encode
from fuzzers.script import run_script


@dataclass
class Call:
    """A function that was compiled, and copies of what it was first called with; None before that."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] | None = None


def judge(text: str, *, before: str | None, wants_report: bool) -> Json:
    """{"run", "before", "report"}, as `fuzzers.judge.judge` has it."""
    with recorded() as calls:
        run = run_script(text)
    answer: Json = {"run": encode(run), "before": None, "report": None}
    if run.ending not in (Ending.ASSERTION, Ending.EXCEPTION):
        return answer
    if before is not None:
        answer["before"] = encode(run_script(text, backend=before))
    made = [call for call in calls if call.arguments is not None]
    if wants_report and made:
        with _source_of(made[-1].function, text):
            answer["report"] = report_of(made[-1])
    return answer


@contextmanager
def _source_of(function: Callable[..., Any], text: str) -> Iterator[None]:
    """While inside, the script lies again where its function was defined, and is the main module: `ms.jit`
    reads the source in the one, and looks names up in the other."""
    path = Path(function.__code__.co_filename)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    main = ModuleType("__main__")
    main.__dict__.update(function.__globals__)
    before, sys.modules["__main__"] = sys.modules["__main__"], main
    try:
        yield
    finally:
        sys.modules["__main__"] = before
        path.unlink()
        path.parent.rmdir()


def report_of(call: Call) -> Json:
    """What the comparison says of a call, as JSON."""
    assert call.arguments is not None
    given = call.arguments

    def compiled(level: str) -> Callable[..., Any]:
        made: Callable[..., Any] = ms.jit(call.function, jit_level=level)
        return made

    report = examine(call.function, lambda: tuple(map(copied, given)), compiled)
    return {
        "differences": [encode(difference) for difference in report.differences],
        "dropped": report.dropped,
        "counts": dict(report.counts),
    }


def copied(value: Any) -> Any:
    """A tensor of its own with the same values; anything else as it is."""
    return ms.Tensor(to_numpy(value), value.dtype) if isinstance(value, ms.Tensor) else value


@contextmanager
def recorded() -> Iterator[list[Call]]:
    """While inside, every `ms.jit` of a function is listed, with its first call."""
    stock = ms.jit
    calls: list[Call] = []

    @functools.wraps(stock)
    def jit_and_note(function: Any = None, **settings: Any) -> Any:
        if function is None:
            return functools.partial(jit_and_note, **settings)
        call = Call(function)
        calls.append(call)
        made = stock(function, **settings)

        @functools.wraps(function)
        def noted(*args: Any) -> Any:
            if call.arguments is None:
                call.arguments = tuple(map(copied, args))
            return made(*args)

        return noted

    ms.jit = jit_and_note
    try:
        yield calls
    finally:
        ms.jit = stock
