"""Smaller programs of a program, as far as text alone tells, and what a text calls.

Invariant: a candidate is in the normal form and has fewer arguments of its mode, or as many and a shorter
text, so that taking them repeatedly ends.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import replace

from fuzzers.alignguard.form import AGAIN, ENTRIES, INPUTS, SETUP, NotNormal, read
from fuzzers.alignguard.program import Mode, Program

DTYPE = re.compile(r"torch\.(b?float\d+|float|double|half|u?int\d+|int|long|short|bool|complex\d+)\b(?!\()")
PLAIN = frozenset(
    {"manual_seed", "randn", "rand", "randint", "zeros", "ones", "full", "tensor", "empty", "arange"}
)
"""What makes tensors; named only where nothing else is."""


def candidates(program: Program) -> list[Program]:
    """Smaller programs, most promising first."""
    found: list[Program] = []
    if program.mode != Mode():
        found.append(replace(program, mode=Mode()))
    for tree in _smaller(ast.parse(program.source)):
        source = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        if len(source) < len(program.source) and _is_normal(source):
            found.append(replace(program, source=source))
    return found


def _smaller(tree: ast.Module) -> Iterator[ast.Module]:
    """The tree as it stands (spelled shorter, maybe), then without one statement."""
    yield tree
    for k, node in enumerate(tree.body):
        if getattr(node, "name", "") not in set(ENTRIES) - {SETUP, AGAIN}:
            yield ast.Module(tree.body[:k] + tree.body[k + 1 :], [])
    for k, node in enumerate(tree.body):
        if isinstance(node, ast.FunctionDef) and len(node.body) > 1:
            for drop in range(len(node.body) - 1, -1, -1):
                less = copy.deepcopy(tree)
                function = less.body[k]
                assert isinstance(function, ast.FunctionDef)
                del function.body[drop]
                yield less


def _is_normal(source: str) -> bool:
    try:
        read(source)
    except NotNormal:
        return False
    return True


def operators(source: str) -> tuple[list[str], list[str]]:
    """(sorted operator names, sorted dtype names) that a text speaks of, operators outside of its inputs."""
    tree = ast.parse(source)
    names: set[str] = set()
    for node in tree.body:
        if getattr(node, "name", "") in (INPUTS, AGAIN, SETUP):
            continue
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                names.add(call.func.attr)
    dtypes = {m.group(1) for m in DTYPE.finditer(source)}
    return sorted(names - PLAIN) or sorted(names), sorted(dtypes or {"float32"})
