"""The tape: every operation on data that a launch did, in order, with the float value that it gave.

Invariant: an operand of a node is older than the node, and a node's bits are what the operation gave on the
bits of its operands; so a slice can be computed anew in any domain, and the bits say where a run was.
One vector instruction is one chunk of consecutive nodes: recording costs a few array references and no copy.

Numbers: 0 is no node (a concrete number), a positive number is a node of the tape, a negative number is an
input element: -1 - (the input's first number + the element's index).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

Array = Any
"""A numpy array; mypy takes everything of numpy as Any."""
Nodes = Any
"""Node numbers of lanes as an array without a 0 in it, or the int 0: none of them holds data."""


NODES = 1 << 26
"""Nodes of a tape: a node of two operands takes 12 bytes, so that a full tape stays under 1 GiB."""
ELEMENTS = (1 << 31) - 1
"""Input elements that have numbers of their own."""


class Op(StrEnum):
    """What a node does with its operands. Maths library functions carry their C names."""

    CONSTANT = "constant"
    INPUT = "input"
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    FMA = "fma"
    NEG = "neg"
    ABS = "abs"
    MIN = "min"
    MAX = "max"
    COPYSIGN = "copysign"
    SQRT = "sqrt"
    RSQRT = "rsqrt"
    RECIPROCAL = "reciprocal"
    SATURATE = "saturate"
    CALL = "call"
    CONVERT = "convert"
    TRUNC = "trunc"
    FLOOR = "floor"
    CEIL = "ceil"
    NEAREST = "nearest"
    COMPARE = "compare"
    SELECT = "select"
    INTEGER = "integer"
    PACK = "pack"
    LOW = "low"
    HIGH = "high"
    UNDEFINED = "undefined"
    RACED = "raced"


class Chunk(NamedTuple):
    """The nodes of one vector instruction: `start`, `start + 1`, ... with operands as node numbers.

    `type` is the PTX type of the result; `detail` says which call, comparison, integer instruction or event.
    `operands` and `bits` have one element a node, or one element for all.
    """

    start: int
    op: Op
    type: str
    detail: str
    line: int
    operands: tuple[Array, ...]
    bits: Array


@dataclass(frozen=True)
class Slice:
    """What one node depends on: nodes in an order in which operands come first; the last one is the root.

    `args[i]` are indices into the slice, `bits[i]` is the value in the run, `leaf[i]` the number of an input
    element (-1 where the node is none).
    """

    ops: tuple[Op, ...]
    types: tuple[str, ...]
    details: tuple[str, ...]
    lines: tuple[int, ...]
    args: tuple[tuple[int, ...], ...]
    bits: tuple[int, ...]
    leaf: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.ops)

    def leaves(self) -> frozenset[int]:
        """The input elements that the root depends on, by number."""
        return frozenset(number for number in self.leaf if number >= 0)

    def undefined(self) -> tuple[tuple[str, int], ...]:
        """Events that reach the root, as (what, line): uninitialised or out-of-bounds reads, races."""
        marks = (Op.UNDEFINED, Op.RACED)
        return tuple(
            (d, n) for op, d, n in zip(self.ops, self.details, self.lines, strict=True) if op in marks
        )


class Full(Exception):
    """The tape has reached its limit of nodes or of input elements."""


class Tape:
    """Records nodes; past `limit` nodes `Full` is raised."""

    def __init__(self, limit: int = NODES) -> None:
        self.chunks: list[Chunk] = []
        self.starts: list[int] = []
        self.next = 1
        self.limit = limit
        self.inputs: list[tuple[int, str, Array]] = []
        self.input_end = 0
        self.known: dict[tuple[int, int], Array] = {}

    def add_input(self, type_: str, bits: Array) -> int:
        """Reserve numbers for an input's elements (flat `bits`); gives the first one. Raises Full."""
        start = self.input_end
        if start + bits.shape[0] > ELEMENTS:
            raise Full(f"more than {ELEMENTS} input elements")
        self.inputs.append((start, type_, bits))
        self.input_end += bits.shape[0]
        return start

    def append(
        self, op: Op, type_: str, line: int, operands: tuple[Array, ...], bits: Array, detail: str = ""
    ) -> Array:
        """Record a vector instruction; gives the numbers of its nodes."""
        start = self.next
        count = bits.shape[0]
        for operand in operands:
            if operand.shape[0] > count:
                count = operand.shape[0]
        self.next = start + count
        if self.next > self.limit:
            raise Full(f"more than {self.limit} operations")
        self.chunks.append(Chunk(start, op, type_, detail, line, operands, bits))
        self.starts.append(start)
        return np.arange(start, start + count, dtype=np.int32)

    def constants(self, bits: Array) -> Array:
        """Nodes of concrete numbers; one number for all lanes is recorded once."""
        if bits.shape[0] > 1:
            return self.append(Op.CONSTANT, f"b{8 * bits.itemsize}", 0, (), bits)
        key = (bits.itemsize, int(bits[0]))
        if key not in self.known:
            self.known[key] = self.append(Op.CONSTANT, f"b{8 * bits.itemsize}", 0, (), bits.copy())
        return self.known[key]

    def chunk_of(self, number: int) -> Chunk:
        return self.chunks[bisect_right(self.starts, number) - 1]

    def bytes(self) -> int:
        """An upper bound of the memory that the chunks hold."""
        return sum(c.bits.nbytes + sum(o.nbytes for o in c.operands) for c in self.chunks)

    def slice(self, *roots: int) -> Slice:
        """What the roots depend on. With several roots the last node of the slice is the last root's."""
        found: list[tuple[Chunk, Array]] = []
        pending: dict[int, list[Array]] = {}
        leaves = self._collect(np.array(roots, np.int64), pending)
        while pending:
            at = max(pending)
            chunk = self.chunks[at]
            numbers = np.unique(np.concatenate(pending.pop(at)))
            found.append((chunk, numbers))
            for operand in chunk.operands:
                taken = operand if operand.shape[0] == 1 else operand[numbers - chunk.start]
                leaves |= self._collect(taken, pending)
        return self._assembled(sorted(leaves, reverse=True), found[::-1], roots)

    def _collect(self, numbers: Array, pending: dict[int, list[Array]]) -> set[int]:
        """Put node numbers to their chunks; gives the input elements among them."""
        if numbers.shape[0] == 1:
            number = int(numbers[0])
            if number < 0:
                return {number}
            pending.setdefault(bisect_right(self.starts, number) - 1, []).append(np.array([number], np.int64))
            return set()
        numbers = np.unique(numbers).astype(np.int64)
        split = int(np.searchsorted(numbers, 0))
        nodes = numbers[split:]
        where = np.searchsorted(self.starts, nodes, side="right") - 1
        for at in np.unique(where):
            pending.setdefault(int(at), []).append(nodes[where == at])
        return set(numbers[:split].tolist())

    def _assembled(
        self, leaves: Sequence[int], found: Sequence[tuple[Chunk, Array]], roots: Sequence[int]
    ) -> Slice:
        place = {number: index for index, number in enumerate(leaves)}
        rows = [self._leaf(-1 - number) for number in leaves]
        for chunk, numbers in found:
            for number in numbers.tolist():
                at = number - chunk.start
                args = tuple(place[int(o[at if o.shape[0] > 1 else 0])] for o in chunk.operands)
                place[number] = len(rows)
                bits = int(chunk.bits[at if chunk.bits.shape[0] > 1 else 0])
                rows.append((chunk.op, chunk.type, chunk.detail, chunk.line, args, bits, -1))
        if place[roots[-1]] != len(rows) - 1:
            rows.append(rows[place[roots[-1]]])
        ops, types, details, lines, args_, bits_, leaf = zip(*rows, strict=True)
        return Slice(ops, types, details, lines, args_, bits_, leaf)

    def _leaf(self, number: int) -> tuple[Op, str, str, int, tuple[int, ...], int, int]:
        start, type_, bits = self.inputs[bisect_right([i[0] for i in self.inputs], number) - 1]
        return (Op.INPUT, type_, "", 0, (), int(bits[number - start]), number)
