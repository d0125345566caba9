"""Mutations of layout: how an input lies in memory, and layout changes between operators.

Invariant: what the program sees of an input keeps its shape and dtype; only strides, storage and offset
change. An input's fill is drawn for its storage, so its values change with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.mutations.declaration import Draft, Site
from fuzzers.flowmut.operators.views import END
from fuzzers.flowmut.program import Program, View

Shape = tuple[int, ...]
Relayout = Callable[[Shape, Random], tuple[Shape, View] | None]


def relayout(change: Relayout) -> Callable[[Site, Random], Program | None]:
    """The input's fresh storage gets another shape, and a view in front that restores the old one."""

    def apply(site: Site, rng: Random) -> Program | None:
        assert site.input is not None
        found = change(site.input.shape, rng)
        if found is None or site.input.fill == "literal":
            return None
        shape, view = found
        return rewrite.put_input(
            site.program, replace(site.input, shape=shape, views=(view, *site.input.views))
        )

    return apply


def inverse(order: Shape) -> Shape:
    """The permutation that undoes `order`."""
    return tuple(order.index(d) for d in range(len(order)))


def transposed(shape: Shape, rng: Random) -> tuple[Shape, View] | None:
    """Stored with its dimensions in another order."""
    order = tuple(rng.sample(range(len(shape)), len(shape)))
    if order == tuple(range(len(shape))):
        order = order[::-1]
    return tuple(shape[d] for d in order), View("permute", inverse(order))


def channels_last(shape: Shape, rng: Random) -> tuple[Shape, View] | None:
    """Stored with dimension 1 innermost."""
    order = (0, *range(2, len(shape)), 1)
    return tuple(shape[d] for d in order), View("permute", inverse(order))


def expanded(shape: Shape, rng: Random) -> tuple[Shape, View] | None:
    """One dimension of stride 0."""
    dim = rng.randrange(len(shape))
    return (*shape[:dim], 1, *shape[dim + 1 :]), View("expand", shape)


def strided(shape: Shape, rng: Random) -> tuple[Shape, View] | None:
    """Every second or third element of a longer dimension."""
    dim = len(shape) - 1 if rng.random() < 0.6 else rng.randrange(len(shape))
    step = rng.choice((2, 2, 3))
    length = shape[dim] * step
    return (*shape[:dim], length, *shape[dim + 1 :]), View("slice", (dim, 0, length, step))


def offset(shape: Shape, rng: Random) -> tuple[Shape, View] | None:
    """A slice that does not start where its storage does."""
    dim = 0 if rng.random() < 0.6 else rng.randrange(len(shape))
    start = rng.choice((1, 1, 2, 3))
    end = shape[dim] + start
    return (*shape[:dim], end, *shape[dim + 1 :]), View("slice", (dim, start, end, 1))


def padded(shape: Shape, rng: Random) -> tuple[Shape, View] | None:
    """The front of a longer dimension."""
    dim = rng.randrange(len(shape))
    length = shape[dim] + rng.choice((1, 2, 7))
    return (*shape[:dim], length, *shape[dim + 1 :]), View("slice", (dim, 0, shape[dim], 1))


def without_views(site: Site, rng: Random) -> Program | None:
    """The input is dense."""
    assert site.input is not None
    dense = replace(site.input, shape=site.state.shape, views=())
    return rewrite.put_input(site.program, dense) if site.input.fill != "literal" else None


def _orders(site: Site, rng: Random) -> Shape:
    order = tuple(rng.sample(range(site.state.rank), site.state.rank))
    return order if order != tuple(range(site.state.rank)) else order[::-1]


def there_and_back(between: tuple[str, ...]) -> Callable[[Site, Random], Program | None]:
    """permute, some operators that keep the shape, and the inverse permute."""

    def apply(site: Site, rng: Random) -> Program | None:
        draft, order = Draft(site), _orders(site, rng)
        name = draft.add("permute", site.name, dims=order)
        for op in between:
            name = draft.add(op, name)
        return draft.splice(draft.add("permute", name, dims=inverse(order)))

    return apply


def returned_transposed(site: Site, rng: Random) -> Program | None:
    """A permuted view of the edge is returned as well."""
    draft = Draft(site)
    return draft.grow(draft.add("permute", site.name, dims=_orders(site, rng)))


def reshaped_and_back(site: Site, rng: Random) -> Program | None:
    """Flattened or regrouped, and back."""
    draft = Draft(site)
    numel, shape = site.state.numel, site.state.shape
    factors = [n for n in (2, 3, 4, 5, 7, 8) if numel % n == 0]
    target = (numel,) if not factors or rng.random() < 0.5 else (numel // (f := rng.choice(factors)), f)
    name = draft.add("reshape", site.name, shape=target)
    return draft.splice(draft.add("reshape", name, shape=shape))


def split_and_joined(site: Site, rng: Random) -> Program | None:
    """Cut in two along a dimension and concatenated again."""
    dim = rng.randrange(site.state.rank)
    size = site.state.shape[dim]
    if size < 2:
        return None
    at = rng.randrange(1, size)
    draft = Draft(site)
    front = draft.add("narrow", site.name, dim=dim, start=0, length=at)
    back = draft.add("narrow", site.name, dim=dim, start=at, length=size - at)
    return draft.splice(draft.add("cat", front, back, dim=dim))


def one_element(shape: Shape, rng: Random) -> tuple[Shape, View] | None:
    """One element in memory, seen everywhere."""
    return (1,) * len(shape), View("expand", shape)


def every_second(site: Site, rng: Random) -> Program | None:
    """Every second element along a dimension, where the edge's users take that; else it is returned."""
    draft = Draft(site)
    dim = rng.randrange(site.state.rank)
    return draft.splice(draft.add("slice", site.name, span=(dim, rng.choice((0, 1)), END, 2)))


def densify(site: Site, rng: Random) -> Program | None:
    """A dense copy between the edge and its users."""
    draft = Draft(site)
    return draft.splice(draft.add("contiguous", site.name))


def channels_last_between(site: Site, rng: Random) -> Program | None:
    """What the edge's users see has dimension 1 innermost."""
    draft = Draft(site)
    moved = draft.add("permute", site.name, dims=(0, 2, 3, 1))
    dense = draft.add(rng.choice(("contiguous", "clone")), moved)
    return draft.splice(draft.add("permute", dense, dims=(0, 3, 1, 2)))
