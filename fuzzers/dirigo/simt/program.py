"""A kernel as basic blocks of steps, ready to run any number of times.

Invariant: blocks are numbered in the order of the text, so that the smallest number among waiting lanes is
the one furthest behind: running it first brings lanes together again where they went apart. A barrier and an
instruction that looks at a whole warp end or begin a block, so that lanes meet there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from fuzzers.dirigo.ptx.model import (
    WIDTHS,
    Immediate,
    Instruction,
    Module,
    Operand,
    Symbol,
    Variable,
)
from fuzzers.dirigo.simt import table
from fuzzers.dirigo.simt.assemble import Slots, Step
from fuzzers.dirigo.simt.events import Unknown
from fuzzers.dirigo.simt.inlining import Flat, inlined
from fuzzers.dirigo.simt.lanes import Lanes
from fuzzers.dirigo.simt.tape import Array

LEAVES = -1
Split = list[tuple[int, Array]]
End = Callable[[Lanes], "int | Split"]
JUMPS = frozenset({"bra", "ret", "exit", "brx", "bar", "barrier"})
MEETS = frozenset({"shfl", "vote", "match", "redux"})
FENCES = frozenset({"membar", "fence"})
SPACED = frozenset({"ld", "st", "atom", "red", "cp"})


@dataclass
class Block:
    """Steps, then where the lanes go: one block (LEAVES: they are done) or several. At a `barrier` they
    wait."""

    steps: tuple[Step, ...]
    end: End
    barrier: bool = False
    line: int = 0


@dataclass
class Program:
    """One kernel: its blocks, its slots, and the memory that it declares."""

    name: str
    blocks: list[Block]
    slots: Slots
    params: tuple[Variable, ...]
    shared: Mapping[str, int]
    shared_size: int
    local: Mapping[str, int]
    local_size: int
    globals: Mapping[str, Variable] = field(default_factory=dict)
    unit: int = 4
    fenced: bool = False
    swaps: bool = False


def program(module: Module, entry: str) -> Program:
    """Translate an entry; raises Unknown for an instruction that is not in the table."""
    function = module.functions[entry]
    flat = inlined(module, function)
    held = {**module.variables, **flat.variables}
    shared, shared_size = _laid({n: v for n, v in held.items() if v.space == "shared"})
    local, local_size = _laid({n: v for n, v in held.items() if v.space == "local"})
    slots = Slots(flat.registers)
    blocks = _blocks(flat, slots)
    return Program(
        entry,
        blocks,
        slots,
        function.params,
        shared,
        shared_size,
        local,
        local_size,
        {n: v for n, v in held.items() if v.space in ("global", "const")},
        _unit(flat),
        any(i.base in FENCES for i in flat.body),
        any(i.base == "atom" and i.has("cas") for i in flat.body),
    )


def _laid(variables: Mapping[str, Variable]) -> tuple[dict[str, int], int]:
    """Offsets of variables in their window; those that the launch sizes come last, at one place."""
    offsets: dict[str, int] = {}
    end = 0
    for name, variable in sorted(variables.items(), key=lambda item: item[1].size == 0):
        end = -(-end // variable.align) * variable.align
        offsets[name] = end
        end += variable.size
    return offsets, end


def _unit(flat: Flat) -> int:
    """The narrowest width in which the kernel touches shared or local memory, 4 at most."""
    widths = [
        WIDTHS[i.types[-1]]
        for i in flat.body
        if i.base in SPACED and i.types and not {"global", "param", "const"} & set(i.parts)
    ]
    return min([4, *widths])


def _blocks(flat: Flat, slots: Slots) -> list[Block]:
    starts = {0, *flat.labels.values()}
    for index, instruction in enumerate(flat.body):
        if _jumps(instruction):
            starts.add(index + 1)
        if instruction.base in MEETS:
            starts.add(index)
    ordered = sorted(start for start in starts if start <= len(flat.body))
    number = {start: at for at, start in enumerate(ordered)}
    labels = {label: number[index] for label, index in flat.labels.items()}
    tables = {name: [labels[label] for label in targets] for name, targets in flat.tables.items()}
    found = []
    for at, start in enumerate(ordered):
        stop = ordered[at + 1] if at + 1 < len(ordered) else len(flat.body)
        body = flat.body[start:stop]
        last = body[-1] if body and _jumps(body[-1]) else None
        steps = tuple(_guarded(i, slots) for i in (body[:-1] if last else body))
        following = at + 1 if at + 1 < len(ordered) else LEAVES
        end = _end(last, slots, labels, tables, following) if last else _to(following)
        barrier = last is not None and last.base in ("bar", "barrier")
        found.append(Block(steps, end, barrier, last.line if last else 0))
    return found


def _jumps(instruction: Instruction) -> bool:
    return instruction.base in JUMPS and instruction.name != "bar.warp.sync"


def _guarded(instruction: Instruction, slots: Slots) -> Step:
    """The step, done only in the lanes where the instruction's guard holds."""
    step = table.build(instruction, slots)
    if instruction.guard is None:
        return step
    slot, negated, line = slots.named(instruction.guard.name), instruction.guard.negated, instruction.line

    def run(m: Lanes) -> None:
        holds = m.read(slot) ^ negated
        m.decided(m.node(slot), holds, line)
        if holds.shape[0] == 1 or holds.all():
            if holds[0]:
                step(m)
            return
        if holds.any():
            before = m.act
            m.act = m.active()[holds]
            step(m)
            m.act = before

    return run


def _to(target: int) -> End:
    return lambda m: target


def _end(
    last: Instruction,
    slots: Slots,
    labels: Mapping[str, int],
    tables: Mapping[str, list[int]],
    following: int,
) -> End:
    if last.base in ("bar", "barrier"):
        _check_barrier(last)
        return _to(following)
    if last.base == "brx":
        return _indexed(last, slots, tables)
    target = LEAVES if last.base in ("ret", "exit") else labels[_name(last.operands[0])]
    if last.guard is None:
        return _to(target)
    return _branch(slots.named(last.guard.name), last.guard.negated, target, following, last.line)


def _check_barrier(last: Instruction) -> None:
    """Only the barrier of the whole block is known; under a guard or for some threads it is not."""
    if last.guard is not None or len(last.operands) > 1 or not {"sync", "aligned"} & set(last.parts):
        raise Unknown(f"instruction: {last.name}")
    if last.operands and not isinstance(last.operands[0], Immediate):
        raise Unknown(f"instruction: {last.name} of a computed barrier")


def _branch(slot: int, negated: bool, target: int, following: int, line: int) -> End:
    def end(m: Lanes) -> int | Split:
        taken = m.read(slot) ^ negated
        if m.nodes[slot].__class__ is not int:
            m.decided(m.node(slot), taken, line)
        if taken.shape[0] == 1 or taken.all():
            return target if taken[0] else following
        if not taken.any():
            return following
        active = m.active()
        return [(target, active[taken]), (following, active[~taken])]

    return end


def _indexed(last: Instruction, slots: Slots, tables: Mapping[str, list[int]]) -> End:
    index = slots.operand(last.operands[0], "u32")
    targets = np.array(tables[_name(last.operands[1])])
    line = last.line

    def end(m: Lanes) -> Split:
        m.decided(m.node(index), m.read(index), line)
        going = m.spread(targets[np.minimum(m.read(index), len(targets) - 1)])
        return [(int(target), m.active()[going == target]) for target in np.unique(going)]

    return end


def _name(operand: Operand) -> str:
    if not isinstance(operand, Symbol):
        raise Unknown(f"instruction: branch to {operand}")
    return operand.name
