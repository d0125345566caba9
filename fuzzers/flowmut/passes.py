"""The shrinking passes: plain functions from a case to the cases it might become.

Invariant: a pass only proposes; it may propose what is larger, illegal or without the claim, which the
gate in `shrink` refuses. Where a pass has several proposals, those that take most away come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.claim import Claim
from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.program import Input, Program
from fuzzers.flowmut.window import input_like, writes

READABLE = 8
"""Elements that a person reads at a glance; tensors up to this may be given by literal values."""


@dataclass(frozen=True)
class Case:
    """A program, what is claimed of it, the states of its edges and the values of small ones. `hints` are
    the operators of known findings."""

    program: Program
    claim: Claim
    states: dict[str, EdgeState] = field(default_factory=dict)
    values: dict[str, tuple[float, ...]] = field(default_factory=dict)
    hints: tuple[tuple[str, ...], ...] = ()

    def but(self, program: Program, claim: Claim | None = None) -> Case:
        """The same with another program."""
        return replace(self, program=program, claim=claim or self.claim)


Pass: TypeAlias = Callable[[Case], Iterator[Case]]


def _places(program: Program, where: str) -> list[str]:
    """What `index` counts, by name."""
    if where == "output":
        return [f"output {k}" for k in range(len(program.outputs))]
    wanted = program.inputs if where == "input" else [i for i in program.inputs if i.requires_grad]
    return [i.name for i in wanted]


def carried(claim: Claim, old: Program, new: Program) -> Claim | None:
    """The claim on `old` as one on `new`, whose outputs stand at the same places; None when what it is
    about is gone."""

    def moved(where: str, index: int) -> int | None:
        before, after = _places(old, where), _places(new, where)
        if not 0 <= index < len(before) or before[index] not in after:
            return None
        return after.index(before[index])

    if claim.aspect in ANYWHERE:
        return claim
    index = moved(claim.where, claim.index)
    if index is None:
        return None
    pair = []
    for side in claim.pair if claim.aspect == "aliasing" else ():
        where, number = side.split()
        if (place := moved(where, int(number))) is None:
            return None
        pair.append(f"{where} {place}")
    return replace(claim, index=index, pair=(pair[0], pair[1]) if pair else claim.pair)


ANYWHERE = ("outcome", "structure")
"""Aspects of a claim that is about the call rather than about one tensor."""


def _claimed_outputs(case: Case) -> list[int]:
    """Positions of the outputs that the claim is about."""
    if case.claim.aspect in ANYWHERE:
        return []
    if case.claim.aspect == "aliasing":
        return sorted({int(s.split()[1]) for s in case.claim.pair if s.startswith("output")})
    if case.claim.where == "output" and 0 <= case.claim.index < len(case.program.outputs):
        return [case.claim.index]
    return []


def keep_outputs(case: Case, kept: Sequence[int]) -> Case | None:
    """Only these outputs; None when the claim is about another one."""
    kept = sorted(set(kept))
    if not kept or not set(_claimed_outputs(case)) <= set(kept):
        return None
    claim = case.claim
    if claim.where == "output":
        claim = replace(claim, index=0 if claim.aspect in ANYWHERE else kept.index(claim.index))
    if claim.aspect == "aliasing":
        places = [(s.split()[0], int(s.split()[1])) for s in claim.pair]
        first, second = (f"{w} {kept.index(k) if w == 'output' else k}" for w, k in places)
        claim = replace(claim, pair=(first, second))
    outputs = tuple(case.program.outputs[k] for k in kept)
    return case.but(replace(case.program, outputs=outputs), claim)


def only_claimed(case: Case) -> Iterator[Case]:
    """No output but what is claimed; where none is, no output, or each one alone."""
    claimed = _claimed_outputs(case)
    if case.claim.where == "input":
        yield case.but(replace(case.program, outputs=()))
    for kept in [claimed] if claimed else [[k] for k in range(len(case.program.outputs))]:
        if (found := keep_outputs(case, kept)) is not None:
            yield found


def drop_outputs(case: Case) -> Iterator[Case]:
    """Without each output."""
    count = len(case.program.outputs)
    for gone in range(count):
        if (found := keep_outputs(case, [k for k in range(count) if k != gone])) is not None:
            yield found


def early_outputs(case: Case) -> Iterator[Case]:
    """An earlier node is returned instead of the claimed output: the middle one first, then the middle of
    what is left on either side, so that a bug is found by halving."""
    for place in _claimed_outputs(case)[:1] or range(len(case.program.outputs))[:1]:
        above = rewrite.ancestors(case.program, [case.program.outputs[place]])
        earlier = [n.name for n in case.program.nodes if n.name in above][:-1]
        for k in halving(len(earlier)):
            outputs = list(case.program.outputs)
            outputs[place] = earlier[k]
            yield case.but(replace(case.program, outputs=tuple(outputs)))


def halving(count: int) -> Iterator[int]:
    """0 to `count` - 1, middles of the widest gaps first, the later gap before the earlier one."""
    gaps = [(0, count)]
    for low, high in gaps:
        if low < high:
            middle = (low + high) // 2
            yield middle
            gaps += [(middle + 1, high), (low, middle)]


def about_one_output(case: Case) -> bool:
    """Whether the claim can be made of another node's result: it is about the call or about one output."""
    return case.claim.aspect in ANYWHERE or (
        case.claim.where == "output" and case.claim.aspect not in ("aliasing", "mutation")
    )


