"""Proposing the next candidate: a chosen mutation at a site, and whether what it makes may run.

Invariant: every rejection is counted under what rejected it, and nothing is returned but programs that
passed predicates, a fake run and a guarded eager run, in that order, cheapest first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.chooser import Chooser
from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.legality import Rejection, check_predicates, fake_run, node_violations
from fuzzers.flowmut.program import Node, Program
from fuzzers.flowmut.rejection import Refused
from fuzzers.flowmut.runtime import States, runtime
from fuzzers.flowmut.values import state_of, suits
from fuzzers.flowmut.window import window, writes

LARGEST = 12
"""Nodes beyond which a program is cut to a window again."""

MOST_OUTPUTS = 6
"""Outputs beyond which the last ones are no longer returned: each one may cost a kernel."""

MOST_ELEMENTS = 1 << 16
"""Elements of any one edge: running must stay far below the cost of compiling."""


@dataclass(frozen=True)
class Mutant:
    """A legal program, the states of its edges, and the name of the mutation that made it."""

    program: Program
    states: States
    name: str


def propose(
    base: Program, states: States, rng: Random, counts: Counter[str], chooser: Chooser
) -> Mutant | None:
    """One chosen mutation at one site of `base`; None when it does not apply or is not legal."""
    drawn = chooser.draw(base, states, rng)
    made = drawn.mutation.apply(drawn.site, rng) if drawn else None
    if drawn is None or made is None or made == base:
        counts["inapplicable"] += 1
        return None
    program = bounded(tidy(made), rng)
    counts["proposed"] += 1
    judged = judge(program, counts)
    chooser.note(drawn, legal=judged is not None)
    return Mutant(program, judged, drawn.mutation.name) if judged is not None else None


def tidy(program: Program) -> Program:
    """Without dead code, with canonical names, each output once."""
    outputs = tuple(dict.fromkeys(program.outputs))
    return rewrite.canonical(rewrite.prune(replace(program, outputs=outputs), writes))


def bounded(program: Program, rng: Random) -> Program:
    """Few outputs; a window of a program that has too many nodes."""
    program = tidy(replace(program, outputs=program.outputs[:MOST_OUTPUTS]))
    if len(program.nodes) <= LARGEST:
        return program
    states = fake_run(program)
    if isinstance(states, Rejection):
        return program
    site = rng.choice(program.nodes).name
    return bounded(tidy(window(program, site, states)), rng)


def judge(program: Program, counts: Counter[str]) -> States | None:
    """The recorded states of a program that may run, else None, with the reason counted."""
    if not program.nodes or not program.outputs or not all(map(suits, program.inputs)):
        counts["predicate_rejects"] += 1
        return None
    given = {i.name: state_of(i) for i in program.inputs}
    if check_predicates(program, given):
        counts["predicate_rejects"] += 1
        return None
    predicted = fake_run(program)
    if isinstance(predicted, Rejection):
        counts["fake_rejects"] += 1
        return None
    if check_predicates(program, {**predicted, **given}) or _too_large(predicted):
        counts["predicate_rejects"] += 1
        return None
    try:
        return runtime().record(program, _ordinary)
    except Refused as refusal:
        # The framework's own rejection is chained; a predicate's that needed values is not.
        counts["eager_rejects" if refusal.__cause__ else "predicate_rejects"] += 1
        return None


def _too_large(states: States) -> bool:
    return any(math.prod(s.shape) > MOST_ELEMENTS for s in states.values())


def _ordinary(node: Node, states: Sequence[EdgeState]) -> str:
    """Unmet requirements of a node about to run, those that keep values ordinary included."""
    return ", ".join(v.requirement for v in node_violations(node, states, soft=True))
