"""Atomic instructions, compare-and-swap among them.

Invariant: the lanes of one instruction happen one after another, in the order of the lanes; the other
schedule (`Lanes.reverse`) has another order. Float additions are ADD nodes in that order, which over the
reals is any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fuzzers.dirigo.ptx.model import WIDTHS, Instruction, Register
from fuzzers.dirigo.simt import access, rounding
from fuzzers.dirigo.simt.assemble import DISCARD, FLOATS, Slots, Step, number_type, only_type, unknown
from fuzzers.dirigo.simt.events import Kind
from fuzzers.dirigo.simt.lanes import Lanes
from fuzzers.dirigo.simt.memory import Part
from fuzzers.dirigo.simt.moves import address, space_of
from fuzzers.dirigo.simt.plane import UNSIGNED
from fuzzers.dirigo.simt.tape import Array, Nodes, Op

Change = Callable[[Array, Array, Array], Array]
"""From (what is there, operand, second operand) to what is there afterwards, in the instruction's type."""


def _increment(old: Array, top: Array, _: Array) -> Array:
    return np.where(old >= top, np.zeros(1, old.dtype), old + old.dtype.type(1))


def _decrement(old: Array, top: Array, _: Array) -> Array:
    return np.where((old == 0) | (old > top), top, old - old.dtype.type(1))


CHANGES: Mapping[str, tuple[Op, Change]] = {
    "add": (Op.ADD, lambda old, value, _: old + value),
    "min": (Op.MIN, lambda old, value, _: np.minimum(old, value)),
    "max": (Op.MAX, lambda old, value, _: np.maximum(old, value)),
    "and": (Op.INTEGER, lambda old, value, _: old & value),
    "or": (Op.INTEGER, lambda old, value, _: old | value),
    "xor": (Op.INTEGER, lambda old, value, _: old ^ value),
    "inc": (Op.INTEGER, _increment),
    "dec": (Op.INTEGER, _decrement),
    "exch": (Op.INTEGER, lambda old, value, _: value),
    "cas": (Op.SELECT, lambda old, compared, value: np.where(old == compared, value, old)),
}


def build(instruction: Instruction, slots: Slots) -> Step:
    """atom d, [a], b[, c] and red [a], b."""
    returns = instruction.base == "atom"
    operands = instruction.operands[1:] if returns else instruction.operands
    first = instruction.operands[0]
    target = None
    if returns and isinstance(first, Register) and first.name != DISCARD:
        target = slots.register(first)
    name = next((part for part in instruction.parts if part in CHANGES), None)
    type_ = only_type(instruction)
    if name is None or WIDTHS[type_] not in (2, 4, 8) or type_ in ("bf16", "f16x2", "bf16x2"):
        raise unknown(instruction)
    space = space_of(instruction)
    base, offset = slots.address(operands[0])
    values = [slots.operand(operand, type_) for operand in operands[1:]]
    atomic = Atomic(name, type_, instruction.line, instruction.name)

    def run(m: Lanes) -> None:
        old = atomic.run(m, space, address(m, base, offset), values)
        if target is not None:
            m.write(target, *old)

    return run


