"""Mutations of what users of an edge see: another grad state, dtype or layout for one of them, a constant for
all.

Invariant: the edge itself stays as it is; what changes is which tensor somebody takes for it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.edge import DTYPES
from fuzzers.flowmut.mutations.declaration import Apply, Draft, Site
from fuzzers.flowmut.program import Program

Change = Callable[[Draft, Random], str]
"""Adds nodes after the site and names their result."""


def detach(draft: Draft, rng: Random) -> str:
    """Without a gradient."""
    return draft.add("detach", draft.site.name)


def cast(draft: Draft, rng: Random) -> str:
    """In another dtype."""
    return draft.add(
        "to", draft.site.name, dtype=rng.choice([d for d in DTYPES if d != draft.site.state.dtype])
    )


def other_layout(draft: Draft, rng: Random) -> str:
    """In another order in memory."""
    rank = draft.site.state.rank
    dim0, dim1 = rng.sample(range(rank), 2)
    moved = draft.add("transpose", draft.site.name, dim0=dim0, dim1=dim1)
    dense = draft.add("clone", draft.add("contiguous", moved))
    return draft.add("transpose", dense, dim0=dim0, dim1=dim1)


def detached(site: Site, rng: Random) -> Program | None:
    """Every user sees the edge without a gradient."""
    draft = Draft(site)
    return draft.splice(detach(draft, rng))


def for_one_user(change: Change) -> Apply:
    """One of several users sees the changed edge, the others the edge itself."""

    def apply(site: Site, rng: Random) -> Program | None:
        draft = Draft(site)
        changed = change(draft, rng)
        user = rng.choice(site.program.users(site.name))
        return rewrite.redirect_one(draft.beside(), user.name, user.args.index(site.name), changed)

    return apply


def constant_instead(site: Site, rng: Random) -> Program | None:
    """Every user sees a constant of the edge's shape and dtype, which the compiler may fold."""
    draft = Draft(site)
    op = rng.choice(("zeros_like", "ones_like", "full_like"))
    value = rng.choice((1, 0)) if site.state.dtype == "bool" else rng.choice((0, 1, 2))
    attrs = {"value": value} if op == "full_like" else {}
    return draft.splice(draft.add(op, site.name, **attrs))
