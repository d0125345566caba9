"""A reproducer's text with its syntax tree, and changes to the text at the places of nodes.

Invariant: an edit replaces pieces of the text and leaves every other byte alone, so that what a person
wrote stays as they wrote it; the last statement (the comparison) is never offered for one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

ATOMS = (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.Constant, ast.List, ast.Tuple)
"""Expressions that need no parentheses wherever they are put."""


@dataclass(frozen=True)
class Cut:
    """Replace bytes `start` to `end` of the script by `text`."""

    start: int
    end: int
    text: bytes = b""


Edit = tuple[Cut, ...]
"""Cuts that belong together; they do not overlap."""


class Source:
    """A script as bytes, its tree, and where in the bytes a node stands."""

    def __init__(self, script: str) -> None:
        self.bytes = script.encode()
        self.tree = ast.parse(script)
        lines = self.bytes.splitlines(keepends=True)
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt | ast.keyword | ast.arg) -> tuple[int, int]:
        """First byte of a node and the one after its last."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def lines(self, first: ast.stmt, last: ast.stmt) -> tuple[int, int]:
        """The whole lines from one statement to another."""
        assert last.end_lineno is not None
        top = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", []))])
        return self._starts[top - 1], self._starts[last.end_lineno]

    def text(self, node: ast.expr) -> bytes:
        """The source of an expression, in parentheses where it needs them."""
        start, end = self.span(node)
        return wrapped(node, self.bytes[start:end])

    def replaced(self, node: ast.expr, text: bytes) -> Cut:
        """The cut that puts `text` in the place of an expression."""
        return Cut(*self.span(node), text)

    def nodes(self) -> Iterator[ast.AST]:
        """Every node but those of the last statement, outer ones first."""
        for statement in self.tree.body[:-1]:
            yield from ast.walk(statement)

    def blocks(self) -> Iterator[list[ast.stmt]]:
        """Every list of statements; the outermost one without the last."""
        yield self.tree.body[:-1]
        for node in self.nodes():
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list) and block:
                    yield block

    def edited(self, edit: Iterable[Cut]) -> str:
        """The script after an edit. Cuts that overlap after all make a text that seldom parses, no error."""
        text = self.bytes
        for cut in sorted(edit, key=lambda c: c.start, reverse=True):
            text = text[: cut.start] + cut.text + text[cut.end :]
        return text.decode(errors="replace")


def wrapped(node: ast.expr, text: bytes) -> bytes:
    """The text of an expression like `node`, in parentheses where it needs them."""
    return text if isinstance(node, ATOMS) else b"(" + text + b")"


def without_one(source: Source, parts: Sequence[ast.expr | ast.keyword | ast.arg], index: int) -> Cut:
    """The cut that takes one of several parts, with the comma that goes with it."""
    spans = [source.span(part) for part in parts]
    if index:
        return Cut(spans[index - 1][1], spans[index][1])
    return Cut(spans[0][0], spans[1][0] if len(spans) > 1 else spans[0][1])


def without_parentheses(script: str) -> str:
    """The same script without the parentheses around expressions that mean nothing."""
    source = Source(script)
    same = ast.dump(source.tree)
    for node in source.nodes():
        if isinstance(node, ast.expr) and not isinstance(node, ast.Tuple):
            start, end = source.span(node)
            if source.bytes[start - 1 : start] == b"(" and source.bytes[end : end + 1] == b")":
                text = source.edited((Cut(start - 1, start), Cut(end, end + 1)))
                if _dumped(text) == same:
                    return without_parentheses(text)
    return script


def _dumped(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except SyntaxError:
        return ""
