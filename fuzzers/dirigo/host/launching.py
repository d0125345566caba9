"""Launches in host code: which kernel, its grid and block, and its arguments as the kernel declares them.

Invariant: an argument is converted to the kernel's own parameter type, as the compiler does; a launch that
the driver refuses (too many threads, no blocks, too much shared memory) does not run and leaves its error.
"""

from __future__ import annotations

from collections.abc import Sequence

from fuzzers.dirigo.host import records
from fuzzers.dirigo.host.machine import Machine
from fuzzers.dirigo.host.records import Argument, Pointer, Scalar, Symbol, Three
from fuzzers.dirigo.host.runtime import INVALID_CONFIGURATION, INVALID_VALUE, SUCCESS
from fuzzers.dirigo.host.scalars import Number, Type, convert
from fuzzers.dirigo.host.syntax import Node
from fuzzers.dirigo.host.typing import converted, deduced, plain_name, resolve, template_arguments, written
from fuzzers.dirigo.host.values import (
    AUTO,
    Address,
    Cell,
    Function,
    HostAddress,
    Kernel,
    Named,
    Record,
    Value,
    Variable,
    Vector,
)
from fuzzers.dirigo.simt.events import Unknown

THREADS = 1024
MOST_BLOCKS = (2**31 - 1, 65535, 65535)
MOST_THREADS = (1024, 1024, 64)
SHARED = 49152
INDEX_SPACE = 1 << 31
"""Threads in all of a launch above which nothing is recorded."""


def launched(m: Machine, called: Node, grid: Node, given: Node) -> Value:
    """`kernel<<<grid>>>(given)`."""
    kernel = _kernel(m, called)
    configuration = m.values(grid.children)
    if len(configuration) < 2:
        m.unknown("a launch without grid and block", called)
    shared = (
        int(configuration[2].value) if len(configuration) > 2 and isinstance(configuration[2], Number) else 0
    )
    return recorded(m, kernel, configuration[0], configuration[1], shared, m.values(given.children), called)


def _kernel(m: Machine, called: Node) -> Value:
    inner = called
    while inner.kind == "qualified_identifier" and inner.get("name") is not None:
        inner = inner.fields["name"]
    if inner.kind == "template_function":
        name, arguments = inner.fields["name"], inner.fields["arguments"]
        return Kernel(plain_name(name.text), tuple(template_arguments(m, arguments)))
    return m.value(inner)


def recorded(
    m: Machine, kernel: Value, grid: Value, block: Value, shared: int, given: Sequence[Value], node: Node
) -> Value:
    """Hand a launch to the recorder, or leave the error that CUDA would."""
    if not isinstance(kernel, Kernel) or kernel.name not in m.translation.kernels:
        m.unknown(f"launch of {node.text[:60]}, which is no kernel of the source", node)
    three, threads = _three(m, grid, node), _three(m, block, node)
    error = _refusal(m, kernel.name, three, threads, shared)
    if error:
        m.error = error
        m.recorder.decide(
            f"launch of {kernel.name} refused: grid {three}, block {threads}, {shared} bytes shared",
            node.line,
        )
        return SUCCESS
    total = three[0] * three[1] * three[2] * threads[0] * threads[1] * threads[2]
    if total > INDEX_SPACE:
        raise Unknown(f"host: {total} threads in one launch, line {node.line}")
    function = _overload(m, kernel.name, len(given), node)
    scope = deduced(m, function, kernel.arguments or (), given, m.globals)
    with m.inside(scope):
        arguments = [_argument(m, function, at, value, node) for at, value in enumerate(given)]
        name = _expression(m, function, kernel)
    m.recorder.launch(name, three, threads, shared, arguments, node.line)
    return SUCCESS


