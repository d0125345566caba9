"""Statements of host code, by the kind of their node."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from fuzzers.dirigo.host import syntax
from fuzzers.dirigo.host.construction import constructed
from fuzzers.dirigo.host.machine import Broken, Continued, HostError, Machine, Returned
from fuzzers.dirigo.host.naming import shown
from fuzzers.dirigo.host.scalars import INT, Number
from fuzzers.dirigo.host.syntax import Node
from fuzzers.dirigo.host.translation import declared_name
from fuzzers.dirigo.host.typing import converted, is_reference, resolve, zero
from fuzzers.dirigo.host.values import AUTO, AnyType, Cell, Record, Value, Vector

NOTHING = frozenset({"storage_class_specifier", "type_qualifier", "attribute_declaration", "virtual"})


def _block(m: Machine, node: Node) -> None:
    with m.block():
        for child in node.children:
            m.run(child)


def _expression(m: Machine, node: Node) -> None:
    for child in node.children:
        m.value(child)


def declaration(m: Machine, node: Node) -> None:
    """Variables, in the scope of now."""
    type_node = node.get("type")
    for child in node.children:
        if (
            child is type_node
            or child.kind in NOTHING
            or not child.kind.endswith(("declarator", "identifier"))
        ):
            continue
        _declared(m, type_node, child)


def _declared(m: Machine, type_node: Node | None, node: Node) -> None:
    value_node = node.get("value") if node.kind == "init_declarator" else None
    declarator = node.get("declarator") if node.kind == "init_declarator" else node
    assert declarator is not None, node.text
    if declarator.kind == "structured_binding_declarator":
        _unpacked(m, declarator, value_node)
        return
    if declarator.kind == "function_declarator":
        _constructed_like_a_function(m, type_node, declarator)
        return
    name, type_ = declared_name(declarator), resolve(m, type_node, declarator)
    if value_node is None:
        m.scope.cells[name] = Cell(zero(m, type_), type_)
    elif value_node.kind == "argument_list":
        values = m.values(value_node.children)
        m.scope.cells[name] = Cell(_made(m, type_, values, node), type_)
    elif is_reference(declarator) and m.names_place(value_node):
        m.scope.cells[name] = m.place(value_node)
    elif value_node.kind == "initializer_list" and type_ != AUTO:
        values = m.values(value_node.children)
        m.scope.cells[name] = Cell(constructed(m, type_, values, node, braces=True), type_)
    else:
        value = converted(m, m.value(value_node), type_)
        if type_ == AUTO and isinstance(value, Number):
            type_ = value.type
        m.scope.cells[name] = Cell(value, type_)


def _made(m: Machine, type_: AnyType, values: list[Value], node: Node) -> Value:
    if type_ == AUTO and len(values) == 1:
        return converted(m, values[0], type_)
    return constructed(m, type_, values, node)


def _unpacked(m: Machine, declarator: Node, value_node: Node | None) -> None:
    """`auto [a, b] = value`."""
    value = m.value(value_node) if value_node is not None else None
    if isinstance(value, Record):
        cells = list(value.members.values())
    elif isinstance(value, Vector):
        cells = value.cells
    else:
        m.unknown("structured binding", declarator)
    for name, cell in zip(declarator.children, cells, strict=False):
        m.scope.cells[name.text] = cell


def _constructed_like_a_function(m: Machine, type_node: Node | None, declarator: Node) -> None:
    """`dim3 grid(a, b)`, which reads like the declaration of a function."""
    name, parameters = declarator.get("declarator"), declarator.get("parameters")
    assert name is not None and parameters is not None, declarator.text
    call = syntax.expression(f"f{parameters.text}", declarator.line)
    arguments = call.get("arguments") if call is not None else None
    if arguments is None:
        m.unknown(f"declaration `{declarator.text[:60]}`", declarator)
    type_ = resolve(m, type_node)
    m.scope.cells[name.text] = Cell(_made(m, type_, m.values(arguments.children), declarator), type_)


def _return(m: Machine, node: Node) -> None:
    raise Returned(m.value(node.children[0]) if node.children else None)


def _if(m: Machine, node: Node) -> None:
    with m.block():
        condition = node.get("condition")
        assert condition is not None, node.text
        start = condition.get("initializer")
        if start is not None:
            _parts(m, start)
        holds = m.truth(_condition(m, condition), condition)
        branch = node.get("consequence") if holds else node.get("alternative")
        if branch is not None:
            m.run(branch)


def _condition(m: Machine, node: Node) -> Value:
    """A condition, which may declare a variable."""
    inner = node.get("value") or node.children[-1]
    if inner.kind == "declaration":
        declaration(m, inner)
        return m.scope.cells[declared_name(inner.get("declarator"))].value
    return m.value(inner)


def _parts(m: Machine, node: Node) -> None:
    for child in node.children:
        if child.kind in STATEMENTS:
            m.run(child)
        else:
            m.value(child)


def _once(m: Machine, body: Node) -> bool:
    """Run a loop's body; whether the loop goes on."""
    try:
        m.run(body)
    except Continued:
        return True
    except Broken:
        return False
    return True


def _for(m: Machine, node: Node) -> None:
    with m.block():
        start, condition, update = node.get("initializer"), node.get("condition"), node.get("update")
        body = node.get("body")
        assert body is not None, node.text
        if start is not None:
            if start.kind in STATEMENTS:
                m.run(start)
            else:
                m.value(start)
        while condition is None or m.truth(m.value(condition), condition):
            m.tick()
            if not _once(m, body):
                break
            if update is not None:
                m.value(update)


