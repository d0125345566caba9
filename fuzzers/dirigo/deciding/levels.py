"""A slice as levels of equal operations, so that numpy computes it at many points at once.

Invariant: what a program computes is what its slice computes over the reals. Additions that only feed one
another are one sum of products with a sign each, and so are maxima and minima that only feed one another:
the order of a sum is no difference over the reals, and a dot product becomes one step instead of thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fuzzers.dirigo.simt.tape import Array, Op, Slice

SUMS = frozenset({Op.ADD, Op.SUB, Op.FMA})
EXTREMES = frozenset({Op.MIN, Op.MAX})
LEAVES = frozenset({Op.CONSTANT, Op.INPUT, Op.UNDEFINED})

Term = tuple[int, int, int]
"""A sign and two factors; the second one is -1 where there is none."""


class Group(NamedTuple):
    """Nodes of one operation that do not depend on each other; `args[i]` are their i-th operands."""

    op: Op
    type: str
    detail: str
    out: Array
    args: tuple[Array, ...]


class Sums(NamedTuple):
    """Sums of one level: the terms of sum k begin at `starts[k]`. `lone` says which terms have one factor;
    their second one is any node."""

    out: Array
    starts: Array
    signs: Array
    first: Array
    second: Array
    lone: Array
    type: str


class Extremes(NamedTuple):
    """Maxima or minima of one level, laid out as sums are. `nan` says that not a number wins."""

    op: Op
    detail: str
    out: Array
    starts: Array
    first: Array


Step = Group | Sums | Extremes


@dataclass(frozen=True)
class Levelled:
    """Steps in an order in which operands come first. Nodes keep their numbers in the slice; those that are
    part of a sum or of an extreme have no value of their own."""

    slice: Slice
    steps: tuple[Step, ...]
    leaves: Array
    """The nodes that are input elements."""
    constants: Array
    roots: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.slice)

    def leaf_numbers(self) -> Array:
        """The input elements, in the order of `leaves`."""
        return np.array([self.slice.leaf[node] for node in self.leaves.tolist()], np.int64)


def levelled(found: Slice, roots: Sequence[int] | None = None) -> Levelled:
    """The program of a slice; `roots` are the nodes that must have a value (the last one by default)."""
    kept = tuple(roots) if roots is not None else (len(found) - 1,)
    return _Layout(found, kept).program()


class _Layout:
    """Puts the nodes of one slice into levels."""

    def __init__(self, found: Slice, roots: tuple[int, ...]) -> None:
        self.found, self.roots = found, roots
        self.level = [0] * len(found)
        self.terms: dict[int, list[Term]] = {}
        self.parts: dict[int, list[int]] = {}
        self.absorbed = self._absorbed()

    def _absorbed(self) -> list[bool]:
        """Which nodes have one user, which takes them as a part of its own sum or extreme."""
        ops, types = self.found.ops, self.found.types
        users: list[int] = [0] * len(ops)
        into = [False] * len(ops)
        for at, (op, args) in enumerate(zip(ops, self.found.args, strict=True)):
            for place, arg in enumerate(args):
                users[arg] += 1
                into[arg] = (
                    (op in SUMS and (op is not Op.FMA or place == 2) and ops[arg] in (*SUMS, Op.MUL))
                    or (
                        op in EXTREMES
                        and ops[arg] is op
                        and self.found.details[arg] == self.found.details[at]
                    )
                ) and types[arg] == types[at]
        for root in self.roots:
            users[root] += 2
        return [inside and count == 1 for inside, count in zip(into, users, strict=True)]

    def program(self) -> Levelled:
        groups: dict[tuple[int, Op, str, str, int], list[int]] = {}
        for at, op in enumerate(self.found.ops):
            if op in LEAVES:
                continue
            args: Sequence[int] = self.found.args[at]
            if op in SUMS or (op is Op.MUL and self.absorbed[at]):
                args = self._summed(at, op, args)
            elif op in EXTREMES:
                args = self._joined(at, args)
            if self.absorbed[at]:
                continue
            self.level[at] = 1 + max((self.level[arg] for arg in args), default=0)
            key = (self.level[at], op, self.found.types[at], self.found.details[at], len(self.found.args[at]))
            if op in SUMS:
                key = (self.level[at], Op.ADD, self.found.types[at], "", 0)
            groups.setdefault(key, []).append(at)
        ops = np.array([op in (Op.CONSTANT, Op.UNDEFINED) for op in self.found.ops])
        return Levelled(
            self.found,
            tuple(self._step(key[1], nodes) for key, nodes in sorted(groups.items())),
            np.flatnonzero(np.array([op is Op.INPUT for op in self.found.ops])),
            np.flatnonzero(ops),
            self.roots,
        )

    def _summed(self, at: int, op: Op, args: Sequence[int]) -> list[int]:
        """The terms of a sum, put down; gives the nodes that a sum which stays depends on."""
        if op is Op.MUL:
            terms: list[Term] = [(1, args[0], args[1])]
        elif op is Op.FMA:
            terms = self._addend(args[2])
            terms.append((1, args[0], args[1]))
        else:
            one, other = self._addend(args[0]), self._addend(args[1])
            if op is Op.SUB:
                other = [(-sign, a, b) for sign, a, b in other]
            if len(one) < len(other):
                one, other = other, one
            one.extend(other)
            terms = one
        self.terms[at] = terms
        if self.absorbed[at]:
            return []
        return [node for _, a, b in terms for node in ((a, b) if b >= 0 else (a,))]

    def _addend(self, node: int) -> list[Term]:
        return self.terms.pop(node) if self.absorbed[node] else [(1, node, -1)]

    def _joined(self, at: int, args: Sequence[int]) -> list[int]:
        lists = [self.parts.pop(arg) if self.absorbed[arg] else [arg] for arg in args]
        lists.sort(key=len)
        whole = lists[-1]
        for rest in lists[:-1]:
            whole.extend(rest)
        self.parts[at] = whole
        return [] if self.absorbed[at] else whole

    def _step(self, op: Op, nodes: list[int]) -> Step:
        types, details, args = self.found.types, self.found.details, self.found.args
        out: Array = np.array(nodes, np.int64)
        if op is Op.ADD:
            terms: Array = np.array([term for node in nodes for term in self.terms[node]], np.int64)
            lone = terms[:, 2] < 0
            second = np.where(lone, terms[:, 1], terms[:, 2])
            starts = _starts([len(self.terms[node]) for node in nodes])
            return Sums(out, starts, terms[:, 0], terms[:, 1], second, lone, types[nodes[0]])
        if op in EXTREMES:
            first: Array = np.array([part for node in nodes for part in self.parts[node]], np.int64)
            starts = _starts([len(self.parts[node]) for node in nodes])
            return Extremes(op, details[nodes[0]], out, starts, first)
        columns = tuple(np.array(column, np.int64) for column in zip(*(args[n] for n in nodes), strict=True))
        return Group(op, types[nodes[0]], details[nodes[0]], out, columns)


def _starts(lengths: Sequence[int]) -> Array:
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
