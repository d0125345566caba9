"""Which engines have a guide: the half that chooses, in the controller (`fuzzers.engine.Guide`).

Invariant: as with `fuzzers.engines`, naming imports nothing. A guide's module imports no framework; it may
import what the controller has and a bare target lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from fuzzers.engine import Guide

GUIDES: dict[str, str] = {
    "flowmut": "fuzzers.flowmut.guide:make",
    "alignguard": "fuzzers.alignguard.guide:make",
}
"""Engine name -> what makes its guide, as `module:factory`; the factory takes the campaign's seed."""


def load(engine: str, seed: int) -> Guide | None:
    """A new guide for a campaign of that engine; None when it has none. An engine that is kept elsewhere
    (`module:attribute`) has none."""
    where = GUIDES.get(engine)
    if where is None:
        return None
    module, _, factory = where.partition(":")
    make: Callable[[int], Guide] = getattr(import_module(module), factory)
    return make(seed)
