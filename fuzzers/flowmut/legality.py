"""Whether a program may run: by the operators' requirements, then by a run that the framework foresees.

Invariant: predicates read states and compute on no data. What both let through and eager rejects counts
against the requirements; `guard` decides those that need values while a recorded run goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Node, Program
from fuzzers.flowmut.rejection import Rejection as Rejection
from fuzzers.flowmut.runtime import States, runtime


@dataclass(frozen=True)
class Violation:
    """One unmet requirement of one node."""

    node: str
    op: str
    requirement: str


def node_violations(node: Node, states: Sequence[EdgeState], *, soft: bool = False) -> list[Violation]:
    """The unmet requirements of one node on the states of its arguments."""
    operator = OPERATORS[node.op]
    return [
        Violation(node.name, node.op, r) for r in operator.unmet(states, operator.values(node), soft=soft)
    ]


def check_predicates(
    program: Program, states: Mapping[str, EdgeState], *, soft: bool = False
) -> list[Violation]:
    """Every unmet requirement; nodes with an argument whose state is not given are passed over."""
    return [
        violation
        for node in program.nodes
        if all(a in states for a in node.args)
        for violation in node_violations(node, [states[a] for a in node.args], soft=soft)
    ]


def guard(node: Node, states: Sequence[EdgeState]) -> str:
    """For `record.walk`: the unmet requirements of a node about to run, or nothing."""
    return ", ".join(v.requirement for v in node_violations(node, states))


def fake_run(program: Program) -> States | Rejection:
    """States of every edge as the framework foresees them, or why the program does not run."""
    return runtime().predict(program)
