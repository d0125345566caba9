"""The seam between the neutral program and the framework that runs it.

Invariant: whatever mutates, judges or shrinks a program asks here how it runs, and imports no framework; a
framework is one module with the functions of `Runtime`. The one in use is that of the process
(`fuzzers.framework`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Protocol, TypeAlias, cast

from fuzzers import framework
from fuzzers.flowmut.claim import Claim
from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.program import Node, Program
from fuzzers.flowmut.rejection import Rejection

States: TypeAlias = dict[str, EdgeState]
Values: TypeAlias = dict[str, tuple[float, ...]]
Guard: TypeAlias = Callable[[Node, Sequence[EdgeState]], str]

MODULES = {"torch": "fuzzers.flowmut.on_torch", "mindspore": "fuzzers.flowmut.on_mindspore.running"}


class Runtime(Protocol):
    """What a framework does for FlowMuT."""

    def fitted(self, program: Program) -> Program:
        """The program with what the framework cannot express left out of its inputs."""

    def expresses(self, program: Program) -> bool:
        """Whether it has every operator."""

    def predict(self, program: Program) -> States | Rejection:
        """States of every edge as far as they can be had without the oracle, or why the program does not
        run. Where it costs data, profiles may be there."""

    def record(self, program: Program, guard: Guard | None) -> States:
        """The states of an eager run. `fuzzers.flowmut.rejection.Refused`."""

    def observed(self, program: Program, largest: int) -> tuple[States, Values]:
        """The states of an eager run, and the values of edges of at most `largest` elements. Refused."""

    def sensitivities(self, program: Program) -> dict[str, float]:
        """How much the outputs move with each edge, 0 where that cannot be had."""

    def script(self, program: Program, claim: Claim) -> str:
        """The reproducer."""


@cache
def runtime() -> Runtime:
    """This process's."""
    return cast(Runtime, import_module(MODULES[framework.name()]))
