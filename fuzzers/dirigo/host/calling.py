"""Calls in host code, by how the called is written: a name, a template, a method, a value; launches apart.

Invariant: what the source itself defines comes before what a library has under the same name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from fuzzers.dirigo.host import dispatching, launching, library, naming, objects, syntax, tensors
from fuzzers.dirigo.host.construction import cast, constructed
from fuzzers.dirigo.host.functions import chosen
from fuzzers.dirigo.host.machine import Machine
from fuzzers.dirigo.host.scalars import (
    SPELLED,
    VECTORS,
)
from fuzzers.dirigo.host.syntax import Node
from fuzzers.dirigo.host.translation import function_of
from fuzzers.dirigo.host.typing import (
    SEQUENCES,
    plain_name,
    resolve,
    template_arguments,
)
from fuzzers.dirigo.host.values import (
    Cell,
    Function,
    HostAddress,
    Named,
    Native,
    Record,
    Scope,
    Value,
)

TORCH = ("torch::", "at::", "c10::", "::torch::", "::at::", "F::", "aten::")
CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast"})


def called(m: Machine, node: Node) -> Value:
    """A call expression, which may be a launch."""
    function, given = node.get("function"), node.get("arguments")
    assert function is not None and given is not None, node.text
    grid = node.first("kernel_call_syntax")
    if grid is not None:
        return launching.launched(m, function, grid, given)
    find = CALLED.get(function.kind)
    return _called_value(m, function, given, node) if find is None else find(m, function, given, node)


def arguments_of(m: Machine, given: Node) -> list[Value]:
    """Arguments of a call of ours: cells of what names a variable, so that a reference can share them."""
    return [
        m.place(child)
        if child.kind in ("identifier", "subscript_expression", "field_expression")
        else m.value(child)
        for child in given.children
    ]


def _called_value(m: Machine, called: Node, given: Node, node: Node) -> Value:
    """A call of what is a value: a lambda, a function object."""
    return invoked(m, m.value(called), arguments_of(m, given), node)


def invoked(m: Machine, function: Value, arguments: Sequence[Value], node: Node) -> Value:
    if isinstance(function, Function):
        return m.call(function, (), arguments)
    if isinstance(function, Native):
        return function.call(*[a.value if isinstance(a, Cell) else a for a in arguments])
    return m.unknown(f"call of {naming.kind_of(function)}", node)


def _called_name(m: Machine, called: Node, given: Node, node: Node) -> Value:
    return _by_name(m, called.text.replace(" ", ""), None, given, node)


def _called_template(m: Machine, called: Node, given: Node, node: Node) -> Value:
    name, arguments = called.get("name"), called.get("arguments")
    assert name is not None and arguments is not None, called.text
    return _by_name(m, name.text, arguments, given, node)


def _called_qualified(m: Machine, called: Node, given: Node, node: Node) -> Value:
    inner: Node | None = called
    while inner is not None and inner.kind == "qualified_identifier":
        inner = inner.get("name")
    arguments = inner.get("arguments") if inner is not None else None
    if "numeric_limits" in called.text:
        return naming.limit(m, called)
    name = re.sub(r"\s", "", called.text)
    if arguments is not None and inner is not None:
        name = re.sub(r"\s", "", called.text.removesuffix(arguments.text))
    if inner is not None and inner.kind == "template_type":
        return constructed(m, resolve(m, called), m.values(given.children), node)
    return _by_name(m, name, arguments, given, node)


def _by_name(m: Machine, text: str, templates: Node | None, given: Node, node: Node) -> Value:
    """A call by name. What the source itself defines comes before what a library has."""
    last = plain_name(text)
    if text.startswith("AT_DISPATCH"):
        return dispatching.dispatched(m, text, given, node)
    cell = m.scope.find(text)
    if cell is not None:
        return invoked(m, cell.value, arguments_of(m, given), node)
    macro = m.translation.macros.get(text)
    if macro is not None and macro.parameters is not None:
        return _expanded(m, macro, given, node)
    if text in CASTS and templates is not None:
        (type_,) = template_arguments(m, templates)
        return cast(m, m.value(given.children[0]), type_, node)
    ours = m.translation.functions.get(last)
    if ours is not None and not text.startswith(("std::", *TORCH)):
        arguments = arguments_of(m, given)
        own = template_arguments(m, templates) if templates is not None else []
        return m.call(chosen(m, ours, arguments, node), own, arguments)
    special = library.SPECIAL.get(last)
    if special is not None:
        return special(m, given, templates, node)
    type_ = _as_type(m, text)
    if type_ is not None:
        return constructed(m, type_, m.values(given.children), node)
    function = library.FUNCTIONS.get(last)
    if function is not None and (last in library.UNLIKE_TORCH or not text.startswith(TORCH)):
        own = template_arguments(m, templates) if templates is not None else []
        return function(m, m.values(given.children), own, node)
    if text.startswith(TORCH):
        return tensors.torch_function(m, text, m.values(given.children), node)
    return m.unknown(f"call of {text}", node)


def _as_type(m: Machine, text: str) -> Any:
    """The type of that name, where it is one that can be made."""
    last = plain_name(text)
    known = m.scope.find_type(text) or m.scope.find_type(last)
    if known is not None:
        return known
    if text in SPELLED:
        return SPELLED[text]
    made = (
        last in library.CONSTRUCTORS
        or last in SEQUENCES
        or last in VECTORS
        or last in m.translation.structures
    )
    return Named(last) if made else None


def _expanded(m: Machine, macro: syntax.Macro, given: Node, node: Node) -> Value:
    text = syntax.expanded(macro, [child.text for child in given.children])
    body = syntax.expression(text.rstrip(" ;"), node.line)
    if body is not None:
        return m.value(body)
    block = syntax.statement(text, node.line)
    if block is None:
        m.unknown(f"macro {macro.name}", node)
    for child in block.children:
        m.run(child)
    return None


def _method(m: Machine, called: Node, given: Node, node: Node) -> Value:
    owner, field = called.get("argument"), called.get("field")
    assert owner is not None and field is not None, called.text
    value = m.value(owner)
    if isinstance(value, HostAddress) and "->" in called.tokens:
        value = value.cell().value
    name, templates = field.text, None
    if field.kind == "template_method":
        written, templates = field.get("name"), field.get("arguments")
        name = written.text if written is not None else name
    if isinstance(value, Record):
        member = value.members.get(name)
        if member is not None:
            return invoked(m, member.value, arguments_of(m, given), node)
        return _own_method(m, value, name, given, node)
    own = template_arguments(m, templates) if templates is not None else []
    if isinstance(value, torch.Tensor):
        return tensors.method(m, value, name, m.values(given.children), own, node)
    found = objects.method(value, name)
    if found is not None:
        return found(m, value, m.values(given.children), node)
    return m.unknown(f"method {name} of {naming.kind_of(value)}", node)


def _own_method(m: Machine, record: Record, name: str, given: Node, node: Node) -> Value:
    """A member function of a struct of the source: members are names in its body."""
    definition = m.translation.structures.get(record.name)
    for child in definition.walk() if definition is not None else ():
        if child.kind == "function_definition":
            function = function_of(child)
            if function is not None and function.name == name:
                scope = Scope(m.globals)
                scope.cells = dict(record.members)
                bound = Function(name, function.parameters, function.body, scope, (), function.line)
                return m.call(bound, (), arguments_of(m, given))
    return m.unknown(f"method {name} of {record.name}", node)


CALLED: Mapping[str, Callable[[Machine, Node, Node, Node], Value]] = {
    "identifier": _called_name,
    "primitive_type": _called_name,
    "sized_type_specifier": _called_name,
    "template_function": _called_template,
    "qualified_identifier": _called_qualified,
    "field_expression": _method,
}
