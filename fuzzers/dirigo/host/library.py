"""What host code takes from C++, ATen and c10 besides tensors: functions, constants, methods, constructors.

Invariant: each table leads from a name without its namespaces to a small function; a name that stands for
nothing that matters on the device (a stream, a guard) gives an `Opaque`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from fuzzers.dirigo.host import launching, runtime
from fuzzers.dirigo.host.machine import HostError, Machine
from fuzzers.dirigo.host.naming import kind_of, shown, trait
from fuzzers.dirigo.host.scalars import (
    BOOL,
    DOUBLE,
    DTYPES,
    FLOAT,
    INT,
    LONG,
    ULONG,
    VECTORS,
    Number,
    Type,
    common,
    convert,
)
from fuzzers.dirigo.host.syntax import Node
from fuzzers.dirigo.host.tensors import CUDA, plain, wrapped
from fuzzers.dirigo.host.typing import (
    converted,
    dim3,
)
from fuzzers.dirigo.host.values import (
    Cell,
    Opaque,
    Options,
    Record,
    Value,
    Vector,
    vector,
)

Function = Callable[[Machine, Sequence[Value], Sequence[Value], Node], Value]


def _real(function: Callable[..., float]) -> Function:
    """A function of the C maths library; integers count as doubles, floats stay floats."""

    def call(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
        numbers = [
            v if isinstance(v, Number) else m.unknown("a maths function of no number", node) for v in values
        ]
        type_ = FLOAT if all(n.type.kind == "f" and n.type.bits <= 32 for n in numbers) else DOUBLE
        if node.text.partition("(")[0].strip().endswith("f"):
            type_ = FLOAT
        try:
            value = function(*(float(n.value) for n in numbers))
        except (ValueError, OverflowError):
            value = math.nan
        return convert(Number(DOUBLE, float(value), None, any(n.is_data for n in numbers)), type_)

    return call


def _extreme(pick: Callable[..., Any]) -> Function:
    def call(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
        listed = values[0].values() if len(values) == 1 and isinstance(values[0], Vector) else values
        numbers = [v for v in listed if isinstance(v, Number)]
        if not numbers or len(numbers) < len(listed):
            if any(isinstance(v, torch.Tensor) for v in listed):
                return wrapped(getattr(torch, pick.__name__)(*[plain(v) for v in listed]))
            return m.unknown(f"{pick.__name__} of {', '.join(map(kind_of, listed))}", node)
        type_ = templates[0] if templates and isinstance(templates[0], Type) else numbers[0].type
        for number in numbers[1:]:
            type_ = type_ if type_ == number.type else common(type_, number.type)
        alike = [convert(number, type_) for number in numbers]
        value = pick(number.value for number in alike)
        return Number(type_, value, None, any(number.is_data for number in alike))

    return call


def _absolute(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    (number,) = values
    return Number(number.type, abs(number.value), None, number.is_data)


def _ceil_div(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    left, right = values
    type_ = common(left.type, right.type)
    return Number(type_, -(-int(left.value) // int(right.value)), None, left.is_data or right.is_data)


def _get(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    if not templates or not isinstance(templates[0], Number) or not isinstance(values[0], Vector):
        return m.unknown("std::get", node)
    return values[0].cells[int(templates[0].value)].value


def _tuple(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    return vector(list(values))


def _same(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    return values[0] if values else None


def _text(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    return "".join(shown(value) for value in values)


def _swap(m: Machine, given: Node, templates: Node | None, node: Node) -> Value:
    one, other = (m.place(child) for child in given.children)
    one.value, other.value = other.value, one.value
    return None


def _options(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    dtypes = [v.dtype if isinstance(v, Options) else v for v in values]
    return Options(next((one for one in dtypes if isinstance(one, torch.dtype)), None))


def _filled(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    start, end, value = values
    for cell in start.cells[start.at : end.at]:
        cell.value = converted(m, value, cell.type)
    return None


def _accumulated(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    start, end, total = values[:3]
    times = len(values) > 3
    value = total.value
    for cell in start.cells[start.at : end.at]:
        value = value * cell.value.value if times else value + cell.value.value
    return convert(Number(LONG if total.type.kind != "f" else DOUBLE, value), total.type)


def _opaque(name: str) -> Function:
    return lambda m, values, templates, node: Opaque(name)


def _bits(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    return Number(INT, bin(int(values[0].value)).count("1"))


def _made_vector(name: str) -> Function:
    """make_float4 and its kind."""
    one, count = VECTORS[name]

    def call(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
        axes = zip("xyzw"[:count], values, strict=False)
        return Record(name, {axis: Cell(convert(value, one), one) for axis, value in axes})

    return call


MATHS: Mapping[str, Callable[..., float]] = {
    **{
        name: getattr(math, name)
        for name in ("exp", "log", "log2", "log10", "sin", "cos", "tan", "tanh", "pow")
    },
    **{
        name: getattr(math, name)
        for name in ("sqrt", "erf", "log1p", "expm1", "floor", "ceil", "trunc", "fabs")
    },
    "exp2": lambda x: 2.0**x,
    "round": lambda x: math.floor(abs(x) + 0.5) * (1 if x >= 0 else -1),
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "fmod": math.fmod,
    "fmax": max,
    "fmin": min,
    "cbrt": lambda x: math.copysign(abs(x) ** (1 / 3), x),
}
FUNCTIONS: Mapping[str, Function] = {
    **{name: _real(function) for name, function in MATHS.items()},
    **{f"{name}f": _real(function) for name, function in MATHS.items()},
    "max": _extreme(max),
    "min": _extreme(min),
    "abs": _absolute,
    **dict.fromkeys(("CeilDiv", "ceil_div", "divup", "cdiv"), _ceil_div),
    "get": _get,
    **dict.fromkeys(("make_tuple", "make_pair", "tie", "forward_as_tuple"), _tuple),
    **dict.fromkeys(("move", "forward", "ref", "cref", "make_optional", "as_const"), _same),
    **dict.fromkeys(
        ("to_string", "str", "runtime_error", "invalid_argument", "logic_error", "string"), _text
    ),
    **dict.fromkeys(("out_of_range", "Error", "exception", "dtype_string"), _text),
    "toString": _text,
    "fill": _filled,
    "accumulate": _accumulated,
    "popcount": _bits,
    "multiplies": _opaque("multiplies"),
    **dict.fromkeys(("printf", "fprintf", "puts", "fflush", "TORCH_WARN"), _opaque("nothing")),
    "isnan": lambda m, v, t, n: Number(BOOL, int(math.isnan(v[0].value)), None, v[0].is_data),
    "isinf": lambda m, v, t, n: Number(BOOL, int(math.isinf(v[0].value)), None, v[0].is_data),
    "endl": _opaque("nothing"),
    **{f"make_{name}": _made_vector(name) for name in VECTORS},
    **dict.fromkeys(("dtype", "device", "requires_grad"), _options),
    "elementSize": lambda m, v, t, n: Number(ULONG, v[0].itemsize),
    "Half": lambda m, v, t, n: convert(v[0], DTYPES["float16"]),
    "is_same": lambda m, v, t, n: trait(m, "is_same", t, n),
    **runtime.FUNCTIONS,
    **dict.fromkeys(("cudaLaunchKernel", "cudaLaunchCooperativeKernel"), launching.launched_by_call),
}


def _check(m: Machine, given: Node, templates: Node | None, node: Node) -> Value:
    """TORCH_CHECK(condition, message...): a failing one throws."""
    condition = given.children[0]
    if not m.truth(m.value(condition), condition):
        words = "".join(shown(m.value(child)) for child in given.children[1:])
        raise HostError(words or f"Expected {condition.text} to be true, but got false.")
    return None


def _failing(m: Machine, given: Node, templates: Node | None, node: Node) -> Value:
    raise HostError("".join(shown(m.value(child)) for child in given.children))


COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
}


def _check_compare(sign: str) -> Any:
    def check(m: Machine, given: Node, templates: Node | None, node: Node) -> Value:
        left, right = (m.value(child) for child in given.children[:2])
        values = [v.value if isinstance(v, Number) else v for v in (left, right)]
        if not COMPARE[sign](*values):
            raise HostError(f"Check failed: {given.text}")
        return None

    return check


def _assert(m: Machine, given: Node, templates: Node | None, node: Node) -> Value:
    return _check(m, given, templates, node)


def _quiet(m: Machine, given: Node, templates: Node | None, node: Node) -> Value:
    return Opaque("nothing")


Special = Callable[[Machine, Node, "Node | None", Node], Value]
SPECIAL: Mapping[str, Special] = {
    **dict.fromkeys(
        ("TORCH_CHECK", "AT_ASSERTM", "TORCH_INTERNAL_ASSERT", "AT_ASSERT", "TORCH_CHECK_VALUE"), _check
    ),
    **{f"TORCH_CHECK_{sign}": _check_compare(sign) for sign in COMPARE},
    "AT_ERROR": _failing,
    "assert": _assert,
    "swap": _swap,
    **dict.fromkeys(("TORCH_WARN", "TORCH_WARN_ONCE", "static_assert", "UNUSED"), _quiet),
}


CONSTRUCTORS: Mapping[str, Callable[[Machine, Sequence[Value], Node], Value]] = {
    "dim3": lambda m, v, node: v[0].copied() if v and isinstance(v[0], Record) else dim3(v),
    "TensorOptions": lambda m, v, node: _options(m, v, (), node),
    "Tensor": lambda m, v, node: v[0] if v else None,
    "optional": lambda m, v, node: v[0] if v else None,
    "string": lambda m, v, node: v[0] if v else "",
    "Scalar": lambda m, v, node: v[0],
    "Device": lambda m, v, node: CUDA,
    **dict.fromkeys(
        (
            *(
                "CUDAGuard",
                "OptionalCUDAGuard",
                "DeviceGuard",
                "CUDAStreamGuard",
                "NoGradGuard",
                "AutoNoGradMode",
            ),
            *("ostringstream", "stringstream", "mutex", "lock_guard"),
        ),
        lambda m, v, node: Opaque("guard"),
    ),
    "multiplies": lambda m, v, node: Opaque("multiplies"),
    **dict.fromkeys(("runtime_error", "invalid_argument"), lambda m, v, node: shown(v[0])),
}


UNLIKE_TORCH = frozenset(
    {*runtime.FUNCTIONS, "dtype", "device", "requires_grad", "toString", "elementSize", "ceil_div", "CeilDiv"}
)
"""Functions of at:: and c10:: that torch's Python modules do not have, or have as something else."""
