"""The gate on attributes: what may be read of a value, what may be assigned on it, by whatever spelling.

Invariant: `x.name`, `getattr(x, "name")` and `x.__dict__["name"]` are one thing and judged by the same two
functions; a name that is computed has no spelling that is allowed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fuzzers.alignguard.gate.bindings import chain
from fuzzers.alignguard.gate.modules import MODULES, resolve
from fuzzers.alignguard.gate.names import METHODS, OPERATORS
from fuzzers.alignguard.gate.program import Program
from fuzzers.alignguard.gate.python import NEVER, READ_ONLY, SPECIAL_METHODS, STORABLE

BY_NAME = frozenset(("getattr", "hasattr", "setattr", "delattr"))
"""Builtins that take an attribute by its name."""


def attributes(node: ast.AST, program: Program) -> Iterator[str]:
    """A dotted expression, looked at as a whole from its last dot."""
    assert isinstance(node, ast.Attribute)
    if isinstance(program.parent.get(node), ast.Attribute):
        return
    root, dots = chain(node)
    names = [dot.attr for dot in dots]
    if isinstance(root, ast.Name) and root.id in program.names.imported:
        module: str = program.names.imported[root.id]
        while module in MODULES and names:
            found = resolve(module, names[0])
            if found is None:
                yield f"`{module}.{names[0]}` may not be used"
                return
            module = found
            names.pop(0)
        if module in MODULES:
            yield f"the module `{module}` is used as a value"
            return
        if module.startswith("torch.ops.") and names and names[0].isalnum():
            names.pop(0)  # an overload: `torch.ops.aten.add.Tensor`
    last = names.pop() if names else ""
    for name in names:
        yield from read(name, program)
    if isinstance(node.ctx, ast.Load):
        if last == "__dict__":
            yield from dictionary(node, node.value, program)
        elif last:
            yield from read(last, program)
    else:
        yield from store(node.value, node.attr, program)


def read(name: str, program: Program) -> Iterator[str]:
    """An attribute of a value."""
    if name.startswith("__") and name.endswith("__"):
        if name not in SPECIAL_METHODS and name not in READ_ONLY:
            yield f"the special attribute `{name}` may not be used"
    elif name not in program.attributes:
        yield f"the attribute `{name}` is neither an operator of torch nor made by the program"


def store(base: ast.expr, name: str, program: Program) -> Iterator[str]:
    """An attribute that is assigned or deleted."""
    if program.is_imported(base):
        yield f"`{ast.unparse(base)}.{name}` is assigned, which changes what was imported"
    elif name.startswith("__") or name in NEVER:
        yield f"the attribute `{name}` may not be assigned"
    elif name in STORABLE or name not in OPERATORS | METHODS:
        return
    elif not (isinstance(base, ast.Name) and (base.id == "self" or base.id in program.names.instances)):
        yield f"the attribute `{name}` is one of torch's, and is assigned on what may be torch's own"


def dictionary(node: ast.expr, base: ast.expr, program: Program) -> Iterator[str]:
    """`x.__dict__["name"]` and `vars(x)["name"]` are `x.name`, and are the only use of either."""
    match program.parent.get(node):
        case ast.Subscript(value=value, slice=ast.Constant(value=str(name)), ctx=ctx) if value is node:
            if isinstance(ctx, ast.Load):
                yield from read(name, program)
            else:
                yield from store(base, name, program)
        case _:
            yield '`__dict__` and `vars` may only be used with a literal name: `x.__dict__["name"]`'


def by_name(node: ast.Call, name: str, program: Program) -> Iterator[str]:
    """`getattr` and its like."""
    match node.args:
        case [base, ast.Constant(value=str(attribute)), *rest] if not node.keywords:
            if any(isinstance(argument, ast.Starred) for argument in (base, *rest)):
                yield f"`{name}` takes no starred argument here"
            elif name in ("getattr", "hasattr"):
                yield from read(attribute, program)
            else:
                yield from store(base, attribute, program)
        case _:
            yield f"`{name}` takes a literal name as its second argument"
