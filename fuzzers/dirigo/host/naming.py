"""Names of C++, ATen and c10 that are values: scalar types, limits, sizes of types; and values in words.

Invariant: a name that nothing here knows is None, so that whoever asks can say where it stands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from fuzzers.dirigo.host import runtime
from fuzzers.dirigo.host.machine import Machine
from fuzzers.dirigo.host.scalars import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NAMES,
    VECTORS,
    Number,
    Type,
)
from fuzzers.dirigo.host.syntax import Node
from fuzzers.dirigo.host.tensors import CUDA
from fuzzers.dirigo.host.typing import (
    converted,
    resolve,
    zero,
)
from fuzzers.dirigo.host.values import (
    AUTO,
    Address,
    AnyType,
    Cell,
    HostAddress,
    Named,
    Opaque,
    Record,
    Value,
    Variable,
    Vector,
    size_of,
)

SCALAR_TYPES: Mapping[str, torch.dtype] = {
    **dict.fromkeys(("kFloat", "kFloat32", "Float"), torch.float32),
    **dict.fromkeys(("kDouble", "kFloat64", "Double"), torch.float64),
    **dict.fromkeys(("kHalf", "kFloat16", "Half"), torch.float16),
    **dict.fromkeys(("kBFloat16", "BFloat16"), torch.bfloat16),
    **dict.fromkeys(("kLong", "kInt64", "Long"), torch.int64),
    **dict.fromkeys(("kInt", "kInt32", "Int"), torch.int32),
    **dict.fromkeys(("kShort", "kInt16", "Short"), torch.int16),
    **dict.fromkeys(("kChar", "kInt8", "Char"), torch.int8),
    **dict.fromkeys(("kByte", "kUInt8", "Byte"), torch.uint8),
    **dict.fromkeys(("kBool", "Bool"), torch.bool),
}
FORMATS = {
    "ChannelsLast": torch.channels_last,
    "ChannelsLast3d": torch.channels_last_3d,
    "Contiguous": torch.contiguous_format,
    "Preserve": torch.preserve_format,
}
NUMBERS: Mapping[str, Number] = {
    "INT_MAX": Number(INT, 2**31 - 1),
    "INT_MIN": Number(INT, -(2**31)),
    "INT32_MAX": Number(INT, 2**31 - 1),
    "INT64_MAX": Number(LONG, 2**63 - 1),
    "FLT_MAX": Number(FLOAT, 3.4028234663852886e38),
    "FLT_MIN": Number(FLOAT, 1.1754943508222875e-38),
    "FLT_EPSILON": Number(FLOAT, 2.0**-23),
    "DBL_MAX": Number(DOUBLE, 1.7976931348623157e308),
    "DBL_EPSILON": Number(DOUBLE, 2.0**-52),
    "INFINITY": Number(FLOAT, math.inf),
    "NAN": Number(FLOAT, math.nan),
    "M_PI": Number(DOUBLE, math.pi),
    "M_E": Number(DOUBLE, math.e),
    "M_LOG2E": Number(DOUBLE, math.log2(math.e)),
    "M_LN2": Number(DOUBLE, math.log(2)),
    "M_SQRT2": Number(DOUBLE, math.sqrt(2)),
    "M_SQRT1_2": Number(DOUBLE, math.sqrt(0.5)),
    "M_2_SQRTPI": Number(DOUBLE, 2 / math.sqrt(math.pi)),
    "M_1_PI": Number(DOUBLE, 1 / math.pi),
    "M_2_PI": Number(DOUBLE, 2 / math.pi),
}


def constant(text: str) -> Value:
    """The value of a library's name; None where it has none."""
    last = text.rpartition("::")[2]
    if last in NUMBERS:
        return NUMBERS[last]
    if last in SCALAR_TYPES:
        return SCALAR_TYPES[last]
    if last in FORMATS:
        return FORMATS[last]
    if last in ("kCUDA", "CUDA", "kCPU", "CPU"):
        return CUDA
    if last in ("nullopt", "NULL", "None"):
        return Vector([])
    return runtime.constant(last)


def kind_of(value: Value) -> str:
    """What a value is, in a word or two."""
    if isinstance(value, Number):
        return value.type.name
    if isinstance(value, Named | Record | Opaque | Variable):
        return value.name
    return {torch.Tensor: "a tensor", type(None): "nothing"}.get(type(value), type(value).__name__.lower())


