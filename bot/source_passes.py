"""Reduction passes over the source of a reproducer script, for suspects that came without a program.

Invariant: every script that a pass makes parses, keeps the last statement (the comparison) as it is, and
is smaller by `measure`: shorter, or as long with smaller numbers, so that taking them repeatedly ends. A pass
is a plain function from a script to edits of its text; `PASSES` is the list, most promising first. Whether a
smaller script still shows the bug is not a pass's business.
"""

from __future__ import annotations

import ast
import re
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from itertools import islice

from ruff import find_ruff_bin

from bot.source import Cut, Edit, Source, without_one, without_parentheses
from bot.source_inlining import drop_arguments, fold_constants, inline_functions, inline_names
from bot.source_values import halve_sequences, resize_together, shrink_numbers

LINE_LENGTH = 88
"""What `ruff format` does to a script of somebody who has set nothing."""

SEED = "manual_seed("
DRAWS = re.compile(r"\brand\w*\(|\b(?:normal|uniform|bernoulli|multinomial|exponential|dropout)_?\(")


def drop_statements(source: Source) -> Iterator[Edit]:
    """Delete runs of statements, long runs first, from the end to the beginning; a block that must not be
    empty loses all but one. Statements that share a line go only together."""
    blocks = [(block, len(block) if k == 0 else len(block) - 1) for k, block in enumerate(source.blocks())]
    for block, size in sorted(blocks, key=lambda pair: len(pair[0]), reverse=True):
        while size:
            for start in range(len(block) - size, -1, -size):
                yield (Cut(*source.lines(block[start], block[start + size - 1])),)
            size //= 2


def unwrap_blocks(source: Source) -> Iterator[Edit]:
    """Replace an if, loop or with by its body, or by its else part; a loop runs for its first value, 0."""
    for node in source.nodes():
        if not isinstance(node, ast.If | ast.For | ast.While | ast.With):
            continue
        indent = b" " * node.col_offset
        first = b""
        if isinstance(node, ast.For):
            first = indent + source.text(node.target) + b" = 0\n"
        for block in (node.body, getattr(node, "orelse", [])):
            if block and block[0].lineno > node.lineno:
                start, end = source.lines(block[0], block[-1])
                body = textwrap.dedent(source.bytes[start:end].decode())
                text = textwrap.indent(body, indent.decode()).encode()
                yield (Cut(*source.lines(node, node), first + text),)


def _operands(node: ast.AST) -> list[ast.expr]:
    """The operands of an expression; constants aside, which would only hide the tensor."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch" | "np")), args=arguments):
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


def use_operands(source: Source) -> Iterator[Edit]:
    """Replace an expression by one of its operands."""
    for node in source.nodes():
        if isinstance(node, ast.expr):
            yield from ((source.replaced(node, source.text(operand)),) for operand in _operands(node))


def drop_elements(source: Source) -> Iterator[Edit]:
    """Leave out one element of a tuple or list, or one argument of a call, that has several."""
    for node in source.nodes():
        match node:
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                pieces: list[ast.expr | ast.keyword] = [*parts]
            case ast.Call(args=arguments, keywords=keywords):
                pieces = [*arguments, *keywords]
            case _:
                continue
        if len(pieces) > 1:
            yield from ((without_one(source, pieces, k),) for k in range(len(pieces)))


PASSES: tuple[Callable[[Source], Iterator[Edit]], ...] = (
    drop_statements,
    unwrap_blocks,
    resize_together,
    halve_sequences,
    use_operands,
    drop_elements,
    drop_arguments,
    inline_names,
    inline_functions,
    fold_constants,
    shrink_numbers,
)


def smaller(script: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """Every script that one pass makes of `script`, in the order of the passes, from place `start` on,
    without repeats and without those that do not parse. A place is the pass and the number of its edit."""
    source = Source(script)
    size, last = _measure(source.tree, script), ast.dump(source.tree.body[-1])
    seen = {script}
    number, first = divmod(start, MOST_EDITS)
    for k, one in enumerate(PASSES[number:], number):
        for place, edit in islice(enumerate(one(source)), first if k == number else 0, None):
            text = source.edited(edit)
            if len(text) > len(script) or text in seen:
                continue
            seen.add(text)
            tree = _parsed(text)
            if (
                tree is not None
                and ast.dump(tree.body[-1]) == last
                and _measure(tree, text) < size
                and _as_seeded(text, script)
            ):
                yield k * MOST_EDITS + place, text


def measure(script: str) -> tuple[int, float]:
    """How large a script that parses is: its characters, then the sum of its numbers, signs aside."""
    return _measure(ast.parse(script), script)


def _measure(tree: ast.Module, script: str) -> tuple[int, float]:
    numbers = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant))
    return len(script), sum(min(abs(n), HUGE) for n in numbers if isinstance(n, int | float))


MOST_EDITS = 1 << 20
"""Of one pass."""

HUGE = 1e18
"""What numbers count at most, so that sums of floats still tell smaller ones apart."""


def _as_seeded(text: str, script: str) -> bool:
    """Whether `text` still draws the same values in every run, if `script` does."""
    return SEED not in script or SEED in text or not DRAWS.search(text)


def _parsed(text: str) -> ast.Module | None:
    """The tree of a script that parses and has a statement."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    return tree if tree.body else None


def formatted(script: str) -> str:
    """`script` as `ruff format` writes it, without parentheses that mean nothing; unchanged when it does
    not parse."""
    if _parsed(script) is None:
        return script
    done = subprocess.run(
        [find_ruff_bin(), "format", "--isolated", "--line-length", str(LINE_LENGTH), "-"],
        input=without_parentheses(script),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout if done.returncode == 0 else script
