"""Renaming one size throughout a program: every dimension of that size gets another.

Invariant: an input's views still fit its storage afterwards, strided and offset as before, and an index
input still draws indices below the size. Where a size occurs by coincidence the result may be illegal,
which legality finds. It is shared by the size mutations and by shrinking.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from fuzzers.flowmut.program import Attr, Input, Node, Program, View

SIZE_ATTRIBUTES = ("shape", "sizes", "length")
"""Attributes that hold sizes rather than dimensions, positions or kernels."""


@dataclass(frozen=True)
class Renaming:
    """`old` becomes `new`."""

    old: int
    new: int

    def __call__(self, size: int) -> int:
        return self.new if size == self.old else size


def resize(program: Program, old: int, new: int) -> Program:
    """Every dimension of size `old` has size `new`."""
    rename = Renaming(old, new)
    return replace(
        program,
        inputs=tuple(resize_input(i, rename) for i in program.inputs),
        nodes=tuple(_resize_node(n, rename) for n in program.nodes),
    )


def _resize_node(node: Node, rename: Renaming) -> Node:
    def renamed(value: Attr) -> Attr:
        if isinstance(value, tuple):
            return tuple(rename(v) for v in value)
        return rename(value) if isinstance(value, int) and not isinstance(value, bool) else value

    return replace(node, attrs=tuple((k, renamed(v) if k in SIZE_ATTRIBUTES else v) for k, v in node.attrs))


def resize_input(given: Input, rename: Renaming) -> Input:
    """The input with its seen sizes renamed and its storage adapted."""
    seen = list(given.shape)
    origin: list[int | None] = list(range(len(seen)))
    storage = list(given.shape)
    fixed: set[int] = set()
    views: list[View] = []
    for view in given.views:
        if view.op == "permute":
            seen, origin = [seen[a] for a in view.args], [origin[a] for a in view.args]
            views.append(view)
        elif view.op == "expand":
            lead = len(view.args) - len(seen)
            seen, origin = [1] * lead + seen, [*(None for _ in range(lead)), *origin]
            grown = [have if want == -1 else want for have, want in zip(seen, view.args, strict=True)]
            fixed.update(o for o, a, b in zip(origin, seen, grown, strict=True) if a != b and o is not None)
            args = tuple(
                -1 if a == b and o is not None else rename(b)
                for o, a, b in zip(origin, seen, grown, strict=True)
            )
            views.append(View("expand", args))
            seen = grown
        else:
            dim, start, stop, step = view.args
            stop = min(stop, seen[dim])
            kept = len(range(start, stop, step))
            wanted = rename(kept)
            end = start + max(wanted - 1, 0) * step + min(wanted, 1)
            slack = seen[dim] - stop
            place = origin[dim]
            if place is not None:
                storage[place] = end + slack if wanted != kept else storage[place]
                fixed.add(place)
            views.append(View("slice", (dim, start, end, step)) if wanted != kept else view)
            seen[dim] = kept
    shape = tuple(size if k in fixed else rename(size) for k, size in enumerate(storage))
    return _refit(replace(given, shape=shape, views=tuple(views)), given, rename)


def _refit(made: Input, given: Input, rename: Renaming) -> Input:
    """Indices stay below the size they index; literal values stay only where they still fit."""
    if given.fill == "randint" and given.low == 0 and given.high == rename.old and given.dtype == "int64":
        return replace(made, high=max(rename.new, 1))
    if given.fill == "literal" and made.shape != given.shape:
        return cropped(made, given.shape)
    return made


def cropped(made: Input, old: tuple[int, ...]) -> Input:
    """A literal of shape `old` cut, or repeated, to its new shape."""
    strides = [1] * len(old)
    for k in range(len(old) - 2, -1, -1):
        strides[k] = strides[k + 1] * old[k + 1]
    places = [0]
    for k, size in enumerate(made.shape):
        places = [p + (j % max(old[k], 1)) * strides[k] for p in places for j in range(size)]
    if not made.values or 0 in old:
        return replace(made, fill="zeros", values=())
    return replace(made, values=tuple(made.values[p] for p in places))