def _for_each(m: Machine, node: Node) -> None:
    declarator, right, body = node.get("declarator"), node.get("right"), node.get("body")
    assert declarator is not None and right is not None and body is not None, node.text
    values = m.value(right)
    if not isinstance(values, Vector):
        m.unknown(f"loop over {right.text[:40]}", node)
    type_ = resolve(m, node.get("type"), declarator)
    for cell in list(values.cells):
        m.tick()
        with m.block() as scope:
            if declarator.kind == "structured_binding_declarator":
                for name, inner in zip(declarator.children, cell.value.cells, strict=False):
                    scope.cells[name.text] = inner
            else:
                own = cell if is_reference(declarator) else Cell(converted(m, cell.value, type_), type_)
                scope.cells[declared_name(declarator)] = own
            if not _once(m, body):
                break


def _while(m: Machine, node: Node) -> None:
    condition, body = node.get("condition"), node.get("body")
    assert condition is not None and body is not None, node.text
    with m.block():
        while m.truth(_condition(m, condition), condition):
            m.tick()
            if not _once(m, body):
                break


def _do(m: Machine, node: Node) -> None:
    condition, body = node.get("condition"), node.get("body")
    assert condition is not None and body is not None, node.text
    while True:
        m.tick()
        if not _once(m, body) or not m.truth(m.value(condition), condition):
            break


def _switch(m: Machine, node: Node) -> None:
    condition, body = node.get("condition"), node.get("body")
    assert condition is not None and body is not None, node.text
    subject = m.value(condition)
    if isinstance(subject, Number) and subject.is_data:
        m.recorder.decide(condition.text, condition.line)
    cases = [child for child in body.children if child.kind == "case_statement"]
    at = next((i for i, case in enumerate(cases) if _matches(m, case, subject)), None)
    if at is None:
        at = next((i for i, case in enumerate(cases) if case.get("value") is None), len(cases))
    try:
        with m.block():
            for case in cases[at:]:
                for child in case.children:
                    if child is not case.get("value"):
                        m.run(child)
    except Broken:
        return


def _matches(m: Machine, case: Node, subject: Value) -> bool:
    wanted = case.get("value")
    if wanted is None:
        return False
    value = m.value(wanted)
    if isinstance(value, Number) and isinstance(subject, Number):
        return value.value == subject.value
    return bool(value == subject)


def _break(m: Machine, node: Node) -> None:
    raise Broken


def _continue(m: Machine, node: Node) -> None:
    raise Continued


def _throw(m: Machine, node: Node) -> None:
    thrown = m.value(node.children[0]) if node.children else "rethrown"
    raise HostError(thrown if isinstance(thrown, str) else shown(thrown))


def _try(m: Machine, node: Node) -> None:
    body = node.get("body")
    assert body is not None, node.text
    try:
        m.run(body)
    except (HostError, RuntimeError) as error:
        clause = node.first("catch_clause")
        inner = clause.get("body") if clause is not None else None
        if inner is None:
            raise
        with m.block() as scope:
            parameters = clause.get("parameters") if clause is not None else None
            for parameter in parameters.children if parameters is not None else ():
                scope.cells[declared_name(parameter.get("declarator"))] = Cell(Vector([Cell(str(error))]))
            m.run(inner)


def _alias(m: Machine, node: Node) -> None:
    name, type_ = node.get("name"), node.get("type")
    if name is not None:
        m.scope.types[name.text] = resolve(m, type_)


def _typedef(m: Machine, node: Node) -> None:
    declarator = node.get("declarator")
    m.scope.types[declared_name(declarator)] = resolve(m, node.get("type"), declarator)


def _enum(m: Machine, node: Node) -> None:
    value = -1
    for child in node.walk():
        if child.kind == "enumerator":
            given, name = child.get("value"), child.get("name")
            found = m.value(given) if given is not None else None
            value = int(found.value) if isinstance(found, Number) else value + 1
            if name is not None:
                m.scope.cells[name.text] = Cell(Number(INT, value), INT)


def _conditional_text(m: Machine, node: Node) -> None:
    """#ifdef inside a function."""
    name, other = node.get("name"), node.get("alternative")
    there = name is not None and (
        name.text in m.translation.macros or name.text in ("__CUDACC__", "__cplusplus")
    )
    if there == ("#ifdef" in node.tokens):
        for child in node.children:
            if child is not name and child is not other:
                m.run(child)
    elif other is not None:
        for child in other.children:
            m.run(child)


def _nothing(m: Machine, node: Node) -> None:
    """A statement that does nothing to the device."""


def _error(m: Machine, node: Node) -> None:
    if re.sub(r"[\s;]", "", node.text):
        m.unknown(f"syntax `{' '.join(node.text.split())[:60]}`", node)


STATEMENTS: Mapping[str, Callable[[Machine, Node], None]] = {
    "compound_statement": _block,
    "expression_statement": _expression,
    "declaration": declaration,
    "return_statement": _return,
    "if_statement": _if,
    "else_clause": _parts,
    "for_statement": _for,
    "for_range_loop": _for_each,
    "while_statement": _while,
    "do_statement": _do,
    "switch_statement": _switch,
    "break_statement": _break,
    "continue_statement": _continue,
    "throw_statement": _throw,
    "try_statement": _try,
    "alias_declaration": _alias,
    "type_definition": _typedef,
    "enum_specifier": _enum,
    "preproc_ifdef": _conditional_text,
    "init_statement": _parts,
    "attributed_statement": lambda m, node: m.run(node.children[-1]),
    **dict.fromkeys(
        (
            *("using_declaration", "static_assert_declaration", "empty_statement", "preproc_def"),
            *("preproc_function_def", "preproc_call", "preproc_include", "struct_specifier", "comment"),
        ),
        _nothing,
    ),
    "ERROR": _error,
}
