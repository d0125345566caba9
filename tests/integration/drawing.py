"""Drawn programs for the tests of operators, emission and legality.

Invariant: a program comes from its `random.Random` alone; whether it is legal is for the caller to ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from fuzzers.flowmut.edge import DTYPES, EdgeState
from fuzzers.flowmut.legality import Rejection, fake_run, guard, node_violations
from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.operators.declaration import Operator
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.operators.views import END
from fuzzers.flowmut.program import Input, Node, Program, View
from fuzzers.flowmut.record import Refused, record
from fuzzers.flowmut.values import state_of

SHAPES = (
    (),
    (1,),
    (4,),
    (17,),
    (0,),
    (3, 5),
    (8, 4),
    (4, 4),
    (2, 1, 17),
    (2, 4, 6),
    (3, 0, 2),
    (2, 4, 5, 6),
    (1, 3, 4, 4),
    (1, 2, 3, 4, 4),
)


def drawn_input(rng: Random, name: str = "x") -> Input:
    """Any dtype, any of the shapes, now and then permuted, sliced or expanded."""
    dtype, shape = rng.choice(DTYPES), rng.choice(SHAPES)
    views: tuple[View, ...] = ()
    layout = rng.random()
    if layout < 0.2 and len(shape) > 1:
        shape, views = shape[::-1], (View("permute", tuple(range(len(shape)))[::-1]),)
    elif layout < 0.35 and shape:
        shape, views = (*shape[:-1], shape[-1] * 2), (View("slice", (len(shape) - 1, 0, END, 2)),)
    elif layout < 0.42 and shape:
        shape, views = (*shape[:-1], 1), (View("expand", shape),)
    values = rng.random()
    drawn = domains.like(shape, dtype, name) if values < 0.7 else domains.positives(shape, dtype, name)
    if dtype == "int64" and values > 0.9:
        drawn = domains.indices(shape, 4, name)
    leaf = dtype in ("float32", "float64") and rng.random() < 0.3
    return replace(drawn, views=views, requires_grad=leaf)


def applied(
    rng: Random, operator: Operator, name: str, argument: str, state: EdgeState, prefix: str
) -> tuple[Node, tuple[Input, ...]] | None:
    """A node of that operator on an edge, with fresh inputs for its other arguments; None when that edge
    does not suit."""
    attrs = operator.draw_attrs(rng, state)
    node = Node(name, operator.name, (argument,), attrs)
    if operator.partners is None:
        return None if operator.unmet([state], operator.values(node)) else (node, ())
    fresh = operator.partners(rng, state, operator.values(node))
    partners = tuple(replace(p, name=f"{prefix}{k}") for k, p in enumerate(fresh))
    node = replace(node, args=(argument, *(p.name for p in partners)))
    unmet = node_violations(node, [state, *map(state_of, partners)])
    return None if unmet else (node, partners)


def single(rng: Random, operator: Operator) -> Program | None:
    """One node of the operator on a drawn input, by the predicates legal as far as they can tell."""
    x = drawn_input(rng)
    found = applied(rng, operator, "n", "x", state_of(x), "p")
    if found is None:
        return None
    node, partners = found
    return Program((x, *partners), (node,), ("n",), seed=rng.randrange(100))


def legal_singles(operator: Operator, seed: int, wanted: int, tries: int = 2000) -> Iterator[Program]:
    """Up to `wanted` programs of one node whose values meet the requirements too."""
    rng = Random(f"{operator.name}/{seed}")
    found = 0
    for _ in range(tries):
        program = single(rng, operator)
        if program is not None and not refused_by_guard(program):
            found += 1
            yield program
        if found == wanted:
            return


def refused_by_guard(program: Program) -> bool:
    """Whether a requirement on values says no; what the framework says is not asked."""
    try:
        record(program, guard)
    except Refused as refusal:
        return refusal.__cause__ is None
    return False


def grown(rng: Random, size: int, first: Input | None = None) -> Program:
    """A legal program of `size` nodes that runs, with one or two outputs, grown from `first`."""
    first = first or drawn_input(rng)
    program = Program((first,), (), (first.name,), seed=rng.randrange(100))
    states = record(program)
    while len(program.nodes) < size:
        edge = rng.choice(list(states)[-4:])
        k = len(program.nodes)
        found = applied(rng, rng.choice(list(OPERATORS.values())), f"n{k}", edge, states[edge], f"p{k}_")
        if found is None:
            continue
        node, partners = found
        unused = [n.name for n in program.nodes if not program.users(n.name) and n.name not in node.args]
        outputs = (*unused[-1:], node.name)
        bigger = replace(
            program,
            inputs=(*program.inputs, *partners),
            nodes=(*program.nodes, node),
            outputs=outputs,
        )
        if isinstance(fake_run(bigger), Rejection):
            continue
        try:
            states = record(bigger, guard)
        except Refused:
            continue
        program = bigger
    return program
