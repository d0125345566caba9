"""Warp instructions: shuffles, votes, matches, reductions.

Invariant: they see the lanes that are active together. A lane that a mask names, that lives and that is not
there is noted as an event: what it would give is undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fuzzers.dirigo.ptx.model import Group, Instruction
from fuzzers.dirigo.simt.assemble import DISCARD, SIGNED, Slots, Step, number_type, only_type, unknown
from fuzzers.dirigo.simt.choices import targets_of
from fuzzers.dirigo.simt.events import Kind
from fuzzers.dirigo.simt.lanes import WARP, Lanes
from fuzzers.dirigo.simt.tape import Array, Nodes, Op

SHUFFLES = ("up", "down", "bfly", "idx")
VOTES = ("all", "any", "uni", "ballot")
REDUCTIONS: Mapping[str, np.ufunc] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def present(m: Lanes) -> Array:
    """Which of all lanes are active now."""
    if m.act is None:
        return np.ones(m.count, bool)
    there: Array = np.zeros(m.count, bool)
    there[m.act] = True
    return there


def note_missing(m: Lanes, masks: Array, there: Array, line: int) -> None:
    """An event where the mask names a lane that lives and is not there."""
    if m.act is None:
        return
    active = m.act
    heads = np.unique(m.first[active])
    head_of = np.searchsorted(heads, m.first[active])
    wanted = np.zeros(heads.shape[0], np.uint64)
    np.bitwise_or.at(wanted, head_of, np.broadcast_to(masks, active.shape).astype(np.uint64))
    for head, mask in zip(heads.tolist(), wanted.tolist(), strict=True):
        lanes = np.arange(head, head + int(m.warp_size[head]))
        named = (mask >> np.arange(lanes.shape[0])) & 1 != 0
        missing = lanes[named & ~there[lanes] & ~m.exited[lanes]]
        if missing.shape[0]:
            m.event(Kind.SHUFFLE, line, missing)


def shuffle(instruction: Instruction, slots: Slots) -> Step:
    """shfl.sync.MODE.b32 d|p, a, b, c, mask: p says whether the source lies in the segment."""
    mode = next((part for part in instruction.parts if part in SHUFFLES), None)
    if mode is None or not instruction.has("sync"):
        raise unknown(instruction)
    targets = targets_of(instruction.operands[0], slots)
    pair = instruction.operands[0]
    paired = isinstance(pair, Group) and getattr(pair.parts[1], "name", DISCARD) != DISCARD
    value, by, limits = (slots.operand(operand, "b32") for operand in instruction.operands[1:4])
    mask = slots.operand(instruction.operands[4], "b32")
    line = instruction.line

    def run(m: Lanes) -> None:
        active = m.active()
        own = m.in_warp[active]
        clamp = m.read(limits).astype(np.int64)
        inside, source = segment(mode, own, m.read(by).astype(np.int64), clamp & 31, clamp >> 8 & 31)
        lane = m.first[active] + np.where(inside, source, own)
        there = present(m)
        note_missing(m, m.read(mask), there, line)
        gone = (source >= m.warp_size[active]) | ~there[np.minimum(lane, m.count - 1)]
        lane = np.where(gone, active, lane)
        bits, nodes = m.bits[value], m.nodes[value]
        taken = bits if bits.shape[0] == 1 else bits[lane]
        held: Nodes = 0
        if nodes.__class__ is not int:
            held = nodes if nodes.shape[0] == 1 else nodes[lane]
        if (gone & inside).any():
            taken = np.broadcast_to(taken, active.shape)
            undefined = m.tape.append(Op.UNDEFINED, "b32", line, (), taken, Kind.SHUFFLE)
            known = m.tape.constants(taken) if held.__class__ is int else held
            chosen: Array = np.where(gone & inside, undefined, known)
            held = chosen.astype(np.int32)
        m.write(targets[0], taken, held)
        if paired:
            m.write(targets[1], inside)

    return run


def segment(mode: str, own: Array, by: Array, clamp: Array, mask: Array) -> tuple[Array, Array]:
    """Whether the source lane lies in the segment, and which one it is, as PTX computes it."""
    most = (own & mask) | (clamp & ~mask)
    least = own & mask
    if mode == "up":
        source = own - (by & 31)
        return source >= most, source
    if mode == "down":
        source = own + (by & 31)
    elif mode == "bfly":
        source = own ^ (by & 31)
    else:
        source = least | (by & 31 & ~mask)
    return source <= most, source


def vote(instruction: Instruction, slots: Slots) -> Step:
    """vote.sync.MODE d, p, mask."""
    mode = next((part for part in instruction.parts if part in VOTES), None)
    if mode is None or not instruction.has("sync"):
        raise unknown(instruction)
    target = slots.register(instruction.operands[0])
    read = slots.operand(instruction.operands[1], "pred")
    negated = bool(getattr(instruction.operands[1], "negated", False))
    mask = slots.operand(instruction.operands[2], "b32")
    line = instruction.line

    def run(m: Lanes) -> None:
        active = m.active()
        note_missing(m, m.read(mask), present(m), line)
        held = m.spread(m.read(read)) ^ negated
        ballot = _ballots(m, active, held)
        everyone = _ballots(m, active, np.ones(active.shape[0], bool))
        bits = VOTED[mode](ballot, everyone)
        nodes = m.node(read)
        if nodes.__class__ is not int:
            m.write(target, bits, _gathered(m, read, active, bits, "pred", instruction))
        else:
            m.write(target, bits)

    return run


VOTED: Mapping[str, Callable[[Array, Array], Array]] = {
    "all": lambda ballot, everyone: ballot == everyone,
    "any": lambda ballot, everyone: ballot != 0,
    "uni": lambda ballot, everyone: (ballot == 0) | (ballot == everyone),
    "ballot": lambda ballot, everyone: ballot,
}


def _ballots(m: Lanes, active: Array, held: Array) -> Array:
    """For each active lane, the bits of its warp's active lanes in which `held` is true."""
    whole: Array = np.zeros(m.count, np.uint32)
    np.bitwise_or.at(
        whole, m.first[active], np.where(held, np.uint32(1) << m.in_warp[active].astype(np.uint32), 0)
    )
    return whole[m.first[active]]