def _refusal(m: Machine, name: str, grid: Three, block: Three, shared: int) -> int:
    """The error of a launch that CUDA does not make; 0 where it does."""
    if block[0] * block[1] * block[2] > THREADS or min(*grid, *block) < 1:
        return INVALID_CONFIGURATION
    over = any(have > most for have, most in zip((*grid, *block), (*MOST_BLOCKS, *MOST_THREADS), strict=True))
    if over:
        return INVALID_CONFIGURATION
    return INVALID_VALUE if shared > max(SHARED, m.optin.get(name, 0)) else 0


def _three(m: Machine, value: Value, node: Node) -> Three:
    if isinstance(value, Number):
        return (_counted(m, value, node), 1, 1)
    if isinstance(value, Vector):
        numbers = [_counted(m, one, node) for one in value.values()]
        padded = [*numbers, 1, 1, 1][:3]
        return (padded[0], padded[1], padded[2])
    if isinstance(value, Record) and value.name == "dim3":
        x, y, z = (_counted(m, cell.value, node) for cell in value.members.values())
        return (x, y, z)
    return m.unknown("a grid or block that is no dim3", node)


def _counted(m: Machine, value: Value, node: Node) -> int:
    if not isinstance(value, Number):
        m.unknown("a grid or block that is no number", node)
    if value.is_data:
        raise Unknown(f"host: data: tensor data size a launch, line {node.line}")
    return int(value.value) & 0xFFFFFFFF


def _overload(m: Machine, name: str, count: int, node: Node) -> Function:
    fitting = [function for function in m.translation.kernels[name] if function.takes(count)]
    if not fitting:
        m.unknown(f"no kernel {name} takes {count} arguments", node)
    return next((function for function in fitting if function.body is not None), fitting[0])


def _expression(m: Machine, function: Function, kernel: Kernel) -> str:
    """The name expression of an instance: every template argument written out."""
    name = m.translation.qualified[kernel.name]
    if not function.templates:
        return name
    found = []
    for parameter, _ in function.templates:
        value: Value = m.scope.find_type(parameter)
        cell = m.scope.find(parameter)
        if value is None and cell is None:
            break
        found.append(written(value if value is not None else cell.value if cell is not None else None))
    return f"{name}<{', '.join(found)}>"


def _argument(m: Machine, function: Function, at: int, value: Value, node: Node) -> Argument:
    parameter = function.parameters[min(at, len(function.parameters) - 1)]
    type_ = resolve(m, parameter.type, parameter.declarator)
    return as_argument(m, converted(m, value, type_) if _converts(type_) else value, type_, node)


def _converts(type_: Value) -> bool:
    return isinstance(type_, Type) or (isinstance(type_, Named) and type_.name not in ("auto",))


def as_argument(m: Machine, value: Value, type_: Value, node: Node) -> Argument:
    """A value as a launch's argument."""
    if isinstance(value, Number):
        number = convert(value, type_) if isinstance(type_, Type) else value
        if number.derived:
            raise Unknown(f"host: data: a number computed from tensor data, line {node.line}")
        return Scalar(number.type.name, number.value, number.element)
    if isinstance(value, Address):
        return Pointer(value.buffer, value.offset)
    if isinstance(value, Variable):
        return Symbol(0, value.name, value.offset)
    if isinstance(value, Record):
        members = tuple(as_argument(m, c.value, c.type, node) for c in value.members.values())
        return records.Struct(value.name, members)
    if isinstance(value, Vector):
        return records.Struct("array", tuple(as_argument(m, c.value, AUTO, node) for c in value.cells))
    if isinstance(value, HostAddress):
        m.unknown("a pointer into host memory as a kernel's argument", node)
    return m.unknown(f"a kernel's argument that is {type(value).__name__.lower()}", node)


def launched_by_call(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    """cudaLaunchKernel: the arguments are pointers in an array."""
    kernel, grid, block, pointers = values[:4]
    shared = int(values[4].value) if len(values) > 4 and isinstance(values[4], Number) else 0
    cells: Sequence[Cell] = getattr(pointers, "cells", ())
    given = [cell.value.cell().value for cell in cells if isinstance(cell.value, HostAddress)]
    return recorded(m, kernel, grid, block, shared, given, node)
