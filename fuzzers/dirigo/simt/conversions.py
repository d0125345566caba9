"""cvt: between integers and floats of every width.

Invariant: integers saturate where PTX says so (float to integer always), not a number becomes 0, and an
integer that data gave rise to stays on the tape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from fuzzers.dirigo.ptx.model import WIDTHS, Instruction
from fuzzers.dirigo.simt import rounding
from fuzzers.dirigo.simt.assemble import FLOATS, Slots, Step, number_type, register_type, unknown
from fuzzers.dirigo.simt.floats import joined
from fuzzers.dirigo.simt.lanes import Lanes
from fuzzers.dirigo.simt.tape import Array, Nodes, Op

Convert = Callable[[Array], Array]
HALVES = frozenset({"f16", "bf16"})
WHOLE: Mapping[str, tuple[Op, Convert]] = {
    "rzi": (Op.TRUNC, np.trunc),
    "rmi": (Op.FLOOR, np.floor),
    "rpi": (Op.CEIL, np.ceil),
    "rni": (Op.NEAREST, np.rint),
}
PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}


def build(instruction: Instruction, slots: Slots) -> Step:
    """The step of a cvt."""
    types = instruction.types
    if len(types) != 2 or {"rz", "rm", "rp", "rna", "rs"} & set(instruction.parts):
        raise unknown(instruction)
    to, source = types
    if to in PAIRS:
        return _pair(instruction, slots, PAIRS[to], source)
    target, read = slots.register(instruction.operands[0]), slots.operand(instruction.operands[1], source)
    op, convert = conversion(instruction, to, source)
    width = WIDTHS[source]
    line = instruction.line
    grown = slots.registers.get(getattr(instruction.operands[0], "name", "").rstrip("0123456789"), to)

    def run(m: Lanes) -> None:
        bits = _fitted(convert(_low_bytes(m.read(read), width)), to, grown)
        if m.nodes[read].__class__ is int:
            m.write(target, bits)
        else:
            m.write(target, bits, m.tape.append(op, to, line, (m.ids(read),), bits, instruction.name))

    return run


def _low_bytes(bits: Array, width: int) -> Array:
    """The low `width` bytes of a register that may be wider."""
    return bits if bits.itemsize == width else bits.astype(f"u{width}")


def _fitted(bits: Array, type_: str, register: str) -> Array:
    """A result in its register, which may be wider: signed results extend their sign."""
    kept = register_type(register)
    if bits.itemsize == kept.itemsize:
        return bits.view(kept)
    number = bits.view(number_type(type_)) if type_[0] in "su" else bits
    return number.astype(f"{'i' if type_[0] == 's' else 'u'}{kept.itemsize}").view(kept)


def conversion(instruction: Instruction, to: str, source: str) -> tuple[Op, Convert]:
    """What a conversion records and how it is computed, from bits to bits of the result's own width."""
    floats = (to in FLOATS or to == "bf16"), (source in FLOATS or source == "bf16")
    mode = next((part for part in instruction.parts if part in WHOLE), "")
    if floats == (False, False):
        return Op.CONVERT, partial(_integer, to, source, instruction.has("sat"))
    if floats == (False, True):
        if not mode:
            raise unknown(instruction)
        return WHOLE[mode][0], partial(_to_integer, WHOLE[mode][1], to, source)
    op, whole = WHOLE.get(mode, (Op.SATURATE if instruction.has("sat") else Op.CONVERT, None))
    return op, partial(_to_float, whole, to, source, instruction.has("sat"), instruction.has("ftz"))


def as_float(bits: Array, type_: str) -> Array:
    return rounding.bf16_to_f32(bits) if type_ == "bf16" else bits.view(number_type(type_))


def _integer(to: str, source: str, saturates: bool, bits: Array) -> Array:
    value = bits.view(number_type(source))
    kind = number_type(to)
    if saturates:
        limits: Any = np.iinfo(kind)
        low = max(int(limits.min), int(np.iinfo(value.dtype).min))
        high = min(int(limits.max), int(np.iinfo(value.dtype).max))
        value = np.clip(value, low, high)
    return value.astype(kind).view(register_type(to))


def _to_integer(whole: Convert, to: str, source: str, bits: Array) -> Array:
    value = whole(as_float(bits, source).astype(np.float64))
    kind = number_type(to)
    limits: Any = np.iinfo(kind)
    value = np.where(np.isnan(value), 0.0, value)
    over, under = value >= float(limits.max) + 1, value < float(limits.min)
    inside = np.where(over | under, 0.0, value).astype(kind)
    return np.where(over, kind.type(limits.max), np.where(under, kind.type(limits.min), inside)).view(
        register_type(to)
    )


def _to_float(
    whole: Convert | None, to: str, source: str, saturates: bool, flushes: bool, bits: Array
) -> Array:
    value = as_float(bits, source)
    if flushes and value.dtype == np.float32:
        value = rounding.flushed(value)
    if whole is not None:
        value = whole(value)
    if to == "bf16":
        return rounding.f32_to_bf16(value.astype(np.float32))
    value = value.astype(FLOATS[to])
    if saturates:
        value = rounding.saturated(value)
    return value.view(register_type(to))


def _pair(instruction: Instruction, slots: Slots, to: str, source: str) -> Step:
    """cvt.rn.f16x2.f32 d, a, b: `a` goes into the high half."""
    target = slots.register(instruction.operands[0])
    high, low = (slots.operand(operand, source) for operand in instruction.operands[1:])
    op, convert = conversion(instruction, to, source)
    line = instruction.line

    def half(m: Lanes, read: int) -> tuple[Array, Nodes]:
        bits = convert(m.read(read))
        if m.nodes[read].__class__ is int:
            return bits, 0
        return bits, m.tape.append(op, to, line, (m.ids(read),), bits, instruction.name)

    def run(m: Lanes) -> None:
        m.write(target, *joined(m, half(m, low), half(m, high), line))

    return run