def as_input(case: Case, name: str) -> Input:
    """The edge as an input: its values where they are few, else its recorded state."""
    if name in case.values:
        return _literal(case, name)
    return input_like(name, case.states[name])


def _as_inputs(case: Case, gone: Sequence[str]) -> Case:
    """These nodes become inputs with their recorded states."""
    program = case.program
    for name in gone:
        program = rewrite.cut_node(program, name, input_like(name, case.states[name]))
    return case.but(program)


def cut_prefixes(case: Case) -> Iterator[Case]:
    """The first nodes become inputs: all but one, half, a quarter."""
    nodes = case.program.nodes
    count = len(nodes)
    for upto in dict.fromkeys((count - 1, count - 2, count // 2, count // 4)):
        gone = [n.name for n in nodes[:upto]]
        if upto > 0 and all(name in case.states for name in gone):
            yield _as_inputs(case, gone)


def drop_halves(case: Case) -> Iterator[Case]:
    """Half of the nodes, then quarters, go: whoever used them uses their first argument."""
    nodes = case.program.nodes
    size = len(nodes) // 2
    while size > 1:
        for start in range(0, len(nodes), size):
            program = case.program
            for node in reversed(nodes[start : start + size]):
                program = rewrite.drop_node(program, node.name, node.args[0])
            yield case.but(program)
        size //= 2


def drop_writes(case: Case) -> Iterator[Case]:
    """Without each write in place."""
    for node in case.program.nodes:
        if writes(node):
            yield case.but(rewrite.drop_node(case.program, node.name, node.args[0]))


def bypass_nodes(case: Case) -> Iterator[Case]:
    """Each node goes; each of its arguments is tried in its place."""
    for node in reversed(case.program.nodes):
        for argument in dict.fromkeys(node.args):
            yield case.but(rewrite.drop_node(case.program, node.name, argument))


def cut_nodes(case: Case) -> Iterator[Case]:
    """Each node becomes an input with its recorded state, then with its recorded values."""
    for node in case.program.nodes:
        if node.name in case.states and not writes(node):
            yield _as_inputs(case, [node.name])
            if node.name in case.values:
                yield case.but(rewrite.cut_node(case.program, node.name, _literal(case, node.name)))


def _literal(case: Case, name: str) -> Input:
    state = case.states[name]
    return Input(
        name, state.shape, state.dtype, "literal", values=case.values[name], requires_grad=state.requires_grad
    )
