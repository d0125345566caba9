"""The syntax tree of C++ host code, as plain nodes, and the macros that the source defines.

Invariant: a node's line is that of the source, also inside text that a macro put there (the line of the
macro's use), so that every refusal names a line that somebody can look at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from tree_sitter import Node as Raw

from fuzzers.dirigo.slicing import parsed

QUIET = frozenset({"comment"})
COMMENT = re.compile(r"\\\r?\n|/\*.*?\*/|//[^\n]*", re.DOTALL)
"""What a macro's body reads as a space: continued lines and comments."""
WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, eq=False)
class Node:
    """One node: its kind in tree-sitter's grammar, its text, its 1-based line, its named children without
    comments, and those of them that have a field name (the first of each name). `tokens` are the texts of
    unnamed children, an operator for one."""

    kind: str
    text: str
    line: int
    children: tuple[Node, ...] = ()
    fields: Mapping[str, Node] = field(default_factory=dict)
    tokens: tuple[str, ...] = ()
    broken: bool = False
    """Whether the parser had to leave out or put in something right under this node."""

    def get(self, name: str) -> Node | None:
        return self.fields.get(name)

    def first(self, *kinds: str) -> Node | None:
        """The first child of one of these kinds."""
        return next((child for child in self.children if child.kind in kinds), None)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Macro:
    """`#define name(parameters) body`; parameters None for one without brackets."""

    name: str
    parameters: tuple[str, ...] | None
    body: str


def tree(source: str) -> Node:
    """The tree of a whole source."""
    text = source.encode()
    return _node(parsed(text), text, 0)


@lru_cache(maxsize=4096)
def statement(text: str, line: int) -> Node | None:
    """A statement, or an expression without its semicolon, whose first line is `line`; None where it is
    neither."""
    source = f"void f() {{ {text} ;}}".encode()
    body = next(
        (n for n in _node(parsed(source), source, line - 1).walk() if n.kind == "compound_statement"), None
    )
    if body is None or any(node.kind == "ERROR" for node in body.walk()):
        return None
    return body


def expression(text: str, line: int) -> Node | None:
    """An expression; None where the text is not one."""
    body = statement(f"({text})", line)
    found = body.children[0] if body is not None and body.children else None
    if found is None or found.kind != "expression_statement" or not found.children:
        return None
    inner = found.children[0]
    return inner.children[0] if inner.kind == "parenthesized_expression" and inner.children else inner


def macros(root: Node) -> dict[str, Macro]:
    """The macros of a tree, later definitions first."""
    found = {}
    for node in root.walk():
        if node.kind in ("preproc_def", "preproc_function_def"):
            name, value = node.get("name"), node.get("value")
            given = node.get("parameters")
            parameters = None if given is None else tuple(_parameter_names(given.text))
            if name is not None:
                body = COMMENT.sub(" ", value.text).strip() if value is not None else ""
                found[name.text] = Macro(name.text, parameters, body)
    return found


def _parameter_names(text: str) -> list[str]:
    return [name.strip() for name in text.strip("()").split(",") if name.strip()]


def expanded(macro: Macro, arguments: Sequence[str]) -> str:
    """The body of a function-like macro with its arguments put in; `__VA_ARGS__` takes the rest."""
    parameters = macro.parameters or ()
    named = dict(zip(parameters, arguments, strict=False))
    rest = ", ".join(arguments[len([p for p in parameters if p != "..."]) :])
    named["__VA_ARGS__"] = rest
    body = re.sub(r"(?<!#)#(?!#)\s*(\w+)", lambda m: _quoted(named.get(m[1], m[1])), macro.body)
    body = body.replace("##__VA_ARGS__", "__VA_ARGS__")
    body = WORD.sub(lambda m: named.get(m[0], m[0]), body)
    return re.sub(r"\s*##\s*", "", body)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _node(raw: Raw, text: bytes, shift: int) -> Node:
    children: list[Node] = []
    fields: dict[str, Node] = {}
    tokens: list[str] = []
    for at, child in enumerate(raw.children):
        name = raw.field_name_for_child(at)
        if child.type in QUIET:
            continue
        if not child.is_named:
            tokens.append(child.type)
            continue
        own = _node(child, text, shift)
        children.append(own)
        if name is not None:
            fields.setdefault(name, own)
    return Node(
        raw.type,
        text[raw.start_byte : raw.end_byte].decode(errors="replace"),
        raw.start_point.row + 1 + shift,
        tuple(children),
        fields,
        tuple(tokens),
        raw.has_error and any(child.is_error or child.is_missing for child in raw.children),
    )
