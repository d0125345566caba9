"""Calling a function of the host code: which of several, its template parameters, its arguments.

Invariant: a parameter that is a reference shares the argument's cell; any other holds a copy, converted to
the parameter's type.
"""

from __future__ import annotations

from collections.abc import Sequence

from fuzzers.dirigo.host.machine import Machine, Returned
from fuzzers.dirigo.host.scalars import Type
from fuzzers.dirigo.host.syntax import Node
from fuzzers.dirigo.host.typing import (
    converted,
    deduced,
    is_reference,
    resolve,
    type_of,
)
from fuzzers.dirigo.host.values import AUTO, Cell, Function, Named, Scope, Value
from fuzzers.dirigo.simt.events import Unknown


def call(m: Machine, function: Function, templates: Sequence[Value], arguments: Sequence[Value]) -> Value:
    """Run a function. An argument is a value, or a `Cell` where the caller names a variable."""
    outer = function.scope or m.globals
    scope = Scope(deduced(m, function, templates, arguments, outer) if function.templates else outer)
    with m.inside(scope):
        for at, parameter in enumerate(function.parameters):
            if parameter.variadic:
                break
            _bind(m, scope, function, at, arguments)
        if function.body is None:
            raise Unknown(f"host: {function.name} is declared and not defined")
        returns = resolve(m, function.returns) if function.returns is not None else AUTO
        try:
            m.run(function.body)
        except Returned as found:
            return found.value if returns == AUTO else converted(m, found.value, returns)
    return None


def _bind(m: Machine, scope: Scope, function: Function, at: int, arguments: Sequence[Value]) -> None:
    parameter = function.parameters[at]
    type_ = resolve(m, parameter.type, parameter.declarator)
    if at >= len(arguments):
        if parameter.default is None:
            raise Unknown(f"host: {function.name} without its argument {parameter.name}")
        scope.cells[parameter.name] = Cell(converted(m, m.value(parameter.default), type_), type_)
        return
    given = arguments[at]
    value = given.value if isinstance(given, Cell) else given
    if isinstance(given, Cell) and is_reference(parameter.declarator):
        scope.cells[parameter.name] = given
    else:
        scope.cells[parameter.name] = Cell(converted(m, value, type_), type_)


def chosen(m: Machine, candidates: Sequence[Function], arguments: Sequence[Value], node: Node) -> Function:
    """Of functions of one name, the one that takes these arguments: by their number, then by how many types
    are the very same; a template last."""
    fitting = [f for f in candidates if f.takes(len(arguments)) and f.body is not None]
    if not fitting:
        m.unknown(f"no {candidates[0].name} takes {len(arguments)} arguments", node)
    return max(fitting, key=lambda function: _likeness(m, function, arguments))


def _likeness(m: Machine, function: Function, arguments: Sequence[Value]) -> tuple[int, bool]:
    if function.templates:
        return 0, False
    score = 0
    for parameter, given in zip(function.parameters, arguments, strict=False):
        value = given.value if isinstance(given, Cell) else given
        wanted, own = resolve(m, parameter.type, parameter.declarator), type_of(value)
        if wanted == own:
            score += 2
        elif isinstance(wanted, Named) and isinstance(own, Named) and wanted.name != own.name:
            score -= 2
        elif isinstance(wanted, Type) != isinstance(own, Type):
            score -= 3
    return score, True
