"""Types of host code: what a written type means, and what a value becomes when a variable of it is made.

Invariant: a type that nothing here knows is kept by its name and changes no value; only numbers, pointers,
vectors and structs are converted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import torch

from fuzzers.dirigo.host.machine import Machine
from fuzzers.dirigo.host.scalars import DTYPES, INT, SPELLED, UINT, VECTORS, Number, Type, convert
from fuzzers.dirigo.host.syntax import Node, expression
from fuzzers.dirigo.host.translation import declared_name
from fuzzers.dirigo.host.values import (
    AUTO,
    Address,
    AnyType,
    Cell,
    Function,
    HostAddress,
    Kernel,
    Named,
    Native,
    Opaque,
    Options,
    Record,
    Scope,
    Value,
    Variable,
    Vector,
    copied,
    pointer_to,
)
from fuzzers.dirigo.simt.memory import SPREAD

QUALIFIERS = re.compile(r"\b(const|volatile|static|constexpr|inline|typename|struct|__restrict__)\b|\s*&+$")
SPACE = re.compile(r"\s+")
SEQUENCES = frozenset(
    {"vector", "IntArrayRef", "ArrayRef", "SmallVector", "initializer_list", "DimVector", "IntList"}
)
FIXED = frozenset({"array", "tuple", "pair"})
OPTIONAL = frozenset({"optional"})


def plain_name(text: str) -> str:
    """`vector` of `std::vector<int>`."""
    return QUALIFIERS.sub("", text.partition("<")[0]).strip().rpartition("::")[2]


def is_reference(declarator: Node | None) -> bool:
    return declarator is not None and (
        declarator.kind in ("reference_declarator", "abstract_reference_declarator")
        or any(
            child.kind in ("reference_declarator", "abstract_reference_declarator")
            for child in declarator.children
            if child.kind.endswith("declarator")
        )
    )


def resolve(m: Machine, node: Node | None, declarator: Node | None = None) -> AnyType:
    """The type that a specifier and a declarator write."""
    found = AUTO if node is None else _specified(m, node)
    while declarator is not None:
        if declarator.kind in ("pointer_declarator", "abstract_pointer_declarator"):
            found = pointer_to(found)
        elif declarator.kind == "array_declarator":
            size = declarator.get("size")
            found = Named("array", (found, m.value(size) if size is not None else None))
        inner = declarator.get("declarator")
        if inner is None:
            inner = next((c for c in declarator.children if c.kind.endswith("declarator")), None)
        declarator = inner
    return found


def _specified(m: Machine, node: Node) -> AnyType:
    found = SPECIFIERS.get(node.kind)
    return _by_name(m, node.text) if found is None else found(m, node)


def _descriptor(m: Machine, node: Node) -> AnyType:
    return resolve(m, node.get("type"), node.get("declarator"))


def _by_name(m: Machine, text: str) -> AnyType:
    spelled = SPACE.sub(" ", QUALIFIERS.sub("", text)).strip()
    if spelled in SPELLED:
        return SPELLED[spelled]
    known = m.scope.find_type(spelled) or m.scope.find_type(plain_name(spelled))
    if known is not None:
        return known
    macro = m.translation.macros.get(spelled)
    if macro is not None and macro.parameters is None and macro.body != spelled:
        return _by_name(m, macro.body)
    last = plain_name(spelled)
    return SPELLED.get(last, Named(last))


def _template(m: Machine, node: Node) -> AnyType:
    name, given = node.get("name"), node.get("arguments")
    arguments = template_arguments(m, given) if given is not None else ()
    return Named(plain_name(name.text if name is not None else node.text), tuple(arguments))


def _qualified(m: Machine, node: Node) -> AnyType:
    name = node.get("name")
    if name is not None and name.kind in ("template_type", "qualified_identifier"):
        return _specified(m, name)
    return _by_name(m, node.text)


SPECIFIERS: Mapping[str, Callable[[Machine, Node], AnyType]] = {
    "template_type": _template,
    "qualified_identifier": _qualified,
    "type_descriptor": _descriptor,
    "placeholder_type_specifier": lambda m, node: AUTO,
    "decltype": lambda m, node: AUTO,
    "dependent_type": lambda m, node: _specified(m, node.children[-1]),
}


def template_arguments(m: Machine, node: Node) -> list[Value]:
    """Types, and numbers for what is no type."""
    return [_template_argument(m, child) for child in node.children]


def _template_argument(m: Machine, node: Node) -> Value:
    if node.kind != "type_descriptor":
        return m.value(node)
    name = node.get("type")
    if name is not None and node.get("declarator") is None and name.kind == "type_identifier":
        cell = m.scope.find(name.text)
        if cell is not None and m.scope.find_type(name.text) is None:
            return cell.value
        macro = m.translation.macros.get(name.text)
        if macro is not None and name.text not in SPELLED and macro.body not in SPELLED:
            body = expression(macro.body, node.line)
            if body is not None and body.kind != "identifier":
                return m.value(body)
    if name is not None and name.kind == "qualified_identifier" and m.scope.find_type(name.text) is None:
        cell = m.scope.find(plain_name(name.text))
        if cell is not None:
            return cell.value
    return resolve(m, name, node.get("declarator"))


def converted(m: Machine, value: Value, type_: AnyType) -> Value:
    """A value as a variable of that type holds it."""
    if isinstance(type_, Type):
        return _as_scalar(value, type_)
    make = CONVERSIONS.get(type_.name)
    if make is not None:
        return make(m, value, type_)
    if type_.name in SEQUENCES or type_.name in FIXED:
        return _as_vector(m, value, type_)
    if isinstance(value, Vector) and (type_.name in m.translation.structures or type_.name in VECTORS):
        return structure(m, type_.name, value.values())
    if isinstance(value, Vector) and not value.cells and type_.name == "Tensor":
        return None
    return copied(value)


def _as_scalar(value: Value, type_: Type) -> Value:
    if isinstance(value, Vector) and len(value.cells) <= 1:
        value = value.cells[0].value if value.cells else Number(INT, 0)
    if isinstance(value, Number):
        return convert(value, type_)
    return value


def _as_pointer(m: Machine, value: Value, type_: Named) -> Value:
    to = type_.arguments[0] if type_.arguments else AUTO
    if value is None:
        return Address(-1, 0, to)
    if isinstance(value, Number):
        whole = int(value.value)
        return Address((whole >> SPREAD) - 1, whole & ((1 << SPREAD) - 1), to)
    if isinstance(value, Address):
        return value if to == AUTO else Address(value.buffer, value.offset, to)
    if isinstance(value, Vector):
        return HostAddress(value.cells)
    return value


def _as_dim3(m: Machine, value: Value, type_: Named) -> Value:
    if isinstance(value, Record):
        return value.copied()
    if isinstance(value, Number):
        return dim3([value])
    if isinstance(value, Vector):
        return dim3(value.values())
    return value


def _as_optional(m: Machine, value: Value, type_: Named) -> Value:
    if value is None or (isinstance(value, Vector) and not value.cells):
        return None
    return converted(m, value, type_.arguments[0]) if type_.arguments else value


def _as_tensor(m: Machine, value: Value, type_: Named) -> Value:
    return None if isinstance(value, Vector) and not value.cells else value


CONVERSIONS: Mapping[str, Callable[[Machine, Value, Named], Value]] = {
    "*": _as_pointer,
    "dim3": _as_dim3,
    "optional": _as_optional,
    "Tensor": _as_tensor,
    "auto": lambda m, value, type_: copied(value),
}


def _as_vector(m: Machine, value: Value, type_: Named) -> Value:
    if not isinstance(value, Vector):
        return value
    kinds: list[AnyType] = [one for one in type_.arguments if isinstance(one, Type | Named)]
    if type_.name not in ("tuple", "pair"):
        kinds = kinds[:1] * len(value.cells)
    types = [*kinds, *[AUTO] * (len(value.cells) - len(kinds))]
    cells = [Cell(converted(m, cell.value, t), t) for cell, t in zip(value.cells, types, strict=False)]
    size = type_.arguments[1] if type_.name == "array" and len(type_.arguments) > 1 else None
    if isinstance(size, Number):
        inner = type_.arguments[0]
        cells += [Cell(zero(m, inner), inner) for _ in range(int(size.value) - len(cells))]
    return Vector(cells, types[0] if types else AUTO)


def zero(m: Machine, type_: AnyType) -> Value:
    """What a variable without an initialiser holds; numbers read as 0, pointers as null."""
    if isinstance(type_, Type):
        return Number(type_, 0.0 if type_.kind == "f" else 0)
    if type_.name == "array":
        size = type_.arguments[1] if len(type_.arguments) > 1 else None
        count = int(size.value) if isinstance(size, Number) else 0
        return Vector(
            [Cell(zero(m, type_.arguments[0]), type_.arguments[0]) for _ in range(count)], type_.arguments[0]
        )
    if type_.name in SEQUENCES or type_.name in FIXED:
        return Vector([], type_.arguments[0] if type_.arguments else AUTO)
    if type_.name == "*":
        return Address(-1, 0, type_.arguments[0])
    if type_.name == "dim3":
        return dim3([])
    if type_.name in m.translation.structures or type_.name in VECTORS:
        return structure(m, type_.name, [])
    if type_.name == "TensorOptions":
        return Options()
    if type_.name in ("Tensor", "optional", "string", "auto"):
        return None
    return Opaque(type_.name)


def dim3(values: Sequence[Value]) -> Record:
    """A dim3: what is not given is 1."""
    numbers = [convert(v, UINT) if isinstance(v, Number) else v for v in values]
    numbers += [Number(UINT, 1)] * (3 - len(numbers))
    return Record("dim3", {axis: Cell(v, UINT) for axis, v in zip("xyz", numbers, strict=False)})


def structure(m: Machine, name: str, values: Sequence[Value]) -> Record:
    """An aggregate: values for its first members, defaults for the others."""
    members: dict[str, Cell] = {}
    if name in VECTORS:
        one, count = VECTORS[name]
        listed: list[tuple[str, AnyType, Node | None]] = [(axis, one, None) for axis in "xyzw"[:count]]
    else:
        listed = list(_members(m, m.translation.structures[name]))
    for at, (member, type_, default) in enumerate(listed):
        if at < len(values):
            value = converted(m, values[at], type_)
        else:
            value = zero(m, type_) if default is None else converted(m, m.value(default), type_)
        members[member] = Cell(value, type_)
    return Record(name, members)


def _members(m: Machine, node: Node) -> list[tuple[str, AnyType, Node | None]]:
    body = node.get("body")
    found = []
    for child in body.children if body is not None else ():
        if child.kind != "field_declaration" or "static" in child.text.split():
            continue
        default = child.get("default_value")
        for part in child.children:
            if part.kind.endswith(("_declarator", "field_identifier")) and part is not default:
                if part.kind == "function_declarator":
                    continue
                found.append((declared_name(part), resolve(m, child.get("type"), part), default))
    return found


def type_of(value: Value) -> AnyType:
    """The type of a value, as deduction sees it."""
    if isinstance(value, Number):
        return value.type
    if isinstance(value, Address):
        return pointer_to(value.type)
    if isinstance(value, HostAddress):
        return pointer_to(value.cells[0].type if value.cells else AUTO)
    if isinstance(value, Vector):
        return Named("vector", (value.type,))
    if isinstance(value, Record):
        return Named(value.name)
    if isinstance(value, torch.Tensor):
        return Named("Tensor")
    return AUTO


def deduced(
    m: Machine, function: Function, templates: Sequence[Value], arguments: Sequence[Value], scope: Scope
) -> Scope:
    """A scope in which the function's template parameters are bound: those that are given, then those that
    follow from the arguments, then the defaults."""
    names = [name for name, _ in function.templates]
    bound: dict[str, Value] = dict(zip(names, templates, strict=False))
    inner = Scope(scope)
    for name in names:
        inner.types[name] = Named(f"?{name}")
    with m.inside(inner):
        wanted = [resolve(m, p.type, _unsized(p.declarator)) for p in function.parameters]
    for pattern, value in zip(wanted, arguments, strict=False):
        _unify(pattern, type_of(value.value if isinstance(value, Cell) else value), bound)
    found = Scope(scope)
    for name, default in function.templates:
        if name not in bound and default is not None:
            with m.inside(found):
                bound[name] = resolve(m, default) if default.kind == "type_descriptor" else m.value(default)
        if name in bound:
            bind_template(found, name, bound[name])
    return found


def _unsized(declarator: Node | None) -> Node | None:
    """A declarator whose array bounds may name what is not known yet is left out."""
    return None if declarator is not None and declarator.kind == "array_declarator" else declarator


def bind_template(scope: Scope, name: str, value: Value) -> None:
    if isinstance(value, Type | Named):
        scope.types[name] = value
    else:
        scope.cells[name] = Cell(value)


def _unify(pattern: AnyType, actual: AnyType, bound: dict[str, Value]) -> None:
    if not isinstance(pattern, Named):
        return
    if pattern.name.startswith("?"):
        bound.setdefault(pattern.name[1:], actual)
    elif isinstance(actual, Named) and (pattern.name == actual.name or pattern.name in SEQUENCES):
        for one, other in zip(pattern.arguments, actual.arguments, strict=False):
            if isinstance(one, Type | Named) and isinstance(other, Type | Named):
                _unify(one, other, bound)


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def element_type(tensor: torch.Tensor) -> Type:
    """The C++ type of a tensor's elements."""
    return DTYPES[dtype_name(tensor.dtype)]


def written(value: Value) -> str:
    """A template argument as C++ source."""
    if isinstance(value, Type):
        return value.name
    if isinstance(value, Named):
        if value.name == "*":
            return f"{written(value.arguments[0])}*"
        inner = ", ".join(written(one) for one in value.arguments)
        return f"{value.name}<{inner}>" if inner else value.name
    if isinstance(value, Number):
        if value.type.kind == "b":
            return "true" if value.value else "false"
        return str(value.value)
    if isinstance(value, Kernel | Native | Function | Variable):
        return value.name
    raise TypeError(value)
