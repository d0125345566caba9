"""Renaming one size throughout a program: every dimension of that size gets another.

Invariant: an input's views still fit its storage afterwards, strided and offset as before, and an index
input still draws indices below the size. Where a size occurs by coincidence the result may be illegal,
which legality finds. It is shared by the size mutations and by shrinking.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count, islice

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


@dataclass(frozen=True)
class _Seen:
    """A view, and the dimensions that it is taken of and gives: which they are; of the first, their sizes."""

    view: View
    dims: tuple[int, ...]
    sizes: tuple[int, ...]
    after: tuple[int, ...]


def resize_input(given: Input, rename: Renaming) -> Input:
    """The input with its seen sizes renamed and its storage adapted."""
    rank = len(given.shape)
    steps, dims, sizes = _walk(given)
    wanted = {dim: rename(size) for dim, size in zip(dims, sizes, strict=True)}
    views: list[View] = []
    for step in reversed(steps):  # what comes out is given; what must go in follows
        match step.view.op:
            case "expand":
                views.append(_expanded(step, wanted, rank))
            case "slice":
                views.append(_sliced(step, wanted))
            case _:
                views.append(step.view)
    shape = tuple(wanted[dim] for dim in range(rank))
    return _refit(replace(given, shape=shape, views=tuple(reversed(views))), given, rename)


def _walk(given: Input) -> tuple[list[_Seen], list[int], list[int]]:
    """The views; the dimensions that are seen in the end, and their sizes. A dimension keeps its number
    through all views; those that an expand puts in front get new ones."""
    dims, sizes = list(range(len(given.shape))), list(given.shape)
    numbers = count(len(dims))
    steps = []
    for view in given.views:
        before, were = tuple(dims), tuple(sizes)
        if view.op == "permute":
            dims, sizes = [dims[a] for a in view.args], [sizes[a] for a in view.args]
        elif view.op == "expand":
            lead = len(view.args) - len(sizes)
            dims, sizes = [*islice(numbers, lead), *dims], [1] * lead + sizes
            sizes = [have if want == -1 else want for have, want in zip(sizes, view.args, strict=True)]
        else:
            dim, start, stop, stride = view.args
            sizes[dim] = len(range(start, min(stop, sizes[dim]), stride))
        steps.append(_Seen(view, before, were, tuple(dims)))
    return steps, dims, sizes


def _expanded(step: _Seen, wanted: dict[int, int], rank: int) -> View:
    """The expand that gives the sizes wanted after it; `wanted` is what must go in from then on."""
    had = dict(zip(step.dims, step.sizes, strict=True))
    args = []
    for dim, want in zip(step.after, step.view.args, strict=True):
        if dim in had and want in (-1, had[dim]):
            args.append(-1 if dim < rank else wanted[dim])
        else:
            args.append(wanted[dim])
            wanted[dim] = had.get(dim, 1)
    return View("expand", tuple(args))


def _sliced(step: _Seen, wanted: dict[int, int]) -> View:
    """The slice that gives the size wanted after it, strided and offset as before."""
    dim, start, stop, stride = step.view.args
    size, place = step.sizes[dim], step.dims[dim]
    stop = min(stop, size)
    kept = len(range(start, stop, stride))
    want = wanted[place]
    if want == kept:
        wanted[place] = size
        return step.view
    end = start + max(want - 1, 0) * stride + min(want, 1)
    wanted[place] = end + size - stop
    return View("slice", (dim, start, end, stride))


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
