"""How much a program may ask for in so many words: sizes of tensors, turns of loops, lengths of sequences.

Invariant: only what the text says with literals is judged, and only when it is beyond any use here; what is
computed is left to the limits of the worker. The reason: a program that fills the memory or the time of a
worker tests nothing, and is told so for less.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from fuzzers.alignguard.gate.names import words

MOST_ELEMENTS = 2**22
"""Of a tensor: 16 MiB of float32, far beyond the vector widths and block sizes that bugs depend on."""

MOST_TURNS = 10_000
"""Of loops within each other; each turn is unrolled by the compiler."""

LONGEST_SEQUENCE = 10_000
LARGEST = 2**64
"""Beyond it no dtype has an integer."""

LARGEST_EXPONENT = 1024

WIDE = re.compile(r"%[-+ #0]*\d{4,}|%[-+ #0]*\.\d{4,}")
"""A width that `%` pads to."""

BY_ALL = words(
    "zeros ones empty rand randn new_empty new_ones new_zeros repeat tile expand broadcast_to "
    "resize_ Linear Bilinear Embedding Conv1d Conv2d Conv3d LSTM GRU RNN MultiheadAttention"
)
"""Calls whose integers, those in tuples too, are multiplied."""

BY_TUPLES = words(
    "randint full new_full as_strided normal empty_strided randint_like interpolate upsample pad "
    "Parameter empty_permuted LayerNorm as_strided_"
)
"""Calls of whose arguments only tuples and lists are sizes."""

BY_LARGEST = words(
    "arange linspace logspace randperm hann_window hamming_window blackman_window bartlett_window "
    "kaiser_window one_hot repeat_interleave bincount vander tril_indices triu_indices"
)
"""Calls whose largest integer is a length."""


def constant(node: ast.AST) -> int | float | None:
    """The number that an expression of literals is; None for any other, and for one that is too large."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = constant(operand)
            return None if inner is None else -inner
        case ast.BinOp(left=left, op=op, right=right):
            work, a, b = FOLDED.get(type(op)), constant(left), constant(right)
            if work is None or a is None or b is None or max(abs(a), abs(b)) > LARGEST:
                return None
            return work(a, b)
    return None


def _power(a: float, b: float) -> float:
    return float("inf") if b < 0 or (abs(a) > 1 and b > LARGEST_EXPONENT) else _limited(a**b)


def _limited(value: float) -> float:
    return value if abs(value) <= LARGEST else float("inf")


FOLDED: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: _limited(a * b),
    ast.Pow: _power,
    ast.LShift: lambda a, b: _limited(int(a) << int(b)) if 0 <= b <= 64 else float("inf"),
}
"""Operators that make large numbers of small ones."""


