"""Expressions of host code, by the kind of their node."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import torch

from fuzzers.dirigo.host import naming, syntax, tensors
from fuzzers.dirigo.host.calling import called
from fuzzers.dirigo.host.construction import cast, constructed
from fuzzers.dirigo.host.machine import HostError, Machine
from fuzzers.dirigo.host.scalars import (
    BOOL,
    INT,
    SPELLED,
    ULONG,
    VECTORS,
    Number,
    Type,
    binary,
    literal,
    unary,
)
from fuzzers.dirigo.host.syntax import Node
from fuzzers.dirigo.host.translation import parameters_of
from fuzzers.dirigo.host.typing import (
    converted,
    plain_name,
    resolve,
    template_arguments,
)
from fuzzers.dirigo.host.values import (
    AUTO,
    Address,
    Cell,
    Function,
    HostAddress,
    Kernel,
    Named,
    Native,
    Record,
    Value,
    Variable,
    Vector,
    size_of,
    vector,
)

ESCAPES = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\\": "\\", r"\'": "'", r"\0": "\0"}


def _identifier(m: Machine, node: Node) -> Value:
    cell = m.scope.find(node.text)
    return _named(m, node.text, node) if cell is None else cell.value


def _named(m: Machine, text: str, node: Node) -> Value:
    """A name that is no variable: a macro, a function, a kernel, a device variable, a library's constant."""
    found = m.translation
    macro = found.macros.get(text)
    if macro is not None and macro.parameters is None:
        body = syntax.expression(macro.body, node.line)
        if body is None:
            m.unknown(f"macro {text}", node)
        return m.value(body)
    last = plain_name(text)
    if last in found.kernels:
        return Kernel(last)
    if last in found.functions:
        return found.functions[last][0]
    if last in found.variables:
        return Variable(last)
    cell = m.globals.find(last)
    if cell is not None:
        return cell.value
    constant = naming.constant(text)
    if constant is not None:
        return constant
    return m.unknown(f"name {text}", node)


def _qualified(m: Machine, node: Node) -> Value:
    text = node.text.replace(" ", "")
    if text.endswith("npos"):
        return Number(ULONG, (1 << 64) - 1)
    if "numeric_limits" in text:
        return Native(text, lambda *_: naming.limit(m, node))
    member = plain_name(text)
    owner = resolve(m, node.get("scope")) if node.get("scope") is not None else AUTO
    if isinstance(owner, Named) and owner.name in m.translation.structures:
        value = _static(m, owner.name, member)
        if value is not None:
            return value
    return _named(m, text, node)


def _static(m: Machine, structure_name: str, member: str) -> Value:
    """A static constexpr member of a struct."""
    for child in m.translation.structures[structure_name].walk():
        if child.kind == "field_declaration" and "static" in child.text.split():
            name, default = child.get("declarator"), child.get("default_value")
            if name is not None and name.text == member and default is not None:
                return converted(m, m.value(default), resolve(m, child.get("type"), name))
    return None


def _string(m: Machine, node: Node) -> Value:
    text = node.text[node.text.index('"') + 1 : -1]
    return re.sub(r"\\.", lambda found: ESCAPES.get(found[0], found[0]), text)


def _concatenated(m: Machine, node: Node) -> Value:
    return "".join(str(m.value(child)) for child in node.children)


def _char(m: Machine, node: Node) -> Value:
    return Number(SPELLED["char"], ord(ESCAPES.get(node.text[1:-1], node.text[1:-1])[:1] or "\0"))


def _binary(m: Machine, node: Node) -> Value:
    sign = node.tokens[0]
    left_node, right_node = node.children[0], node.children[-1]
    if sign in ("&&", "||"):
        left = m.truth(m.value(left_node), left_node)
        if left == (sign == "||"):
            return Number(BOOL, int(left))
        return Number(BOOL, int(m.truth(m.value(right_node), right_node)))
    return computed(m, sign, m.value(left_node), m.value(right_node), node)


def computed(m: Machine, sign: str, left: Value, right: Value, node: Node) -> Value:
    """`left sign right` for any two values."""
    if isinstance(left, Number) and isinstance(right, Number):
        try:
            return binary(sign, left, right)
        except ZeroDivisionError:
            raise HostError(f"integer division by zero, line {node.line}") from None
    if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
        return tensors.operated(m, sign, left, right, node)
    if isinstance(left, Address | HostAddress | Variable) and isinstance(right, Number) and sign in "+-":
        return _moved(m, left, int(right.value) * (1 if sign == "+" else -1), node)
    if isinstance(right, Address | HostAddress | Variable) and sign == "+" and isinstance(left, Number):
        return _moved(m, right, int(left.value), node)
    if isinstance(left, str) and sign in ("+", "<<"):
        return left + naming.shown(right)
    if isinstance(right, str) and sign == "+":
        return naming.shown(left) + right
    if sign in ("==", "!="):
        same = comparable(left) == comparable(right)
        return Number(BOOL, int(same == (sign == "==")))
    return m.unknown(f"operator {sign} of {naming.kind_of(left)} and {naming.kind_of(right)}", node)


