"""Inputs on which floating point goes wrong although the formula is right.

Invariant: only what is far beyond every rounding counts: not a number or an infinity where PyTorch has a
number, or an error of a hundredth of the output where the reference's own is small. How a kernel treats
inputs that are no numbers is a note, never a verdict.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fuzzers.dirigo.recipes import Base, Recipe
from fuzzers.dirigo.reference.graph import Array, Kind
from fuzzers.dirigo.replay import Expected
from fuzzers.dirigo.showing import Trial, with_script
from fuzzers.dirigo.simt.events import Stopped
from fuzzers.dirigo.subject import Ran
from fuzzers.dirigo.verdict import Difference, Fault, Severity

FAR = 0.01
"""Of the output's size: an error that no order of operations explains."""
TIMES = 64.0
"""And of the reference's slack."""
SHARE = 0.3
"""Of the time that is left."""

RECIPES = (
    (Recipe(), "all inputs 0"),
    (Recipe(value=1.0), "all inputs alike"),
    (Recipe(Base.NORMAL, scale=100.0), "overflow"),
    (Recipe(Base.NORMAL, shift=1000.0), "cancellation"),
    (Recipe(Base.NORMAL, shift=-1000.0), "all inputs far below 0"),
    (Recipe(Base.NORMAL, scale=1e-4), "inputs near 0"),
    (Recipe(Base.NORMAL, scale=1e5), "overflow"),
)


def examined(trial: Trial, outputs: Sequence[int], until: float, notes: list[str]) -> list[Difference]:
    """Run the recipes; at most one difference for each of these outputs."""
    found: list[Difference] = []
    began = time.monotonic()
    for recipe, why in RECIPES:
        if time.monotonic() - began > SHARE * (until - began):
            notes.append("time: not all inputs of the floating-point stage were run")
            return found
        done = trial.run(recipe, taped=False)
        if isinstance(done, Stopped):
            continue
        for output in sorted(set(outputs) - {difference.output for difference in found}):
            expected = trial.expected(recipe, output)
            if isinstance(expected, Expected):
                found += _worst(trial, done, output, expected, recipe, why)
    notes += _special(trial, until)
    return found


def _worst(
    trial: Trial, done: Ran, output: int, expected: Expected, recipe: Recipe, why: str
) -> list[Difference]:
    view = done.outputs[output]
    actual = view.numbers()
    beyond, limit = _beyond(actual, expected)
    beyond &= view.written().reshape(beyond.shape)
    if not beyond.any():
        return []
    error = np.where(beyond, np.nan_to_num(np.abs(actual - expected.value), nan=np.inf), -1.0)
    element = int(error.reshape(-1).argmax())
    severity = Severity.EXTREME if recipe.extreme() else Severity.ORDINARY
    wanted, got, slack = (float(v.reshape(-1)[element]) for v in (expected.value, actual, limit))
    found = Difference(
        Fault.FLOATING,
        severity,
        0,
        recipe.words(),
        output,
        view.multi(element),
        f"{wanted:.9g}",
        f"{got:.9g}",
        why,
    )
    return [with_script(trial, found, recipe, element, slack)]


def _beyond(actual: Array, expected: Expected) -> tuple[Array, Array]:
    """Elements that are far off where the reference is well behaved, and how far each may be."""
    with np.errstate(all="ignore"):
        good = np.isfinite(expected.value) & np.isfinite(expected.exact) & np.isfinite(expected.slack)
        sizes = expected.exact[good] ** 2
        size = float(np.sqrt(sizes.mean())) if sizes.size else 0.0
        limit = FAR * (np.abs(expected.exact) + size) + TIMES * expected.slack
        return good & (~np.isfinite(actual) | (np.abs(actual - expected.value) > limit)), limit


def _special(trial: Trial, until: float) -> list[str]:
    """A note for each special value that the kernel treats in another way."""
    arguments = [i for i in trial.traced.inputs if i.kind is Kind.ARGUMENT and i.is_symbolic and i.elements]
    if not arguments or time.monotonic() > until:
        return []
    notes = []
    for value in (np.nan, np.inf, -np.inf):
        recipe = replace(Recipe(value=1.0), single=((arguments[0].name, 0, float(value)),))
        done = trial.run(recipe, taped=False)
        if isinstance(done, Stopped):
            continue
        for output, view in enumerate(done.outputs):
            plain = trial.model.outputs(trial.arrays(recipe))
            if isinstance(plain, Stopped):
                continue
            wanted, actual = plain[output].double().numpy(), view.numbers()
            other = np.flatnonzero((np.isnan(wanted) != np.isnan(actual)).reshape(-1))
            if other.shape[0]:
                at = int(other[0])
                notes.append(
                    f"special values: with {recipe.words()} the reference gives"
                    f" {wanted.reshape(-1)[at]:g} at output[{', '.join(map(str, view.multi(at)))}],"
                    f" the kernel {actual.reshape(-1)[at]:g}"
                )
    return notes
