"""Mutations that try many operators on one edge at once.

Invariant: every branch starts at the site, is recorded as it grows and ends before the first operator that
its requirements or the framework refuse, so that one bad draw does not cost the others. The reason for
fans: most of what one program costs is paid once (tracing, the start of the C++ compiler, the header), and
the operators of a fan share the edge's size, so that they fuse into a kernel or two. Of the 2 s of CPU
that a program of nine nodes costs, C++ takes two thirds, most of it before the first operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.legality import guard
from fuzzers.flowmut.mutations.declaration import Apply, Draft, Site
from fuzzers.flowmut.mutations.dtypes import SMALL
from fuzzers.flowmut.mutations.swaps import draw_operator
from fuzzers.flowmut.operators.declaration import Operator
from fuzzers.flowmut.program import Program
from fuzzers.flowmut.record import Refused, record
from fuzzers.flowmut.window import writes

BRANCHES = 4
"""Results of one fan; each may cost a store, seldom a kernel of its own."""

DEPTH = 2
"""Operators of a branch: pairs of neighbours are where lowerings and fusions meet."""


def fan_out(holds: Callable[[Operator], bool], narrow: bool = False) -> Apply:
    """Up to BRANCHES chains of up to DEPTH drawn operators on the edge, all returned; with `narrow`, on
    the edge cast to a drawn small dtype."""

    def apply(site: Site, rng: Random) -> Program | None:
        draft = Draft(site)
        root, state = site.name, site.state
        if narrow:
            root = draft.add("to", site.name, dtype=rng.choice([d for d in SMALL if d != state.dtype]))
            if (cast := _seen(draft, root)) is None:
                return None
            state = cast
        grown = (_branch(draft, root, state, rng, holds) for _ in range(BRANCHES))
        ends = [end for end in grown if end is not None]
        return draft.grow(*ends) if len(ends) > 1 else None

    return apply


def _branch(
    draft: Draft, root: str, state: EdgeState, rng: Random, holds: Callable[[Operator], bool]
) -> str | None:
    """The end of a new branch on `root`; None when not one operator could be put there."""
    end = root
    for _ in range(DEPTH):
        nodes, inputs = len(draft.nodes), len(draft.inputs)
        made = draw_operator(draft, end, state, rng, holds)
        if made is None:
            break
        seen = _seen(draft, made)
        if seen is None:
            del draft.nodes[nodes:], draft.inputs[inputs:]
            break
        end, state = made, seen
    return end if end != root else None


def _seen(draft: Draft, name: str) -> EdgeState | None:
    """The recorded state of a new edge; None when what leads there may not run."""
    leading = rewrite.prune(replace(draft.beside(), outputs=(name,)), writes)
    try:
        return record(leading, guard)[name]
    except Refused:
        return None
