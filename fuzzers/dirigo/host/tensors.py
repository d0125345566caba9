"""Tensors in host code: their methods, their operators, and the functions of torch:: and at::.

Invariant: a tensor is a torch tensor without memory and its operators are torch's own, so that sizes, strides
and errors are torch's; only what asks for memory, and what C++ names in another way, is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from fuzzers.dirigo.host.machine import HostError, Machine
from fuzzers.dirigo.host.scalars import BOOL, DOUBLE, LONG, NAMES, Number, Type
from fuzzers.dirigo.host.syntax import Node
from fuzzers.dirigo.host.typing import element_type
from fuzzers.dirigo.host.values import (
    Address,
    Cell,
    Opaque,
    Options,
    Record,
    Value,
    Vector,
    pointer_to,
    vector,
)
from fuzzers.dirigo.simt.events import Unknown

CUDA = torch.device("cuda", 0)
FACTORIES = frozenset(
    {
        *("empty", "zeros", "ones", "full", "rand", "randn", "arange", "eye", "linspace", "tensor"),
        *("empty_like", "zeros_like", "ones_like", "full_like", "empty_strided", "scalar_tensor", "randint"),
        *("new_empty", "new_zeros", "new_ones", "new_full"),
    }
)
METHODS_OF_PYTHON = {"item_": "item", "toType": "to", "to_type": "to", "expand_symint": "expand"}


def plain(value: Value) -> Any:
    """A value as torch's Python functions take it."""
    if isinstance(value, Number):
        if value.is_data:
            raise Unknown("host: data: a number out of a tensor goes into an operator")
        return bool(value.value) if value.type is BOOL else value.value
    if isinstance(value, Vector):
        return [plain(one) for one in value.values()]
    if isinstance(value, Type):
        return getattr(torch, NAMES[value])
    if isinstance(value, Cell):
        return plain(value.value)
    if isinstance(value, Opaque):
        raise Unknown(f"host: {value.name} as an argument of an operator")
    return value


def wrapped(value: Any) -> Value:
    """What a function of torch gave, as a value of C++."""
    if isinstance(value, bool):
        return Number(BOOL, int(value))
    if isinstance(value, int):
        return Number(LONG, value)
    if isinstance(value, float):
        return Number(DOUBLE, value)
    if isinstance(value, list | tuple):
        return vector([wrapped(one) for one in value])
    return value


def _arguments(values: Sequence[Value], *, factory: bool) -> tuple[list[Any], dict[str, Any]]:
    """Positional and named arguments: options and, in a factory, a dtype and a device become named ones."""
    given: list[Any] = []
    named: dict[str, Any] = {}
    for value in values:
        if isinstance(value, Options):
            if value.dtype is not None:
                named["dtype"] = value.dtype
        elif factory and isinstance(value, torch.dtype):
            named["dtype"] = value
        elif factory and isinstance(value, torch.device):
            continue
        else:
            given.append(plain(value))
    return given, named


def torch_function(m: Machine, text: str, values: Sequence[Value], node: Node) -> Value:
    """`torch::name(values)`."""
    name = text.rpartition("::")[2]
    if name in ("tensor", "scalar_tensor"):
        given, named = _arguments(values, factory=True)
        return torch.tensor(*given, **named)
    for owner in (torch, torch.nn.functional, torch.special, torch.linalg, torch.ops.aten):
        function = getattr(owner, name, None)
        if callable(function):
            given, named = _arguments(values, factory=name in FACTORIES)
            return wrapped(_applied(function, given, named, text, node))
    return m.unknown(f"call of {text}", node)


def _applied(function: Any, given: list[Any], named: dict[str, Any], text: str, node: Node) -> Any:
    """A call of torch: its own complaint is the host code's error, a wrong call is one of ours. `{}` is an
    absent optional where it cannot be a list of sizes."""
    try:
        return function(*given, **named)
    except TypeError as error:
        if any(isinstance(one, list) and not one for one in given):
            return _applied(
                function,
                [None if isinstance(one, list) and not one else one for one in given],
                named,
                text,
                node,
            )
        raise Unknown(
            f"host: call of {text}, line {node.line}: {str(error).splitlines()[0][:120]}"
        ) from error


def method(
    m: Machine,
    tensor: torch.Tensor,
    name: str,
    values: Sequence[Value],
    templates: Sequence[Value],
    node: Node,
) -> Value:
    """`tensor.name<templates>(values)`."""
    known = METHODS.get(name)
    if known is not None:
        return known(m, tensor, values, templates)
    function = getattr(tensor, METHODS_OF_PYTHON.get(name, name), None)
    if not callable(function):
        return m.unknown(f"method {name} of a tensor", node)
    given, named = _arguments(values, factory=name in FACTORIES)
    return wrapped(_applied(function, given, named, f"Tensor.{name}", node))


def _at(tensor: torch.Tensor, value: Value) -> int:
    at = plain(value)
    if not -tensor.dim() <= at < max(tensor.dim(), 1):
        raise HostError(f"Dimension out of range: {at} of a tensor of {tensor.dim()} dimensions")
    return int(at)


def _sizes(numbers: Sequence[int]) -> Vector:
    return vector([Number(LONG, int(one)) for one in numbers], LONG)


def _pointer(m: Machine, tensor: torch.Tensor, values: Sequence[Value], templates: Sequence[Value]) -> Value:
    own = element_type(tensor)
    wanted = templates[0] if templates else None
    if isinstance(wanted, Type) and wanted != own:
        raise HostError(f"expected scalar type {wanted.name} but found {own.name}")
    view = m.recorder.view(tensor)
    return Address(view.buffer, view.offset * tensor.element_size(), wanted or own)


