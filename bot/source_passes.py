"""Reduction passes over the source of a reproducer script, for suspects that came without a program.

Invariant: every script that a pass makes parses, keeps the last statement (the comparison) as it is, and
is shorter than the one it was made from, or as long with smaller numbers, so that taking them repeatedly
ends. A pass is a plain function from a script to cuts in its text; `PASSES` is the list, most promising
first. Cutting text rather than unparsing a tree keeps what a person wrote as they wrote it. Whether a
smaller script still shows the bug is not a pass's business.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from ruff import find_ruff_bin

LINE_LENGTH = 88
"""What `ruff format` does to a script of somebody who has set nothing."""

SIZES = (1, 2, 4, 8, 17)
"""What a number is shrunk to: scalar, pair, the lanes of small vectors, one more than a power of two."""

SEED = "manual_seed("
DRAWS = re.compile(r"\brand\w*\(|\b(?:normal|uniform|bernoulli|multinomial|exponential|dropout)_?\(")

ATOMS = (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.Constant, ast.List, ast.Tuple)
"""Expressions that need no parentheses wherever they are put."""


@dataclass(frozen=True)
class Cut:
    """Replace bytes `start` to `end` of the script by `text`."""

    start: int
    end: int
    text: bytes = b""


class Source:
    """A script as bytes, its tree, and where in the bytes a node stands."""

    def __init__(self, script: str) -> None:
        self.bytes = script.encode()
        self.tree = ast.parse(script)
        lines = self.bytes.splitlines(keepends=True)
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
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
        piece = self.bytes[start:end]
        return piece if isinstance(node, ATOMS) else b"(" + piece + b")"

    def nodes(self) -> Iterator[ast.AST]:
        """Every node but those of the last statement, outer ones first."""
        for statement in self.tree.body[:-1]:
            yield from ast.walk(statement)

    def cut(self, cut: Cut) -> str:
        """The script after a cut."""
        return (self.bytes[: cut.start] + cut.text + self.bytes[cut.end :]).decode()


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for child in ast.walk(node):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(child, name, None)
            if isinstance(block, list) and block:
                yield block


def drop_statements(source: Source) -> Iterator[Cut]:
    """Delete runs of statements, long runs first, from the end to the beginning; a block that must not be
    empty loses all but one. Statements that share a line go only together."""
    for block in sorted(_blocks(source.tree), key=len, reverse=True):
        top = block is source.tree.body
        room = block[:-1] if top else block
        size = len(room) if top else len(room) - 1
        while size:
            for start in range(len(room) - size, -1, -size):
                yield Cut(*source.lines(room[start], room[start + size - 1]))
            size //= 2


def _operands(node: ast.AST) -> list[ast.expr]:
    """The operands of an expression; constants aside, which would only hide the tensor."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch")), args=arguments):
            found = arguments
        case ast.Call(func=ast.Attribute(value=owner), args=arguments):
            found = [owner, *arguments]
        case ast.BinOp(left=left, right=right):
            found = [left, right]
        case ast.UnaryOp(operand=operand):
            found = [operand]
        case ast.Tuple(elts=[*several], ctx=ast.Load()) | ast.List(elts=[*several], ctx=ast.Load()):
            found = several if len(several) == 1 else []
        case _:
            found = []
    return [f for f in found if not isinstance(f, ast.Constant | ast.Starred)]


def use_operands(source: Source) -> Iterator[Cut]:
    """Replace an expression by one of its operands."""
    for node in source.nodes():
        if isinstance(node, ast.expr):
            yield from (Cut(*source.span(node), source.text(operand)) for operand in _operands(node))


def drop_elements(source: Source) -> Iterator[Cut]:
    """Leave out one element of a tuple or list, or one argument of a call, that has several."""
    for node in source.nodes():
        match node:
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                pieces: list[ast.expr | ast.keyword] = [*parts]
            case ast.Call(args=arguments, keywords=keywords):
                pieces = [*arguments, *keywords]
            case _:
                continue
        spans = [source.span(piece) for piece in pieces]
        for before, this in pairwise(spans):
            yield Cut(before[1], this[1])
        if len(spans) > 1:
            yield Cut(spans[0][0], spans[1][0])


def shrink_numbers(source: Source) -> Iterator[Cut]:
    """Make one integer smaller."""
    for node in source.nodes():
        match node:
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                yield from (Cut(*source.span(node), b"%d" % size) for size in SIZES if size < number)


PASSES: tuple[Callable[[Source], Iterator[Cut]], ...] = (
    drop_statements,
    use_operands,
    drop_elements,
    shrink_numbers,
)


def smaller(script: str) -> list[str]:
    """Every script that one pass makes of `script`, in the order of the passes, without repeats and
    without those that do not parse."""
    source = Source(script)
    made = dict.fromkeys(source.cut(cut) for one in PASSES for cut in one(source))
    return [text for text in made if text != script and _parses(text) and _as_seeded(text, script)]


def _as_seeded(text: str, script: str) -> bool:
    """Whether `text` still draws the same values in every run, if `script` does."""
    return SEED not in script or SEED in text or not DRAWS.search(text)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def formatted(script: str) -> str:
    """`script` as `ruff format` writes it; unchanged when it does not parse."""
    done = subprocess.run(
        [find_ruff_bin(), "format", "--isolated", "--line-length", str(LINE_LENGTH), "-"],
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout if done.returncode == 0 else script
