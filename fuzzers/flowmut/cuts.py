"""The shrinking passes that start small: a few neighbouring nodes, fed with what was recorded at their edges.

Invariant: as in `passes`, a pass only proposes. A window has one sink, which is returned in place of the
claimed output, and those of its nodes that feed the sink; so it needs no other node to be right or wrong. The
reason for trying them before taking nodes away: compiling a large program costs tens of small ones, and most
bugs are two or three neighbouring nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from fuzzers.flowmut.passes import ANYWHERE, Case, about_one_output, as_input
from fuzzers.flowmut.program import Node, Program

WIDTHS = (6, 4, 12, 24)
"""Nodes of a window: first as many as one kernel has, then fewer, where what comes after a bug may hide it,
then more."""

LARGEST_HINT = 8
"""Nodes of a window that a hint may ask for: findings are smaller."""


def windows(case: Case) -> Iterator[Case]:
    """Windows of every width, those nearest to the claimed output first. The first, and the wide ones, are
    as few as have every edge inside one of them; then every node is a sink."""
    if not about_one_output(case) or not case.states:
        return
    sinks = _nearest_first(case)
    for width in WIDTHS:
        if width >= len(case.program.nodes):
            continue
        covered: set[tuple[str, str]] = set()
        for sink in sinks:
            chosen = _feeding(case.program, sink, width)
            inside = _edges(case.program, chosen) or {(sink, sink)}
            if width == min(WIDTHS) or not inside <= covered:
                covered |= inside
                yield cut_out(case, chosen, sink)


def hinted(case: Case) -> Iterator[Case]:
    """Neighbouring nodes with just the operators of a known finding: most suspects show one."""
    if not about_one_output(case) or not case.states:
        return
    for operators in case.hints:
        for sink in _nearest_first(case):
            chosen = _feeding(case.program, sink, LARGEST_HINT, operators)
            if {n.op for n in case.program.nodes if n.name in chosen} == set(operators):
                yield cut_out(case, chosen, sink)


def cut_out(case: Case, chosen: Collection[str], sink: str) -> Case:
    """These nodes alone, the sink returned and claimed, what they need given as it was recorded."""
    program = case.program
    nodes = tuple(n for n in program.nodes if n.name in chosen)
    needed = {a for n in nodes for a in n.args} - {n.name for n in nodes}
    inputs = tuple(
        next((i for i in program.inputs if i.name == name), None) or as_input(case, name)
        for name in program.names()
        if name in needed
    )
    made = replace(program, inputs=inputs, nodes=nodes, outputs=(sink,))
    return case.but(made, replace(case.claim, where="output", index=0))


def _nearest_first(case: Case) -> list[str]:
    """Every node that the claimed output is computed from, breadth first from there; all nodes, the last
    ones first, where the claim is about the call."""
    program = case.program
    by_name = {n.name: n for n in program.nodes}
    if case.claim.aspect in ANYWHERE or not program.outputs:
        return [n.name for n in reversed(program.nodes)]
    return _breadth_first(by_name, program.outputs[case.claim.index], len(by_name), None)


def _feeding(program: Program, sink: str, width: int, operators: Sequence[str] | None = None) -> list[str]:
    """The sink and the nodes nearest above it, `width` in all; only those of some operators, if given."""
    return _breadth_first({n.name: n for n in program.nodes}, sink, width, operators)


def _breadth_first(
    by_name: dict[str, Node], start: str, most: int, operators: Sequence[str] | None
) -> list[str]:
    found: dict[str, None] = {}
    waiting = [start]
    while waiting and len(found) < most:
        name = waiting.pop(0)
        node = by_name.get(name)
        if node is None or name in found or (operators is not None and node.op not in operators):
            continue
        found[name] = None
        waiting += node.args
    return list(found)


def _edges(program: Program, chosen: Collection[str]) -> set[tuple[str, str]]:
    """Edges between two of the chosen nodes."""
    return {(a, n.name) for n in program.nodes if n.name in chosen for a in n.args if a in chosen}
