"""What a forward did to the device, as plain records: buffers, then steps in their order, then outputs.

Invariant: every tensor is a view into a numbered buffer, and a buffer's contents before the first step follow
from its origin alone; so the steps can be done again on any values of the given buffers, as far as the host
took no decision on them (`Recorded.decisions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Array = Any
"""A numpy array; mypy takes everything of numpy as Any."""
Three = tuple[int, int, int]
Plain = Any
"""None, bool, int, float, str (a dtype: "float32"), View, Scalar, or a tuple of those."""


class Origin(StrEnum):
    """Where a buffer's first contents come from."""

    ARGUMENT = "argument"
    """A tensor among get_inputs()."""
    PARAMETER = "parameter"
    """A parameter of ModelNew."""
    BUFFER = "buffer"
    """A registered buffer of ModelNew."""
    CONSTANT = "constant"
    """A tensor that ModelNew or the module made by itself, of known values."""
    EMPTY = "empty"
    """Nobody wrote it: torch.empty, cudaMalloc."""
    RESULT = "result"
    """An operator's result: the `Operator` step that has it as a result writes all of it."""


@dataclass(frozen=True)
class Buffer:
    """One allocation. `elements` of `dtype` ("float32", numpy's names; "bfloat16").

    `name` is "inputs[0]" for an argument (numbered over the tensors of get_inputs(), flattened), the name in
    ModelNew's state_dict() for a parameter or a buffer. `reference` is the name of the same tensor in the
    reference (`reference.Input.name`), empty where none is the same; matched by name and shape, or else by
    equal values. `values` are the flat contents (bfloat16 as uint16) of what is given; None for EMPTY and
    RESULT and for float arguments, whose values no draw decides.
    """

    number: int
    origin: Origin
    dtype: str
    elements: int
    name: str = ""
    reference: str = ""
    values: Array | None = None


@dataclass(frozen=True)
class View:
    """A tensor: the element at a multi-index lies at `offset + sum(index * stride)` elements of `dtype` in
    the buffer. `dtype` may differ from the buffer's (view as another type)."""

    buffer: int
    dtype: str
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Pointer:
    """A device address: `offset` bytes into a buffer; buffer -1 is the null pointer."""

    buffer: int
    offset: int = 0


@dataclass(frozen=True)
class Symbol:
    """The address of a `__constant__` or `__device__` variable of a source."""

    source: int
    name: str
    offset: int = 0


@dataclass(frozen=True)
class Scalar:
    """A number as the kernel gets it: C++ type ("float", "int", "long", "__half", ...) and value.

    `element` is set where the value was read out of tensor data (`.item()`): then the value is that element,
    converted. A value computed from such an element on the host is refused (`unknown: host: data`).
    """

    type: str
    value: float
    element: View | None = None


@dataclass(frozen=True)
class Struct:
    """An aggregate passed by value: members in order. Laid out by C's rules (`execution.packed`)."""

    type: str
    members: tuple[Any, ...]


Argument = Scalar | Pointer | Symbol | Struct


@dataclass(frozen=True)
class Launch:
    """kernel<<<grid, block, shared>>>(arguments). `kernel` is the name expression ("softmax<float, 4>"),
    `line` the launch's line in the source (`Source.line` is added to get the line of the file)."""

    source: int
    kernel: str
    grid: Three
    block: Three
    shared: int
    arguments: tuple[Argument, ...]
    line: int


@dataclass(frozen=True)
class Operator:
    """An ATen operator ("aten.sum.dim_IntList") that ran between launches. Arguments by name, defaults filled
    in; what it writes (new tensors, and tensors it changes in place) is `results`, in the schema's order."""

    name: str
    arguments: Mapping[str, Plain]
    results: tuple[View, ...]


@dataclass(frozen=True)
class Fill:
    """Every element of a view becomes `value` (zeros, ones, full, zero_, fill_, cudaMemset)."""

    view: View
    value: float


@dataclass(frozen=True)
class Copy:
    """`size` bytes from one place to another: cudaMemcpy*, cudaMemcpyToSymbol. `data` where they come from
    the host, `source` where from the device."""

    target: Pointer | Symbol
    size: int
    source: Pointer | Symbol | None = None
    data: bytes = b""


Step = Launch | Operator | Fill | Copy


@dataclass(frozen=True)
class Source:
    """A CUDA source that was built: its text, the nvcc flags that change device code, and the 0-based line of
    the pair's file on which it starts (-1: it was put together at run time)."""

    text: str
    flags: tuple[str, ...] = ()
    line: int = -1


@dataclass(frozen=True)
class Recorded:
    """One forward. `outputs` are the returned tensors, flattened; `decisions` are the host's decisions on
    tensor data, in words with their line: with one of them the steps hold only for values that decide alike.
    `training` is ModelNew's mode."""

    sources: tuple[Source, ...]
    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    outputs: tuple[View, ...]
    decisions: tuple[str, ...] = ()
    training: bool = True

    def kernel_launches(self) -> tuple[Launch, ...]:
        """Only the launches; empty where forward reaches no kernel."""
        return tuple(step for step in self.steps if isinstance(step, Launch))
