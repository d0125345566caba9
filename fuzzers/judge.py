"""The reducer's predicate, in one child: run a script, and when it fails, say how it differs.

Invariant: what the oracle is given is what the script's last compiled callable was first called with, as
it was before that call: fresh copies with the same sizes, strides, offsets and sharing of storage. Where one
function of the script calls it several times, the difference may be in what comes between the calls; then
what is examined is that function, over the arguments of all its calls. One child for all of it, so that the
kernels built by the script's own run are not built again.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from fuzzers import framework
from fuzzers.records import Ending, Json, encode
from fuzzers.script import run_script


@dataclass
class Call:
    """A compiled callable: what was compiled and how, and copies of what it was first called with.
    `arguments` is None as long as it was not called; `reason` says why it could not be recorded. `caller` is
    the frame that called it first; if that calls it again and is a function of the script that takes just
    it, that is the `driver`, and `more` holds the arguments of the later calls."""

    function: Callable[..., Any]
    settings: Json
    arguments: tuple[tuple[Any, ...], Json] | None = None
    reason: str = ""
    caller: FrameType | None = None
    driver: Callable[..., Any] | None = None
    more: list[tuple[tuple[Any, ...], Json]] = field(default_factory=list)


def judge(text: str, *, before: str | None, examine: bool) -> Json:
    """{"run", "before", "report"}: how the script ends; how it ends under backend `before`; the oracle's
    report on its compiled call. The last two are None unless asked for and the script failed."""
    if framework.name() == "mindspore":
        from fuzzers.flowmut.on_mindspore.judge import judge as in_mindspore

        return in_mindspore(text, before=before, wants_report=examine)
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
    if call.driver is not None:
        return examine(
            _driven(call.driver, call.function),
            (call.arguments, *call.more),
            compile_options=call.settings,
            compiler=functools.partial(_driven_compiled, call),
            aspects="full",
        ).to_json()
    args, kwargs = call.arguments
    return examine(
        call.function, args, kwargs=kwargs, compile_options=call.settings, aspects="full"
    ).to_json()


def _driven(driver: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """The script's own sequence of calls, over given arguments instead of those that it makes."""

    def sequence(*given: tuple[tuple[Any, ...], Json]) -> Any:
        left = iter(given)

        def one(*_: Any, **__: Any) -> Any:
            args, kwargs = next(left)
            return function(*args, **kwargs)

        return driver(one)

    return sequence


def _driven_compiled(call: Call, _: Callable[..., Any], **settings: Any) -> Callable[..., Any]:
    import torch

    assert call.driver is not None
    return _driven(call.driver, torch.compile(call.function, **settings))


def _driver(frame: FrameType) -> Callable[..., Any] | None:
    """The function that a frame runs, if it is one of the script's that takes what it calls and no more."""
    code = frame.f_code
    found: Callable[..., Any] | None = frame.f_globals.get(code.co_name)
    return found if getattr(found, "__code__", None) is code and code.co_argcount == 1 else None


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

    def recorded_call(args: tuple[Any, ...], kwargs: Json, caller: FrameType) -> None:
        if call.reason or (call.arguments is not None and call.caller is not caller):
            return
        try:
            copied_args, copied_kwargs, _ = take(args, kwargs).copies()
        except UnsupportedInput as e:
            call.reason = str(e)
            return
        if call.arguments is None:
            call.arguments, call.caller = (copied_args, copied_kwargs), caller
        elif driver := _driver(caller):
            call.driver = driver
            call.more.append((copied_args, copied_kwargs))

    @functools.wraps(compiled)
    def noted_call(*args: Any, **kwargs: Any) -> Any:
        recorded_call(args, kwargs, sys._getframe(1))
        return compiled(*args, **kwargs)

    return noted_call
