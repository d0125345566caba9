"""Large programs around small known bugs of torch 2.13.0 on the CPU, for the tests of reducing.

Invariant: a program comes from its seed alone. Half of its nodes lie before the guilty ones and are made
by the engine's own mutations among drawn operators; the rest is drawn after them, on what they return and
on what else there is. Whether the whole shows its bug is for the caller to see: what comes after may hide it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from drawing import applied

from fuzzers.flowmut.legality import Rejection, fake_run, guard
from fuzzers.flowmut.mutations.declaration import Site
from fuzzers.flowmut.mutations.table import MUTATIONS
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Attr, Input, Node, Program
from fuzzers.flowmut.proposal import judge, tidy
from fuzzers.flowmut.record import Refused, States, record

MOST_OUTPUTS = 6
MOST_ELEMENTS = 2000
TRIES = 1500
MUTATIONS_TRIED = 40


@dataclass(frozen=True)
class Bug:
    """A chain of operators (name, copies of its argument, attributes) that is wrong on this dtype."""

    name: str
    dtype: str
    nodes: tuple[tuple[str, int, dict[str, Attr]], ...]


BUGS = (
    Bug("cat abs neg sum", "uint8", (("cat", 2, {"dim": 0}), ("abs", 1, {}), ("neg", 1, {}), ("sum", 1, {}))),
    Bug("abs amin", "int8", (("abs", 1, {}), ("amin", 1, {}))),
    Bug("any", "uint8", (("any", 1, {}),)),
    Bug("amin", "uint8", (("add_scalar", 1, {"value": 2}), ("amin", 1, {}))),
    Bug("abs argmax", "int8", (("add_scalar", 1, {"value": -8}), ("abs", 1, {}), ("argmax", 1, {"dim": 1}))),
)


def around(bug: Bug, seed: int, size: int = 60) -> Program:
    """A program of `size` nodes with the chain of `bug` in its middle."""
    rng = Random(f"{bug.name}/{seed}")
    while True:
        first = Input("x", rng.choice(((3, 5), (4, 17), (2, 4, 6), (8, 4))), bug.dtype, "randint", 1, 100)
        before = _mutated(_grown(Program((first,), (), ("x",)), rng, size // 4, ()), rng, size // 2)
        planted = next(_planted(before, bug, rng), None)
        if planted is not None:
            program, last = planted
            grown = tidy(_grown(program, rng, size, (last,)))
            if len(grown.nodes) >= size - 2 and not isinstance(fake_run(grown), Rejection):
                return replace(grown, origin=f"{bug.name}/{seed}")


def _mutated(program: Program, rng: Random, size: int) -> Program:
    """Grown to about `size` nodes by mutations, each at a drawn site."""
    program = tidy(program)
    states = judge(program, Counter())
    for _ in range(MUTATIONS_TRIED):
        if states is None or len(program.nodes) >= size:
            break
        mutation = rng.choices(MUTATIONS, [m.weight for m in MUTATIONS])[0]
        sites = [s for name in program.names() if mutation.allowed(s := Site(program, name, states))]
        made = mutation.apply(rng.choice(sites), rng) if sites else None
        made = tidy(replace(made, dynamic=None)) if made else None
        if made is None or not len(program.nodes) <= len(made.nodes) <= size:
            continue
        judged = judge(made, Counter()) if len(made.outputs) < MOST_OUTPUTS else None
        if judged is not None:
            program, states = made, judged
    return _grown(program, rng, size, ())


def _planted(program: Program, bug: Bug, rng: Random) -> Iterator[tuple[Program, str]]:
    """The chain on each edge of its dtype that it suits."""
    states = record(program)
    edges = [n for n, s in states.items() if s.dtype == bug.dtype and s.rank > 1 and s.numel > 1]
    for edge in rng.sample(edges, len(edges)):
        made, last = program, edge
        for k, (op, copies, attrs) in enumerate(bug.nodes):
            node = Node(f"bug{k}", op, (last,) * copies, tuple(attrs.items()))
            made, last = replace(made, nodes=(*made.nodes, node)), node.name
        if _states(made) is not None:
            yield replace(made, outputs=(*made.outputs, last)), last


def _states(program: Program) -> States | None:
    try:
        return record(program, guard)
    except Refused:
        return None


def _grown(program: Program, rng: Random, size: int, kept: tuple[str, ...]) -> Program:
    """With drawn operators up to `size` nodes; what nobody uses is returned, and used rather than more."""
    states = record(program)
    operators = list(OPERATORS.values())
    for _ in range(TRIES):
        k = len(program.nodes)
        if k >= size:
            break
        late = [*program.nodes, *program.inputs][-6:] if len(program.outputs) < MOST_OUTPUTS else ()
        edge = rng.choice([*program.outputs, *(tensor.name for tensor in late), *kept])
        if states[edge].numel > MOST_ELEMENTS:
            continue
        found = applied(rng, rng.choice(operators), f"n{k}", edge, states[edge], f"p{k}_")
        if found is None:
            continue
        node, partners = found
        unused = [o for o in program.outputs if o not in node.args or o in kept]
        bigger = replace(
            program,
            inputs=(*program.inputs, *partners),
            nodes=(*program.nodes, node),
            outputs=(*unused, node.name),
        )
        if len(bigger.outputs) <= MOST_OUTPUTS and (seen := _states(bigger)) is not None:
            program, states = bigger, seen
    return program
