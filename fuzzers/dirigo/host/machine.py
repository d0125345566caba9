"""The machine that interprets C++ host code: where it stands, and what its tables are asked.

Invariant: every step is counted, so that no source keeps the machine for ever; what no table has is `Unknown`
with the construct and its line, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from fuzzers.dirigo.host.records import Argument, Pointer, Symbol, Three, View
from fuzzers.dirigo.host.scalars import Number
from fuzzers.dirigo.host.syntax import Node
from fuzzers.dirigo.host.translation import Translation
from fuzzers.dirigo.host.values import Cell, Function, Scope, Value
from fuzzers.dirigo.simt.events import Unknown

STEPS = 400_000
DEEP = 60


class HostError(RuntimeError):
    """What the host code itself throws: a failing TORCH_CHECK, `throw`, a CUDA error that it looks at."""


class Returned(Exception):
    """`return`, on its way to the call."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class Broken(Exception):
    """`break`, on its way to the loop."""


class Continued(Exception):
    """`continue`, on its way to the loop."""


class Recorder(Protocol):
    """What host code does to the device. Tensors are torch tensors without memory. `source` is the number of
    the source whose host code runs; `refused` is the first reason for which it could not go on, which foreign
    code may have swallowed."""

    source: int
    refused: str

    def view(self, tensor: Any) -> View: ...

    def allocate(self, size: int) -> int:
        """A new buffer of that many bytes; its number."""

    def launch(
        self, kernel: str, grid: Three, block: Three, shared: int, arguments: Sequence[Argument], line: int
    ) -> None: ...

    def copy(
        self, target: Pointer | Symbol, size: int, source: Pointer | Symbol | None, data: bytes, line: int
    ) -> None: ...

    def fill(self, target: Pointer, size: int, byte: int) -> None: ...

    def item(self, tensor: Any) -> Number:
        """The only element of a tensor."""

    def decide(self, what: str, line: int) -> None:
        """Note a decision that depends on tensor data."""


Evaluate = Callable[["Machine", Node], Value]
Place = Callable[["Machine", Node], Cell]
Execute = Callable[["Machine", Node], None]
Calls = Callable[["Machine", Function, Sequence[Value], Sequence[Value]], Value]


@dataclass(frozen=True)
class Tables:
    """From a node's kind to what it means, as a value, as a place, as a statement; and how a function is
    called: machine, function, template arguments, arguments (a `Cell` where one is passed by name)."""

    expressions: Mapping[str, Evaluate]
    places: Mapping[str, Place]
    statements: Mapping[str, Execute]
    call: Calls


class Machine:
    """One extension's host code."""

    def __init__(self, translation: Translation, recorder: Recorder, tables: Tables) -> None:
        self.translation = translation
        self.recorder = recorder
        self.tables = tables
        self.globals = Scope()
        self.scope = self.globals
        self.steps = 0
        self.deep = 0
        self.error = 0
        """The CUDA error that the next cudaGetLastError gives."""
        self.optin: dict[str, int] = {}
        """Kernels that were allowed more dynamic shared memory."""
        self.pending: set[str] = set()

    def value(self, node: Node) -> Value:
        """What an expression is worth."""
        self.tick()
        if node.broken:
            self.unknown(f"syntax `{_words(node)}`", node)
        evaluate = self.tables.expressions.get(node.kind)
        if evaluate is None:
            self.unknown(_worded(node), node)
        return evaluate(self, node)

    def values(self, nodes: Sequence[Node]) -> list[Value]:
        return [self.value(node) for node in nodes]

    def place(self, node: Node) -> Cell:
        """The cell that an expression names; one of its own for what names none."""
        find = self.tables.places.get(node.kind)
        return Cell(self.value(node)) if find is None else find(self, node)

    def names_place(self, node: Node) -> bool:
        return node.kind in self.tables.places

    def run(self, node: Node) -> None:
        """Execute a statement."""
        self.tick()
        if node.broken and node.kind != "compound_statement":
            self.unknown(f"syntax `{_words(node)}`", node)
        execute = self.tables.statements.get(node.kind)
        if execute is None:
            self.unknown(_worded(node), node)
        execute(self, node)

    def call(self, function: Function, templates: Sequence[Value], arguments: Sequence[Value]) -> Value:
        if self.deep >= DEEP:
            raise Unknown(f"host: calls nested more than {DEEP} deep")
        self.deep += 1
        try:
            return self.tables.call(self, function, templates, arguments)
        finally:
            self.deep -= 1

    def truth(self, value: Value, node: Node) -> bool:
        """A condition's outcome; noted where tensor data decide it."""
        if isinstance(value, Number):
            if value.is_data:
                self.recorder.decide(node.text[:80], node.line)
            return bool(value.value)
        if isinstance(value, bool):
            return value
        buffer = getattr(value, "buffer", None)
        if buffer is not None:
            return bool(buffer >= 0)
        return value is not None

    @contextmanager
    def inside(self, scope: Scope) -> Iterator[Scope]:
        """Names are looked up in `scope` for a while."""
        before, self.scope = self.scope, scope
        try:
            yield scope
        finally:
            self.scope = before

    def block(self) -> Any:
        return self.inside(Scope(self.scope))

    def tick(self) -> None:
        self.steps += 1
        if self.steps > STEPS:
            raise Unknown("host: steps")

    def unknown(self, what: str, node: Node) -> NoReturn:
        raise Unknown(f"host: {what}, line {node.line}")


def _worded(node: Node) -> str:
    return f"{node.kind.replace('_', ' ')} `{_words(node)}`"


def _words(node: Node) -> str:
    return " ".join(node.text.split())[:60]
