"""Integer, bit and predicate instructions.

Invariant: a result is exact modulo its width, as PTX defines it; on data (the bits of a float) the
instruction is recorded under its own name, and the two that mean a float operation, clearing or flipping the
sign bit, as that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fuzzers.dirigo.ptx.model import WIDTHS, Immediate, Instruction
from fuzzers.dirigo.simt.assemble import Slots, Step, number_type, only_type, register_type, unknown
from fuzzers.dirigo.simt.lanes import Lanes
from fuzzers.dirigo.simt.tape import Array, Op

Function = Callable[..., Array]


def shift_left(value: Array, by: Array) -> Array:
    bits = 8 * value.itemsize
    held = np.minimum(by, bits - 1).astype(value.dtype)
    return np.where(by >= bits, np.zeros(1, value.dtype), np.left_shift(value, held))


def shift_right(value: Array, by: Array) -> Array:
    """Arithmetic on signed values: a shift by the width or more leaves the sign everywhere."""
    bits = 8 * value.itemsize
    held = np.minimum(by, bits - 1).astype(value.dtype)
    shifted = np.right_shift(value, held)
    return shifted if value.dtype.kind == "i" else np.where(by >= bits, np.zeros(1, value.dtype), shifted)


def divide(a: Array, b: Array) -> Array:
    """Towards zero; by zero every bit is set, as the hardware does."""
    zero = b == 0
    safe = np.where(zero, np.ones(1, b.dtype), b)
    quotient = (a - np.fmod(a, safe)) // safe
    return np.where(zero, ~np.zeros(1, a.dtype), quotient).astype(a.dtype)


def remainder(a: Array, b: Array) -> Array:
    zero = b == 0
    return np.where(zero, a, np.fmod(a, np.where(zero, np.ones(1, b.dtype), b))).astype(a.dtype)


def high_product(a: Array, b: Array) -> Array:
    """The upper half of the full product."""
    if a.itemsize < 8:
        wide = np.dtype(f"{a.dtype.kind}{2 * a.itemsize}")
        return (a.astype(wide) * b.astype(wide) >> wide.type(8 * a.itemsize)).astype(a.dtype)
    x, y = a.astype(np.uint64), b.astype(np.uint64)
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    low = (x & mask) * (y & mask)
    one = (x >> half) * (y & mask) + (low >> half)
    other = (x & mask) * (y >> half) + (one & mask)
    high = (x >> half) * (y >> half) + (one >> half) + (other >> half)
    if a.dtype.kind == "i":
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return high.astype(a.dtype)


def widened(a: Array, b: Array) -> Array:
    wide = np.dtype(f"{a.dtype.kind}{2 * a.itemsize}")
    return a.astype(wide) * b.astype(wide)


def count_bits(value: Array) -> Array:
    octets = np.ascontiguousarray(value).view(np.uint8)
    return np.unpackbits(octets).reshape(value.size, -1).sum(axis=1).astype(np.uint32).reshape(value.shape)


def leading_zeros(value: Array) -> Array:
    bits = 8 * value.itemsize
    exponent = np.zeros(value.shape, np.uint32)
    rest = value.copy()
    for step in (32, 16, 8, 4, 2, 1):
        if step < bits:
            big = rest >> value.dtype.type(step) != 0
            exponent += np.where(big, np.uint32(step), np.uint32(0))
            rest = np.where(big, rest >> value.dtype.type(step), rest)
    return np.where(value == 0, np.uint32(bits), np.uint32(bits - 1) - exponent)


def reverse_bits(value: Array) -> Array:
    bits = 8 * value.itemsize
    out = np.zeros_like(value)
    for at in range(bits):
        out |= (value >> value.dtype.type(at) & value.dtype.type(1)) << value.dtype.type(bits - 1 - at)
    return out


def extract_field(value: Array, start: Array, length: Array) -> Array:
    """bfe: `length` bits from `start`; signed values extend the field's last bit."""
    bits = 8 * value.itemsize
    start, length = (start & 255).astype(np.int64), (length & 255).astype(np.int64)
    raw = value.astype(np.uint64) & np.uint64((1 << bits) - 1)
    field = np.where(start < bits, raw >> np.minimum(start, 63).astype(np.uint64), 0).astype(np.uint64)
    mask = np.where(
        length >= 64, ~np.uint64(0), (np.uint64(1) << np.minimum(length, 63).astype(np.uint64)) - 1
    )
    field = field & mask
    if value.dtype.kind == "i":
        last = np.minimum(start + length - 1, bits - 1)
        sign = (raw >> np.maximum(last, 0).astype(np.uint64)) & np.uint64(1)
        field = np.where((sign == 1) & (length > 0), field | ~mask, field)
    return field.astype(value.dtype)


def insert_field(field: Array, value: Array, start: Array, length: Array) -> Array:
    """bfi: `length` bits of `field` put over `value` at `start`."""
    start = np.minimum(start & 255, 63).astype(np.uint64)
    length = np.minimum(length & 255, 8 * value.itemsize).astype(np.uint64)
    mask = np.where(length >= 64, ~np.uint64(0), (np.uint64(1) << length) - np.uint64(1)) << start
    out = (value.astype(np.uint64) & ~mask) | (field.astype(np.uint64) << start & mask)
    return out.astype(value.dtype)


