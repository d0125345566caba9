"""A traced reference: plain records of ATen calls, with nothing of torch in them.

Invariant: an argument of a call is a number, a string, a sequence of such, or a `Ref` to an older value, so
that a graph can be read, compared and evaluated without asking a framework what it means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Array = Any
"""A numpy array; mypy takes everything of numpy as Any."""
Shape = tuple[int, ...]

TYPES: Mapping[str, str] = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "s64",
    "int32": "s32",
    "int16": "s16",
    "int8": "s8",
    "uint8": "u8",
    "bool": "pred",
}
"""A tensor's dtype to the type that its elements have on the tape."""
FLOATS = frozenset({"f64", "f32", "f16", "bf16"})
HALVES = frozenset({"f16", "bf16"})
MOST_AXES = 64


class Kind(StrEnum):
    """Where an input of the graph comes from."""

    ARGUMENT = "argument"
    PARAMETER = "parameter"
    BUFFER = "buffer"


@dataclass(frozen=True)
class Layout:
    """A tensor's type (of the tape), shape, and strides in elements."""

    type: str
    shape: Shape
    strides: Shape

    @property
    def count(self) -> int:
        """Its elements."""
        found = 1
        for size in self.shape:
            found *= size
        return found


@dataclass(frozen=True)
class Input:
    """An input tensor: a tensor among get_inputs(), a parameter or a buffer.

    `name` is "inputs[0]" for an argument and the name in state_dict() otherwise. The element at a multi-index
    lies at `offset + sum(index * stride)` in a storage of `elements` elements.
    """

    name: str
    kind: Kind
    layout: Layout
    offset: int
    elements: int

    @property
    def is_symbolic(self) -> bool:
        """Floats are symbolic, integers and truth values concrete."""
        return self.layout.type in FLOATS


@dataclass(frozen=True)
class Ref:
    """Output `output` of node `node` of the graph."""

    node: int
    output: int = 0


Argument = Any
"""None, bool, int, float, str (a dtype, say), Ref, or a tuple of those."""


@dataclass(frozen=True)
class Call:
    """One node: an operator's name ("aten.add.Tensor"), its arguments by name with defaults filled in, and
    the layouts of its outputs (None where an output is no tensor). An operator of "input" has the input's
    number as `number`, one of "constant" the number among the constants."""

    operator: str
    arguments: Mapping[str, Argument]
    outputs: tuple[Layout | None, ...]
    number: int = -1


@dataclass(frozen=True)
class Traced:
    """A reference model at one shape.

    `calls` are in order; `outputs` are the tensors that forward returns, flattened. `initial[i]` is the flat
    storage of `inputs[i]` as the model and get_inputs() made it: of every parameter and buffer, and of
    integer arguments; None for a float argument, whose values no draw decides. bfloat16 is held as uint16
    bits.
    """

    source: str
    inputs: tuple[Input, ...]
    constants: tuple[Array, ...]
    calls: tuple[Call, ...]
    outputs: tuple[Ref, ...]
    initial: tuple[Array | None, ...]

    def layout(self, ref: Ref) -> Layout:
        found = self.calls[ref.node].outputs[ref.output]
        assert found is not None, ref
        return found

    def output_layouts(self) -> tuple[Layout, ...]:
        return tuple(self.layout(ref) for ref in self.outputs)

    def operators(self) -> Sequence[str]:
        """The names of the operators called, each once, in order."""
        return list(dict.fromkeys(call.operator for call in self.calls if call.number < 0))