def _accessor(bits: Type) -> Callable[..., Value]:
    def made(m: Machine, tensor: torch.Tensor, values: Sequence[Value], templates: Sequence[Value]) -> Value:
        """GenericPackedTensorAccessor as the prelude lays it out: data, sizes, strides."""
        dims = plain(templates[1]) if len(templates) > 1 else tensor.dim()
        if dims != tensor.dim():
            raise HostError(f"TensorAccessor expected {dims} dims but tensor has {tensor.dim()}")
        address = _pointer(m, tensor, values, templates[:1])
        members = {"data": Cell(address, pointer_to(address.type))}
        for what, numbers in (("size", tensor.shape), ("stride", tensor.stride())):
            members |= {f"{what}{at}": Cell(Number(bits, int(n)), bits) for at, n in enumerate(numbers)}
        return Record("accessor", members)

    return made


def _to(m: Machine, tensor: torch.Tensor, values: Sequence[Value], templates: Sequence[Value]) -> Value:
    for value in values:
        dtype = value.dtype if isinstance(value, Options) else plain(value)
        if isinstance(dtype, torch.dtype):
            return tensor.to(dtype)
        if isinstance(dtype, torch.Tensor):
            return tensor.to(dtype.dtype)
    return tensor


def _is_contiguous(
    m: Machine, tensor: torch.Tensor, values: Sequence[Value], templates: Sequence[Value]
) -> Value:
    wanted = [plain(value) for value in values if isinstance(value, torch.memory_format)]
    return Number(
        BOOL, int(tensor.is_contiguous(memory_format=wanted[0]) if wanted else tensor.is_contiguous())
    )


def _contiguous(
    m: Machine, tensor: torch.Tensor, values: Sequence[Value], templates: Sequence[Value]
) -> Value:
    wanted = [value for value in values if isinstance(value, torch.memory_format)]
    return tensor.contiguous(memory_format=wanted[0]) if wanted else tensor.contiguous()


Method = Callable[[Machine, torch.Tensor, Sequence[Value], Sequence[Value]], Value]
METHODS: Mapping[str, Method] = {
    "size": lambda m, t, v, _: Number(LONG, int(t.shape[_at(t, v[0])])),
    "stride": lambda m, t, v, _: Number(LONG, int(t.stride(_at(t, v[0])))),
    "sizes": lambda m, t, v, _: _sizes(t.shape),
    "strides": lambda m, t, v, _: _sizes(t.stride()),
    **dict.fromkeys(("numel", "nelement"), lambda m, t, v, _: Number(LONG, int(t.numel()))),
    **dict.fromkeys(("dim", "ndimension", "ndim"), lambda m, t, v, _: Number(LONG, t.dim())),
    **dict.fromkeys(("data_ptr", "data", "const_data_ptr", "mutable_data_ptr"), _pointer),
    "packed_accessor32": _accessor(Type("int", "i", 32)),
    "packed_accessor64": _accessor(LONG),
    "packed_accessor": _accessor(LONG),
    "generic_packed_accessor": _accessor(LONG),
    **dict.fromkeys(("scalar_type", "dtype", "type"), lambda m, t, v, _: t.dtype),
    "options": lambda m, t, v, _: Options(t.dtype),
    "device": lambda m, t, v, _: CUDA,
    "get_device": lambda m, t, v, _: Number(LONG, 0),
    "is_cuda": lambda m, t, v, _: Number(BOOL, 1),
    "is_cpu": lambda m, t, v, _: Number(BOOL, 0),
    "defined": lambda m, t, v, _: Number(BOOL, 1),
    "has_value": lambda m, t, v, _: Number(BOOL, 1),
    "value": lambda m, t, v, _: t,
    "value_or": lambda m, t, v, _: t,
    "requires_grad": lambda m, t, v, _: Number(BOOL, 0),
    "is_contiguous": _is_contiguous,
    "contiguous": _contiguous,
    "item": lambda m, t, v, _: m.recorder.item(t),
    **dict.fromkeys(("element_size", "itemsize"), lambda m, t, v, _: Number(LONG, t.element_size())),
    "nbytes": lambda m, t, v, _: Number(LONG, t.numel() * t.element_size()),
    "to": _to,
    **dict.fromkeys(("cuda", "cpu", "detach", "variable_data", "alias"), lambda m, t, v, _: t),
    "is_same": lambda m, t, v, _: Number(BOOL, int(t is v[0])),
    "suggest_memory_format": lambda m, t, v, _: torch.contiguous_format,
    "layout": lambda m, t, v, _: Opaque("layout"),
    "reset": lambda m, t, v, _: None,
}


OPERATED: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
}
CHANGED: Mapping[str, str] = {"+=": "add_", "-=": "sub_", "*=": "mul_", "/=": "div_"}


def operated(m: Machine, sign: str, left: Value, right: Value, node: Node) -> Value:
    """An operator with a tensor among its operands."""
    if left is None or right is None or sign not in OPERATED:
        return m.unknown(f"operator {sign} of a tensor", node)
    return OPERATED[sign](plain(left), plain(right))


def changed(m: Machine, sign: str, tensor: torch.Tensor, value: Value, node: Node) -> Value:
    """`tensor += value`."""
    if sign not in CHANGED:
        return m.unknown(f"operator {sign} of a tensor", node)
    return getattr(tensor, CHANGED[sign])(plain(value))


def assigned(m: Machine, place: torch.Tensor, value: Value, node: Node) -> Value:
    """`tensor[i] = value`."""
    if isinstance(value, torch.Tensor):
        return place.copy_(value)
    return place.fill_(plain(value))