def _moved(m: Machine, pointer: Any, count: int, node: Node) -> Value:
    if isinstance(pointer, Variable):
        declared = m.translation.variables[pointer.name].get("type")
        type_ = resolve(m, declared)
        return Variable(pointer.name, pointer.offset + count * size_of(type_))
    return pointer.moved(count)


def comparable(value: Value) -> Any:
    """Something that `==` compares as C++ would."""
    if isinstance(value, Vector):
        return [comparable(one) for one in value.values()]
    if isinstance(value, Number):
        return value.value
    if isinstance(value, Address) and value.buffer < 0:
        return None
    if isinstance(value, Type):
        return naming.dtype_of(value)
    return value


def _unary(m: Machine, node: Node) -> Value:
    sign = node.tokens[0]
    value = m.value(node.children[0])
    if isinstance(value, Number):
        return unary(sign, value)
    if sign == "!":
        return Number(BOOL, int(not m.truth(value, node)))
    if sign == "-" and isinstance(value, torch.Tensor):
        return -value
    return m.unknown(f"operator {sign} of {naming.kind_of(value)}", node)


def _pointer(m: Machine, node: Node) -> Value:
    inner = node.children[0]
    if node.tokens[0] == "*":
        return m.place(node).value
    if inner.kind == "subscript_expression":
        base = m.value(inner.children[0])
        if isinstance(base, Address | HostAddress | Variable):
            return _moved(m, base, _index(m, inner), inner)
        if isinstance(base, Vector):
            return HostAddress(base.cells, _index(m, inner))
    value = None if m.scope.find(inner.text) is not None else m.value(inner)
    if isinstance(value, Variable | Kernel | Function | Native):
        return value
    return HostAddress([m.place(inner)])


def _dereferenced(m: Machine, node: Node) -> Cell:
    if node.tokens[0] != "*":
        return Cell(m.value(node))
    value = m.value(node.children[0])
    if isinstance(value, HostAddress):
        return value.cell()
    if isinstance(value, Address):
        m.unknown("host code reads device memory", node)
    return Cell(value)


def _index(m: Machine, node: Node) -> int:
    indices = node.get("indices") or node.children[-1]
    inner = indices.children[0] if indices.kind == "subscript_argument_list" else indices
    value = m.value(inner)
    if not isinstance(value, Number):
        m.unknown(f"an index that is {naming.kind_of(value)}", node)
    return int(value.value)


def _subscript(m: Machine, node: Node) -> Value:
    base = m.value(node.children[0])
    if isinstance(base, torch.Tensor):
        return base[_index(m, node)]
    return _subscripted(m, node).value


def _subscripted(m: Machine, node: Node) -> Cell:
    base = m.value(node.children[0])
    if isinstance(base, Vector):
        at = _index(m, node)
        if not 0 <= at < len(base.cells):
            m.unknown(f"index {at} of {len(base.cells)} elements", node)
        return base.cells[at]
    if isinstance(base, HostAddress):
        return base.moved(_index(m, node)).cell()
    if isinstance(base, str):
        return Cell(Number(SPELLED["char"], ord((base + "\0")[_index(m, node)])))
    return m.unknown(f"subscript of {naming.kind_of(base)}", node)


def _field(m: Machine, node: Node) -> Value:
    return _member(m, node).value


def _member(m: Machine, node: Node) -> Cell:
    owner, field = node.get("argument"), node.get("field")
    assert owner is not None and field is not None, node.text
    value = m.value(owner)
    if isinstance(value, HostAddress):
        value = value.cell().value
    if isinstance(value, Record) and field.text in value.members:
        return value.members[field.text]
    if isinstance(value, Vector) and field.text in ("first", "second"):
        return value.cells[field.text == "second"]
    property_ = naming.member(value, field.text)
    if property_ is not None:
        return Cell(property_)
    return m.unknown(f"member {field.text} of {naming.kind_of(value)}", node)


def _assignment(m: Machine, node: Node) -> Value:
    left, right = node.children[0], node.children[-1]
    sign = node.tokens[0]
    if left.kind == "subscript_expression":
        base = m.value(left.children[0])
        if isinstance(base, torch.Tensor):
            return tensors.assigned(m, base[_index(m, left)], m.value(right), node)
    cell = m.place(left)
    value = m.value(right)
    if sign != "=":
        if isinstance(cell.value, torch.Tensor):
            cell.value = tensors.changed(m, sign, cell.value, value, node)
            return cell.value
        value = computed(m, sign[:-1], cell.value, value, node)
    cell.value = converted(m, value, cell.type)
    return cell.value


