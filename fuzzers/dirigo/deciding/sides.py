"""Which sides of the comparisons on a slice were seen, and which were not.

Invariant: a side that no point took and that is not proved impossible is listed; an equality that rests on
cells says nothing about the cells behind such a side.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fuzzers.dirigo.deciding.constants import INFINITE, number
from fuzzers.dirigo.deciding.shadows import Shadows
from fuzzers.dirigo.simt.tape import Op, Slice


@dataclass(frozen=True)
class Side:
    """A side that no point took: of what, on which line, and a node of the slice where that is decided."""

    line: int
    what: str
    holds: bool
    node: int

    def words(self) -> str:
        where = f"line {self.line}" if self.line else "the reference"
        return f"{where}: {self.what} is {'true' if self.holds else 'false'} at no point"


def uncovered(found: Iterable[Shadows], valid: list[np.ndarray]) -> list[Side]:
    """Sides that no valid point of any of these evaluations took (all of one slice's lines)."""
    seen: dict[tuple[int, str], set[bool]] = {}
    where: dict[tuple[int, str], int] = {}
    for shadows, columns in zip(found, valid, strict=True):
        whole = shadows.tidy.slice
        for choice in shadows.choices:
            for row, node in enumerate(choice.nodes.tolist()):
                if impossible(whole, node):
                    continue
                key = (whole.lines[node], whole.details[node] or str(whole.ops[node]))
                sides = choice.sides[row if choice.sides.shape[0] > 1 else 0][columns]
                taken = seen.setdefault(key, set())
                where.setdefault(key, node)
                if sides.dtype == bool:
                    taken.update(np.unique(sides).tolist())
                elif np.unique(sides).shape[0] > 1:
                    taken.update((True, False))
    return [
        Side(line, what, side, where[line, what])
        for (line, what), taken in sorted(seen.items())
        for side in (True, False)
        if side not in taken
    ]


def impossible(found: Slice, node: int) -> bool:
    """Whether one side can hold for no finite number: comparisons with infinity, tests for not a number."""
    op, detail, args = found.ops[node], found.details[node], found.args[node]
    if op is not Op.COMPARE:
        return False
    if len(args) == 1 or detail.partition(".")[0] in ("nan", "num"):
        return True
    if args[0] == args[1]:
        return True
    type_ = detail.rpartition(".")[2]
    for arg in args:
        if found.ops[arg] is Op.CONSTANT:
            value = number(found.bits[arg], type_ if type_ != "pred" else "b8")
            if not abs(value) < INFINITE:
                return True
    return False