def excesses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, what is too much) of a program."""
    for node in ast.walk(tree):
        for kind, check in CHECKS.items():
            if isinstance(node, kind):
                for said in check(node):
                    yield getattr(node, "lineno", 0), said
    yield from _loops(tree.body, 1)


def _literal(node: ast.AST) -> Iterator[str]:
    assert isinstance(node, ast.Constant)
    value = node.value
    if isinstance(value, int) and abs(value) > LARGEST:
        yield "an integer that no dtype has"
    if isinstance(value, str) and WIDE.search(value):
        yield "a text that pads to a great width"


def _format(node: ast.AST) -> Iterator[str]:
    assert isinstance(node, ast.FormattedValue)
    for inner in ast.walk(node.format_spec) if node.format_spec else ():
        if isinstance(inner, ast.Constant) and re.search(r"\d{4,}", str(inner.value)):
            yield "a text that pads to a great width"


def _operation(node: ast.AST) -> Iterator[str]:
    assert isinstance(node, ast.BinOp)
    if isinstance(node.op, ast.Pow | ast.LShift):
        value = constant(node)
        if isinstance(value, float) and value == float("inf"):
            yield "a number that is far too large"
    if isinstance(node.op, ast.Mult):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            times = constant(other)
            if _is_sequence(one) and times is not None and times > LONGEST_SEQUENCE:
                yield f"a sequence that is repeated more than {LONGEST_SEQUENCE} times"


def _is_sequence(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Add):
        return _is_sequence(node.left) or _is_sequence(node.right)
    text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return text or isinstance(node, ast.List | ast.Tuple | ast.JoinedStr)


def _call(node: ast.AST) -> Iterator[str]:
    assert isinstance(node, ast.Call)
    match node.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            pass
        case _:
            return
    elements = _elements(name, [*node.args, *(k.value for k in node.keywords if k.arg != "dtype")])
    if elements > MOST_ELEMENTS:
        yield f"`{name}` of more than {MOST_ELEMENTS} elements"
    if name in ENDLESS_EATERS and any(_is_endless(a) for a in node.args):
        yield f"`{name}` of something that never ends"


def _elements(name: str, arguments: list[ast.expr]) -> float:
    """How many elements the literals of a call ask for; 0 when it is none that asks."""
    if name in BY_ALL:
        return _product(number for argument in arguments for number in _numbers(argument))
    if name in BY_TUPLES:
        tuples = [argument for argument in arguments if isinstance(argument, ast.Tuple | ast.List)]
        return max((_product(_numbers(one)) for one in tuples), default=0)
    if name == "eye":
        return max((abs(n) for argument in arguments for n in _numbers(argument)), default=0) ** 2
    if name in BY_LARGEST:
        return max((abs(n) for argument in arguments for n in _numbers(argument)), default=0)
    return 0


def _numbers(node: ast.expr) -> Iterator[float]:
    if isinstance(node, ast.Tuple | ast.List):
        for inner in node.elts:
            yield from _numbers(inner)
    elif (value := constant(node)) is not None:
        yield value


def _product(numbers: Iterator[float]) -> float:
    product = 1.0
    for number in numbers:
        product = min(product * max(abs(number), 1), 1e30)
    return product


def _while(node: ast.AST) -> Iterator[str]:
    assert isinstance(node, ast.While)
    if isinstance(node.test, ast.Constant) and not _leaves(node):
        yield "a `while` loop that nothing ends"


ENDLESS_EATERS = words("list tuple set sum max min sorted any all dict frozenset deque")
"""Builtins and the like that take a whole iterable."""


def _is_endless(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=arguments, keywords=keywords):
            if name in ("count", "cycle") and not isinstance(node.func, ast.Name):
                root = node.func.value if isinstance(node.func, ast.Attribute) else None
                return isinstance(root, ast.Name) and root.id == "itertools"
            return (
                name == "repeat" and len(arguments) + len(keywords) == 1 and isinstance(node.func, ast.Name)
            )
    return False


def _leaves(loop: ast.While | ast.For) -> bool:
    return any(isinstance(inner, ast.Break | ast.Return | ast.Raise) for inner in ast.walk(loop))


CHECKS: dict[type[ast.AST], Callable[[ast.AST], Iterator[str]]] = {
    ast.Constant: _literal,
    ast.BinOp: _operation,
    ast.FormattedValue: _format,
    ast.Call: _call,
    ast.While: _while,
}
"""What is looked at, and how."""


def _turns(iterable: ast.expr) -> float:
    """Turns that a loop over this takes, as far as literals tell."""
    match iterable:
        case ast.Call(func=ast.Name(id="range"), args=arguments) if arguments:
            values = [constant(argument) for argument in arguments]
            if any(value is None for value in values):
                return 1
            numbers = [float(value) for value in values if value is not None]
            start, stop = (0.0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
            step = abs(numbers[2]) if len(numbers) == 3 else 1.0
            return max(1.0, abs(stop - start) / max(step, 1.0))
        case ast.Call(args=arguments):
            return max((_turns(argument) for argument in arguments), default=1)
    return 1


def _loops(nodes: list[ast.stmt] | list[ast.AST], outer: float) -> Iterator[tuple[int, str]]:
    """Loops within each other that take too many turns, the outermost that does."""
    waiting: list[tuple[ast.AST, float]] = [(node, outer) for node in nodes]
    while waiting:
        node, turns = waiting.pop()
        iterables: list[ast.expr] = []
        if isinstance(node, ast.For):
            iterables = [node.iter]
            if _is_endless(node.iter) and not _leaves(node):
                yield node.lineno, "a `for` loop over something that never ends"
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            iterables = [generator.iter for generator in node.generators]
        for iterable in iterables:
            turns *= _turns(iterable)
        if turns > MOST_TURNS:
            yield getattr(node, "lineno", 0), f"loops of more than {MOST_TURNS} turns"
            continue
        waiting += [(child, turns) for child in ast.iter_child_nodes(node)]
