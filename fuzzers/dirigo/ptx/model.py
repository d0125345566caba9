"""What a PTX text says, as frozen records.

Invariant: nothing here interprets. Operands keep their spelling's kind (register, immediate, symbol, address,
group), because PTX registers are untyped and only the instruction says how wide a number is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

WIDTHS = {
    **{f"{kind}{bits}": bits // 8 for kind in "usb" for bits in (8, 16, 32, 64, 128)},
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "tf32": 4,
    "f64": 8,
    "f16x2": 4,
    "bf16x2": 4,
    "pred": 1,
}
"""Bytes of each PTX type; predicates are one truth value."""


@dataclass(frozen=True)
class Register:
    """A register by its name (`%r12`, `%tid.x`), negated where it is a predicate written `!%p1`."""

    name: str
    negated: bool = False


@dataclass(frozen=True)
class Immediate:
    """A literal: an integer, or the bits of a float that was written 0f or 0d (`floating` is its width)."""

    value: int
    floating: int = 0


@dataclass(frozen=True)
class Symbol:
    """A variable, a label, a function or a parameter by name; `offset` bytes into it."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Address:
    """`[base+offset]`: the base is a register, a symbol, or None for an absolute address."""

    base: Register | Symbol | None
    offset: int = 0


@dataclass(frozen=True)
class Group:
    """Several operands as one: a vector `{a, b}`, a pair of predicates `p|q`, a call's arguments `(a, b)`."""

    parts: tuple[Operand, ...]


Operand = Register | Immediate | Symbol | Address | Group


@dataclass(frozen=True)
class Instruction:
    """One instruction. `name` is its full spelling (`ld.global.v4.f32`), `line` the source's line or 0."""

    name: str
    operands: tuple[Operand, ...] = ()
    guard: Register | None = None
    line: int = 0

    @cached_property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.name.split("."))

    @cached_property
    def base(self) -> str:
        return self.parts[0].partition("::")[0]

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The types among the modifiers, as they stand: (result, source) where there are two."""
        return tuple(part for part in self.parts[1:] if part in WIDTHS)

    def has(self, modifier: str) -> bool:
        return modifier in self.parts[1:]


@dataclass(frozen=True)
class Variable:
    """A named piece of memory: its space, size in bytes (0: sized by the launch), alignment and first bytes.

    `pointers` are the places of the initialiser that hold the address of another variable.
    """

    name: str
    space: str
    size: int
    align: int
    initial: bytes = b""
    pointers: Mapping[int, Symbol] = field(default_factory=dict)


@dataclass(frozen=True)
class Function:
    """An entry or a device function: parameters in order, results, body as instructions, and labels as
    indices into it. `registers` are its register families: prefix to type."""

    name: str
    is_entry: bool
    params: tuple[Variable, ...]
    results: tuple[Variable, ...]
    body: tuple[Instruction, ...]
    labels: Mapping[str, int]
    variables: Mapping[str, Variable]
    registers: Mapping[str, str]
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Module:
    """One PTX text. `externals` are functions that are declared and not defined: the maths library's."""

    functions: Mapping[str, Function]
    variables: Mapping[str, Variable]
    externals: frozenset[str]
