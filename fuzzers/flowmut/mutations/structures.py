"""Mutations that build the shapes which graph passes look for: residuals, repeated blocks, masks made by
comparison, constants in the graph, rewrites that cancel out.

Invariant: each adds a few nodes at one site; that they may run is judged afterwards.
"""

from __future__ import annotations

from random import Random

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.edge import FLOATING
from fuzzers.flowmut.mutations.declaration import Draft, Site
from fuzzers.flowmut.mutations.swaps import draw_operator, family, shape_kept
from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Node, Program

DEEP = 6
"""Operators of a deep chain."""

BLOCK = 3
"""Nodes of a block that is repeated."""


def residual(site: Site, rng: Random) -> Program | None:
    """An argument of the node is added to its result."""
    assert site.node is not None
    alike = [a for a in site.node.args if site.states[a].shape == site.state.shape]
    if not alike:
        return None
    draft = Draft(site)
    return draft.splice(draft.add(rng.choice(("add", "sub", "maximum")), site.name, rng.choice(alike)))


def repeat_block(site: Site, rng: Random) -> Program | None:
    """The node and up to two before it in its chain are applied again to its result."""
    chain: list[Node] = []
    name = site.name
    by_name = {n.name: n for n in site.program.nodes}
    while name in by_name and len(chain) < BLOCK and OPERATORS[by_name[name].op].writes is None:
        chain.append(by_name[name])
        name = by_name[name].args[0]
    if len(chain) < 2 or site.states[name].shape != site.state.shape:
        return None
    draft, end = Draft(site), site.name
    for node in reversed(chain):
        end = draft.add(node.op, end, *node.args[1:], **dict(node.attrs))
    return draft.splice(end)


def with_itself(site: Site, rng: Random) -> Program | None:
    """The edge and itself as the two arguments of one operator: what algebra would simplify."""
    draft = Draft(site)
    op = rng.choice(("add", "sub", "mul", "maximum", "eq", "lt", "fmax", "bitwise_xor"))
    return draft.grow(draft.add(op, site.name, site.name))


def divide_and_multiply(site: Site, rng: Random) -> Program | None:
    """x / y * y for a positive y."""
    draft = Draft(site)
    divisor = draft.feed(domains.positives(domains.broadcasting(rng, site.state.shape), site.state.dtype))
    return draft.splice(draft.add("mul", draft.add("div", site.name, divisor), divisor))


def mask_arithmetic(site: Site, rng: Random) -> Program | None:
    """x * (x > c) with the mask cast to x's dtype."""
    draft = Draft(site)
    mask = draft.add(rng.choice(("gt_scalar", "eq_scalar")), site.name, value=rng.choice((0, 1)))
    cast = draft.add("to", mask, dtype=site.state.dtype)
    return draft.splice(draft.add(rng.choice(("mul", "add", "maximum")), site.name, cast))


def neutral_in_graph(site: Site, rng: Random) -> Program | None:
    """x + zeros_like(x), x * ones_like(x)."""
    draft = Draft(site)
    op, constant = rng.choice((("add", "zeros_like"), ("mul", "ones_like"), ("div", "ones_like")))
    made = draft.add(constant, site.name)
    return draft.splice(
        draft.add(op, *((site.name, made) if op == "div" else rng.sample((site.name, made), 2)))
    )


def constant_in_graph(site: Site, rng: Random) -> Program | None:
    """The edge and a constant of its shape, made in the graph, combined."""
    draft = Draft(site)
    value = rng.choice((0, 1)) if site.state.dtype == "bool" else rng.choice((0, 1, 2, 3))
    made = draft.add("full_like", site.name, value=value)
    op = rng.choice(("add", "mul", "maximum", "lt", "eq", "sub", "minimum"))
    return draft.grow(draft.add(op, *rng.sample((site.name, made), 2)))


def scalar_and_use(site: Site, rng: Random) -> Program | None:
    """The edge combined with a reduction of all of it, a tensor of rank 0."""
    draft = Draft(site)
    reduced = draft.add(rng.choice(("amax", "amin", "sum", "mean", "any")), site.name)
    return draft.splice(draft.add(rng.choice(("sub", "add", "maximum", "lt", "mul")), site.name, reduced))


