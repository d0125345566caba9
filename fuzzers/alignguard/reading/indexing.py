"""What `x[...]` is: a view for numbers and slices, a gather for anything else.

Invariant: the call that stands for an index is named `slice` when it is a view and `index` when it copies,
and carries `step`, `start` and `stop` of its slices, so that readers need not look at the text.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from fuzzers.alignguard.reading.call import Call, plain
from fuzzers.alignguard.reading.values import UNKNOWN, Literal, Several, Shape, Tensor, Value

VIEWING = frozenset({"slice"})
"""Names of calls made here whose result is a view."""


@dataclass(frozen=True)
class Cut:
    """`start:stop:step`."""

    start: int | None
    stop: int | None
    step: int | None
    known: bool = True


def parts(node: ast.expr, value: Callable[[ast.expr], Value]) -> list[Value]:
    """The places of an index, slices as a literal `Cut`."""
    elements = node.elts if isinstance(node, ast.Tuple) else [node]
    return [_part(e, value) for e in elements]


def _part(node: ast.expr, value: Callable[[ast.expr], Value]) -> Value:
    if not isinstance(node, ast.Slice):
        return value(node)
    ends = [Literal(None) if e is None else value(e) for e in (node.lower, node.upper, node.step)]
    found = [plain(e) for e in ends]
    start, stop, step = (e if isinstance(e, int) else None for e in found)
    known = all(e is None or isinstance(e, int) for e in found) and step != 0
    return Literal(Cut(start, stop, step, known))


def call(base: Tensor, places: list[Value]) -> Call:
    """The call that an index of a tensor stands for; a view has its new shape as `shape`."""
    cuts = [p.value for p in places if isinstance(p, Literal) and isinstance(p.value, Cut)]
    named: dict[str, Value] = {
        "step": Literal(max((c.step for c in cuts if isinstance(c.step, int)), default=1)),
        "start": Literal(min((c.start for c in cuts if isinstance(c.start, int)), default=0)),
        "stop": Literal(min((c.stop for c in cuts if isinstance(c.stop, int)), default=0)),
    }
    if any(not _views(p) and not _copies(p) for p in places):
        return Call("slice", (base,), named)
    if not all(_views(p) for p in places):
        copies = [p for p in places if not _views(p)]
        return Call(
            "index",
            (base, *copies),
            {**named, "mask": Literal(any(map(_is_mask, copies))), "whole": Literal(len(places) == 1)},
        )
    named["shape"] = Literal(_shape(base.shape, places))
    return Call("slice", (base,), named)


def _views(part: Value) -> bool:
    known = plain(part)
    return (
        known is None
        or (known is Ellipsis and isinstance(part, Literal))
        or (isinstance(known, int | Cut) and not isinstance(known, bool))
    )


def _copies(part: Value) -> bool:
    known = plain(part)
    return isinstance(part, Tensor | Several) or isinstance(known, bool | tuple)


def _is_mask(part: Value) -> bool:
    return isinstance(part, Tensor) and part.dtype in ("bool", "uint8")


def _shape(shape: Shape | None, places: list[Value]) -> Shape | None:
    if shape is None:
        return None
    known = [p.value for p in places if isinstance(p, Literal)]
    given = sum(1 for p in known if p is not None and p is not ...)
    if given > len(shape) or len(known) < len(places):
        return None
    if ... in known:
        at = known.index(...)
        known[at : at + 1] = [Cut(None, None, None)] * (len(shape) - given)
    known += [Cut(None, None, None)] * (len(shape) - sum(1 for p in known if p is not None))
    sizes = iter(shape)
    found: list[int] = []
    for place in known:
        if place is None:
            found.append(1)
        elif isinstance(place, Cut):
            size = next(sizes)
            if not place.known:
                return None
            found.append(len(range(size)[slice(place.start, place.stop, place.step)]))
        else:
            next(sizes)
    return tuple(found)


def sliced(call: Call) -> Value:
    """What a call made here gives."""
    shape = plain(call.named.get("shape", UNKNOWN))
    return Tensor(shape if isinstance(shape, tuple) else None, call.first.dtype)


def gathered(call: Call) -> Value:
    """The shape of an index of one list or vector along the first dimension; else only the dtype."""
    base = call.first
    index = call.args[1] if len(call.args) == 2 else UNKNOWN
    whole = plain(call.named.get("whole", UNKNOWN)) is True
    if whole and isinstance(index, Tensor) and index.dtype == "int64" and index.shape and base.shape:
        return Tensor((*index.shape, *base.shape[1:]), base.dtype)
    return Tensor(None, base.dtype)
