"""Mutations of operators: what a node computes, and nodes that come and go.

Invariant: which operators there are is read from the one table of them; nothing is listed by name here
but what a pattern is made of. Attributes and partners are drawn by the operator's own declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.mutations.declaration import Apply, Draft, Site
from fuzzers.flowmut.operators.declaration import REQUIRED, Operator
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Input, Node, Program
from fuzzers.flowmut.values import state_of

ATTEMPTS = 8
"""Operators tried at one site before the mutation gives up there."""

INTEGER = (
    "shift_left",
    "shift_right",
    "shift_left_scalar",
    "shift_right_scalar",
    "floor_divide",
    "floor_divide_scalar",
    "remainder",
    "remainder_scalar",
    "fmod",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_not",
    "abs",
    "neg",
    "sign",
    "mul",
    "sub",
)
"""What integers are treated with in pre- and post-processing."""

WIDENING = (
    "to",
    "sum",
    "cumsum",
    "prod",
    "gt_scalar",
    "eq_scalar",
    "lt",
    "ge",
    "div_scalar",
    "argmax",
    "argmin",
    "amax",
    "amin",
    "max_values",
    "count_nonzero",
    "any",
)
"""What shows whether a small integer wrapped where it should: conversions, comparisons, accumulation."""


def family(*names: str) -> Callable[[Operator], bool]:
    """Operators of these families that write nothing."""
    return lambda op: op.family in names and op.writes is None


def named(*names: str) -> Callable[[Operator], bool]:
    """Operators of these names."""
    return lambda op: op.name in names


def anything(op: Operator) -> bool:
    """Operators that write nothing."""
    return op.writes is None


def shape_kept(op: Operator) -> bool:
    """Operators that keep the first argument's shape whatever it is."""
    return op.family == "elementwise"


def draw_operator(
    draft: Draft, name: str, state: EdgeState, rng: Random, holds: Callable[[Operator], bool]
) -> str | None:
    """A drawn operator applied to edge `name`; None when none of the few tried takes it."""
    pool = [op for op in OPERATORS.values() if holds(op)]
    for op in rng.sample(pool, min(ATTEMPTS, len(pool))):
        if (made := draft.apply(op, name, state, rng)) is not None:
            return made
    return None


def insert_one(holds: Callable[[Operator], bool]) -> Apply:
    """A drawn operator between the edge and its users."""

    def apply(site: Site, rng: Random) -> Program | None:
        draft = Draft(site)
        made = draw_operator(draft, site.name, site.state, rng, holds)
        return draft.splice(made) if made else None

    return apply


def grow_one(holds: Callable[[Operator], bool]) -> Apply:
    """A drawn operator on the edge, whose result is returned as well."""

    def apply(site: Site, rng: Random) -> Program | None:
        draft = Draft(site)
        made = draw_operator(draft, site.name, site.state, rng, holds)
        return draft.grow(made) if made else None

    return apply


def then(first: Callable[[Operator], bool], second: Callable[[Operator], bool]) -> Apply:
    """Two drawn operators in a row, the second one's result returned as well."""

    def apply(site: Site, rng: Random) -> Program | None:
        draft = Draft(site)
        middle = draw_operator(draft, site.name, site.state, rng, first)
        state = draft.state(middle) if middle else None
        last = draw_operator(draft, middle, state, rng, second) if middle and state else None
        return draft.grow(last) if last else None

    return apply


def _same_arity(old: Operator, holds: Callable[[Operator], bool]) -> list[Operator]:
    return [
        op
        for op in OPERATORS.values()
        if op.name != old.name and op.writes is None and op.arity == old.arity and holds(op)
    ]


