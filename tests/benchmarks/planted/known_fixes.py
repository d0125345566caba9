"""Fixes of bugs that torch 2.13.0 has by itself, so that a suspect's cause is found by causation.

Invariant: a fix takes away one cause and touches nothing else, as far as a lowering or a line of the code
generator can tell; a script that is right with it and wrong without it is labelled by it. They are tried in
the order of `FIXES`, narrow ones first, because a wide one (computing in int32) hides the narrow ones' bugs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

aten = torch.ops.aten
SMALL = (torch.uint8, torch.int8)


def _wrap_lowerings(names: tuple[str, ...], around: Callable[..., Any]) -> None:
    from torch._inductor.lowering import lowerings

    for op in [op for op in lowerings if isinstance(op, torch._ops.OpOverload)]:
        if op._schema.name.removeprefix("aten::") in names:
            lowerings[op] = functools.partial(around, lowerings[op])


def _as(x: Any, dtype: torch.dtype) -> Any:
    from torch._inductor.lowering import to_dtype

    return to_dtype(x, dtype)


def keep_small_integers() -> None:
    """Scalar code casts results back to the operand's type: C++ computes in int what is narrower, and several
    operators in a row need all of them cast back."""
    from torch._inductor.codegen.cpp import CppOverrides

    for method, code in PROMOTED.items():
        setattr(CppOverrides, method, staticmethod(code))


PROMOTED: dict[str, Callable[..., str]] = {
    "abs": lambda x: f"static_cast<decltype({x})>(std::abs({x}))",
    "neg": lambda x: f"static_cast<decltype({x})>(-({x}))",
    "bitwise_not": lambda x: f"static_cast<decltype({x})>(~({x}))",
    "truncdiv": lambda a, b: f"static_cast<decltype({a})>({a} / {b})",
}


def reduce_in_int32(dtypes: tuple[torch.dtype, ...]) -> Callable[[], None]:
    """Minima and maxima of these dtypes are taken in int32."""

    def around(stock: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        dtype = x.get_dtype()
        if dtype not in dtypes:
            return stock(x, *args, **kwargs)
        made = stock(_as(x, torch.int32), *args, **kwargs)
        return _as(made, dtype) if made.get_dtype() is torch.int32 else made

    return lambda: _wrap_lowerings(("amax", "amin", "argmax", "argmin"), around)


def any_keeps_uint8() -> None:
    def around(stock: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        made = stock(x, *args, **kwargs)
        return _as(made, torch.uint8) if x.get_dtype() is torch.uint8 else made

    _wrap_lowerings(("any", "all"), around)


def compare_bools_as_integers() -> None:
    def around(stock: Any, x: Any, y: Any) -> Any:
        both = [
            _as(v, torch.uint8) if hasattr(v, "get_dtype") and v.get_dtype() is torch.bool else v
            for v in (x, y)
        ]
        return stock(*both)

    _wrap_lowerings(("lt", "le", "gt", "ge"), around)


FIXES: dict[str, Callable[[], None]] = {
    "torch-integer-promotion": keep_small_integers,
    "torch-any-uint8-dtype": any_keeps_uint8,
    "torch-bool-compare": compare_bools_as_integers,
    "torch-bool-minmax": reduce_in_int32((torch.bool,)),
    "torch-8bit-minmax": reduce_in_int32(SMALL),
}
"""Label -> fix."""


def apply(name: str) -> None:
    """Apply a fix to this process."""
    FIXES[name]()
