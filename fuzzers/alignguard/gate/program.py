"""A text under examination: its tree, what its names stand for, and what stands around each part.

Invariant: holds what reading tells and decides nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TypeAlias

from fuzzers.alignguard.gate import bindings
from fuzzers.alignguard.gate.bindings import Bindings, chain
from fuzzers.alignguard.gate.python import ATTRIBUTES, NEVER


class Program:
    """A tree with what its names stand for, and what stands around each node."""

    def __init__(self, tree: ast.Module) -> None:
        self.names: Bindings = bindings.read(tree)
        self.parent = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self.attributes = ATTRIBUTES | {
            name for name in self.names.own if not name.startswith("__") and name not in NEVER
        }

    def line(self, node: ast.AST) -> int:
        """The line of a node, or of what it is a part of."""
        while not hasattr(node, "lineno") and node in self.parent:
            node = self.parent[node]
        return int(getattr(node, "lineno", 0))

    def is_callee(self, node: ast.AST) -> bool:
        """Whether a node is what a call calls."""
        parent = self.parent.get(node)
        return isinstance(parent, ast.Call) and parent.func is node

    def is_imported(self, node: ast.expr) -> bool:
        """Whether an expression is, or may be, something that was imported: a change of it would outlast the
        program's own objects."""
        root, _ = chain(node)
        return isinstance(root, ast.Name) and (
            root.id in self.names.aliases or root.id in self.names.imported
        )


Rule: TypeAlias = Callable[[ast.AST, Program], Iterator[str]]
"""What there is to say against a node, in sentences."""
