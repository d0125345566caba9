"""What the names of a program stand for, as far as its text tells.

Invariant: over-approximates where that makes the gate stricter (an alias of something imported counts as
imported) and takes a name as bound wherever in the text it is bound, so a name that Python would look up
among its builtins must not be bound at all (`python.UNTOUCHABLE`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

NAMING = frozenset(
    (
        "namedtuple",
        "register_buffer",
        "register_parameter",
        "register_module",
        "add_module",
        "setattr",
        "hasattr",
    )
)
"""Calls whose literal strings become attributes."""

IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass
class Bindings:
    """`imported` maps a name to the dotted name that it stands for, `conflicts` are names that stand for
    two; `bound` are all names that are given a meaning; `own` the attributes that the program itself
    makes; `instances` names that hold an object of a class of the program or of `torch.nn`; `aliases`
    names that may hold what was imported, uncalled."""

    imported: dict[str, str] = field(default_factory=dict)
    conflicts: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)
    instances: set[str] = field(default_factory=set)
    aliases: set[str] = field(default_factory=set)


def read(tree: ast.Module) -> Bindings:
    """The bindings of a program."""
    found = Bindings()
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            _import(node, found)
        else:
            found.bound.update(bound_by(node))
            found.own.update(_attributes(node))
    found.classes = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    for node in nodes:
        if isinstance(node, ast.Assign):
            _assigned(node, found)
    return found


def bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a node, by itself, gives a meaning to; imports left out."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
            yield name
        case ast.ExceptHandler(name=str(name)):
            yield name


def chain(node: ast.expr) -> tuple[ast.expr, list[ast.Attribute]]:
    """What a dotted expression begins with, and its attributes from left to right."""
    dots: list[ast.Attribute] = []
    while isinstance(node, ast.Attribute):
        dots.append(node)
        node = node.value
    return node, dots[::-1]


def _import(node: ast.Import | ast.ImportFrom, found: Bindings) -> None:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            name, meaning = alias.asname or alias.name, f"{node.module}.{alias.name}"
        elif alias.asname:
            name, meaning = alias.asname, alias.name
        else:
            name = meaning = alias.name.split(".")[0]
        if found.imported.setdefault(name, meaning) != meaning:
            found.conflicts.add(name)


def _attributes(node: ast.AST) -> Iterator[str]:
    """The attributes that a node makes, or that a text in it names."""
    match node:
        case ast.Attribute(attr=name, ctx=ast.Store()):
            yield name
        case ast.ClassDef(body=body):
            for statement in body:
                yield from (name for inner in _targets(statement) for name in bound_by(inner))
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in NAMING:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    yield from IDENTIFIER.findall(inner.value)
        case ast.Subscript(
            value=ast.Attribute(attr="__dict__") | ast.Call(func=ast.Name(id="vars")),
            slice=ast.Constant(value=str(name)),
        ):
            yield name


def _targets(statement: ast.stmt) -> Iterator[ast.AST]:
    """The parts of a statement in a class body that bind names of the class."""
    match statement:
        case ast.Assign(targets=targets):
            for target in targets:
                yield from ast.walk(target)
        case ast.AnnAssign(target=target):
            yield target
        case ast.FunctionDef():
            yield statement
        case ast.If(body=body, orelse=orelse):
            for inner in (*body, *orelse):
                yield from _targets(inner)


def _assigned(node: ast.Assign, found: Bindings) -> None:
    names = {target.id for target in node.targets if isinstance(target, ast.Name)}
    made = node.value
    if isinstance(made, ast.Call):
        root, dots = chain(made.func)
        is_class = isinstance(root, ast.Name) and (root.id in found.classes or root.id in found.imported)
        name = dots[-1].attr if dots else getattr(root, "id", "")
        if is_class and name[:1].isupper():
            found.instances.update(names)
        return
    root, dots = chain(made)
    if isinstance(root, ast.Name) and (root.id in found.imported or root.id in found.aliases):
        found.aliases.update(names)
