"""Mutations in which the order of reads and writes matters: who reads memory before it changes, who after.

Invariant: what is written is writable at the site, and the eager run is the order that counts. A compiler
that turns writes into new tensors has to keep each reader's version.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.mutations.declaration import Draft, Site
from fuzzers.flowmut.mutations.swaps import draw_operator, named
from fuzzers.flowmut.mutations.writes import distinct_view, in_place
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Program


def from_own_reduction(site: Site, rng: Random) -> Program | None:
    """A reduction of the edge is added to, or taken from, the edge."""
    draft = Draft(site)
    dim = rng.randrange(site.state.rank)
    reduced = draft.add(rng.choice(("amax", "amin", "max_values")), site.name, dim=dim, keepdim=True)
    wrote = draft.add(rng.choice(("sub_", "add_", "copy_")), site.name, reduced)
    return draft.tail(wrote)


def from_own_transpose(site: Site, rng: Random) -> Program | None:
    """A copy of the edge's transpose is added to the edge."""
    shape = site.state.shape
    pairs = [(a, b) for a in range(len(shape)) for b in range(a) if shape[a] == shape[b] > 1]
    if not pairs:
        return None
    draft = Draft(site)
    dim0, dim1 = rng.choice(pairs)
    turned = draft.add("transpose", site.name, dim0=dim0, dim1=dim1)
    copy = draft.add("clone", turned)
    wrote = draft.add(rng.choice(("add_", "copy_", "sub_")), site.name, copy)
    return draft.tail(wrote, turned)


def exchange_halves(site: Site, rng: Random) -> Program | None:
    """Two parts of the edge change places."""
    dim = rng.randrange(site.state.rank)
    half = site.state.shape[dim] // 2
    if not half:
        return None
    draft = Draft(site)
    low = draft.add("narrow", site.name, dim=dim, start=0, length=half)
    high = draft.add("narrow", site.name, dim=dim, start=site.state.shape[dim] - half, length=half)
    kept = draft.add("clone", low)
    draft.add("copy_", low, high)
    draft.add("copy_", high, kept)
    return draft.tail(site.name)


def mask_by_itself(site: Site, rng: Random) -> Program | None:
    """Elements of the edge are overwritten where a comparison of the edge says so."""
    draft = Draft(site)
    mask = draft.add(rng.choice(("gt_scalar", "eq_scalar")), site.name, value=rng.choice((0, 1)))
    draft.add("masked_fill_", site.name, mask, value=rng.choice((0, 1)))
    return draft.tail(site.name, mask)


def indexed_write(site: Site, rng: Random) -> Program | None:
    """Rows or elements of the edge are written by index, before its users read it."""
    draft = Draft(site)
    writers = named("index_add_", "scatter_add_", "index_copy_", "index_fill_", "masked_fill_")
    wrote = draw_operator(draft, site.name, site.state, rng, writers)
    return draft.splice(wrote) if wrote else None


def overlapping_views(site: Site, rng: Random) -> Program | None:
    """Two views of the edge share some elements; one is written, then the other is read."""
    dim = rng.randrange(site.state.rank)
    size = site.state.shape[dim]
    if size < 2:
        return None
    draft = Draft(site)
    low = draft.add("narrow", site.name, dim=dim, start=0, length=size - 1)
    high = draft.add("narrow", site.name, dim=dim, start=1, length=size - 1)
    target, other = rng.choice(((low, high), (high, low)))
    state = draft.state(target)
    wrote = draw_operator(draft, target, state, rng, in_place) if state else None
    return draft.tail(draft.add("clone", other)) if wrote else None


def accumulate(site: Site, rng: Random) -> Program | None:
    """A buffer made in the graph takes the edge twice."""
    draft = Draft(site)
    buffer = draft.add(rng.choice(("zeros_like", "ones_like", "clone")), site.name)
    draft.add("add_", buffer, site.name)
    return draft.grow(draft.add(rng.choice(("add_", "maximum")), buffer, site.name))


def view_of_view(site: Site, rng: Random) -> Program | None:
    """A view of a view of the edge is written, and both are returned."""
    draft = Draft(site)
    outer = draw_operator(draft, site.name, site.state, rng, distinct_view)
    outer_state = draft.state(outer) if outer else None
    inner = draw_operator(draft, outer, outer_state, rng, distinct_view) if outer and outer_state else None
    inner_state = draft.state(inner) if inner else None
    if outer is None or inner is None or inner_state is None:
        return None
    wrote = draw_operator(draft, inner, inner_state, rng, in_place)
    return draft.tail(outer, inner) if wrote else None


def make_out_of_place(site: Site, rng: Random) -> Program | None:
    """The node no longer writes: add_ becomes add."""
    assert site.node is not None
    name = site.node.op.removesuffix("_")
    if name not in OPERATORS or OPERATORS[name].arity != OPERATORS[site.node.op].arity:
        return None
    return rewrite.put_node(site.program, replace(site.node, op=name))


def drop_write(site: Site, rng: Random) -> Program | None:
    """What the node would have written stays as it was."""
    assert site.node is not None
    return rewrite.drop_node(site.program, site.name, site.node.args[0])
