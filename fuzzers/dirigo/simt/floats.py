"""Float instructions: computed as shadows, recorded on the tape where an operand holds data.

Invariant: an instruction whose rounding or type is not in a table is `Unknown`, never computed another way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from fuzzers.dirigo.ptx.model import Instruction, Operand
from fuzzers.dirigo.simt import rounding
from fuzzers.dirigo.simt.assemble import FLOATS, Slots, Step, only_type, unknown
from fuzzers.dirigo.simt.lanes import Lanes
from fuzzers.dirigo.simt.plane import UNSIGNED
from fuzzers.dirigo.simt.tape import Array, Nodes, Op

Function = Callable[..., Array]
NEAREST_ONLY = frozenset({"rz", "rm", "rp", "rna"})


def _root(x: Array) -> Array:
    return 1 / np.sqrt(x.astype(np.float64))


def _reciprocal(x: Array) -> Array:
    return x.dtype.type(1) / x


TABLE: Mapping[str, tuple[Op, str, Function | None]] = {
    "add": (Op.ADD, "", np.add),
    "sub": (Op.SUB, "", np.subtract),
    "mul": (Op.MUL, "", np.multiply),
    "div": (Op.DIV, "", np.divide),
    "fma": (Op.FMA, "", None),
    "mad": (Op.FMA, "", None),
    "neg": (Op.NEG, "", np.negative),
    "abs": (Op.ABS, "", np.abs),
    "min": (Op.MIN, "", rounding.smaller),
    "max": (Op.MAX, "", rounding.larger),
    "copysign": (Op.COPYSIGN, "", lambda sign, value: np.copysign(value, sign)),
    "sqrt": (Op.SQRT, "", np.sqrt),
    "rsqrt": (Op.RSQRT, "", _root),
    "rcp": (Op.RECIPROCAL, "", _reciprocal),
    "ex2": (Op.CALL, "exp2", rounding.LIBRARY["exp2"]),
    "lg2": (Op.CALL, "log2", rounding.LIBRARY["log2"]),
    "sin": (Op.CALL, "sin", rounding.LIBRARY["sin"]),
    "cos": (Op.CALL, "cos", rounding.LIBRARY["cos"]),
    "tanh": (Op.CALL, "tanh", rounding.LIBRARY["tanh"]),
}
"""Base name to what it records and how it is computed (None: fused, by width)."""

NAN_WINS = {"min": np.minimum, "max": np.maximum}


def build(instruction: Instruction, slots: Slots) -> Step:
    """The step of a float instruction."""
    type_ = only_type(instruction)
    if instruction.base not in TABLE or NEAREST_ONLY & set(instruction.parts):
        raise unknown(instruction)
    op, detail, function = TABLE[instruction.base]
    single = {"f16x2": "f16", "bf16x2": "bf16"}.get(type_, type_)
    width = 2 if single == "bf16" else FLOATS[single].itemsize
    function = function or (rounding.fma32 if single == "bf16" else rounding.FMA[width])
    if instruction.has("NaN"):
        function = NAN_WINS[instruction.base]
    if instruction.has("ftz") and single == "f32":
        function = partial(_flushing, function)
    if single == "bf16":
        function = partial(_through_f32, function)
    elif instruction.has("sat"):
        function = partial(_saturating, function)
    kind = UNSIGNED[2] if single == "bf16" else FLOATS[single]
    if type_ != single:
        return _paired(instruction, slots, op, single, detail, function, kind)
    return operation(instruction, slots, instruction.operands[1:], op, type_, detail, function, kind)


def _flushing(function: Function, *values: Array) -> Array:
    return rounding.flushed(function(*(rounding.flushed(value) for value in values)))


def _saturating(function: Function, *values: Array) -> Array:
    return rounding.saturated(function(*values))


def _through_f32(function: Function, *values: Array) -> Array:
    return rounding.f32_to_bf16(
        function(*(rounding.bf16_to_f32(value) for value in values)).astype(np.float32)
    )


def operation(
    instruction: Instruction,
    slots: Slots,
    sources: tuple[Operand, ...],
    op: Op,
    type_: str,
    detail: str,
    function: Function,
    kind: np.dtype,
) -> Step:
    """A step that computes `function` on its sources, all of one type, and records it as `op`."""
    target = slots.register(instruction.operands[0])
    read = tuple(slots.operand(source, type_) for source in sources)
    return recorded(target, read, op, type_, detail, function, kind, instruction.line)


def recorded(
    target: int,
    read: tuple[int, ...],
    op: Op,
    type_: str,
    detail: str,
    function: Function,
    kind: np.dtype,
    line: int,
) -> Step:
    """The step itself, from slots to a slot."""
    kept = UNSIGNED[kind.itemsize]
    if len(read) == 2:
        first, second = read

        def binary(m: Lanes) -> None:
            bits = (
                function(m.read(first).view(kind), m.read(second).view(kind))
                .astype(kind, copy=False)
                .view(kept)
            )
            if m.nodes[first].__class__ is int and m.nodes[second].__class__ is int:
                m.write(target, bits)
            else:
                m.write(
                    target, bits, m.tape.append(op, type_, line, (m.ids(first), m.ids(second)), bits, detail)
                )

        return binary

    def run(m: Lanes) -> None:
        bits = function(*[m.read(s).view(kind) for s in read]).astype(kind, copy=False).view(kept)
        for source in read:
            if m.nodes[source].__class__ is not int:
                ids = tuple([m.ids(s) for s in read])
                m.write(target, bits, m.tape.append(op, type_, line, ids, bits, detail))
                return
        m.write(target, bits)

    return run


def _paired(
    instruction: Instruction,
    slots: Slots,
    op: Op,
    type_: str,
    detail: str,
    function: Function,
    kind: np.dtype,
) -> Step:
    """The same operation on both halves of 32-bit registers."""
    target = slots.register(instruction.operands[0])
    read = [slots.operand(source, "b32") for source in instruction.operands[1:]]
    line = instruction.line

    def run(m: Lanes) -> None:
        halves = [split(m, m.read(s), m.node(s), line) for s in read]
        done = []
        for side in (0, 1):
            bits = function(*[h[side][0].view(kind) for h in halves]).astype(kind, copy=False).view(np.uint16)
            nodes: Nodes = 0
            if any(h[side][1].__class__ is not int for h in halves):
                ids = tuple(
                    m.tape.constants(h[side][0]) if h[side][1].__class__ is int else h[side][1]
                    for h in halves
                )
                nodes = m.tape.append(op, type_, line, ids, bits, detail)
            done.append((bits, nodes))
        m.write(target, *joined(m, done[0], done[1], line))

    return run


Value = tuple[Array, Nodes]


def split(m: Lanes, bits: Array, nodes: Nodes, line: int) -> tuple[Value, Value]:
    """The low and the high half of values."""
    half = bits.itemsize // 2
    low, high = bits.astype(UNSIGNED[half]), (bits >> bits.dtype.type(8 * half)).astype(UNSIGNED[half])
    if nodes.__class__ is int:
        return (low, 0), (high, 0)
    type_ = f"b{8 * half}"
    operands: tuple[Array, ...] = (nodes,)
    return (
        (low, m.tape.append(Op.LOW, type_, line, operands, low)),
        (high, m.tape.append(Op.HIGH, type_, line, operands, high)),
    )


def joined(m: Lanes, low: Value, high: Value, line: int) -> Value:
    """Two halves as one value."""
    half = low[0].itemsize
    wide = UNSIGNED[2 * half]
    bits = low[0].astype(wide) | high[0].astype(wide) << wide.type(8 * half)
    if low[1].__class__ is int and high[1].__class__ is int:
        return bits, 0
    ids = tuple(m.tape.constants(b) if n.__class__ is int else n for b, n in (low, high))
    return bits, m.tape.append(Op.PACK, f"b{16 * half}", line, ids, bits)
