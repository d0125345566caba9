"""Mutation by rule: one characteristic is given to a program.

Invariant: a mutant is in the normal form, has the characteristic, and still computes what it
returns with every operator that f called before. The same text, name and state of the generator give the
same mutant. A text that is no program gives None, whatever is in it.
"""

from __future__ import annotations

from functools import lru_cache
from random import Random

from fuzzers.alignguard import form
from fuzzers.alignguard.characteristics.table import CHARACTERISTICS
from fuzzers.alignguard.editing import Program
from fuzzers.alignguard.reading import names
from fuzzers.alignguard.reading.reader import Reading, read
from fuzzers.alignguard.reading.values import made

BY_NAME = {c.name: c for c in CHARACTERISTICS}

_program = lru_cache(maxsize=32)(Program.of)
"""One text is tried with many rules, most of which find no place in it."""

LONGEST = 60
"""Statements of f beyond which a program is not mutated any more: what fails has to be reduced again."""


def mutate(source: str, name: str, rng: Random) -> str | None:
    """The program with the characteristic `name`, or None when the rule finds no place for it. KeyError when
    there is no such characteristic."""
    wanted = BY_NAME[name]
    try:
        program = _program(source)
        if program is None or len(program.body) > LONGEST:
            return None
        text = wanted.rule(program, rng)
        after = read(text) if text is not None else None
        if after is None or not kept(program.reading, after) or not wanted.detect(after):
            return None
    except RecursionError:
        return None
    return text


def detect(source: str) -> tuple[str, ...]:
    """Names of the characteristics that a program has; none for a text that is no program."""
    try:
        reading = read(source)
        return tuple(c.name for c in CHARACTERISTICS if c.detect(reading)) if reading else ()
    except RecursionError:
        return ()


def kept(before: Reading, after: Reading) -> bool:
    """Every operator that was on the way from an input to a result, or into an input, still is."""
    return _on_the_way(before) <= _on_the_way(after)


def _on_the_way(reading: Reading) -> frozenset[str]:
    """What made the results and what f leaves in its arguments, but for what `inputs` did."""
    assert reading.form is not None
    ends = [reading.before[-1].get(p) for p in reading.form.parameters]
    found = made(reading.returned).union(*(made(v) for v in ends if v is not None))
    called = {s.call.name for s in reading.of(form.F)}
    return (found & called) - names.VIEWS - names.MAY_VIEW