def shown(value: Value) -> str:
    """A value in a message."""
    if isinstance(value, str):
        return value
    if isinstance(value, Number):
        return str(value.value)
    if isinstance(value, Vector):
        return "[" + ", ".join(shown(one) for one in value.values()) + "]"
    return kind_of(value)


def dtype_of(type_: Type) -> torch.dtype | None:
    return getattr(torch, NAMES[type_]) if type_ in NAMES else None


def size(m: Machine, type_: AnyType) -> int:
    """sizeof(type)."""
    if isinstance(type_, Named) and type_.name == "dim3":
        return 12
    if isinstance(type_, Named) and type_.name == "array" and isinstance(type_.arguments[1], Number):
        return int(type_.arguments[1].value) * size(m, type_.arguments[0])
    if isinstance(type_, Named) and type_.name in m.translation.structures and type_.name not in VECTORS:
        return runtime.size_of_record(zero(m, type_))
    return size_of(type_)


def size_of_value(m: Machine, value: Value, node: Node) -> int:
    """sizeof(variable)."""
    if isinstance(value, Number):
        return value.type.size
    if isinstance(value, Vector):
        return sum(size_of_value(m, one, node) for one in value.values())
    if isinstance(value, Record):
        return runtime.size_of_record(value)
    if isinstance(value, Address | HostAddress):
        return 8
    if isinstance(value, Variable):
        return runtime.size_of_variable(m, value)
    return m.unknown(f"the size of {kind_of(value)}", node)


def limit(m: Machine, node: Node) -> Value:
    """std::numeric_limits<T>::max() and the like."""
    found = re.search(r"numeric_limits\s*<\s*([\w: ]+?)\s*>\s*::\s*(\w+)", node.text)
    inner = next((n for n in node.walk() if n.kind == "type_descriptor"), None)
    type_ = resolve(m, inner) if inner is not None else None
    if found is None or not isinstance(type_, Type):
        m.unknown(f"limit {node.text}", node)
    what = found[2]
    if type_.kind == "f":
        info = torch.finfo(getattr(torch, NAMES[type_]))
        least = -info.max if what == "lowest" else None
        special = {"infinity": math.inf, "quiet_NaN": math.nan, "lowest": least, "max": info.max}
        value = special.get(what) or {"min": info.tiny, "epsilon": info.eps}[what]
        return Number(type_, value)
    top = (1 << (type_.bits - (type_.kind == "i"))) - 1
    return Number(type_, top if what == "max" else -top - 1 if type_.kind == "i" else 0)


def sized_vector(m: Machine, type_: Any, values: Sequence[Value], node: Node) -> Value:
    """std::vector<T>(count, value), or a copy of another sequence."""
    inner = type_.arguments[0] if type_.arguments else AUTO
    if not values:
        return zero(m, type_)
    if isinstance(values[0], Vector):
        return converted(m, values[0], type_)
    if isinstance(values[0], HostAddress) and len(values) == 2:
        return converted(m, between(values[0], values[1]), type_)
    if not isinstance(values[0], Number):
        return m.unknown(f"a vector made of {kind_of(values[0])}", node)
    count = int(values[0].value)
    if count > 1_000_000:
        m.unknown(f"a vector of {count} elements", node)
    value = values[1] if len(values) > 1 else zero(m, inner)
    return Vector([Cell(converted(m, value, inner), inner) for _ in range(count)], inner)


def between(start: HostAddress, end: Value) -> Vector:
    stop = end.at if isinstance(end, HostAddress) else start.at + int(end.value)
    return Vector([Cell(cell.value, cell.type) for cell in start.cells[start.at : stop]])


def trait(m: Machine, name: str, given: Sequence[Value], node: Node) -> Value:
    """std::is_same_v<A, B> and its kind."""
    last = name.rpartition("::")[2].removesuffix("_v")
    if last == "is_same" and len(given) == 2:
        return Number(BOOL, int(given[0] == given[1]))
    kinds = {"is_floating_point": "f", "is_integral": "iub"}
    if last in kinds and isinstance(given[0], Type):
        return Number(BOOL, int(given[0].kind in kinds[last]))
    return m.unknown(f"trait {name}", node)


def member(value: Value, name: str) -> Value:
    """A data member of a library's object."""
    if isinstance(value, Opaque) and value.name == "cudaDeviceProp":
        return runtime.PROPERTIES.get(name)
    return None
