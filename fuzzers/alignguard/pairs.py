"""Two programs made one: what the first returns goes into the second.

Invariant: text in, text out; the result is in the normal form when both were, each part keeps its own names,
and one argument of the second is replaced by an output of the first. Programs with state or a second call are
not joined.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass

from fuzzers.alignguard.form import INPUTS, F, Form, NotNormal, read
from fuzzers.records import Json


@dataclass(frozen=True)
class Joint:
    """Which output of the first goes into which parameter of the second; `many` that it has several."""

    output: int
    parameter: int
    many: bool = False


def joints(outputs: Sequence[Json], inputs: Sequence[Json]) -> list[Joint]:
    """Where two programs fit: an output and an input, leaves of no nesting, with one dtype and shape."""
    return [
        Joint(k, j, len(outputs) > 1)
        for k, out in enumerate(outputs)
        for j, given in enumerate(inputs)
        if out and out == given and len(out["shape"]) > 0
    ]


def join(first: str, second: str, joint: Joint) -> str | None:
    """The program that feeds one to the other; None when their forms do not allow it."""
    try:
        a, b = read(first), read(second)
    except NotNormal:
        return None
    if not (_is_simple(a) and _is_simple(b)) or joint.parameter >= len(b.parameters):
        return None
    one, other = _renamed(a, "a"), _renamed(b, "b")
    fed = f"b_{b.parameters[joint.parameter]}"
    flow = _flow(one[F], other[F], fed, joint)
    if flow is None:
        return None
    parameters = [f"a_{p}" for p in a.parameters] + [f"b_{p}" for p in b.parameters if f"b_{p}" != fed]
    made = [*one[INPUTS].body[:-1], *(s for s in other[INPUTS].body[:-1] if not _assigns(s, fed))]
    returned = f"({', '.join(parameters)}{',' if len(parameters) == 1 else ''})"
    inputs = "\n".join(f"    {row}" for s in made for row in ast.unparse(s).splitlines())
    body = "\n".join(f"    {row}" for row in flow)
    text = (
        f"import torch\n\n\ndef f({', '.join(parameters)}):\n{body}\n\n\n"
        f"def inputs():\n{inputs}\n    return {returned}\n"
    )
    try:
        read(text)
    except NotNormal:
        return None
    return text


def _is_simple(form: Form) -> bool:
    """Only an import and the two functions, f ending with its only return."""
    if form.has_setup or form.has_again or len(form.tree.body) != 3:
        return False
    body = form.functions[F].body
    returns = [n for n in ast.walk(form.functions[F]) if isinstance(n, ast.Return)]
    return returns == [body[-1]] and body[-1] is not None


class _Rename(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)


def _renamed(form: Form, prefix: str) -> dict[str, ast.FunctionDef]:
    """Its functions with every name that they bind prefixed."""
    found: dict[str, ast.FunctionDef] = {}
    for name, function in form.functions.items():
        bound = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        names = {n: f"{prefix}_{n}" for n in bound | set(form.parameters)}
        renamed = _Rename(names).visit(copy.deepcopy(function))
        assert isinstance(renamed, ast.FunctionDef)
        found[name] = renamed
    return found


def _flow(one: ast.FunctionDef, other: ast.FunctionDef, fed: str, joint: Joint) -> list[str] | None:
    """The statements of both, the first one's result in between; what is fed is returned as well, since
    fusion goes wrong where a value has two users."""
    value, result = _value(one), _value(other)
    if value is None or result is None:
        return None
    if isinstance(value, ast.Tuple):
        if joint.output >= len(value.elts):
            return None
        value = value.elts[joint.output]
    picked = (
        f"({ast.unparse(value)})[{joint.output}]"
        if joint.many and value is _value(one)
        else ast.unparse(value)
    )
    head = [row for s in one.body[:-1] for row in ast.unparse(s).splitlines()]
    tail = [row for s in other.body[:-1] for row in ast.unparse(s).splitlines()]
    return [*head, f"{fed} = {picked}", *tail, f"return {fed}, {ast.unparse(result)}"]


def _value(function: ast.FunctionDef) -> ast.expr | None:
    last = function.body[-1]
    return last.value if isinstance(last, ast.Return) else None


def _assigns(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name
