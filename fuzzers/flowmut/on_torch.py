"""FlowMuT on torch: fake runs, recorded runs, sensitivities, reproducers (`fuzzers.flowmut.runtime`).

Invariant: a fake run executes the program on tensors that have shapes, dtypes, strides and grad state but no
storage, so a program of a few nodes costs a few milliseconds and can neither crash nor write.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from fuzzers.flowmut import values
from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.emit import script as script
from fuzzers.flowmut.program import Program
from fuzzers.flowmut.record import Observer, walk
from fuzzers.flowmut.record import record as record
from fuzzers.flowmut.rejection import Refused, Rejection
from fuzzers.flowmut.runtime import States, Values
from fuzzers.flowmut.sensitivity import sensitivities as sensitivities
from fuzzers.flowmut.source import build


def fitted(program: Program) -> Program:
    """As it is: torch expresses all of it."""
    return program


def expresses(program: Program) -> bool:
    """Every operator has a torch template."""
    return True


def predict(program: Program) -> States | Rejection:
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


def observed(program: Program, largest: int) -> tuple[States, Values]:
    """The states of an eager run, and the values of the small edges."""
    observer = Observer(profiles=True)
    tensors = walk(program, build(program)[1](), observer)
    small = {n: t for n, t in tensors.items() if 0 < t.numel() <= largest}
    return observer.states, {n: tuple(t.detach().reshape(-1).double().tolist()) for n, t in small.items()}


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
