"""What a C++ expression of host code can be, besides a number and a tensor.

Invariant: a variable is a cell; references and captures share the cell, everything else copies what is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fuzzers.dirigo.host.scalars import PACKED, VECTORS, Number, Type
from fuzzers.dirigo.host.syntax import Node
from fuzzers.dirigo.simt.events import Unknown

Value = Any
"""Number, torch.Tensor, str, None (nullptr, nullopt, no value), a torch dtype or device, or one of these."""


@dataclass(frozen=True)
class Named:
    """A type that is no scalar: `torch::Tensor`, `std::vector` with its arguments, a struct, a pointer (`*`
    with what it points to)."""

    name: str
    arguments: tuple[Value, ...] = ()


AnyType = Type | Named
AUTO = Named("auto")


def pointer_to(type_: AnyType) -> Named:
    return Named("*", (type_,))


@dataclass
class Cell:
    """A variable."""

    value: Value = None
    type: AnyType = AUTO


@dataclass
class Vector:
    """std::vector, std::array, IntArrayRef, a C array, a tuple or an initialiser list."""

    cells: list[Cell]
    type: AnyType = AUTO

    def copied(self) -> Vector:
        return Vector([Cell(copied(cell.value), cell.type) for cell in self.cells], self.type)

    def values(self) -> list[Value]:
        return [cell.value for cell in self.cells]


@dataclass
class Record:
    """A struct's value: members in order."""

    name: str
    members: dict[str, Cell] = field(default_factory=dict)

    def copied(self) -> Record:
        return Record(self.name, {k: Cell(copied(c.value), c.type) for k, c in self.members.items()})


def vector(values: Sequence[Value], type_: AnyType = AUTO) -> Vector:
    return Vector([Cell(value, type_) for value in values], type_)


def copied(value: Value) -> Value:
    """What a copy of a value is: tensors, pointers and options are handles."""
    return value.copied() if isinstance(value, Vector | Record) else value


@dataclass(frozen=True)
class Address:
    """A device pointer: bytes into a numbered buffer (-1: null), and what it points to."""

    buffer: int
    offset: int
    type: AnyType

    def moved(self, count: int) -> Address:
        return replace(self, offset=self.offset + count * size_of(self.type))


@dataclass(frozen=True)
class Variable:
    """A `__constant__` or `__device__` variable, or its address; `offset` bytes in."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class HostAddress:
    """A pointer into host memory: a place among cells."""

    cells: Sequence[Cell]
    at: int = 0

    def moved(self, count: int) -> HostAddress:
        return replace(self, at=self.at + count)

    def cell(self) -> Cell:
        if not 0 <= self.at < len(self.cells):
            raise Unknown("host: a pointer outside its array")
        return self.cells[self.at]


@dataclass(frozen=True)
class Options:
    """torch::TensorOptions: what was said of dtype."""

    dtype: Any = None


@dataclass(frozen=True)
class Parameter:
    """A function's parameter."""

    name: str
    type: Node | None
    declarator: Node | None
    default: Node | None
    variadic: bool = False


@dataclass(frozen=True, eq=False)
class Function:
    """A function or a lambda. `templates` are its template parameters' names with their defaults, `scope` is
    where its body looks names up."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Node | None
    scope: Any
    templates: tuple[tuple[str, Node | None], ...] = ()
    line: int = 0
    returns: Node | None = None

    def takes(self, count: int) -> bool:
        needed = sum(p.default is None and not p.variadic for p in self.parameters)
        return needed <= count <= len(self.parameters) or any(p.variadic for p in self.parameters)


@dataclass(frozen=True)
class Native:
    """A library's function that is a value."""

    name: str
    call: Callable[..., Value]


@dataclass(frozen=True)
class Kernel:
    """`kernel<arguments>` of host code: name and written-out template arguments (None: none were given)."""

    name: str
    arguments: tuple[Value, ...] | None = None


@dataclass(frozen=True)
class Opaque:
    """A value that means nothing here: a stream, an event, a guard."""

    name: str


def size_of(type_: AnyType) -> int:
    """Bytes of one element."""
    if isinstance(type_, Type):
        return type_.size
    if type_.name in VECTORS:
        one, count = VECTORS[type_.name]
        return one.size * count
    if type_.name in PACKED:
        return PACKED[type_.name]
    if type_.name == "*":
        return 8
    raise Unknown(f"host: the size of {type_.name}")


class Scope:
    """Names: a block's own ones, then those around it."""

    def __init__(self, outer: Scope | None = None) -> None:
        self.outer = outer
        self.cells: dict[str, Cell] = {}
        self.types: dict[str, AnyType] = {}

    def find(self, name: str) -> Cell | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.cells:
                return scope.cells[name]
            scope = scope.outer
        return None

    def find_type(self, name: str) -> AnyType | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.types:
                return scope.types[name]
            scope = scope.outer
        return None

    def frozen(self) -> Scope:
        """A copy of the variables, for a lambda that captures by value."""
        outer = self.outer.frozen() if self.outer is not None and self.outer.outer is not None else self.outer
        found = Scope(outer)
        found.cells = {name: Cell(copied(cell.value), cell.type) for name, cell in self.cells.items()}
        found.types = dict(self.types)
        return found


Members = Mapping[str, tuple[AnyType, "Node | None"]]


@dataclass(frozen=True)
class Structure:
    """A struct's definition: members in order, with their defaults."""

    name: str
    members: Members


def is_number(value: Value) -> bool:
    return isinstance(value, Number)
