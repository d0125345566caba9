"""Doing again what was recorded, on real numbers: kernels on the SIMT interpreter, operators by torch.

Invariant: kernels and operators share the memory of one device, in the order of the recording; what a launch
does wrong is in its run.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from fuzzers.dirigo import nvrtc, prelude, slicing
from fuzzers.dirigo.host.records import (
    Argument,
    Array,
    Buffer,
    Copy,
    Fill,
    Launch,
    Operator,
    Origin,
    Pointer,
    Recorded,
    Scalar,
    Struct,
    Symbol,
    View,
)
from fuzzers.dirigo.host.runtime import packed as packed_number
from fuzzers.dirigo.host.scalars import SPELLED, Number, convert
from fuzzers.dirigo.ptx import parser
from fuzzers.dirigo.ptx.operands import Unreadable
from fuzzers.dirigo.simt import launch
from fuzzers.dirigo.simt.events import Stopped, Unknown
from fuzzers.dirigo.simt.launch import SECONDS, STEPS, Device, Run
from fuzzers.dirigo.simt.program import Program, program
from fuzzers.dirigo.simt.tape import Full


@dataclass(frozen=True)
class Kernels:
    """The programs of what was launched, by source and name expression."""

    programs: Mapping[tuple[int, str], Program]

    def of(self, step: Launch) -> Program:
        return self.programs[step.source, step.kernel]

    def variable(self, source: int, name: str) -> tuple[Program, str] | None:
        """A program that has a device variable, and the variable's name in PTX; None where no kernel uses
        it."""
        for (number, _), found in self.programs.items():
            for own in found.globals if number == source else ():
                if own == name or f"{len(name)}{name}" in own:
                    return found, own
        return None


@dataclass
class Executed:
    """What came of it: the device's buffers in the order of the recording, a run for each launch, and the
    outputs (arrays in the outputs' shapes; bfloat16 as float32)."""

    buffers: list[launch.Buffer] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    outputs: tuple[Array, ...] = ()


def compiled(recorded: Recorded) -> Kernels | Stopped:
    """Compile the kernels that were launched. Reasons begin with "compile:" or "instruction:"."""
    programs: dict[tuple[int, str], Program] = {}
    for number, source in enumerate(recorded.sources):
        names = sorted({s.kernel for s in recorded.kernel_launches() if s.source == number})
        if not names:
            continue
        sliced = slicing.slice_device(source.text)
        text = prelude.text(" ".join([sliced.device, *names]), sliced.includes)
        found = nvrtc.compile_device(sliced.device, names, prelude=text, flags=source.flags)
        if isinstance(found, nvrtc.Refused):
            first = found.messages[0]
            return Stopped(f"compile: line {first.line}: {first.text}")
        try:
            module = parser.parse(found.ptx)
            made = {name: program(module, found.entries[name]) for name in names}
        except (Unknown, Unreadable) as why:
            return Stopped(str(why))
        shared = {key: value for one in made.values() for key, value in one.globals.items()}
        for name, one in made.items():
            one.globals = shared
            programs[number, name] = one
    return Kernels(programs)


def execute(
    recorded: Recorded,
    device: Device,
    values: Mapping[str, Array],
    *,
    kernels: Kernels | None = None,
    reverse: bool = False,
    symbolic: bool = False,
    steps: int = STEPS,
    seconds: float = SECONDS,
) -> Executed | Stopped:
    """Run every step on `device`. `values` are flat storages by the names of given buffers (`Buffer.name`);
    what is not in them has its own values. The first launch that stops is the answer.

    `symbolic`: floats in `values` are numbers on the device's tape. Then the host may move none of them:
    Stopped where an operator, or a copy, works on such data between launches."""
    programs = compiled(recorded) if kernels is None else kernels
    if isinstance(programs, Stopped):
        return programs
    run = Execution(recorded, device, programs, symbolic)
    try:
        for buffer in recorded.buffers:
            run.place(buffer, values)
        for step in recorded.steps:
            stopped = run.do(step, reverse, steps, seconds)
            if stopped is not None:
                return stopped
        run.done.outputs = tuple(_as_array(run.tensor(view)) for view in recorded.outputs)
    except (Unknown, Full) as why:
        return Stopped(str(why))
    return run.done


def _as_array(tensor: torch.Tensor) -> Array:
    plain = tensor.float() if tensor.dtype == torch.bfloat16 else tensor
    return plain.contiguous().numpy().copy()


class Execution:
    """Where an execution stands."""

    def __init__(self, recorded: Recorded, device: Device, kernels: Kernels, symbolic: bool) -> None:
        self.recorded, self.device, self.kernels = recorded, device, kernels
        self.symbolic = symbolic
        self.done = Executed()

    def place(self, buffer: Buffer, values: Mapping[str, Array]) -> None:
        """Memory for a buffer, with what it holds at first."""
        dtype = "uint16" if buffer.dtype == "bfloat16" else buffer.dtype
        given = values.get(buffer.name) if buffer.name else None
        is_number = self.symbolic and given is not None and dtype.startswith("float")
        if given is None:
            given = buffer.values
        name = buffer.name or f"buffer {buffer.number}"
        if buffer.origin in (Origin.EMPTY, Origin.RESULT):
            made = self.device.empty(buffer.elements, dtype, name=name)
        elif given is None:
            raise Unknown(f"values: {name} has none")
        else:
            made = self.device.input(
                np.asarray(given).astype(dtype, copy=False), name=name, symbolic=is_number
            )
        self.done.buffers.append(made)

    def do(self, step: Any, reverse: bool, steps: int, seconds: float) -> Stopped | None:
        if isinstance(step, Launch):
            return self.launch(step, reverse, steps, seconds)
        DO[type(step)](self, step)
        return None

    def launch(self, step: Launch, reverse: bool, steps: int, seconds: float) -> Stopped | None:
        """One launch, its run noted."""
        arguments = [self.packed(one) for one in step.arguments]
        run = self.device.launch(
            self.kernels.of(step),
            step.grid,
            step.block,
            arguments,
            shared=step.shared,
            reverse=reverse,
            steps=steps,
            seconds=seconds,
        )
        self.done.runs.append(run)
        return run.stopped

    def packed(self, argument: Argument) -> bytes:
        """An argument's bytes, as the kernel reads them."""
        return PACK[type(argument)](self, argument)

    def _scalar(self, argument: Scalar) -> bytes:
        value = argument.value
        if argument.element is not None:
            self._moved(argument.element.buffer, "a number read from a tensor")
            value = self.tensor(argument.element).reshape(-1)[0].item()
        return packed_number(convert(Number(SPELLED["double"], value), SPELLED[argument.type]))

    def _pointer(self, argument: Pointer) -> bytes:
        if argument.buffer < 0:
            return bytes(8)
        return struct.pack("<q", self.done.buffers[argument.buffer].address + argument.offset)

    def _symbol(self, argument: Symbol) -> bytes:
        found = self.kernels.variable(argument.source, argument.name)
        if found is None:
            raise Unknown(f"host: the address of {argument.name}, which no kernel uses")
        return struct.pack("<q", self.device.variable(*found).address + argument.offset)

    def _struct(self, argument: Struct) -> bytes:
        """Members one after another, each aligned to its own width, the whole to the widest."""
        found, widest = b"", 1
        for member in argument.members:
            piece = self.packed(member)
            align = _alignment(member, len(piece))
            widest = max(widest, align)
            found += bytes(-len(found) % align) + piece
        return found + bytes(-len(found) % widest)

    def tensor(self, view: View) -> torch.Tensor:
        """A tensor over the memory of a view."""
        data = torch.from_numpy(self.done.buffers[view.buffer].plane.data)
        dtype = getattr(torch, view.dtype)
        whole = data[: data.numel() - data.numel() % dtype.itemsize].view(dtype)
        return torch.as_strided(whole, view.sizes, view.strides, view.offset)

    def _moved(self, buffer: int, what: str) -> None:
        """The host is about to use what lies in a buffer. Unknown where that are numbers of the tape."""
        if not self.done.buffers[buffer].plane.is_concrete:
            raise Unknown(f"host: data: {what} between launches")

    def written(self, view: View) -> None:
        """Note that the host or an operator wrote all of a view."""
        plane = self.done.buffers[view.buffer].plane
        if not plane.is_concrete:
            if getattr(torch, view.dtype).itemsize != plane.unit:
                raise Unknown("host: data: a write as another type between launches")
            granules = torch.arange(len(plane.data) // plane.unit)
            plane.forget(
                torch.as_strided(granules, view.sizes, view.strides, view.offset).reshape(-1).numpy()
            )
        if plane.written is None:
            return
        width = getattr(torch, view.dtype).itemsize
        if width != plane.unit:
            plane.written[:] = True
            return
        torch.as_strided(torch.from_numpy(plane.written), view.sizes, view.strides, view.offset).fill_(True)

    def fill(self, step: Fill) -> None:
        self.tensor(step.view).fill_(step.value)
        self.written(step.view)

    def copy(self, step: Copy) -> None:
        """A copy of bytes; one to a variable that no kernel uses changes nothing."""
        for place in (step.source, step.target):
            if isinstance(place, Pointer):
                self._moved(place.buffer, "a copy")
        target = self._bytes(step.target, step.size)
        source = None if step.source is None else self._bytes(step.source, step.size)
        if target is None or (step.source is not None and source is None):
            return
        target[:] = np.frombuffer(step.data, np.uint8) if source is None else source
        if isinstance(step.target, Pointer):
            plane = self.done.buffers[step.target.buffer].plane
            if plane.written is not None:
                first = step.target.offset // plane.unit
                plane.written[first : first + -(-step.size // plane.unit)] = True

    def _bytes(self, place: Pointer | Symbol, size: int) -> Array | None:
        if isinstance(place, Symbol):
            found = self.kernels.variable(place.source, place.name)
            if found is None:
                return None
            data = self.device.variable(*found).plane.data
        else:
            data = self.done.buffers[place.buffer].plane.data
        piece = data[place.offset : place.offset + size]
        if piece.shape[0] < size:
            raise Unknown(f"host: a copy of {size} bytes beyond {data.shape[0]}")
        return piece

    def operator(self, step: Operator) -> None:
        """Run an ATen operator on the device's memory."""
        namespace, name, overload = step.name.split(".")
        function = getattr(getattr(getattr(torch.ops, namespace), name), overload)
        positional, named = [], {}
        for argument in function._schema.arguments:
            if argument.name not in step.arguments:
                continue
            value = self._given(step.arguments[argument.name], argument.name)
            if argument.kwarg_only:
                named[argument.name] = value
            else:
                positional.append(value)
        with torch.no_grad():
            found = function(*positional, **named)
        if not any(a.alias_info is not None and a.alias_info.is_write for a in function._schema.arguments):
            made = found if isinstance(found, list | tuple) else [found]
            tensors = [one for one in made if isinstance(one, torch.Tensor)]
            for view, tensor in zip(step.results, tensors, strict=False):
                self.tensor(view).copy_(tensor)
        for view in step.results:
            self.written(view)

    def _given(self, value: Any, name: str) -> Any:
        if isinstance(value, View):
            self._moved(value.buffer, "an operator")
            return self.tensor(value)
        if isinstance(value, tuple):
            return [self._given(one, name) for one in value]
        if isinstance(value, str) and ("dtype" in name or "memory_format" in name):
            return getattr(torch, value)
        return value


def _alignment(member: Argument, size: int) -> int:
    if isinstance(member, Struct):
        return max([1, *(_alignment(one, 8) for one in member.members)])
    return min(size, 8) if not isinstance(member, Scalar) else SPELLED[member.type].size


DO: Mapping[type, Callable[[Execution, Any], None]] = {
    Fill: Execution.fill,
    Copy: Execution.copy,
    Operator: Execution.operator,
}
PACK: Mapping[type, Callable[[Execution, Any], bytes]] = {
    Scalar: Execution._scalar,
    Pointer: Execution._pointer,
    Symbol: Execution._symbol,
    Struct: Execution._struct,
}