def gather_by_order(site: Site, rng: Random) -> Program | None:
    """The edge indexed by positions that the edge decides."""
    draft, dim = Draft(site), rng.randrange(site.state.rank)
    if rng.random() < 0.5:
        order = draft.add("argsort", site.name, dim=dim, descending=rng.random() < 0.5)
    else:
        order = draft.add(rng.choice(("argmax", "argmin")), site.name, dim=dim, keepdim=True)
    return draft.grow(draft.add(rng.choice(("gather", "take_along_dim")), site.name, order, dim=dim))


def split_compute_join(site: Site, rng: Random) -> Program | None:
    """One part of the edge is computed with, the other is not, and they are joined again."""
    dim = rng.randrange(site.state.rank)
    size = site.state.shape[dim]
    if size < 2:
        return None
    draft, at = Draft(site), rng.randrange(1, size)
    front = draft.add("narrow", site.name, dim=dim, start=0, length=at)
    back = draft.add("narrow", site.name, dim=dim, start=at, length=size - at)
    state = draft.state(front)
    changed = draw_operator(draft, front, state, rng, shape_kept) if state else None
    return draft.splice(draft.add("cat", changed, back, dim=dim)) if changed else None


def select_between(site: Site, rng: Random) -> Program | None:
    """where(x > c, f(x), g(x)): both branches computed, one taken by element."""
    draft = Draft(site)
    mask = draft.add(rng.choice(("gt_scalar", "eq_scalar")), site.name, value=rng.choice((0, 1)))
    branches = [draw_operator(draft, site.name, site.state, rng, family("elementwise")) for _ in range(2)]
    if None in branches:
        return None
    then, other = (b for b in branches if b is not None)
    return draft.splice(draft.add("where", then, mask, other))


def deep_chain(site: Site, rng: Random) -> Program | None:
    """A long chain of operators of one argument."""
    draft, end = Draft(site), site.name
    for op in rng.choices(("tanh", "sigmoid", "relu", "abs", "sin", "cos", "atan", "erf", "silu"), k=DEEP):
        end = draft.add(op, end)
    return draft.splice(end)


def reduce_wider(site: Site, rng: Random) -> Program | None:
    """Cast up, reduced, and cast back down."""
    draft, floating = Draft(site), site.state.dtype in FLOATING
    wide = rng.choice(("float32", "float64") if floating else ("int32", "int64", "float32"))
    up = draft.add("to", site.name, dtype=wide)
    reduced = draft.add(
        rng.choice(("sum", "amax", "mean") if wide in FLOATING else ("sum", "amax", "amin")),
        up,
        dim=rng.randrange(site.state.rank),
        keepdim=rng.random() < 0.5,
    )
    return draft.grow(draft.add("to", reduced, dtype=site.state.dtype))


def subtract_negated(site: Site, rng: Random) -> Program | None:
    """a + b becomes a - (-b)."""
    assert site.node is not None
    first, second = site.node.args
    negated = rewrite.fresh(site.program)[0]
    grown = rewrite.insert(site.program, site.at - 1, [Node(negated, "neg", (second,))])
    return rewrite.put_node(grown, Node(site.name, "sub", (first, negated)))


def bypass(site: Site, rng: Random) -> Program | None:
    """One user of the node takes the node's argument instead."""
    assert site.node is not None
    alike = [a for a in site.node.args if site.states[a].shape == site.state.shape]
    if not alike:
        return None
    user = rng.choice(site.program.users(site.name))
    return rewrite.redirect_one(site.program, user.name, user.args.index(site.name), rng.choice(alike))


def swap_neighbours(site: Site, rng: Random) -> Program | None:
    """The node and the one before it, both of one argument, change places."""
    assert site.node is not None
    before = next((n for n in site.program.nodes if n.name == site.node.args[0]), None)
    if before is None or len(before.args) != 1 or len(site.node.args) != 1 or before.op == site.node.op:
        return None
    if OPERATORS[before.op].writes is not None:
        return None
    first = Node(before.name, site.node.op, before.args, site.node.attrs)
    second = Node(site.name, before.op, (before.name,), before.attrs)
    return rewrite.put_node(rewrite.put_node(site.program, first), second)
