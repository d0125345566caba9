"""From an instruction to its step: the table of opcodes.

Invariant: an instruction whose base is not here, or whose builder does not know the variant, is `Unknown` by
its full name; control flow and barriers are the program's (see `program`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fuzzers.dirigo.ptx.model import Instruction
from fuzzers.dirigo.simt import atomics, choices, conversions, floats, integers, moves, warps
from fuzzers.dirigo.simt.assemble import Slots, Step, unknown

Builder = Callable[[Instruction, Slots], Step]
FLOAT_TYPES = frozenset({"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"})


def _by_type(instruction: Instruction, slots: Slots) -> Step:
    """Names that integers and floats share."""
    if FLOAT_TYPES & set(instruction.types):
        return floats.build(instruction, slots)
    return integers.build(instruction, slots)


BUILDERS: Mapping[str, Builder] = {
    **dict.fromkeys(("add", "sub", "mul", "mad", "div", "neg", "abs", "min", "max"), _by_type),
    **dict.fromkeys(("fma", "sqrt", "rsqrt", "rcp", "ex2", "lg2", "sin", "cos", "tanh"), floats.build),
    "copysign": floats.build,
    **dict.fromkeys(("and", "or", "xor", "not", "shl", "shr", "rem", "sad", "mul24"), integers.build),
    **dict.fromkeys(("bfe", "bfi", "brev", "popc", "clz", "prmt", "lop3", "shf"), integers.build),
    "cvt": conversions.build,
    "setp": choices.setp,
    "set": choices.set_,
    "selp": choices.selp,
    "slct": choices.slct,
    "testp": choices.testp,
    "mov": moves.mov,
    "ld": moves.load,
    "ldu": moves.load,
    "st": moves.store,
    "cvta": moves.convert_address,
    "call": moves.call,
    "trap": moves.trap,
    **dict.fromkeys(("membar", "fence", "prefetch", "prefetchu", "nanosleep", "pmevent"), moves.nothing),
    **dict.fromkeys(("discard", "applypriority", "griddepcontrol"), moves.nothing),
    "shfl": warps.shuffle,
    "vote": warps.vote,
    "activemask": warps.active_mask,
    "redux": warps.reduce,
    "match": warps.match,
    "atom": atomics.build,
    "red": atomics.build,
}

ASYNC_WAITS = ("cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all")


def build(instruction: Instruction, slots: Slots) -> Step:
    """The step of one instruction, its guard left to the caller."""
    if instruction.name.startswith("cp.async."):
        waits = instruction.name.startswith(ASYNC_WAITS)
        return (moves.nothing if waits else moves.copy_async)(instruction, slots)
    if instruction.name == "bar.warp.sync":
        return moves.nothing(instruction, slots)
    if instruction.base not in BUILDERS:
        raise unknown(instruction)
    return BUILDERS[instruction.base](instruction, slots)
