"""Whether two failures may be one bug, and whether that was shown.

Invariant: pure and symmetric. *Near* is a likeness of what was seen; it only offers. *Same* needs an
experiment: each script was run with parts of the compiler switched off, and wherever both were tried they
behaved alike, with at least one part that belongs to a single operator or pass and without which both are
right. The reason: a bug shows as a wrong result behind one operator and as a C++ error behind another, so
names alone split it; and two bugs of one operator look alike until something is switched off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot import alike, normalise
from bot.fingerprint import Traits, dtype_class

COMMON_FRAMES = 2

SHARED = frozenset({"codegen", "config", "cudagraphs", "partition", "passes"})
"""Subsystems whose parts act on every program: that both are right without one of them says that the two
bugs live in the same stage, not that they are one."""


@dataclass(frozen=True)
class Seen:
    """What is compared: the traits, and for each part that was switched off whether the script was right
    without it."""

    traits: Traits
    without: Mapping[str, bool]


def likeness(a: Traits, b: Traits) -> str:
    """Why two failures may be one bug, in a few words; empty when nothing says so."""
    if (a.framework, a.stage) != (b.framework, b.stage):
        return ""
    if a.message and b.message:
        shown = alike.alike(normalise.message(a.message), normalise.message(b.message))
        if shown > alike.ALIKE:
            return f"messages {shown:.0%} alike"
    if alike.common_frames(a.frames, b.frames) >= COMMON_FRAMES:
        return "common frames"
    operators = sorted(set(a.operators) & set(b.operators))
    if operators and _same_numbers(a, b):
        return f"both have {', '.join(operators)}"
    return ""


def _same_numbers(a: Traits, b: Traits) -> bool:
    """Whether both are in one stage and have a class of dtypes in common."""
    return (a.framework, a.stage) == (b.framework, b.stage) and bool(
        set(dtype_class(a.dtypes)) & set(dtype_class(b.dtypes))
    )


def same(a: Seen, b: Seen) -> str:
    """The part of the compiler without which both are right, when they may be one bug and behave alike
    wherever both were tried; empty when that was not shown. One operator may reach a part by many names, so
    here a kind of numbers in common is enough to begin with."""
    if not (likeness(a.traits, b.traits) or _same_numbers(a.traits, b.traits)):
        return ""
    both = a.without.keys() & b.without.keys()
    if any(a.without[part] != b.without[part] for part in both):
        return ""
    fixing = sorted(part for part in both if a.without[part] and not is_shared(part))
    return fixing[0] if fixing else ""


def is_shared(part: str) -> bool:
    """Whether a part acts on every program rather than on one operator or pattern."""
    return part.partition("/")[0] in SHARED
