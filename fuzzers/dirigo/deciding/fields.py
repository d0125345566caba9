"""A program at random points of the pair of fields.

Invariant: programs that agree here in one part at several random points are the same function, in the
ordering cells that were looked at, because every rule holds for all real numbers (`deciding.laws`).

Orders. `formal` orders numbers at random, by a hash, at every point in another way: maximum, minimum and
comparisons keep the laws that they have among themselves, and every comparison goes both ways.
Otherwise the shadows of the same points decide, and agreement holds in their cells.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fuzzers.dirigo.deciding.constants import INFINITE, Constant, canonical
from fuzzers.dirigo.deciding.laws import TABLE, Pair, Points
from fuzzers.dirigo.deciding.levels import Extremes, Sums
from fuzzers.dirigo.deciding.primes import P, Q, exponentials, mixed
from fuzzers.dirigo.deciding.shadows import Shadows
from fuzzers.dirigo.deciding.symbols import MODULI, element
from fuzzers.dirigo.deciding.tidy import FLOAT_TYPES, Undecidable
from fuzzers.dirigo.simt.tape import Array, Op

LOST = 0x10057
"""What an infinite or undefined constant is in both fields: a number of no meaning."""


def leaf_parts(numbers: Array, points: int, seed: int) -> Pair:
    """Random parts of input elements, by number: the same on both sides. All are positive in the field of P,
    so that logarithms exist."""
    keys = numbers[:, None] * np.int64(1009) + np.arange(points)
    a = (mixed(keys, 2 * seed + 1) % np.uint64(Q)).astype(np.int64)
    b = exponentials()[(mixed(keys, 2 * seed + 2) % np.uint64(Q)).astype(np.int64)]
    return a, b


def points(shadows: Shadows, seed: int, *, formal: bool) -> Points:
    """Evaluate a program beside its shadows. Raises Undecidable."""
    size = shadows.v.shape
    p = Points(
        shadows,
        formal,
        seed,
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros((2, size[1]), bool),
    )
    program = shadows.program
    if program.leaves.shape[0]:
        p.a[program.leaves], p.b[program.leaves] = leaf_parts(program.leaf_numbers(), size[1], seed)
    for node in program.constants.tolist():
        p.a[node], p.b[node] = _constant(p, node)
    for step in program.steps:
        if isinstance(step, Sums):
            p.a[step.out], p.b[step.out] = (_sums(p, step, part) for part in (0, 1))
        elif isinstance(step, Extremes):
            p.a[step.out], p.b[step.out] = _extremes(p, step)
        else:
            rule = TABLE.get(step.op)
            if rule is None:
                raise Undecidable(f"operation: {step.op}")
            p.a[step.out], p.b[step.out] = rule(p, step, *(p.get(arg) for arg in step.args))
    return p


def _constant(p: Points, node: int) -> tuple[int, int]:
    wanted = p.shadows.tidy.wanted[node] or "f32"
    value = p.shadows.v[node, 0]
    if not np.isfinite(value):
        return LOST, LOST + int(value > 0)
    found = (
        canonical(p.shadows.tidy.slice.bits[node], wanted)
        if wanted in FLOAT_TYPES
        else Constant(value, Fraction(value))
    )
    try:
        return element(found, 0), element(found, 1)
    except ZeroDivisionError:
        raise Undecidable(f"a constant with a denominator of {Q} or {P}") from None


def _sums(p: Points, step: Sums, part: int) -> Array:
    held, modulus = (p.a, p.b)[part], MODULI[part]
    second = np.where(step.lone[:, None], 1, held[step.second])
    terms = held[step.first] * second % modulus
    return np.add.reduceat(terms * step.signs[:, None], step.starts, axis=0) % modulus


def _extremes(p: Points, step: Extremes) -> Pair:
    """Of each list the element that is first or last in the order; infinite constants never are."""
    pair = p.get(step.first)
    values = p.v(step.first)
    sign = -1.0 if step.op is Op.MIN else 1.0
    if p.formal:
        place = p.order(pair)
        place = place if step.op is Op.MAX else ~place
        far = np.abs(values) >= INFINITE
        place = np.where(far, np.where(values * sign > 0, ~np.uint64(0), np.uint64(0)), place)
    else:
        place = values * sign
    best = np.maximum.reduceat(place, step.starts, axis=0)
    owner: Array = np.repeat(
        np.arange(step.starts.shape[0]), np.diff(np.append(step.starts, step.first.shape[0]))
    )
    index = np.where(place == best[owner], np.arange(step.first.shape[0])[:, None], step.first.shape[0])
    chosen = np.minimum.reduceat(index, step.starts, axis=0)
    chosen = np.minimum(chosen, step.first.shape[0] - 1)
    columns = np.arange(values.shape[1])
    return pair[0][chosen, columns], pair[1][chosen, columns]