def _update(m: Machine, node: Node) -> Value:
    sign = "+" if "++" in node.tokens else "-"
    cell = m.place(node.children[0])
    before = cell.value
    cell.value = converted(m, computed(m, sign, before, Number(INT, 1), node), cell.type)
    prefix = node.text.lstrip().startswith(("++", "--"))
    return cell.value if prefix else before


def _conditional(m: Machine, node: Node) -> Value:
    condition, yes, no = node.children
    return m.value(yes if m.truth(m.value(condition), condition) else no)


def _cast(m: Machine, node: Node) -> Value:
    type_, value = node.get("type"), node.get("value")
    assert type_ is not None and value is not None, node.text
    return cast(m, m.value(value), resolve(m, type_), node)


def _sizeof(m: Machine, node: Node) -> Value:
    type_ = node.get("type")
    if type_ is not None:
        written = type_.first("type_identifier")
        cell = m.scope.find(written.text) if written is not None else None
        if cell is None or m.scope.find_type(type_.text) is not None:
            return Number(ULONG, naming.size(m, resolve(m, type_)))
        return Number(ULONG, naming.size_of_value(m, cell.value, node))
    inner = node.get("value") or node.children[0]
    while inner.kind == "parenthesized_expression":
        inner = inner.children[0]
    named = m.scope.find(inner.text)
    if named is None and (inner.text in SPELLED or m.scope.find_type(inner.text) or inner.text in VECTORS):
        return Number(ULONG, naming.size(m, resolve(m, inner)))
    return Number(ULONG, naming.size_of_value(m, m.value(inner), node))


def _list(m: Machine, node: Node) -> Value:
    return vector(m.values(node.children))


def _compound(m: Machine, node: Node) -> Value:
    type_, value = node.get("type"), node.get("value")
    assert value is not None, node.text
    return constructed(m, resolve(m, type_), m.values(value.children), node, braces=True)


def _lambda(m: Machine, node: Node) -> Value:
    declarator, captures = node.get("declarator"), node.get("captures")
    parameters = declarator.get("parameters") if declarator is not None else None
    by_reference = captures is not None and "&" in captures.text
    scope = m.scope if by_reference or captures is None else m.scope.frozen()
    return Function("lambda", parameters_of(parameters), node.get("body"), scope, (), node.line)


def _parenthesized(m: Machine, node: Node) -> Value:
    return m.value(node.children[0])


def _comma(m: Machine, node: Node) -> Value:
    return m.values(node.children)[-1]


def _template_name(m: Machine, node: Node) -> Value:
    """`kernel<4>` as a value."""
    name, arguments = node.get("name"), node.get("arguments")
    assert name is not None and arguments is not None, node.text
    last = plain_name(name.text)
    if last in m.translation.kernels:
        return Kernel(last, tuple(template_arguments(m, arguments)))
    if name.text.endswith("_v"):
        return naming.trait(m, name.text, template_arguments(m, arguments), node)
    return m.unknown(f"name {node.text}", node)


EXPRESSIONS: Mapping[str, Callable[[Machine, Node], Value]] = {
    "identifier": _identifier,
    "qualified_identifier": _qualified,
    "template_function": _template_name,
    "number_literal": lambda m, node: literal(node.text),
    "string_literal": _string,
    "raw_string_literal": lambda m, node: node.text,
    "concatenated_string": _concatenated,
    "char_literal": _char,
    "true": lambda m, node: Number(BOOL, 1),
    "false": lambda m, node: Number(BOOL, 0),
    "null": lambda m, node: None,
    "parenthesized_expression": _parenthesized,
    "binary_expression": _binary,
    "unary_expression": _unary,
    "pointer_expression": _pointer,
    "subscript_expression": _subscript,
    "field_expression": _field,
    "assignment_expression": _assignment,
    "update_expression": _update,
    "conditional_expression": _conditional,
    "cast_expression": _cast,
    "sizeof_expression": _sizeof,
    "initializer_list": _list,
    "compound_literal_expression": _compound,
    "lambda_expression": _lambda,
    "call_expression": called,
    "comma_expression": _comma,
    "condition_clause": lambda m, node: m.value(node.get("value") or node.children[-1]),
    "user_defined_literal": lambda m, node: literal(node.text),
}


def _cell(m: Machine, node: Node) -> Cell:
    found = m.scope.find(node.text)
    return Cell(_named(m, node.text, node)) if found is None else found


PLACES: Mapping[str, Callable[[Machine, Node], Cell]] = {
    "identifier": _cell,
    "subscript_expression": _subscripted,
    "field_expression": _member,
    "pointer_expression": _dereferenced,
    "parenthesized_expression": lambda m, node: m.place(node.children[0]),
}
