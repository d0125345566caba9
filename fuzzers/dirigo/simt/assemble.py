"""What an opcode's builder works with: register slots for its operands, and the step that it gives.

Invariant: every operand, also an immediate, a symbol's address, a parameter and a special register, is a
slot; a step reads and writes slots only. The reason: one kind of step then serves every spelling of an
instruction.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuzzers.dirigo.ptx.model import WIDTHS, Address, Group, Immediate, Instruction, Operand, Register, Symbol
from fuzzers.dirigo.simt.events import Unknown
from fuzzers.dirigo.simt.lanes import Lanes
from fuzzers.dirigo.simt.plane import UNSIGNED
from fuzzers.dirigo.simt.tape import Array

Step = Callable[[Lanes], None]
FLOATS = {"f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
SIGNED = {width: np.dtype(f"i{width}") for width in UNSIGNED}
PARAM = "param "
DISCARD = "_"


def number_type(type_: str) -> np.dtype:
    """The numpy type in which a PTX type is computed; bits and unsigned are unsigned."""
    if type_ == "pred":
        return np.dtype(bool)
    if type_ in FLOATS:
        return FLOATS[type_]
    if type_ not in WIDTHS or WIDTHS[type_] not in UNSIGNED:
        raise Unknown(f"instruction: type {type_}")
    return (SIGNED if type_[0] == "s" else UNSIGNED)[WIDTHS[type_]]


def register_type(type_: str) -> np.dtype:
    """The numpy type in which a register of this PTX type is kept."""
    return np.dtype(bool) if type_ == "pred" else UNSIGNED[WIDTHS[type_]]


class Slots:
    """The slots of one kernel. What is in them before the first instruction is filled in by the launch:
    `constants` by value, `symbols` by address, `params` and `specials` by name."""

    def __init__(self, registers: dict[str, str]) -> None:
        self.registers = registers
        self.numbers: dict[str, int] = {}
        self.constants: dict[int, Array] = {}
        self.symbols: dict[int, Symbol] = {}
        self.params: dict[int, tuple[str, int, int]] = {}
        self.specials: dict[int, str] = {}

    def named(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))

    def register(self, operand: Operand) -> int:
        """A destination."""
        if not isinstance(operand, Register):
            raise Unknown(f"instruction: writes to {operand}")
        return self.named(operand.name)

    def operand(self, operand: Operand, type_: str) -> int:
        """A source, read as `type_`."""
        if isinstance(operand, Immediate):
            return self.immediate(operand, register_type(type_))
        if isinstance(operand, Symbol):
            return self.symbol(operand, UNSIGNED[WIDTHS[type_]])
        if not isinstance(operand, Register):
            raise Unknown(f"instruction: operand {operand}")
        slot = self.named(operand.name)
        if operand.name.rstrip("0123456789") not in self.registers:
            self.specials[slot] = operand.name
        return slot

    def immediate(self, operand: Immediate, type_: np.dtype) -> int:
        value = operand.value & ((1 << 8 * type_.itemsize) - 1)
        slot = self.named(f"={value}:{type_}")
        self.constants[slot] = np.array([value], type_)
        return slot

    def symbol(self, operand: Symbol, type_: np.dtype) -> int:
        slot = self.named(f"&{operand.name}+{operand.offset}:{type_}")
        self.symbols[slot] = operand
        self.constants[slot] = np.zeros(1, type_)
        return slot

    def address(self, operand: Operand) -> tuple[int, int]:
        """The slot of an address's base and the bytes to add to it."""
        if not isinstance(operand, Address):
            raise Unknown(f"instruction: address {operand}")
        if operand.base is None:
            return self.immediate(Immediate(operand.offset), UNSIGNED[8]), 0
        if isinstance(operand.base, Symbol):
            place = Symbol(operand.base.name, operand.base.offset + operand.offset)
            return self.symbol(place, UNSIGNED[8]), 0
        return self.named(operand.base.name), operand.offset

    def param(self, operand: Operand, width: int) -> int:
        """The slot of a kernel's parameter, or of a call's parameter or result."""
        if not isinstance(operand, Address) or not isinstance(operand.base, Symbol):
            raise Unknown("instruction: a parameter at a computed address")
        name, offset = operand.base.name, operand.base.offset + operand.offset
        slot = self.named(f"{PARAM}{name}+{offset}")
        if "@" not in name:
            self.params[slot] = (name, offset, width)
        return slot


def parts(operand: Operand) -> tuple[Operand, ...]:
    """The operands of a vector, or the one."""
    return operand.parts if isinstance(operand, Group) else (operand,)


def only_type(instruction: Instruction) -> str:
    """The type of an instruction that has one."""
    if not instruction.types:
        raise Unknown(f"instruction: {instruction.name}")
    return instruction.types[-1]


def unknown(instruction: Instruction) -> Unknown:
    """What is raised for a variant that is not in a table."""
    return Unknown(f"instruction: {instruction.name}")
