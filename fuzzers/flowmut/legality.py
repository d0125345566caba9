"""Whether a program may run: by the operators' requirements, then by a fake run.

Invariant: nothing here computes on data. Predicates read states; the fake run executes the program on
tensors that have shapes, dtypes, strides and grad state but no storage, so a program of a few nodes costs
a few milliseconds and can neither crash nor write. What both let through and eager rejects counts against
the requirements; `guard` decides those that need values while a recorded run goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from fuzzers.flowmut import values
from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Node, Program
from fuzzers.flowmut.record import Observer, Refused, States, walk


@dataclass(frozen=True)
class Violation:
    """One unmet requirement of one node."""

    node: str
    op: str
    requirement: str


@dataclass(frozen=True)
class Rejection:
    """A fake run stopped: at this node, for this reason."""

    node: str
    op: str
    reason: str


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
    """States of every edge without profiles, or why the program does not run."""
    for given in program.inputs:
        if not values.suits(given):
            return Rejection(given.name, "input", f"{given.fill} cannot draw {given.dtype}")
    observer = Observer(profiles=False)
    with _quiet(), FakeTensorMode():
        inputs = [_fake(values.state_of(given)) for given in program.inputs]
        try:
            walk(program, inputs, observer)
        except Refused as refusal:
            return Rejection(refusal.node, refusal.op, refusal.reason)
    return observer.states


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the traceback that the framework logs at each rejection: here that is an answer."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _fake(state: EdgeState) -> torch.Tensor:
    """A tensor in that state; without data under the fake mode."""
    span = 1 + sum((size - 1) * stride for size, stride in zip(state.shape, state.strides, strict=True))
    base = torch.empty(state.offset + (span if state.numel else 0), dtype=getattr(torch, state.dtype))
    view = base.as_strided(state.shape, state.strides, state.offset)
    return view.requires_grad_(state.requires_grad)
