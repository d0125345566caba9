"""Comparisons and selections: setp, set, selp, slct, testp.

Invariant: a comparison of data is recorded with its outcome, so that every place where data decides can be
listed with the sides that a run covered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fuzzers.dirigo.ptx.model import WIDTHS, Group, Instruction, Operand, Register
from fuzzers.dirigo.simt import rounding
from fuzzers.dirigo.simt.assemble import (
    DISCARD,
    FLOATS,
    Slots,
    Step,
    number_type,
    register_type,
    unknown,
)
from fuzzers.dirigo.simt.lanes import Lanes
from fuzzers.dirigo.simt.plane import UNSIGNED
from fuzzers.dirigo.simt.tape import Array, Nodes, Op

Test = Callable[[Array, Array], Array]


def _or_unordered(test: Test) -> Test:
    return lambda a, b: test(a, b) | np.isnan(a) | np.isnan(b)


def _not_equal(a: Array, b: Array) -> Array:
    """ne on floats is ordered: false where one is not a number."""
    return (a != b) & ~(np.isnan(a) | np.isnan(b)) if a.dtype.kind == "f" else a != b


ORDERED: Mapping[str, Test] = {
    "eq": np.equal,
    "ne": _not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
COMPARISONS: Mapping[str, Test] = {
    **ORDERED,
    **{f"{name}u": _or_unordered(ORDERED[name]) for name in ("eq", "lt", "le", "gt", "ge")},
    "neu": np.not_equal,
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}
COMBINED: Mapping[str, Test] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
PROPERTIES: Mapping[str, Callable[[Array], Array]] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda x: ~np.isnan(x),
    "notanumber": np.isnan,
    "normal": lambda x: np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).tiny),
    "subnormal": lambda x: (x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny),
}
COMPARED = frozenset(COMPARISONS)


def _numbers(bits: Array, type_: str) -> Array:
    return rounding.bf16_to_f32(bits) if type_ == "bf16" else bits.view(number_type(type_))


def setp(instruction: Instruction, slots: Slots) -> Step:
    """setp.CMP[.BOOL].TYPE p|q, a, b[, c]: p is the comparison (combined with c), q the opposite.

    Bits are equal to themselves whatever they hold: data decides nothing there.
    """
    type_ = instruction.types[-1]
    name = _name(instruction)
    test = COMPARISONS[name]
    targets = targets_of(instruction.operands[0], slots)
    a, b = (slots.operand(operand, type_) for operand in instruction.operands[1:3])
    combine = next((COMBINED[part] for part in instruction.parts if part in COMBINED), None)
    third = slots.operand(instruction.operands[3], "pred") if combine else None
    negated = isinstance(operand := instruction.operands[-1], Register) and operand.negated
    line, detail = instruction.line, f"{name}.{type_}"
    exact = type_ not in ("f16", "bf16", "f32", "f64")

    def run(m: Lanes) -> None:
        taken = test(_numbers(m.read(a), type_), _numbers(m.read(b), type_))
        nodes: Nodes = 0
        if m.nodes[a].__class__ is not int or m.nodes[b].__class__ is not int:
            sides = m.ids(a), m.ids(b)
            if not (exact and np.array_equal(*sides)):
                nodes = m.tape.append(Op.COMPARE, "pred", line, sides, taken, detail)
        if combine is not None and third is not None:
            other, others = m.read(third), m.node(third)
            other = ~other if negated else other
            both = combine(taken, other)
            if nodes.__class__ is not int or others.__class__ is not int:
                own = _opposite(m, other, others, line) if negated else others
                ids = (_ids(m, taken, nodes), _ids(m, other, own))
                nodes = m.tape.append(Op.INTEGER, "pred", line, ids, both, instruction.name)
            taken = both
        m.write(targets[0], taken, nodes)
        if len(targets) > 1:
            m.write(targets[1], ~taken, _opposite(m, taken, nodes, line))

    return run


def _ids(m: Lanes, bits: Array, nodes: Nodes) -> Array:
    return m.tape.constants(bits) if nodes.__class__ is int else nodes


def _opposite(m: Lanes, taken: Array, nodes: Nodes, line: int) -> Nodes:
    if nodes.__class__ is int:
        return 0
    return m.tape.append(Op.INTEGER, "pred", line, (_ids(m, taken, nodes),), ~taken, "not.pred")


def targets_of(operand: Operand, slots: Slots) -> list[int]:
    parts = operand.parts if isinstance(operand, Group) else (operand,)
    named = [part for part in parts if isinstance(part, Register)]
    return [slots.named(part.name) for part in named if part.name != DISCARD or part is named[0]]


def _name(instruction: Instruction) -> str:
    for part in instruction.parts[1:]:
        if part in COMPARED:
            return part
    raise unknown(instruction)


def set_(instruction: Instruction, slots: Slots) -> Step:
    """set.CMP.TO.TYPE d, a, b: all ones or 1.0 where it holds."""
    if len(instruction.types) != 2 or COMBINED.keys() & set(instruction.parts):
        raise unknown(instruction)
    to, type_ = instruction.types
    if to not in ("u32", "s32", "f32"):
        raise unknown(instruction)
    yes = np.uint32(0x3F800000 if to == "f32" else 0xFFFFFFFF)
    test, detail, line = COMPARISONS[_name(instruction)], f"{_name(instruction)}.{type_}", instruction.line
    target = slots.register(instruction.operands[0])
    a, b = (slots.operand(operand, type_) for operand in instruction.operands[1:3])

    def run(m: Lanes) -> None:
        taken = test(_numbers(m.read(a), type_), _numbers(m.read(b), type_))
        bits = np.where(taken, yes, np.uint32(0))
        if m.nodes[a].__class__ is int and m.nodes[b].__class__ is int:
            m.write(target, bits)
            return
        compared = m.tape.append(Op.COMPARE, "pred", line, (m.ids(a), m.ids(b)), taken, detail)
        sides = tuple(m.tape.constants(np.array([side], np.uint32)) for side in (yes, 0))
        m.write(target, bits, m.tape.append(Op.SELECT, to, line, (compared, *sides), bits))

    return run


def selp(instruction: Instruction, slots: Slots) -> Step:
    """selp.TYPE d, a, b, p: a where p holds. A concrete p only picks; one that data decided is recorded."""
    type_ = instruction.types[-1]
    target = slots.register(instruction.operands[0])
    a, b = (slots.operand(operand, type_) for operand in instruction.operands[1:3])
    chosen = slots.operand(instruction.operands[3], "pred")
    line = instruction.line
    kept = register_type(type_)

    def run(m: Lanes) -> None:
        where = m.read(chosen)
        bits: Array = np.where(where, m.read(a), m.read(b))
        bits = bits.astype(kept, copy=False)
        if m.nodes[chosen].__class__ is not int:
            ids = (m.ids(chosen), m.ids(a), m.ids(b))
            m.write(target, bits, m.tape.append(Op.SELECT, type_, line, ids, bits))
        elif m.nodes[a].__class__ is int and m.nodes[b].__class__ is int:
            m.write(target, bits)
        elif where.shape[0] == 1:
            picked = a if where[0] else b
            m.write(target, m.read(picked), m.node(picked))
        else:
            m.write(target, bits, np.where(where, m.ids(a), m.ids(b)))

    return run


def slct(instruction: Instruction, slots: Slots) -> Step:
    """slct.TYPE.s32 d, a, b, c: a where c >= 0."""
    if len(instruction.types) != 2:
        raise unknown(instruction)
    type_, by = instruction.types
    target = slots.register(instruction.operands[0])
    a, b = (slots.operand(operand, type_) for operand in instruction.operands[1:3])
    c = slots.operand(instruction.operands[3], by)
    line = instruction.line

    def run(m: Lanes) -> None:
        where = m.read(c).view(number_type(by)) >= 0
        bits = np.where(where, m.read(a), m.read(b))
        if all(m.nodes[slot].__class__ is int for slot in (a, b, c)):
            m.write(target, bits)
            return
        zero = m.tape.constants(np.zeros(1, UNSIGNED[WIDTHS[by]]))
        compared = m.tape.append(Op.COMPARE, "pred", line, (m.ids(c), zero), where, f"ge.{by}")
        m.write(target, bits, m.tape.append(Op.SELECT, type_, line, (compared, m.ids(a), m.ids(b)), bits))

    return run


def testp(instruction: Instruction, slots: Slots) -> Step:
    """testp.PROPERTY.TYPE p, a."""
    type_ = instruction.types[-1]
    name = instruction.parts[1]
    if name not in PROPERTIES or type_ not in FLOATS:
        raise unknown(instruction)
    test = PROPERTIES[name]
    target = slots.register(instruction.operands[0])
    a = slots.operand(instruction.operands[1], type_)
    line = instruction.line

    def run(m: Lanes) -> None:
        taken = test(m.read(a).view(FLOATS[type_]))
        if m.nodes[a].__class__ is int:
            m.write(target, taken)
        else:
            m.write(target, taken, m.tape.append(Op.COMPARE, "pred", line, (m.ids(a),), taken, name))

    return run
