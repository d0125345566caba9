"""Mutations that try many operators on one edge at once.

Invariant: every branch starts at the site, is recorded as it grows and ends before the first operator that
its requirements or the framework refuse, so that one bad draw does not cost the others. The reason for
fans: most of what one program costs is paid once (tracing, the start of the C++ compiler, the header), and
the operators of a fan share the edge's size, so that they fuse into a kernel or two. Of the 2 s of CPU
that a program of nine nodes costs, C++ takes two thirds, most of it before the first operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.legality import guard
from fuzzers.flowmut.mutations.declaration import Apply, Draft, Site
from fuzzers.flowmut.mutations.swaps import draw_operator
from fuzzers.flowmut.operators.declaration import Operator
from fuzzers.flowmut.program import Program
from fuzzers.flowmut.rejection import Refused
from fuzzers.flowmut.runtime import runtime
from fuzzers.flowmut.window import writes

BRANCHES = 4
"""Results of one fan; each may cost a store, seldom a kernel of its own."""

TINY = ("uint8", "int8", "int16", "bool")
"""What vectorised kernels widen and narrow by hand; half types too, but there the compiler may differ."""

Kind = Callable[[Operator], bool]


def fan_out(*kinds: Kind, narrow: bool = False) -> Apply:
    """Up to BRANCHES chains of drawn operators on the edge, one of each of `kinds` in turn, all returned;
    with `narrow`, on the edge cast to a drawn tiny dtype."""

    def apply(site: Site, rng: Random) -> Program | None:
        draft = Draft(site)
        root, state = site.name, site.state
        if narrow:
            root = draft.add("to", site.name, dtype=rng.choice([d for d in TINY if d != state.dtype]))
            if (cast := _seen(draft, root)) is None:
                return None
            state = cast
        grown = (_branch(draft, root, state, rng, kinds) for _ in range(BRANCHES))
        ends = [end for end in grown if end is not None]
        return draft.grow(*ends) if len(ends) > 1 else None

    return apply


def _branch(draft: Draft, root: str, state: EdgeState, rng: Random, kinds: Sequence[Kind]) -> str | None:
    """The end of a new branch on `root`; None when not one operator could be put there."""
    end = root
    for holds in kinds:
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
        return runtime().record(leading, guard)[name]
    except Refused:
        return None
