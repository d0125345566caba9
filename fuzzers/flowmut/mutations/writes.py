"""Mutations that write in place: through views, on bases whose views are read later, on inputs.

Invariant: what is written is writable at the site (no overlap with itself, no leaf that requires grad);
that nothing needed by a backward is overwritten is found by running eagerly.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.mutations.declaration import Draft, Site
from fuzzers.flowmut.mutations.swaps import draw_operator
from fuzzers.flowmut.operators.declaration import Operator
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Program


def in_place(op: Operator) -> bool:
    """It writes its first argument."""
    return op.writes == 0


def a_view(op: Operator) -> bool:
    """Its result shares the first argument's memory and nothing is written."""
    return op.views and op.writes is None


def distinct_view(op: Operator) -> bool:
    """A view in which no element appears twice, so that it may be written."""
    return a_view(op) and op.name not in ("expand", "expand_as", "broadcast_to", "unfold", "as_strided")


def view_then(draft: Draft, rng: Random) -> tuple[str, str] | None:
    """A view of the site and a write through it: both names."""
    site = draft.site
    view = draw_operator(draft, site.name, site.state, rng, distinct_view)
    state = draft.state(view) if view else None
    if view is None or state is None or state.numel == 0:
        return None
    wrote = draw_operator(draft, view, state, rng, in_place)
    return (view, wrote) if wrote else None


def write_through_view(site: Site, rng: Random) -> Program | None:
    """A view of the edge is written; who uses the edge afterwards sees it."""
    draft = Draft(site)
    return draft.beside() if view_then(draft, rng) else None


def write_through_view_and_return(site: Site, rng: Random) -> Program | None:
    """A view of the edge is written at the end of the program, and base and view are returned."""
    draft = Draft(site)
    made = view_then(draft, rng)
    return draft.tail(site.name, made[1]) if made else None


def write_base_read_view(site: Site, rng: Random) -> Program | None:
    """A view is taken, the base written, and the view returned."""
    draft = Draft(site)
    view = draw_operator(draft, site.name, site.state, rng, a_view)
    wrote = draw_operator(draft, site.name, site.state, rng, in_place)
    return draft.tail(view) if view and wrote else None


def write_it(site: Site, rng: Random) -> Program | None:
    """The edge is written in place, before its users read it."""
    draft = Draft(site)
    wrote = draw_operator(draft, site.name, site.state, rng, in_place)
    return draft.splice(wrote) if wrote else None


def write_last(site: Site, rng: Random) -> Program | None:
    """The edge is written in place after everything has been computed."""
    draft = Draft(site)
    wrote = draw_operator(draft, site.name, site.state, rng, in_place)
    return draft.tail(*(() if site.program.outputs else (wrote,))) if wrote else None


def write_copy(site: Site, rng: Random) -> Program | None:
    """A clone, or a dense copy, of a view of the edge is written: the edge itself must stay."""
    draft = Draft(site)
    view = draw_operator(draft, site.name, site.state, rng, a_view)
    if view is None:
        return None
    copy = draft.add(rng.choice(("clone", "contiguous")), view)
    state = draft.state(copy)
    wrote = draw_operator(draft, copy, state, rng, in_place) if state else None
    return draft.tail(wrote) if wrote else None


def write_after_read(site: Site, rng: Random) -> Program | None:
    """Something is computed from the edge, then the edge is written, and both are returned."""
    draft = Draft(site)
    read = draw_operator(draft, site.name, site.state, rng, lambda op: op.family == "elementwise")
    wrote = draw_operator(draft, site.name, site.state, rng, in_place)
    return draft.tail(read, site.name) if read and wrote else None


def write_from_own_view(site: Site, rng: Random) -> Program | None:
    """A part of the edge is added to, or copied over, another part of it."""
    size = site.state.shape[0]
    if size < 2:
        return None
    draft = Draft(site)
    length = rng.randint(1, size // 2)
    low = draft.add("narrow", site.name, dim=0, start=0, length=length)
    high = draft.add("narrow", site.name, dim=0, start=size - length, length=length)
    target, source = rng.choice(((low, high), (high, low)))
    draft.add(rng.choice(("copy_", "add_")), target, source)
    return draft.tail(site.name)


def make_in_place(site: Site, rng: Random) -> Program | None:
    """The node writes its result over its first argument: add becomes add_."""
    assert site.node is not None
    name = site.node.op + "_"
    if name not in OPERATORS:
        return None
    return rewrite.put_node(site.program, replace(site.node, op=name))


def clone_first(site: Site, rng: Random) -> Program | None:
    """What the edge's users see is a copy, written in place before they do."""
    draft = Draft(site)
    copy = draft.add("clone", site.name)
    wrote = draw_operator(draft, copy, site.state, rng, in_place)
    return draft.splice(wrote) if wrote else None


def write_two(site: Site, rng: Random) -> Program | None:
    """The edge and another one of its shape are both written, one from the other."""
    others = site.others(
        lambda s: s.shape == site.state.shape and s.dtype == site.state.dtype and not s.on_leaf
    )
    if not others:
        return None
    draft, other = Draft(site), rng.choice(others)
    draft.add(rng.choice(("add_", "copy_", "mul_")), site.name, other)
    second = draw_operator(draft, other, site.states[other], rng, in_place)
    return draft.beside() if second else None
