"""The part of a graph that no float input reaches: integers, masks, constants. torch itself computes it.

Invariant: what is here is exactly what torch gives, so that indices and masks need no formulas of their own.
Nothing random is computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from fuzzers.dirigo.reference.arrays import in_storage, numbers_in, tensor_of
from fuzzers.dirigo.reference.graph import TYPES, Argument, Array, Call, Ref, Traced
from fuzzers.dirigo.simt.events import Unknown

FILLED: Mapping[str, float | str] = {
    **{f"aten.{name}.default": 0 for name in ("zeros", "zeros_like", "new_zeros")},
    **{f"aten.{name}.default": 1 for name in ("ones", "ones_like", "new_ones")},
    **{f"aten.{name}.default": "fill_value" for name in ("full", "full_like", "new_full")},
}
"""Operators that fill a shape with one number, or with the argument of that name: no input reaches them."""
UNWRITTEN = ("aten.empty", "aten.new_empty")
"""Memory that holds anything."""
ELEMENTS = 1 << 26
"""Elements of all concrete values together."""


def evaluated(traced: Traced, values: Sequence[Array]) -> Mapping[Ref, Array]:
    """The values that depend on no float input, in their shapes. Raises Unknown where they are too many."""
    needed = _needed(traced)
    found: dict[Ref, torch.Tensor] = {}
    room = ELEMENTS
    for at, call in enumerate(traced.calls):
        if at not in needed or not _is_concrete(traced, call, found):
            continue
        for output, tensor in enumerate(_computed(traced, call, values, found)):
            if isinstance(tensor, torch.Tensor):
                found[Ref(at, output)] = tensor
                room -= 0 if tensor.dim() and 0 in tensor.stride() else tensor.numel()
        if room < 0:
            raise Unknown(f"more than {ELEMENTS} concrete elements")
    return {ref: numbers_in(tensor) for ref, tensor in found.items()}


def _needed(traced: Traced) -> frozenset[int]:
    """The nodes that an output depends on."""
    found: set[int] = set()
    waiting = [ref.node for ref in traced.outputs]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [ref.node for ref in refs_in(traced.calls[node])]
    return frozenset(found)


def refs_in(call: Call) -> list[Ref]:
    """The values that a call takes."""
    flat: list[Ref] = []
    waiting = list(call.arguments.values())
    while waiting:
        value = waiting.pop()
        if isinstance(value, Ref):
            flat.append(value)
        elif isinstance(value, tuple):
            waiting += value
    return flat


def _is_concrete(traced: Traced, call: Call, found: Mapping[Ref, Any]) -> bool:
    if call.operator == "input":
        return not traced.inputs[call.number].is_symbolic
    if call.operator == "constant":
        return True
    if call.operator in FILLED or call.operator.startswith(UNWRITTEN):
        return call.operator in FILLED
    overload = overload_of(call.operator)
    random = overload is None or torch.Tag.nondeterministic_seeded in overload.tags
    return not random and all(ref in found for ref in refs_in(call))


def overload_of(name: str) -> Any:
    """The operator of a name such as "aten.add.Tensor"; None where this torch has none."""
    space, base, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, space), base, None), overload, None)


def _computed(
    traced: Traced, call: Call, values: Sequence[Array], found: Mapping[Ref, torch.Tensor]
) -> Sequence[Any]:
    if call.operator == "input":
        item = traced.inputs[call.number]
        return (tensor_of(item.layout.type, in_storage(item.layout, item.offset, values[call.number])),)
    if call.operator == "constant":
        layout = call.outputs[0]
        assert layout is not None
        number = traced.constants[call.number]
        flat = torch.from_numpy(number)
        return ((flat.view(torch.bfloat16) if layout.type == "bf16" else flat).view(layout.shape),)
    if call.operator in FILLED:
        layout = call.outputs[0]
        assert layout is not None
        fill = FILLED[call.operator]
        value = call.arguments[fill] if isinstance(fill, str) else fill
        dtype = getattr(torch, next(name for name, type_ in TYPES.items() if type_ == layout.type))
        return (torch.full((), value, dtype=dtype).expand(layout.shape),)
    overload = overload_of(call.operator)
    kinds = {argument.name: argument for argument in overload._schema.arguments}
    plain = {name: _given(name, value, found) for name, value in call.arguments.items()}
    positional = [value for name, value in plain.items() if not kinds[name].kwarg_only]
    named = {name: value for name, value in plain.items() if kinds[name].kwarg_only}
    result = overload(*positional, **named)
    return result if isinstance(result, tuple | list) else (result,)


def _given(name: str, value: Argument, found: Mapping[Ref, torch.Tensor]) -> Any:
    if isinstance(value, Ref):
        return found[value]
    if isinstance(value, tuple):
        return [_given(name, one, found) for one in value]
    if "dtype" in name and isinstance(value, str):
        return getattr(torch, value)
    return value