class Atomic:
    """One atomic instruction: what it does to a place, and how that is recorded."""

    def __init__(self, name: str, type_: str, line: int, spelled: str) -> None:
        self.name, self.type, self.line, self.spelled = name, type_, line, spelled
        self.op, self.change = CHANGES[name]
        self.kind = number_type(type_)
        self.width = WIDTHS[type_]
        if type_ in FLOATS:
            self.change = {"min": _float_min, "max": _float_max}.get(name, self.change)

    def run(self, m: Lanes, space: str, addresses: Array, slots: list[int]) -> tuple[Array, Nodes]:
        """Do it in the active lanes; gives what was there before, lane by lane."""
        active = m.active()
        size = active.shape[0]
        given = [(m.spread(m.read(s)), m.node(s)) for s in slots]
        old_bits = np.zeros(size, UNSIGNED[self.width])
        old_nodes = np.zeros(size, np.int32)
        data = False
        for part in access.parts(m, space, np.broadcast_to(addresses, (size,)), self.width):
            lanes = np.arange(size) if part.chosen is None else part.chosen
            good = access.allowed(m, part, self.width, self.line, Kind.WRITE_OUTSIDE)
            if good is not None:
                lanes, part = lanes[good], Part(part.plane, lanes[good], part.offsets[good], None)
            if lanes.shape[0]:
                self._stamp(m, part, active[lanes])
                data |= self._serve(m, part, lanes, given, old_bits, old_nodes)
        if not data:
            return old_bits, 0
        return old_bits, np.where(old_nodes == 0, m.tape.constants(old_bits), old_nodes)

    def _stamp(self, m: Lanes, part: Part, lanes: Array) -> None:
        if part.plane.watch is None:
            return
        granules = part.plane.granules(part.offsets, self.width)
        now = m.stamp[lanes]
        found = part.plane.watch.atomic(granules, np.repeat(now, granules.shape[0] // now.shape[0]))
        if found is not None and not (m.fenced and part.plane is not m.memory.shared):
            which = found.reshape(lanes.shape[0], -1).any(axis=1)
            m.event(Kind.RACE, self.line, lanes[which], part.plane.name)

    def _serve(
        self,
        m: Lanes,
        part: Part,
        lanes: Array,
        given: list[tuple[Array, Nodes]],
        old_bits: Array,
        old_nodes: Array,
    ) -> bool:
        """Round by round: in each round every place has at most one lane."""
        data = False
        order = np.argsort(part.offsets, kind="stable")
        sorted_offsets = part.offsets[order]
        starts = np.flatnonzero(np.concatenate([[True], sorted_offsets[1:] != sorted_offsets[:-1]]))
        rank = np.arange(order.shape[0]) - np.repeat(starts, np.diff(np.append(starts, order.shape[0])))
        for turn in range(int(rank.max()) + 1):
            chosen = order[rank == turn]
            offsets, own = part.offsets[chosen], lanes[chosen]
            bits, nodes = part.plane.load(m.tape, offsets, self.width)
            operands = [(b[own], n if n.__class__ is int or n.shape[0] == 1 else n[own]) for b, n in given]
            after = self._changed(m, (bits, nodes), operands)
            part.plane.store(m.tape, offsets, self.width, *after)
            old_bits[own] = bits
            if nodes.__class__ is not int:
                old_nodes[own] = nodes
                data = True
        return data

    def _changed(
        self, m: Lanes, old: tuple[Array, Nodes], operands: list[tuple[Array, Nodes]]
    ) -> tuple[Array, Nodes]:
        numbers = [b.view(self.kind) for b, _ in (old, *operands)]
        second = numbers[2] if len(numbers) > 2 else numbers[1]
        bits = self.change(numbers[0], numbers[1], second).astype(self.kind).view(UNSIGNED[self.width])
        if self.name == "exch":
            return bits, operands[0][1]
        if old[1].__class__ is int and all(n.__class__ is int for _, n in operands):
            return bits, 0
        ids = [m.tape.constants(b) if n.__class__ is int else n for b, n in (old, *operands)]
        if self.name != "cas":
            op, detail = (self.op, "") if self.type in FLOATS else (Op.INTEGER, self.spelled)
            return bits, m.tape.append(op, self.type, self.line, tuple(ids), bits, detail)
        if np.array_equal(ids[0], ids[1]):
            return bits, ids[2]
        same = old[0] == operands[0][0]
        compared = m.tape.append(
            Op.COMPARE, "pred", self.line, (ids[0], ids[1]), same, f"eq.b{8 * self.width}"
        )
        return bits, m.tape.append(Op.SELECT, self.type, self.line, (compared, ids[2], ids[0]), bits)


def _float_min(old: Array, value: Array, _: Array) -> Array:
    return rounding.smaller(old, value)


def _float_max(old: Array, value: Array, _: Array) -> Array:
    return rounding.larger(old, value)
