"""Mutations of edges and subgraphs: rewiring, repeating, sharing, and equivalent rewrites.

Invariant: an argument is only ever rewired to a tensor that exists there already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.mutations.declaration import Draft, Site
from fuzzers.flowmut.mutations.swaps import draw_operator
from fuzzers.flowmut.operators.declaration import Operator
from fuzzers.flowmut.program import Program
from fuzzers.flowmut.window import input_like, writes


def rewire(site: Site, rng: Random) -> Program | None:
    """One use of the edge becomes a use of another edge of the same shape and dtype."""
    return _rewire(
        site, rng, site.others(lambda s: s.shape == site.state.shape and s.dtype == site.state.dtype)
    )


def rewire_loosely(site: Site, rng: Random) -> Program | None:
    """One use of the edge becomes a use of an edge of the same rank, whatever its dtype."""
    return _rewire(site, rng, site.others(lambda s: s.rank == site.state.rank))


def _rewire(site: Site, rng: Random, pool: list[str]) -> Program | None:
    users = site.program.users(site.name)
    if not pool or not users:
        return None
    user = rng.choice(users)
    return rewrite.redirect_one(site.program, user.name, user.args.index(site.name), rng.choice(pool))


def same_argument(site: Site, rng: Random) -> Program | None:
    """A node takes its first argument for every other one that is like it."""
    assert site.node is not None
    first = site.node.args[0]
    shape, dtype = site.states[first].shape, site.states[first].dtype
    args = tuple(
        first if (site.states[a].shape, site.states[a].dtype) == (shape, dtype) else a for a in site.node.args
    )
    return rewrite.put_node(site.program, replace(site.node, args=args)) if args != site.node.args else None


def duplicate_and(combine: tuple[str, ...]) -> Callable[[Site, Random], Program | None]:
    """The node is computed twice, the second time now and then from something alike, and the two are
    combined."""

    def apply(site: Site, rng: Random) -> Program | None:
        assert site.node is not None
        draft = Draft(site)
        twin = draft.add(site.node.op, *site.node.args, **dict(site.node.attrs))
        op = rng.choice(combine)
        return draft.grow(draft.add(op, site.name, twin, **_joint(op, site, rng)))

    return apply


def join_with_changed(
    combine: tuple[str, ...], changes: Callable[[Operator], bool]
) -> Callable[[Site, Random], Program | None]:
    """The edge and a function of it that keeps its shape, combined."""

    def apply(site: Site, rng: Random) -> Program | None:
        draft = Draft(site)
        changed = draw_operator(draft, site.name, site.state, rng, changes)
        if changed is None:
            return None
        op = rng.choice(combine)
        pair = (changed, site.name) if rng.random() < 0.5 else (site.name, changed)
        return draft.grow(draft.add(op, *pair, **_joint(op, site, rng)))

    return apply


def join_edges(combine: tuple[str, ...]) -> Callable[[Site, Random], Program | None]:
    """The edge and another one of the same shape, combined."""

    def apply(site: Site, rng: Random) -> Program | None:
        pool = site.others(lambda s: s.shape == site.state.shape)
        if not pool:
            return None
        draft = Draft(site)
        op = rng.choice(combine)
        return draft.grow(draft.add(op, site.name, rng.choice(pool), **_joint(op, site, rng)))

    return apply


def _joint(op: str, site: Site, rng: Random) -> dict[str, int]:
    """cat and stack need a dimension."""
    last = {"cat": site.state.rank, "stack": site.state.rank + 1}.get(op)
    return {"dim": rng.randrange(max(last, 1))} if last is not None else {}


def reduce_and_broadcast(site: Site, rng: Random) -> Program | None:
    """x combined with a reduction of x along a kept dimension: the shape of every normalisation."""
    draft = Draft(site)
    dim = rng.randrange(site.state.rank)
    reduced = draft.add(rng.choice(("sum", "amax", "amin", "mean")), site.name, dim=dim, keepdim=True)
    return draft.splice(draft.add(rng.choice(("sub", "add", "mul", "maximum", "lt")), site.name, reduced))


def negate_twice(site: Site, rng: Random) -> Program | None:
    """-(-x)."""
    draft = Draft(site)
    return draft.splice(draft.add("neg", draft.add("neg", site.name)))


def neutral(site: Site, rng: Random) -> Program | None:
    """x + 0 or x * 1: what pattern matching removes."""
    draft = Draft(site)
    op, value = rng.choice((("add_scalar", 0), ("mul_scalar", 1), ("add_scalar", 0)))
    return draft.splice(draft.add(op, site.name, value=value))


def cut_here(site: Site, rng: Random) -> Program | None:
    """What makes the edge goes; an input with the recorded state takes its place."""
    program = rewrite.cut_node(site.program, site.name, input_like(site.name, site.state))
    return rewrite.prune(program, writes)


def keep_upstream(site: Site, rng: Random) -> Program | None:
    """What follows the edge goes; the edge is the output."""
    needed = rewrite.ancestors(site.program, [site.name])
    nodes = tuple(n for n in site.program.nodes if n.name in needed)
    if nodes == site.program.nodes or not nodes:
        return None
    return rewrite.prune(replace(site.program, nodes=nodes, outputs=(site.name,)), writes)
