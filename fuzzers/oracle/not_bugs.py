"""Exceptions of the compiled side that are no bugs (gate 6).

Invariant: an exception is excused only by a pattern in the table, each with its reason; the whole chain of
causes is read, because compilers wrap what they catch.
"""

from __future__ import annotations

import re
import traceback
from typing import Any

Rule = tuple[str, re.Pattern[str]]

COMPILED_RAISES: tuple[Rule, ...] = (
    ("graph-break", re.compile(r"^(Unsupported|UncapturedHigherOrderOpError):", re.M)),
    (
        "data-dependent",
        re.compile(
            r"\b(GuardOnDataDependentSymNode|DataDependentOutputException|DynamicOutputShapeException|"
            r"PendingUnbackedSymbolNotFound)\b|data-dependent expression"
        ),
    ),
    ("documented-limit", re.compile(r"^(UserError|UnsupportedFakeTensorException):|double backward", re.M)),
    ("recompile-limit", re.compile(r"RecompileLimit|[Rr]ecompile.limit|FailOnRecompile")),
    ("no-compiler", re.compile(r"\b(InvalidCxxCompiler|TritonMissing|GPUTooOldForTriton)\b")),
    (
        "out-of-memory",
        re.compile(
            r"OutOfMemoryError|MemoryError|not enough memory|[Cc]annot allocate memory|std::bad_alloc"
        ),
    ),
    (
        "environment",
        re.compile(r"No space left on device|internal compiler error|Killed signal|Too many open files"),
    ),
)
"""What the compiled side may raise without it being a bug: reason -> pattern over `Type: message`."""

EAGER_RAISES: tuple[Rule, ...] = (
    ("out-of-range index", re.compile(r"out of (range|bounds)|index .* is out of|out-of-bounds")),
    ("overlapping memory", re.compile(r"single memory location|overlap")),
    ("autograd misuse", re.compile(r"leaf (Variable|variable|Tensor)|modified by an inplace operation")),
    (
        "out-of-memory",
        re.compile(r"not enough memory|MemoryError|OutOfMemory|[Cc]annot allocate|Storage size calculation"),
    ),
)
"""What eager may refuse that compiled code is free to let through."""


def excuse(rules: tuple[Rule, ...], error: BaseException) -> str:
    """The reason why an exception is no bug, empty when it may be one."""
    text = "\n".join(
        f"{kind.__name__}: {e}" for e in chain(error) for kind in type(e).__mro__[:-3] or [type(e)]
    )
    return next((reason for reason, pattern in rules if pattern.search(text)), "")


def chain(error: BaseException) -> list[BaseException]:
    """The exception, what it wraps, and what caused it."""
    found: list[BaseException] = []
    pending: list[BaseException | None] = [error]
    while pending:
        e = pending.pop()
        if e is not None and all(e is not f for f in found):
            found.append(e)
            pending += [e.__cause__, e.__context__, getattr(e, "inner_exception", None)]
    return found


def describe(error: BaseException) -> dict[str, Any]:
    """Type, message and framework frames (`module:function`, innermost last) of an exception."""
    frames = [
        f"{frame.filename.split('site-packages/')[-1].removesuffix('.py').replace('/', '.')}:{frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
        if "site-packages/torch/" in frame.filename
    ]
    return {"exception": type(error).__name__, "message": str(error)[:4000], "frames": frames[-12:]}
