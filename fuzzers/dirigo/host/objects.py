"""Methods of what is no tensor: vectors, options, types, numbers, strings, and what means nothing here.

Invariant: a value that may be absent answers as an empty optional does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from fuzzers.dirigo.host.machine import HostError, Machine
from fuzzers.dirigo.host.naming import between, dtype_of
from fuzzers.dirigo.host.scalars import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    ULONG,
    Number,
    Type,
    convert,
)
from fuzzers.dirigo.host.syntax import Node
from fuzzers.dirigo.host.typing import (
    converted,
    dtype_name,
    zero,
)
from fuzzers.dirigo.host.values import (
    Cell,
    HostAddress,
    Opaque,
    Options,
    Value,
    Vector,
)


def _push(m: Machine, value: Vector, given: Sequence[Value], node: Node) -> Value:
    value.cells.append(Cell(converted(m, given[0], value.type), value.type))
    return None


def _insert(m: Machine, value: Vector, given: Sequence[Value], node: Node) -> Value:
    where = given[0]
    added = between(given[1], given[2]).cells if len(given) == 3 else [Cell(given[1], value.type)]
    value.cells[where.at : where.at] = added
    return None


def _erase(m: Machine, value: Vector, given: Sequence[Value], node: Node) -> Value:
    del value.cells[given[0].at : given[1].at if len(given) > 1 else given[0].at + 1]
    return None


def _slice(m: Machine, value: Vector, given: Sequence[Value], node: Node) -> Value:
    start = int(given[0].value)
    stop = start + int(given[1].value) if len(given) > 1 else None
    return Vector(value.cells[start:stop], value.type)


def _resize(m: Machine, value: Vector, given: Sequence[Value], node: Node) -> Value:
    count = int(given[0].value)
    if count > 1_000_000:
        m.unknown(f"a vector of {count} elements", node)
    del value.cells[count:]
    filler = given[1] if len(given) > 1 else zero(m, value.type)
    value.cells += [Cell(filler, value.type) for _ in range(count - len(value.cells))]
    return None


def _at(m: Machine, value: Vector, given: Sequence[Value], node: Node) -> Value:
    at = int(given[0].value)
    if not 0 <= at < len(value.cells):
        raise HostError(f"index {at} of {len(value.cells)} elements")
    return value.cells[at].value


Method = Callable[[Machine, Any, Sequence[Value], Node], Value]
SEQUENCE: Mapping[str, Method] = {
    "size": lambda m, x, v, n: Number(ULONG, len(x.cells)),
    "empty": lambda m, x, v, n: Number(BOOL, int(not x.cells)),
    **dict.fromkeys(("push_back", "emplace_back"), _push),
    "pop_back": lambda m, x, v, n: x.cells.pop() and None,
    "back": lambda m, x, v, n: x.cells[-1].value,
    "front": lambda m, x, v, n: x.cells[0].value,
    "at": _at,
    "data": lambda m, x, v, n: HostAddress(x.cells),
    **dict.fromkeys(("begin", "cbegin"), lambda m, x, v, n: HostAddress(x.cells)),
    **dict.fromkeys(("end", "cend"), lambda m, x, v, n: HostAddress(x.cells, len(x.cells))),
    "vec": lambda m, x, v, n: x.copied(),
    "slice": _slice,
    "insert": _insert,
    "erase": _erase,
    "resize": _resize,
    "reserve": lambda m, x, v, n: None,
    "clear": lambda m, x, v, n: x.cells.clear(),
    "has_value": lambda m, x, v, n: Number(BOOL, int(bool(x.cells))),
    "what": lambda m, x, v, n: x.cells[0].value,
    "equals": lambda m, x, v, n: Number(BOOL, int([c.value for c in x.cells] == v[0].values())),
}
ABSENT: Mapping[str, Method] = {
    **dict.fromkeys(("defined", "has_value"), lambda m, x, v, n: Number(BOOL, 0)),
    "value_or": lambda m, x, v, n: v[0],
    "value": lambda m, x, v, n: _absent(),
}


def _absent() -> Value:
    raise HostError("bad optional access")


def _options_dtype(m: Machine, x: Options, v: Sequence[Value], n: Node) -> Value:
    return Options(v[0] if v and isinstance(v[0], torch.dtype) else dtype_of(v[0]) if v else x.dtype)


def _same_options(m: Machine, x: Options, v: Sequence[Value], n: Node) -> Value:
    return x


OPTIONS: Mapping[str, Method] = {
    "dtype": _options_dtype,
    **dict.fromkeys(
        ("device", "requires_grad", "layout", "memory_format", "pinned_memory", "device_index"), _same_options
    ),
}
DEVICE: Mapping[str, Method] = {
    "is_cuda": lambda m, x, v, n: Number(BOOL, 1),
    "is_cpu": lambda m, x, v, n: Number(BOOL, 0),
    "index": lambda m, x, v, n: Number(INT, 0),
    "type": lambda m, x, v, n: x,
    "str": lambda m, x, v, n: "cuda:0",
}
DTYPE: Mapping[str, Method] = {
    **dict.fromkeys(("toScalarType", "scalarType", "scalar_type"), lambda m, x, v, n: x),
    "itemsize": lambda m, x, v, n: Number(ULONG, x.itemsize),
    "is_cuda": lambda m, x, v, n: Number(BOOL, 1),
    "name": lambda m, x, v, n: dtype_name(x),
}


def _as(type_: Type) -> Method:
    return lambda m, x, v, n: convert(x, type_)


SCALAR: Mapping[str, Method] = {
    "toFloat": _as(FLOAT),
    "toDouble": _as(DOUBLE),
    "toInt": _as(INT),
    "toLong": _as(LONG),
    "toBool": _as(BOOL),
    "has_value": lambda m, x, v, n: Number(BOOL, 1),
    **dict.fromkeys(("value", "value_or", "get", "to"), lambda m, x, v, n: x),
}
TEXT: Mapping[str, Method] = {
    **dict.fromkeys(("c_str", "str"), lambda m, x, v, n: x),
    **dict.fromkeys(("size", "length"), lambda m, x, v, n: Number(ULONG, len(x))),
    "empty": lambda m, x, v, n: Number(BOOL, int(not x)),
    "has_value": lambda m, x, v, n: Number(BOOL, 1),
    "value": lambda m, x, v, n: x,
}
OPAQUE: Mapping[str, Method] = {
    **dict.fromkeys(("stream", "synchronize", "id", "device_index"), lambda m, x, v, n: x),
    "str": lambda m, x, v, n: "",
}
TABLES: tuple[tuple[Any, Mapping[str, Method]], ...] = (
    (Vector, SEQUENCE),
    (Options, OPTIONS),
    (torch.device, DEVICE),
    (torch.dtype, DTYPE),
    (Number, SCALAR),
    (str, TEXT),
    (Opaque, OPAQUE),
    (type(None), ABSENT),
)


def method(value: Value, name: str) -> Method | None:
    """The method of that name; a Vector that is empty is an optional without a value, too."""
    for kind, table in TABLES:
        if isinstance(value, kind):
            return table.get(name) or (
                ABSENT.get(name) if isinstance(value, Vector) and not value.cells else None
            )
    return None
