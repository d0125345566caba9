"""The reducer's predicate, in one child: run a script, and when it fails, say how it differs.

Invariant: what the oracle is given is what the script's last compiled callable was first called with, as
it was before that call: fresh copies with the same sizes, strides, offsets and sharing of storage.
One child for all of it, so that the kernels built by the script's own run are not built again.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fuzzers.records import Ending, Json, encode
from fuzzers.script import run_script


@dataclass
class Call:
    """A compiled callable: what was compiled and how, and what it was first called with (None: never)."""

    function: Callable[..., Any]
    settings: Json
    args: tuple[Any, ...] | None = None


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
    made = [c for c in calls if c.args is not None]
    if examine and made:
        _forget_compiled()
        answer["report"] = _report(made[-1])
    return answer


def _report(call: Call) -> Json:
    from fuzzers.oracle import examine

    report: Json = examine(call.function, call.args, compile=call.settings, aspects="full").to_json()
    return report


def _forget_compiled() -> None:
    import torch

    torch._dynamo.reset()


@contextmanager
def recorded() -> Iterator[list[Call]]:
    """While inside, every `torch.compile` is listed, with its callable's first call."""
    import torch

    stock, calls = torch.compile, []

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
    @functools.wraps(compiled)
    def first_call(*args: Any, **kwargs: Any) -> Any:
        if call.args is None:
            call.args = _positional(call.function, args, kwargs)
        return compiled(*args, **kwargs)

    return first_call


def _positional(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Json) -> tuple[Any, ...] | None:
    """Copies of the arguments in positional form; None when some can only be passed by keyword."""
    if kwargs:
        bound = inspect.signature(function).bind(*args, **kwargs)
        if bound.kwargs:
            return None
        args = bound.args
    return pristine(args)


def pristine(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies of a call's arguments: each storage copied once, each tensor the same view of its copy, and
    leaves again where they required gradients. Anything but a dense tensor is handed on as it is."""
    import torch

    storages: dict[int, Any] = {}

    def copy(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
            return value
        old = value.untyped_storage()
        if old.data_ptr() not in storages:
            storages[old.data_ptr()] = old.clone()
        new = torch.empty(0, dtype=value.dtype, device=value.device)
        new.set_(storages[old.data_ptr()], value.storage_offset(), value.size(), value.stride())
        if value.is_conj():
            new = new.conj()
        if value.is_neg():
            new = torch._neg_view(new)
        return new.requires_grad_(value.requires_grad)

    return tuple(copy(a) for a in args)
