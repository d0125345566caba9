"""FlowMuT on MindSpore: what `fuzzers.flowmut.runtime` asks of a framework.

Invariant: there is no run without data here; a prediction is a PyNative run, which costs as little for the
small programs that are judged, and says at once what MindSpore's CPU does not take.
"""

from __future__ import annotations

from dataclasses import replace

from fuzzers.flowmut import values
from fuzzers.flowmut.edge import FLOATING
from fuzzers.flowmut.on_mindspore.bindings import BINDINGS
from fuzzers.flowmut.on_mindspore.emit import script as script
from fuzzers.flowmut.on_mindspore.observe import run, to_numpy
from fuzzers.flowmut.on_mindspore.source import plain
from fuzzers.flowmut.program import Program
from fuzzers.flowmut.rejection import Refused, Rejection
from fuzzers.flowmut.runtime import Guard, States, Values

DTYPES = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"})
"""What an input may be. bfloat16 has next to no kernels on the CPU, and numpy does not know it."""


def fitted(program: Program) -> Program:
    """Without the views of inputs: MindSpore's tensors show no strides."""
    return replace(program, inputs=tuple(map(plain, program.inputs)))


def expresses(program: Program) -> bool:
    """Whether every operator has a binding and every input a dtype."""
    return all(n.op in BINDINGS for n in program.nodes) and all(i.dtype in DTYPES for i in program.inputs)


def predict(program: Program) -> States | Rejection:
    """The states of a PyNative run, or why there is none."""
    if program.dynamic is not None:
        return Rejection("", "", "there is no dynamic setting")
    for node in program.nodes:
        if node.op not in BINDINGS:
            return Rejection(node.name, node.op, "MindSpore has no such operator")
    for given in program.inputs:
        if given.dtype not in DTYPES or given.views or not values.suits(given):
            return Rejection(given.name, "input", f"MindSpore makes no {given.dtype} like that")
    try:
        return run(program)[0]
    except Refused as refusal:
        return Rejection(refusal.node, refusal.op, refusal.reason)


def record(program: Program, guard: Guard | None) -> States:
    """The states of a PyNative run."""
    return run(program, guard)[0]


def observed(program: Program, largest: int) -> tuple[States, Values]:
    """The same, and the values of the small edges."""
    states, tensors = run(program)
    arrays = {name: to_numpy(tensor) for name, tensor in tensors.items()}
    small = {name: a for name, a in arrays.items() if 0 < a.size <= largest}
    return states, {name: tuple(map(float, a.reshape(-1))) for name, a in small.items()}


def sensitivities(program: Program) -> dict[str, float]:
    """An edge that holds floats counts as one that moves the outputs: a backward pass would be a compile."""
    floats = {i.name for i in program.inputs if i.dtype in FLOATING}
    return {name: 0.5 if name in floats else 0.0 for name in program.names()}
