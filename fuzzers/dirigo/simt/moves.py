"""Instructions that move numbers: mov, ld, st, cvta, asynchronous copies, and calls of the maths library.

Invariant: a number keeps its node wherever it goes; halves of a wider number are recorded as halves.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fuzzers.dirigo.ptx.model import WIDTHS, Address, Group, Immediate, Instruction, Operand, Register, Symbol
from fuzzers.dirigo.simt import access, rounding
from fuzzers.dirigo.simt.assemble import (
    FLOATS,
    PARAM,
    SIGNED,
    Slots,
    Step,
    only_type,
    parts,
    register_type,
    unknown,
)
from fuzzers.dirigo.simt.events import Kind, Unknown
from fuzzers.dirigo.simt.floats import joined, recorded, split
from fuzzers.dirigo.simt.lanes import Lanes
from fuzzers.dirigo.simt.memory import LOCAL, SHARED
from fuzzers.dirigo.simt.plane import UNSIGNED
from fuzzers.dirigo.simt.tape import Array, Op

SPACES = ("global", "shared", "local", "const", "param")
WINDOW = {"shared": SHARED, "local": LOCAL}
MATHS = "__sym_"


def mov(instruction: Instruction, slots: Slots) -> Step:
    """mov.TYPE d, a; with a group on one side it packs or unpacks."""
    type_ = only_type(instruction)
    target, source = instruction.operands
    if isinstance(source, Group):
        return _packing(instruction, slots, slots.register(target), source.parts, type_)
    if isinstance(target, Group):
        return _unpacking(instruction, slots, target.parts, source, type_)
    to, read = slots.register(target), slots.operand(source, type_)
    return _copy(to, read)


def _copy(to: int, read: int) -> Step:
    def run(m: Lanes) -> None:
        m.write(to, m.read(read), m.node(read))

    return run


def _packing(
    instruction: Instruction, slots: Slots, target: int, sources: tuple[Operand, ...], type_: str
) -> Step:
    half = f"b{8 * WIDTHS[type_] // len(sources)}"
    reads = [slots.operand(source, half) for source in sources]
    line = instruction.line

    def run(m: Lanes) -> None:
        values = [(m.read(r), m.node(r)) for r in reads]
        while len(values) > 1:
            values = [joined(m, values[i], values[i + 1], line) for i in range(0, len(values), 2)]
        m.write(target, *values[0])

    return run


def _unpacking(
    instruction: Instruction, slots: Slots, targets: tuple[Operand, ...], source: Operand, type_: str
) -> Step:
    read = slots.operand(source, type_)
    names = [slots.register(target) for target in targets]
    line = instruction.line

    def run(m: Lanes) -> None:
        values = [(m.read(read), m.node(read))]
        while len(values) < len(names):
            values = [half for value in values for half in split(m, *value, line)]
        for name, value in zip(names, values, strict=True):
            m.write(name, *value)

    return run


def space_of(instruction: Instruction) -> str:
    """The space that an instruction names, cluster and CTA forms of shared memory being shared."""
    for part in instruction.parts[1:]:
        name = part.partition("::")[0]
        if name in SPACES:
            return name
    return "generic"


def _count(instruction: Instruction) -> int:
    return next((int(part[1:]) for part in instruction.parts if part in ("v2", "v4", "v8")), 1)


def load(instruction: Instruction, slots: Slots) -> Step:
    """ld of every space; a narrow number is extended to its register, with its sign where the type has
    one."""
    type_ = only_type(instruction)
    space = space_of(instruction)
    width, count = WIDTHS[type_], _count(instruction)
    targets = [slots.register(part) for part in parts(instruction.operands[0])]
    kinds = [_register(slots, part, type_) for part in parts(instruction.operands[0])]
    if space == "param":
        return _load_param(instruction, slots, targets, kinds, type_)
    base, offset = slots.address(instruction.operands[1])
    line, signed = instruction.line, type_[0] == "s"

    def run(m: Lanes) -> None:
        values = access.load(m, space, address(m, base, offset), width, count, line)
        for target, kind, (bits, nodes) in zip(targets, kinds, values, strict=True):
            m.write(target, extended(bits, kind, signed), nodes)

    return run


def address(m: Lanes, base: int, offset: int) -> Array:
    """Addresses of the active lanes as signed numbers, so that a negative index stays one."""
    held = m.read(base)
    wide = held.view(np.int64) if held.itemsize == 8 else held.astype(np.int64)
    return wide + offset if offset else wide


def _register(slots: Slots, part: Operand, type_: str) -> np.dtype:
    name = part.name if isinstance(part, Register) else ""
    return register_type(slots.registers.get(name.rstrip("0123456789"), type_))


def extended(bits: Array, kind: np.dtype, signed: bool) -> Array:
    if bits.dtype == kind:
        return bits
    if signed:
        return bits.view(SIGNED[bits.itemsize]).astype(SIGNED[kind.itemsize]).view(kind)
    return bits.astype(kind)


def _load_param(
    instruction: Instruction, slots: Slots, targets: list[int], kinds: list[np.dtype], type_: str
) -> Step:
    width, signed = WIDTHS[type_], type_[0] == "s"
    places = [slots.param(_shifted(instruction.operands[1], i * width), width) for i in range(len(targets))]

    def run(m: Lanes) -> None:
        for target, kind, place in zip(targets, kinds, places, strict=True):
            m.write(target, extended(_as(m.read(place), width), kind, signed), m.node(place))

    return run


def _as(bits: Array, width: int) -> Array:
    if bits.itemsize < width:
        raise Unknown("a parameter that is read wider than it was written")
    return bits if bits.itemsize == width else bits.astype(UNSIGNED[width])


def _shifted(operand: Operand, by: int) -> Operand:
    return replace(operand, offset=operand.offset + by) if isinstance(operand, Address) else operand


def store(instruction: Instruction, slots: Slots) -> Step:
    """st of every space."""
    type_ = only_type(instruction)
    space = space_of(instruction)
    width = WIDTHS[type_]
    sources = [slots.operand(part, type_) for part in parts(instruction.operands[1])]
    if space == "param":
        copies = [
            _copy(slots.param(_shifted(instruction.operands[0], i * width), width), source)
            for i, source in enumerate(sources)
        ]
        return _all(copies)
    base, offset = slots.address(instruction.operands[0])
    line, kind = instruction.line, UNSIGNED[width]

    def run(m: Lanes) -> None:
        values = [(m.read(source).astype(kind, copy=False), m.node(source)) for source in sources]
        access.store(m, space, address(m, base, offset), width, values, line)

    return run


def _all(steps: list[Step]) -> Step:
    def run(m: Lanes) -> None:
        for step in steps:
            step(m)

    return run


def convert_address(instruction: Instruction, slots: Slots) -> Step:
    """cvta: between a window and generic addresses; global and constant ones are generic already."""
    window = WINDOW.get(space_of(instruction), 0)
    sign = -1 if instruction.has("to") else 1
    target = slots.register(instruction.operands[0])
    read = slots.operand(instruction.operands[1], only_type(instruction))
    if not window:
        return _copy(target, read)
    by = np.int64(sign * window)

    def run(m: Lanes) -> None:
        m.write(target, (m.read(read).astype(np.int64) + by).astype(np.uint64), m.node(read))

    return run


def copy_async(instruction: Instruction, slots: Slots) -> Step:
    """cp.async.* [shared], [global], bytes[, from]: done at once; what is past `from` bytes is zero."""
    if not instruction.has("shared") or not isinstance(instruction.operands[2], Immediate):
        raise unknown(instruction)
    total = instruction.operands[2].value
    to, to_offset = slots.address(instruction.operands[0])
    source, source_offset = slots.address(instruction.operands[1])
    taken = slots.operand(instruction.operands[3], "u32") if len(instruction.operands) > 3 else None
    line, count = instruction.line, total // 4

    def run(m: Lanes) -> None:
        if taken is not None and (m.read(taken) != total).any():
            raise Unknown(f"instruction: {instruction.name} of a part")
        values = access.load(m, "global", address(m, source, source_offset), 4, count, line)
        access.store(m, "shared", address(m, to, to_offset), 4, values, line)

    return run


def call(instruction: Instruction, slots: Slots) -> Step:
    """A call of the maths library; printf does nothing; a failed assertion is a trap."""
    operands = instruction.operands
    at = next(i for i, operand in enumerate(operands) if isinstance(operand, Symbol))
    called = operands[at]
    assert isinstance(called, Symbol)
    if called.name.startswith(MATHS):
        return _maths(instruction, slots, called.name.removeprefix(MATHS), operands[0], operands[-1])
    if called.name == "vprintf":
        return _all([])
    if called.name == "__assertfail":
        return trap(instruction, slots)
    raise Unknown(f"call: {called.name}")


def _maths(instruction: Instruction, slots: Slots, name: str, result: Operand, given: Operand) -> Step:
    single = name.endswith("f") and name not in rounding.LIBRARY
    plain = name.removesuffix("f") if single else name
    type_ = "f32" if single else "f64"
    if plain not in rounding.LIBRARY:
        raise Unknown(f"call: {name}")
    target = slots.named(f"{PARAM}{_symbol(result)}+0")
    read = tuple(slots.named(f"{PARAM}{_symbol(part)}+0") for part in parts(given))
    kind = FLOATS[type_]
    function = rounding.library(plain, kind)
    return recorded(target, read, Op.CALL, type_, plain, function, kind, instruction.line)


def _symbol(operand: Operand) -> str:
    inner = parts(operand)[0]
    if not isinstance(inner, Symbol):
        raise Unknown(f"call: with {inner}")
    return inner.name


def trap(instruction: Instruction, slots: Slots) -> Step:
    line = instruction.line

    def run(m: Lanes) -> None:
        m.event(Kind.TRAP, line, m.active())

    return run


def nothing(instruction: Instruction, slots: Slots) -> Step:
    """Hints, and waits for copies that are done at once."""
    return _all([])
