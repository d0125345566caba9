"""Source passes that make numbers and literal arrays smaller: sizes, lengths, elements, values.

Invariant: as in `bot.source_passes`, an edit is only a proposal.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from bot.source import Cut, Edit, Source

SIZES = (0, 1, 2, 4, 8, 17)
"""What a number is shrunk to: nothing, scalar, pair, the lanes of small vectors, one more than a power of
two."""

FEW = 3
"""Elements of a literal up to which they are left out one by one only."""


def resize_together(source: Source) -> Iterator[Edit]:
    """One size throughout: every number that is it gets smaller, and every literal that is as long is cut."""
    numbers = [n for n in source.nodes() if isinstance(n, ast.Constant) and type(n.value) is int]
    arrays = _arrays(source)
    lengths = {len(a.elts) for a in arrays}
    sizes = {n.value for n in numbers if isinstance(n.value, int)}
    for size in sorted(lengths | sizes, reverse=True):
        counted = [n for n in numbers if n.value == size]
        long = [a for a in arrays if len(a.elts) == size]
        outer = [a for a in long if not any(_inside(source, a, other) for other in long if other is not a)]
        if size < 2 or len(counted) + len(outer) < 2:
            continue
        for new in (*SIZES[1:], size - 1):
            if new < size:
                shorter = [source.replaced(a, _resized(source, a, size, new)) for a in outer]
                spans = [(c.start, c.end) for c in shorter]
                free = [n for n in counted if not any(s <= source.span(n)[0] < e for s, e in spans)]
                yield (*shorter, *(source.replaced(n, b"%d" % new) for n in free))


def _resized(source: Source, node: ast.expr, size: int, new: int) -> bytes:
    """The text of a literal in which everything of length `size` has its first `new` elements, and numbers
    that are `size` are `new` (a shape)."""
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            kept = parts[:new] if len(parts) == size else parts
            return _sequence(node, [_resized(source, part, size, new) for part in kept])
        case ast.Constant(value=int(number)) if number == size and type(number) is int:
            return b"%d" % new
    return source.text(node)


def halve_sequences(source: Source) -> Iterator[Edit]:
    """Keep one half of a literal list or tuple, then leave out a quarter, an eighth, and so on of it."""
    for array in _arrays(source):
        count = len(array.elts)
        if count <= FEW:
            continue
        middle = count // 2
        yield (_kept(source, array, 0, middle),)
        yield (_kept(source, array, middle, count),)
        size = middle // 2
        while size > 1:
            for start in range(0, count - size + 1, size):
                yield (_without(source, array, start, start + size),)
            size //= 2


def shrink_numbers(source: Source) -> Iterator[Edit]:
    """Make one number plainer: an integer smaller, a float whole and smaller, without its sign."""
    for node in source.nodes():
        match node:
            case ast.Constant(value=bool()):
                continue
            case ast.Constant(value=int(number)):
                smaller = (*SIZES, number // 2)
                for size in dict.fromkeys(s for s in smaller if 0 <= s < number):
                    yield (source.replaced(node, b"%d" % size),)
            case ast.Constant(value=float(number)) if math.isfinite(number):
                for plain in dict.fromkeys(
                    (0.0, 1.0, float(int(number / 2)), round(number), round(number, 1))
                ):
                    if plain != number:
                        yield (source.replaced(node, repr(float(plain)).encode()),)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as constant):
                yield (source.replaced(node, source.text(constant)),)


def _arrays(source: Source) -> list[ast.List | ast.Tuple]:
    """Literal lists and tuples that are read, longest first."""
    found = [n for n in source.nodes() if isinstance(n, ast.List | ast.Tuple) and isinstance(n.ctx, ast.Load)]
    return sorted(found, key=lambda n: len(n.elts), reverse=True)


def _inside(source: Source, node: ast.expr, other: ast.expr) -> bool:
    (start, end), (first, last) = source.span(node), source.span(other)
    return first <= start and end <= last


def _kept(source: Source, array: ast.List | ast.Tuple, start: int, stop: int) -> Cut:
    """Only the elements from `start` up to `stop`."""
    return source.replaced(array, _sequence(array, [source.text(e) for e in array.elts[start:stop]]))


def _sequence(node: ast.List | ast.Tuple, parts: list[bytes]) -> bytes:
    """A literal of the kind of `node`."""
    if isinstance(node, ast.List):
        return b"[" + b", ".join(parts) + b"]"
    return b"(" + b", ".join(parts) + (b",)" if len(parts) == 1 else b")")


def _without(source: Source, array: ast.List | ast.Tuple, start: int, stop: int) -> Cut:
    """Without the elements from `start` up to `stop`."""
    parts = array.elts
    if start:
        return Cut(source.span(parts[start - 1])[1], source.span(parts[stop - 1])[1])
    end = source.span(parts[stop])[0] if stop < len(parts) else source.span(parts[-1])[1]
    return Cut(source.span(parts[0])[0], end)
