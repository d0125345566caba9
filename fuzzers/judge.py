"""The reducer's predicate, in one child: run a script, and when it fails, say how it differs.

Invariant: what the oracle is given is what the script's last compiled callable was first called with, as
it was before that call: fresh copies with the same sizes, strides, offsets and sharing of storage.
One child for all of it, so that the kernels built by the script's own run are not built again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fuzzers.records import Ending, Json, encode
from fuzzers.script import run_script


@dataclass
class Call:
    """A compiled callable: what was compiled and how, and copies of what it was first called with.
    `arguments` is None as long as it was not called; `reason` says why it could not be recorded."""

    function: Callable[..., Any]
    settings: Json
    arguments: tuple[tuple[Any, ...], Json] | None = None
    reason: str = ""


def judge(text: str, *, before: str | None, examine: bool) -> Json:
    """{"run", "before", "report"}: how the script ends; how it ends under backend `before`; the oracle's
    report on its compiled call. The last two are None unless asked for and the script failed."""
    with recorded() as calls:
        run = run_script(text)
    answer: Json = {"run": encode(run), "before": None, "report": None}
    if run.ending not in (Ending.ASSERTION, Ending.EXCEPTION):
        return answer
    if before is not None:
        _forget_compiled()
        answer["before"] = encode(run_script(text, backend=before))
    made = [c for c in calls if c.arguments is not None]
    if examine and made:
        _forget_compiled()
        answer["report"] = _report(made[-1])
    return answer


def _report(call: Call) -> Json:
    from fuzzers.oracle import examine

    assert call.arguments is not None
    args, kwargs = call.arguments
    return examine(
        call.function, args, kwargs=kwargs, compile_options=call.settings, aspects="full"
    ).to_json()


def _forget_compiled() -> None:
    import torch

    torch._dynamo.reset()


@contextmanager
def recorded() -> Iterator[list[Call]]:
    """While inside, every `torch.compile` is listed, with its callable's first call."""
    import torch

    stock = torch.compile
    calls: list[Call] = []

    @functools.wraps(stock)
    def compile_and_note(model: Any = None, **settings: Any) -> Any:
        if model is None:
            return functools.partial(compile_and_note, **settings)
        call = Call(model, settings)
        calls.append(call)
        return _noting(stock(model, **settings), call)

    torch.compile = compile_and_note
    try:
        yield calls
    finally:
        torch.compile = stock


def _noting(compiled: Callable[..., Any], call: Call) -> Callable[..., Any]:
    from fuzzers.oracle.inputs import UnsupportedInput, take

    @functools.wraps(compiled)
    def first_call(*args: Any, **kwargs: Any) -> Any:
        if call.arguments is None and not call.reason:
            try:
                copied_args, copied_kwargs, _ = take(args, kwargs).copies()
                call.arguments = copied_args, copied_kwargs
            except UnsupportedInput as e:
                call.reason = str(e)
        return compiled(*args, **kwargs)

    return first_call