def _put(
    site: Site, op: Operator, args: Sequence[str], rng: Random, inputs: Sequence[Input] = ()
) -> Program | None:
    """The site's node now applies `op` to `args`, with drawn attributes."""
    assert site.node is not None
    state = site.states[args[0]]
    attrs = op.draw_attrs(rng, state)
    if any(domain.default is REQUIRED and k not in dict(attrs) for k, domain in op.attributes.items()):
        return None
    known = {**site.states, **{i.name: state_of(i) for i in inputs}}
    node = Node(site.name, op.name, tuple(args), attrs)
    if op.unmet([known[a] for a in args], op.values(node)):
        return None
    program = replace(site.program, inputs=(*site.program.inputs, *inputs))
    return rewrite.put_node(program, node)


def swap(within_family: bool) -> Apply:
    """Another operator of the same arity on the same arguments."""

    def apply(site: Site, rng: Random) -> Program | None:
        assert site.node is not None and site.operator is not None
        old = site.operator
        pool = _same_arity(old, lambda op: not within_family or op.family == old.family)
        for op in rng.sample(pool, min(ATTEMPTS, len(pool))):
            if (program := _put(site, op, site.node.args, rng)) is not None:
                return program
        return None

    return apply


def swap_arity(site: Site, rng: Random) -> Program | None:
    """Another elementwise operator of any arity, its further arguments fresh inputs."""
    assert site.node is not None
    first = site.node.args[0]
    state = site.states[first]
    for op in rng.sample([op for op in OPERATORS.values() if shape_kept(op) and op.writes is None], ATTEMPTS):
        attrs = op.draw_attrs(rng, state)
        if any(domain.default is REQUIRED and k not in dict(attrs) for k, domain in op.attributes.items()):
            continue
        values = op.values(Node("", op.name, (), attrs))
        partners = op.partners(rng, state, values) if op.partners else ()
        names = rewrite.fresh(site.program, len(partners))
        fed = [replace(p, name=n) for p, n in zip(partners, names, strict=True)]
        if (program := _put(site, op, [first, *names], rng, fed)) is not None:
            return program
    return None


def change_attribute(site: Site, rng: Random) -> Program | None:
    """One attribute of the site's node is drawn again."""
    assert site.node is not None and site.operator is not None
    name = rng.choice(list(site.operator.attributes))
    domain = site.operator.attributes[name]
    value = domain.draw(rng, site.states[site.node.args[0]])
    kept = tuple((k, v) for k, v in site.node.attrs if k != name)
    if value == dict(site.node.attrs).get(name, domain.default) or (
        value is None and domain.default is REQUIRED
    ):
        return None
    attrs = kept if value == domain.default else (*kept, (name, value))
    order = list(site.operator.attributes)
    node = replace(site.node, attrs=tuple(sorted(attrs, key=lambda kv: order.index(kv[0]))))
    return rewrite.put_node(site.program, node)


def delete_operator(site: Site, rng: Random) -> Program | None:
    """The node goes; one of its arguments takes its place."""
    assert site.node is not None
    same = [a for a in site.node.args if site.states[a].shape == site.state.shape]
    return rewrite.drop_node(site.program, site.name, rng.choice(same or list(site.node.args)))


def reverse_arguments(site: Site, rng: Random) -> Program | None:
    """The node takes its arguments the other way round."""
    assert site.node is not None
    args = site.node.args[::-1]
    return rewrite.put_node(site.program, replace(site.node, args=args)) if args != site.node.args else None


def compare_and_select(site: Site, rng: Random) -> Program | None:
    """where(x ? y, x, z): a mask that the data decide."""
    draft = Draft(site)
    mask = draw_operator(
        draft, site.name, site.state, rng, named("gt", "lt", "eq", "ne", "ge", "gt_scalar", "eq_scalar")
    )
    if mask is None:
        return None
    equals = site.others(lambda s: s.shape == site.state.shape and s.dtype == site.state.dtype)
    other = rng.choice(equals) if equals else draft.add("clone", site.name)
    return draft.splice(draft.add("where", site.name, mask, other))


def repeat_operator(site: Site, rng: Random) -> Program | None:
    """The site's node is applied once more to its own result."""
    assert site.node is not None
    draft = Draft(site)
    again = draft.add(site.node.op, site.name, *site.node.args[1:], **dict(site.node.attrs))
    return draft.splice(again)
