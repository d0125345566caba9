"""Making a value of a type: casts, and constructors with brackets or braces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from fuzzers.dirigo.host import library, naming
from fuzzers.dirigo.host.machine import Machine
from fuzzers.dirigo.host.scalars import (
    ULONG,
    VECTORS,
    Number,
    Type,
)
from fuzzers.dirigo.host.syntax import Node
from fuzzers.dirigo.host.typing import (
    FIXED,
    SEQUENCES,
    converted,
    structure,
    zero,
)
from fuzzers.dirigo.host.values import (
    Address,
    Record,
    Value,
    vector,
)


def cast(m: Machine, value: Value, type_: Any, node: Node) -> Value:
    """`(type)value`. A pointer keeps its place; one that becomes a number is its address."""
    if isinstance(type_, Type) and isinstance(value, Address):
        whole = ((value.buffer + 1) << 40) + value.offset
        return converted(m, Number(ULONG, whole), type_)
    if isinstance(type_, Type) and isinstance(value, torch.Tensor):
        return converted(m, m.recorder.item(value), type_)
    return converted(m, value, type_)


def constructed(
    m: Machine, type_: Any, values: Sequence[Value], node: Node, *, braces: bool = False
) -> Value:
    """`type(values)` or `type{values}`."""
    if isinstance(type_, Type):
        return cast(m, values[0], type_, node) if values else zero(m, type_)
    if type_.name in library.CONSTRUCTORS:
        return library.CONSTRUCTORS[type_.name](m, values, node)
    if type_.name in SEQUENCES and not braces:
        return naming.sized_vector(m, type_, values, node)
    if type_.name in SEQUENCES or type_.name in FIXED:
        return converted(m, vector(values), type_)
    if type_.name in m.translation.structures or type_.name in VECTORS:
        if len(values) == 1 and isinstance(values[0], Record):
            return values[0].copied()
        return structure(m, type_.name, values)
    if not values:
        return zero(m, type_)
    return converted(m, values[0] if len(values) == 1 else vector(values), type_)
