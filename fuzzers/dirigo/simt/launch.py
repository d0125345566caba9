"""Launching kernels: buffers, arguments, a run and what came of it.

Invariant: launches of one `Device` share its buffers and its tape, in order, as those of one CUDA stream do;
what a launch did wrong is in its `Run`. A run that stopped for a reason of ours says so and leaves the device
unusable.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from fuzzers.dirigo.ptx.model import Symbol, Variable
from fuzzers.dirigo.simt.assemble import register_type
from fuzzers.dirigo.simt.events import Event, Stopped, Unknown
from fuzzers.dirigo.simt.lanes import WARP, Decision, Lanes, Three
from fuzzers.dirigo.simt.memory import SPREAD, Memory, Window
from fuzzers.dirigo.simt.plane import UNSIGNED, Plane
from fuzzers.dirigo.simt.program import Program
from fuzzers.dirigo.simt.schedule import Schedule
from fuzzers.dirigo.simt.tape import NODES, Array, Full, Tape

STEPS = 1_000_000
SECONDS = 60.0
AXES = "xyz"
FLOAT_NAMES = {"float16": "f16", "float32": "f32", "float64": "f64"}


@dataclass(frozen=True)
class Buffer:
    """A buffer of a device: its address, its memory, and the type of its elements."""

    address: int
    plane: Plane
    dtype: np.dtype

    def numbers(self) -> Array:
        """What is in it now."""
        return self.plane.data.view(self.dtype)

    def node(self, index: int) -> int:
        """The tape node of an element; 0 where it is concrete."""
        if self.plane.nodes is not None:
            return int(self.plane.nodes[index])
        return 0 if self.plane.leaf is None else -1 - (self.plane.leaf + index)

    def is_written(self, index: int) -> bool:
        return self.plane.written is None or bool(self.plane.written[index])


@dataclass(frozen=True)
class Run:
    """One launch: events, decisions of data, instructions executed (`lane_steps`: times lanes), and why it
    stopped."""

    events: tuple[Event, ...]
    decisions: tuple[Decision, ...]
    steps: int
    lane_steps: int
    stopped: Stopped | None = None


class Device:
    """Memory and tape of a sequence of launches."""

    def __init__(self, *, limit: int = NODES) -> None:
        self.tape = Tape(limit)
        self.planes: list[Plane] = []
        self.variables: dict[tuple[int, str], tuple[int, Plane]] = {}

    def input(self, array: Array, *, name: str = "input", symbolic: bool | None = None) -> Buffer:
        """An input tensor's memory. Floats are symbolic unless said otherwise, integers concrete. Raises Full
        where a tape has no numbers for so many elements."""
        data = np.ascontiguousarray(array).reshape(-1).copy()
        if symbolic is None:
            symbolic = data.dtype.kind == "f"
        bits = data.view(UNSIGNED[data.dtype.itemsize])
        type_ = FLOAT_NAMES.get(data.dtype.name, f"b{8 * data.dtype.itemsize}")
        leaf = self.tape.add_input(type_, bits) if symbolic else None
        plane = Plane(name, data.view(np.uint8).copy(), data.dtype.itemsize, leaf=leaf)
        return self._place(plane, data.dtype)

    def zeros(self, count: int, dtype: str = "float32", *, name: str = "zeros") -> Buffer:
        kind = np.dtype(dtype)
        return self._place(Plane(name, np.zeros(count * kind.itemsize, np.uint8), kind.itemsize), kind)

    def empty(self, count: int, dtype: str = "float32", *, name: str = "empty") -> Buffer:
        """Memory that nobody has written: reading it is an event."""
        kind = np.dtype(dtype)
        data: Array = np.zeros(count * kind.itemsize, np.uint8)
        return self._place(Plane(name, data, kind.itemsize, written=False), kind)

    def _place(self, plane: Plane, dtype: np.dtype) -> Buffer:
        self.planes.append(plane)
        return Buffer(len(self.planes) << SPREAD, plane, dtype)

    def variable(self, program: Program, name: str) -> Buffer:
        """A `__constant__` or `__device__` variable of the program's module."""
        address, plane = self._variable(program, program.globals[name])
        return Buffer(address, plane, np.dtype(np.uint8))

    def _variable(self, program: Program, variable: Variable) -> tuple[int, Plane]:
        key = (id(program.globals), variable.name)
        if key not in self.variables:
            data: Array = np.zeros(max(variable.size, len(variable.initial)), np.uint8)
            data[: len(variable.initial)] = np.frombuffer(variable.initial, np.uint8)
            unit = min(variable.align, 4)
            buffer = self._place(Plane(variable.name, data, unit), np.dtype(np.uint8))
            self.variables[key] = (buffer.address, buffer.plane)
            for at, symbol in variable.pointers.items():
                to = self._variable(program, program.globals[symbol.name])[0] + symbol.offset
                data[at : at + 8] = np.frombuffer(struct.pack("<Q", to), np.uint8)
        return self.variables[key]

    def launch(
        self,
        program: Program,
        grid: Three,
        block: Three,
        arguments: Sequence[bytes],
        *,
        shared: int = 0,
        blocks: Sequence[Three] | None = None,
        reverse: bool = False,
        nodes: Mapping[int, int] | None = None,
        steps: int = STEPS,
        seconds: float = SECONDS,
    ) -> Run:
        """Run blocks of a launch together (None: all of them). `arguments` are the parameters' bytes in
        order; `nodes` gives tape nodes of arguments by position; `reverse` is the other schedule."""
        chosen = all_blocks(grid) if blocks is None else tuple(blocks)
        lanes = self._lanes(program, grid, block, chosen, shared)
        if reverse:
            lanes.reverse()
        lanes.settle()
        for plane in self.planes:
            plane.begin_launch(forgets=len(chosen) == 1, swaps=program.swaps)
        lanes.memory.shared.begin_launch(forgets=True, swaps=program.swaps)
        lanes.fenced = program.fenced
        stopped = None
        try:
            self._fill(program, lanes, arguments, nodes or {}, shared)
            Schedule(program, lanes, steps=steps, seconds=seconds).run()
        except Unknown as why:
            stopped = Stopped(str(why))
        except Full as why:
            stopped = Stopped(f"memory: {why}")
        return Run(
            tuple(lanes.events.values()),
            tuple(lanes.decisions),
            lanes.steps,
            lanes.steps * lanes.count,
            stopped,
        )

    def _lanes(
        self, program: Program, grid: Three, block: Three, blocks: Sequence[Three], shared: int
    ) -> Lanes:
        threads = block[0] * block[1] * block[2]
        count = threads * len(blocks)
        everyone = np.arange(count)
        unit = program.unit
        size = -(-(program.shared_size + shared) // 16) * 16
        local = -(-program.local_size // 16) * 16
        memory = Memory(
            Window(
                _fresh("shared memory", size * len(blocks), unit),
                program.shared_size + shared,
                size,
                everyone // threads,
            ),
            Window(_fresh("local memory", local * count, unit), program.local_size, local, everyone),
        )
        for plane in self.planes:
            memory.place(plane)
        return Lanes(self.tape, memory, grid, block, blocks)

    def _fill(
        self,
        program: Program,
        lanes: Lanes,
        arguments: Sequence[bytes],
        nodes: Mapping[int, int],
        shared: int,
    ) -> None:
        """Put into the slots what is known before the first instruction."""
        slots = program.slots
        lanes.bits = [np.zeros(1, _initial_type(slots.registers, name)) for name in slots.numbers]
        lanes.nodes = [0] * len(slots.numbers)
        for slot, value in slots.constants.items():
            lanes.bits[slot] = value
        for slot, name in slots.specials.items():
            lanes.bits[slot] = special(lanes, name, program.shared_size + shared)
        for slot, symbol in slots.symbols.items():
            lanes.bits[slot] = np.array([self._address(program, symbol)], lanes.bits[slot].dtype)
        given = {param.name: (at, value) for at, (param, value) in enumerate(_matched(program, arguments))}
        for slot, (name, offset, width) in slots.params.items():
            at, value = given[name]
            piece = value[offset : offset + width]
            if len(piece) < width:
                raise Unknown(f"argument {at} is shorter than the kernel reads it")
            lanes.bits[slot] = np.frombuffer(piece, UNSIGNED[width])
            if at in nodes and offset == 0:
                lanes.nodes[slot] = np.array([nodes[at]], np.int32)
        for plane in self.planes[len(lanes.memory.buffers) :]:
            lanes.memory.place(plane)

    def _address(self, program: Program, symbol: Symbol) -> int:
        if symbol.name == "WARP_SZ":
            return WARP
        for window in (program.shared, program.local):
            if symbol.name in window:
                return window[symbol.name] + symbol.offset
        if symbol.name in program.globals:
            return self._variable(program, program.globals[symbol.name])[0] + symbol.offset
        raise Unknown(f"symbol: {symbol.name}")


def _fresh(name: str, size: int, unit: int) -> Plane:
    return Plane(name, np.zeros(size, np.uint8), unit, written=False)


def all_blocks(grid: Three) -> tuple[Three, ...]:
    """Every block of a grid, x fastest."""
    return tuple((x, y, z) for z, y, x in product(range(grid[2]), range(grid[1]), range(grid[0])))


def _matched(program: Program, arguments: Sequence[bytes]) -> list[tuple[Variable, bytes]]:
    if len(arguments) != len(program.params):
        raise Unknown(f"{len(arguments)} arguments for a kernel of {len(program.params)} parameters")
    return list(zip(program.params, arguments, strict=True))


def _initial_type(registers: Mapping[str, str], name: str) -> np.dtype:
    return register_type(registers.get(name.rstrip("0123456789"), "b32"))


def special(lanes: Lanes, name: str, shared: int) -> Array:
    """A special register in every lane, as a 32-bit number."""
    base, _, axis = name.partition(".")
    if axis in AXES and base in INDEXED and axis:
        return INDEXED[base](lanes, AXES.index(axis)).astype(np.uint32)
    if base in SINGLE:
        return SINGLE[base](lanes).astype(np.uint32)
    if base in ("%dynamic_smem_size", "%total_smem_size"):
        return np.array([shared], np.uint32)
    raise Unknown(f"special register: {name}")


def _thread(lanes: Lanes, axis: int) -> Array:
    if lanes.shape[axis] == 1:
        return np.zeros(1)
    before = int(np.prod(lanes.shape[:axis]))
    return np.asarray(lanes.thread // before % lanes.shape[axis])


def _block(lanes: Lanes, axis: int) -> Array:
    own = np.array([block[axis] for block in lanes.blocks])
    return own[:1] if (own == own[0]).all() else own[lanes.block]


INDEXED: Mapping[str, Callable[[Lanes, int], Array]] = {
    "%tid": _thread,
    "%ctaid": _block,
    "%ntid": lambda lanes, axis: np.array([lanes.shape[axis]]),
    "%nctaid": lambda lanes, axis: np.array([lanes.grid[axis]]),
}
SINGLE: Mapping[str, Callable[[Lanes], Array]] = {
    "%laneid": lambda lanes: lanes.in_warp,
    "%warpid": lambda lanes: lanes.thread // WARP,
    "%nwarpid": lambda lanes: np.array([64]),
    "%lanemask_eq": lambda lanes: 1 << lanes.in_warp,
    "%lanemask_lt": lambda lanes: (1 << lanes.in_warp) - 1,
    "%lanemask_le": lambda lanes: (2 << lanes.in_warp) - 1,
    "%lanemask_gt": lambda lanes: 0xFFFFFFFF & ~((2 << lanes.in_warp) - 1),
    "%lanemask_ge": lambda lanes: 0xFFFFFFFF & ~((1 << lanes.in_warp) - 1),
}


def pointer(buffer: Buffer, elements: int = 0) -> bytes:
    """The bytes of a pointer argument, `elements` into a buffer."""
    return struct.pack("<q", buffer.address + elements * buffer.dtype.itemsize)


def scalar(value: float, dtype: str = "int32") -> bytes:
    """The bytes of a number as an argument."""
    number: Array = np.array([value], dtype)
    return bytes(number.tobytes())
