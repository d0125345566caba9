"""Mutations of dtype: of inputs, and casts between operators.

Invariant: an input whose dtype changes gets a fill that suits the new one and keeps its bounds where they
fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.edge import DTYPES, FLOATING, INTEGRAL
from fuzzers.flowmut.mutations.declaration import Draft, Site
from fuzzers.flowmut.mutations.swaps import draw_operator, family
from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.program import Input, Program
from fuzzers.flowmut.values import suits

SMALL = ("uint8", "int8", "int16", "float16", "bfloat16", "bool")
BYTES = ("uint8", "int8", "int16", "bool")
WIDE = ("int32", "int64", "float32", "float64")


def retyped(tensor: Input, dtype: str) -> Input:
    """The input with another dtype, keeping its fill where that suits."""
    kept = replace(tensor, dtype=dtype, requires_grad=tensor.requires_grad and dtype in FLOATING)
    if tensor.fill != "literal" and suits(kept):
        return kept
    fill, low, high = domains.fill_for(dtype)
    return replace(kept, fill=fill, low=low, high=high, values=())


def input_dtype(site: Site, rng: Random) -> Program | None:
    """One input gets any other dtype."""
    assert site.input is not None
    dtype = rng.choice([d for d in DTYPES if d != site.input.dtype])
    return rewrite.put_input(site.program, retyped(site.input, dtype))


def every_dtype(among: Sequence[str]) -> Callable[[Site, Random], Program | None]:
    """Every input of the site's dtype gets the same other one, so that what matched still does."""

    def apply(site: Site, rng: Random) -> Program | None:
        old = site.state.dtype
        pool = [d for d in among if d != old]
        dtype = rng.choice(pool)
        changed = tuple(retyped(i, dtype) if i.dtype == old else i for i in site.program.inputs)
        return replace(site.program, inputs=changed) if changed != site.program.inputs else None

    return apply


def cast(among: Sequence[str]) -> Callable[[Site, Random], Program | None]:
    """A cast between the edge and its users."""

    def apply(site: Site, rng: Random) -> Program | None:
        draft = Draft(site)
        dtype = rng.choice([d for d in among if d != site.state.dtype])
        return draft.splice(draft.add("to", site.name, dtype=dtype))

    return apply


def round_trip(among: Sequence[str]) -> Callable[[Site, Random], Program | None]:
    """Cast to another dtype and back: a rounding, a wrap, or nothing."""

    def apply(site: Site, rng: Random) -> Program | None:
        draft = Draft(site)
        dtype = rng.choice([d for d in among if d != site.state.dtype])
        there = draft.add("to", site.name, dtype=dtype)
        return draft.splice(draft.add("to", there, dtype=site.state.dtype))

    return apply


def narrowed_then(*families: str) -> Callable[[Site, Random], Program | None]:
    """Cast to a small dtype, then an operator of a family, returned as well."""

    def apply(site: Site, rng: Random) -> Program | None:
        draft = Draft(site)
        dtype = rng.choice([d for d in SMALL if d != site.state.dtype])
        narrow = draft.add("to", site.name, dtype=dtype)
        state = replace(site.state, dtype=dtype, profile=None)
        last = draw_operator(draft, narrow, state, rng, family(*families))
        return draft.grow(last) if last else None

    return apply


def computed_wider(site: Site, rng: Random) -> Program | None:
    """Cast up, one operator, and cast back down: what mixed precision does."""
    wide = rng.choice(
        [d for d in (WIDE if site.state.dtype in FLOATING else INTEGRAL) if d != site.state.dtype]
    )
    draft = Draft(site)
    up = draft.add("to", site.name, dtype=wide)
    state = replace(site.state, dtype=wide)
    middle = draw_operator(draft, up, state, rng, family("elementwise"))
    return draft.splice(draft.add("to", middle, dtype=site.state.dtype)) if middle else None
