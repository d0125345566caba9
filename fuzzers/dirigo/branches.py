"""Branches that data decided: which sides the runs took, and whether the others can be.

Invariant: a side that no run took is open unless it is proved impossible.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuzzers.dirigo import solver
from fuzzers.dirigo.deciding.sides import Side, impossible
from fuzzers.dirigo.deciding.tidy import Undecidable, tidied
from fuzzers.dirigo.showing import Trial
from fuzzers.dirigo.subject import Ran


def open_branches(runs: Sequence[Ran], trial: Trial) -> tuple[Side, ...]:
    """The sides of branches that no run took and that nothing rules out."""
    seen: dict[int, set[bool]] = {}
    where: dict[int, tuple[Ran, int]] = {}
    for ran in runs:
        for base, run in ran.runs:
            for decision in run.decisions:
                line = decision.line + base
                seen.setdefault(line, set()).update(np.unique(decision.taken).tolist())
                where.setdefault(line, (ran, int(np.atleast_1d(decision.nodes)[0])))
    found = []
    for line, sides in sorted(seen.items()):
        for side in {True, False} - sides:
            ran, node = where[line]
            if not _ruled_out(ran, node, side, trial):
                found.append(Side(line, "a branch", side, node))
    return tuple(found)


def _ruled_out(ran: Ran, node: int, side: bool, trial: Trial) -> bool:
    try:
        tidy = tidied(ran.tape.slice(node), "pred")
    except Undecidable:
        return False
    root = len(tidy.slice) - 1
    if impossible(tidy.slice, root):
        return True
    return isinstance(solver.feasible(tidy, root, side, trial.positive_ranges(ran)), solver.Never)
