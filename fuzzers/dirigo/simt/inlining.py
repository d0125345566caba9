"""Calls of the module's own device functions, put in their place.

Invariant: the result is one function without calls of functions that the module defines; every inlined copy
has registers, labels and local variables of its own. Recursion is `Unknown`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from fuzzers.dirigo.ptx.model import (
    Address,
    Function,
    Group,
    Instruction,
    Module,
    Operand,
    Register,
    Symbol,
    Variable,
)
from fuzzers.dirigo.simt.events import Unknown

DEEPEST = 12


@dataclass
class Flat:
    """A function as it grows: instructions and where its labels stand."""

    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    registers: dict[str, str] = field(default_factory=dict)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    copies: int = 0


@dataclass(frozen=True)
class Copy:
    """How names of one copy of a function are renamed: the `mark` goes into each, `symbols` replace
    parameters."""

    mark: str
    function: Function
    symbols: Mapping[str, str]
    end: str

    def register(self, operand: Register) -> Register:
        prefix = operand.name.rstrip("0123456789")
        if not self.mark or prefix not in self.function.registers:
            return operand
        return replace(operand, name=f"{prefix}{self.mark}{operand.name[len(prefix) :]}")

    def symbol(self, name: str) -> str:
        if name in self.symbols:
            return self.symbols[name]
        own = name in self.function.labels or name in self.function.variables
        return f"{name}{self.mark}" if own else name

    def operand(self, operand: Operand) -> Operand:
        if isinstance(operand, Register):
            return self.register(operand)
        if isinstance(operand, Symbol):
            return replace(operand, name=self.symbol(operand.name))
        if isinstance(operand, Address) and operand.base is not None:
            base = self.operand(operand.base)
            assert isinstance(base, Register | Symbol)
            return replace(operand, base=base)
        if isinstance(operand, Group):
            return Group(tuple(self.operand(part) for part in operand.parts))
        return operand


def inlined(module: Module, function: Function) -> Flat:
    """The function with every call of a function of the module replaced by that function's body."""
    flat = Flat()
    _put(module, flat, Copy("", function, {}, ""), ())
    return flat


def _put(module: Module, flat: Flat, copy: Copy, above: tuple[str, ...]) -> None:
    function = copy.function
    if function.name in above or len(above) > DEEPEST:
        raise Unknown(f"call: {function.name} calls itself")
    flat.registers |= {f"{prefix}{copy.mark}": type_ for prefix, type_ in function.registers.items()}
    flat.variables |= {copy.symbol(name): variable for name, variable in function.variables.items()}
    flat.tables |= {
        copy.symbol(name): tuple(copy.symbol(label) for label in table)
        for name, table in function.tables.items()
    }
    at: dict[int, list[str]] = {}
    for label, index in function.labels.items():
        at.setdefault(index, []).append(copy.symbol(label))
    for index, instruction in enumerate(function.body):
        flat.labels |= dict.fromkeys(at.get(index, ()), len(flat.body))
        called = _called(module, instruction)
        if called is not None:
            _call(module, flat, copy, instruction, called, (*above, function.name))
        else:
            flat.body.append(_renamed(copy, instruction))
    flat.labels |= dict.fromkeys(at.get(len(function.body), ()), len(flat.body))


def _renamed(copy: Copy, instruction: Instruction) -> Instruction:
    guard = copy.register(instruction.guard) if instruction.guard else None
    if instruction.base == "ret" and copy.end:
        return replace(instruction, name="bra", operands=(Symbol(copy.end),), guard=guard)
    return replace(instruction, operands=tuple(copy.operand(o) for o in instruction.operands), guard=guard)


def _called(module: Module, instruction: Instruction) -> Function | None:
    if instruction.base != "call":
        return None
    names = [o.name for o in instruction.operands if isinstance(o, Symbol)]
    return module.functions.get(names[0]) if names else None


def _call(
    module: Module,
    flat: Flat,
    copy: Copy,
    instruction: Instruction,
    called: Function,
    above: tuple[str, ...],
) -> None:
    if instruction.guard is not None:
        raise Unknown("call: under a guard")
    flat.copies += 1
    mark = f"#{flat.copies}_"
    groups = [o for o in instruction.operands if isinstance(o, Group)]
    results = list(_names(copy, groups[0])) if called.results else []
    given = list(_names(copy, groups[-1])) if called.params else []
    symbols = dict(zip((p.name for p in called.results), results, strict=True))
    symbols |= dict(zip((p.name for p in called.params), given, strict=True))
    end = f"end{mark}"
    _put(module, flat, Copy(mark, called, symbols, end), above)
    flat.labels[end] = len(flat.body)


def _names(copy: Copy, group: Group) -> Iterator[str]:
    for part in group.parts:
        if not isinstance(part, Symbol):
            raise Unknown(f"call: with {part}")
        yield copy.symbol(part.name)