def permute_bytes(low: Array, high: Array, selector: Array) -> Array:
    """prmt without a mode: each nibble of the selector picks one of eight bytes, bit 3 its sign instead."""
    whole = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
    out = np.zeros(np.broadcast_shapes(whole.shape, selector.shape), np.uint32)
    for at in range(4):
        nibble = selector >> np.uint32(4 * at)
        byte = (whole >> ((nibble & np.uint32(7)) * np.uint32(8)).astype(np.uint64) & np.uint64(255)).astype(
            np.uint32
        )
        sign = np.where(byte & np.uint32(128), np.uint32(255), np.uint32(0))
        out |= np.where(nibble & np.uint32(8), sign, byte) << np.uint32(8 * at)
    return out


def funnel_left(low: Array, high: Array, by: Array) -> Array:
    whole = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
    return (whole << (by & np.uint32(31)).astype(np.uint64) >> np.uint64(32)).astype(np.uint32)


def funnel_right(low: Array, high: Array, by: Array) -> Array:
    whole = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
    return (whole >> (by & np.uint32(31)).astype(np.uint64)).astype(np.uint32)


def lookup(a: Array, b: Array, c: Array, table: Array) -> Array:
    """lop3: any function of three bits."""
    out = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), a.dtype)
    for row in range(8):
        if int(table[0]) >> row & 1:
            x, y, z = (v if row >> s & 1 else ~v for v, s in ((a, 2), (b, 1), (c, 0)))
            out |= x & y & z
    return out


PLAIN: Mapping[str, Function] = {
    "add": np.add,
    "sub": np.subtract,
    "mul.lo": np.multiply,
    "mul.hi": high_product,
    "mul24.lo": np.multiply,
    "mad.lo": lambda a, b, c: a * b + c,
    "mad.hi": lambda a, b, c: high_product(a, b) + c,
    "div": divide,
    "rem": remainder,
    "min": np.minimum,
    "max": np.maximum,
    "neg": np.negative,
    "abs": np.abs,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "sad": lambda a, b, c: np.where(a > b, a - b, b - a) + c,
    "brev": reverse_bits,
    "prmt": permute_bytes,
    "lop3": lookup,
    "shf.l.wrap": funnel_left,
    "shf.r.wrap": funnel_right,
}
"""Instructions whose operands and result have the one type that they name."""

SHIFTS: Mapping[str, Function] = {"shl": shift_left, "shr": shift_right}
FIELDS: Mapping[str, Function] = {"bfe": extract_field}
COUNTS: Mapping[str, Function] = {"popc": count_bits, "clz": leading_zeros}
WIDE: Mapping[str, Function] = {"mul.wide": widened, "mad.wide": lambda a, b, c: widened(a, b) + c}

SIGN_BIT = {("and", 4): (0x7FFFFFFF, Op.ABS), ("xor", 4): (0x80000000, Op.NEG)}
"""Bit operations on a float32 that mean a float operation."""


def build(instruction: Instruction, slots: Slots) -> Step:
    """The step of an integer instruction."""
    type_ = only_type(instruction)
    key = _key(instruction)
    if key in PLAIN:
        return step(instruction, slots, PLAIN[key], [type_] * (len(instruction.operands) - 1), type_)
    if key in SHIFTS:
        return step(instruction, slots, SHIFTS[key], [type_, "u32"], type_)
    if key in FIELDS:
        return step(instruction, slots, FIELDS[key], [type_, "u32", "u32"], type_)
    if key in COUNTS:
        return step(instruction, slots, COUNTS[key], [f"u{8 * WIDTHS[type_]}"], "u32")
    if key == "bfi":
        return step(instruction, slots, insert_field, [type_, type_, "u32", "u32"], type_)
    if key in WIDE:
        wide = f"{type_[0]}{16 * WIDTHS[type_]}"
        return step(
            instruction, slots, WIDE[key], [type_, type_, wide][: len(instruction.operands) - 1], wide
        )
    raise unknown(instruction)


def _key(instruction: Instruction) -> str:
    """The instruction's name up to its type."""
    return ".".join(part for part in instruction.parts if part not in instruction.types)


def step(instruction: Instruction, slots: Slots, function: Function, types: list[str], result: str) -> Step:
    """A step that reads operands of `types` and writes what `function` makes of them."""
    target = slots.register(instruction.operands[0])
    sources = [slots.operand(o, t) for o, t in zip(instruction.operands[1:], types, strict=True)]
    views = [number_type(t) for t in types]
    kept = register_type(result)
    pairs = list(zip(sources, views, strict=True))
    record = _recorder(instruction, result)
    line = instruction.line

    def run(m: Lanes) -> None:
        bits = function(*[m.read(s).view(v) for s, v in pairs]).view(kept)
        for source in sources:
            if m.nodes[source].__class__ is not int:
                op, name, detail, own = record
                ids = tuple(m.ids(sources[i]) for i in own) if own else tuple(m.ids(s) for s in sources)
                m.write(target, bits, m.tape.append(op, name, line, ids, bits, detail))
                return
        m.write(target, bits)

    return run


def _recorder(instruction: Instruction, result: str) -> tuple[Op, str, str, tuple[int, ...]]:
    """How an instruction on data is recorded: operation, type, detail, and which operands (none: all)."""
    constant, op = SIGN_BIT.get((instruction.base, WIDTHS[result]), (None, Op.INTEGER))
    for at, operand in enumerate(instruction.operands[1:]):
        if isinstance(operand, Immediate) and operand.value & 0xFFFFFFFF == constant:
            return op, "f32", "", (1 - at,)
    return Op.INTEGER, result, instruction.name, ()