def _gathered(m: Lanes, slot: int, active: Array, bits: Array, type_: str, instruction: Instruction) -> Array:
    """A node for each lane of what its warp's lanes held: all of them are operands."""
    nodes: Array = np.zeros(m.count, np.int32)
    nodes[active] = m.ids(slot)
    zero = m.tape.constants(np.zeros(1, m.bits[slot].dtype))
    columns = []
    for at in range(WARP):
        lane = np.minimum(m.first[active] + at, m.count - 1)
        column = np.where((at < m.warp_size[active]) & (nodes[lane] != 0), nodes[lane], zero)
        columns.append(column.astype(np.int32))
    return m.tape.append(Op.INTEGER, type_, instruction.line, tuple(columns), bits, instruction.name)


def active_mask(instruction: Instruction, slots: Slots) -> Step:
    target = slots.register(instruction.operands[0])

    def run(m: Lanes) -> None:
        active = m.active()
        m.write(target, _ballots(m, active, np.ones(active.shape[0], bool)))

    return run


def reduce(instruction: Instruction, slots: Slots) -> Step:
    """redux.sync.OP.TYPE d, a, mask."""
    name = next((part for part in instruction.parts if part in REDUCTIONS), None)
    type_ = only_type(instruction)
    if name is None or type_ not in ("u32", "s32", "b32"):
        raise unknown(instruction)
    function = REDUCTIONS[name]
    target = slots.register(instruction.operands[0])
    read = slots.operand(instruction.operands[1], type_)
    mask = slots.operand(instruction.operands[2], "b32")

    def run(m: Lanes) -> None:
        active = m.active()
        note_missing(m, m.read(mask), present(m), instruction.line)
        values = m.spread(m.read(read).view(number_type(type_)))
        heads, group = np.unique(m.first[active], return_inverse=True)
        starts = np.searchsorted(group, np.arange(heads.shape[0]))
        bits = function.reduceat(values, starts)[group].astype(values.dtype).view(np.uint32)
        if m.nodes[read].__class__ is int:
            m.write(target, bits)
        else:
            m.write(target, bits, _gathered(m, read, active, bits, type_, instruction))

    return run


def match(instruction: Instruction, slots: Slots) -> Step:
    """match.any.sync.TYPE d, a, mask: the active lanes of the warp that hold the same."""
    type_ = only_type(instruction)
    if not instruction.has("any"):
        raise unknown(instruction)
    target = slots.register(instruction.operands[0])
    read = slots.operand(instruction.operands[1], type_)

    def run(m: Lanes) -> None:
        active = m.active()
        values = m.spread(m.read(read)).astype(SIGNED[8])
        out = np.zeros(active.shape[0], np.uint32)
        for value in np.unique(values):
            held = values == value
            out = np.where(held, _ballots(m, active, held), out)
        m.write(target, out.astype(np.uint32))

    return run
