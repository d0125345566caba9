"""Source passes that put things where they are used: names, constants, functions; and drop what is unused.

Invariant: as in `bot.source_passes`, an edit is only a proposal, also in what it means: an expression that
moves past a write is another expression, and running the script tells.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from bot.source import Cut, Edit, Source, without_one, wrapped

WIDEST = 88
"""Columns of a line after something was put into it: a longer one would be broken and read worse."""

Function = ast.FunctionDef


def inline_names(source: Source) -> Iterator[Edit]:
    """A name that is assigned once gives way to its value: one that is used once, or whose value is a
    number."""
    stored = Counter(n.id for n in _names(source, ast.Store))
    loads = _names(source, ast.Load)
    kept = {id(n) for n in ast.walk(source.tree.body[-1])}
    for block in source.blocks():
        for statement in block:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if stored[name] == 1:
                    uses = [n for n in loads if n.id == name]
                    if any(id(n) in kept for n in uses) or _is_parameter(source, name):
                        continue
                    if len(uses) == 1 or isinstance(value, ast.Constant):
                        text = source.text(value)
                        if all(_below(statement, use) and _fits(source, use, text) for use in uses):
                            gone = Cut(*source.lines(statement, statement))
                            yield (gone, *(source.replaced(use, text) for use in uses))


def inline_functions(source: Source) -> Iterator[Edit]:
    """A function that only returns an expression, and is called once, gives way to the expression."""
    for function in _functions(source):
        match function.body:
            case [ast.Return(value=ast.expr() as result)] if not function.decorator_list:
                pass
            case _:
                continue
        uses = [n for n in _names(source, ast.Load) if n.id == function.name]
        calls = [n for n in source.nodes() if isinstance(n, ast.Call) and n.func in uses]
        names = [a.arg for a in function.args.args]
        if len(uses) != 1 or len(calls) != 1 or calls[0].keywords or len(calls[0].args) != len(names):
            continue
        given = dict(zip(names, (source.text(a) for a in calls[0].args), strict=True))
        text = _substituted(source, result, given)
        if _below(function, calls[0]) and _fits(source, calls[0], text):
            yield (Cut(*source.lines(function, function)), source.replaced(calls[0], text))


def drop_arguments(source: Source) -> Iterator[Edit]:
    """Without each parameter that the function does not use, and without what is given for it in every call:
    those of the function, of what is made of it (`torch.compile(f)`), and of a name for that."""
    for function in _functions(source):
        parameters = function.args.args
        calls = _calls(source, function.name)
        if any(len(c.args) != len(parameters) or c.keywords for c in calls):
            continue
        used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
        for index in (k for k, p in enumerate(parameters) if p.arg not in used):
            given = [without_one(source, [*c.args], index) for c in calls]
            yield (without_one(source, parameters, index), *given)


def fold_constants(source: Source) -> Iterator[Edit]:
    """Arithmetic on numbers gives way to its result."""
    for node in source.nodes():
        match node:
            case ast.BinOp(left=ast.Constant(value=int(a)), op=operation, right=ast.Constant(value=int(b))):
                folded = _FOLDED.get(type(operation))
                if folded is not None and (b or type(operation) in _TOTAL):
                    yield (source.replaced(node, b"%d" % folded(a, b)),)


_FOLDED = {
    ast.Add: int.__add__,
    ast.Sub: int.__sub__,
    ast.Mult: int.__mul__,
    ast.FloorDiv: int.__floordiv__,
    ast.Mod: int.__mod__,
}
_TOTAL = (ast.Add, ast.Sub, ast.Mult)


def _functions(source: Source) -> list[Function]:
    return [s for s in source.tree.body if isinstance(s, Function)]


def _names(source: Source, context: type[ast.expr_context]) -> list[ast.Name]:
    return [n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, context)]


def _is_parameter(source: Source, name: str) -> bool:
    return any(isinstance(n, ast.arg) and n.arg == name for n in ast.walk(source.tree))


def _below(statement: ast.stmt, use: ast.expr) -> bool:
    """Whether `use` stands on a later line."""
    return use.lineno > (statement.end_lineno or statement.lineno)


def _fits(source: Source, use: ast.expr, text: bytes) -> bool:
    """Whether the line of `use` is still short enough with `text` in its place."""
    start, end = source.span(use)
    line = source.bytes[source.bytes.rfind(b"\n", 0, start) + 1 :].partition(b"\n")[0]
    return len(line) - (end - start) + len(text) <= WIDEST


def _substituted(source: Source, result: ast.expr, given: dict[str, bytes]) -> bytes:
    """The text of `result` with names replaced, in parentheses where it needs them."""
    first, last = source.span(result)
    piece = source.bytes[first:last]
    names = [n for n in ast.walk(result) if isinstance(n, ast.Name) and n.id in given]
    for name in sorted(names, key=lambda n: source.span(n)[0], reverse=True):
        start, end = source.span(name)
        piece = piece[: start - first] + given[name.id] + piece[end - first :]
    return wrapped(result, piece)


def _calls(source: Source, name: str) -> list[ast.Call]:
    """Calls of a function by its name, of a call that it is handed to, and of a name for that."""
    names, found = {name}, []
    for node in ast.walk(source.tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=alias)], value=ast.Call(args=[ast.Name(id=handed), *_])):
                if handed == name:
                    names.add(alias)
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(func=ast.Name(id=called)) if called in names:
                found.append(node)
            case ast.Call(func=ast.Call(args=[ast.Name(id=handed), *_])) if handed == name:
                found.append(node)
    return found
