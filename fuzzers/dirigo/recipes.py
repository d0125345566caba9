"""Inputs in a few words: how to fill every input tensor, the simplest ways first.

Invariant: a recipe gives the same numbers wherever it is followed: in the interpreter, under PyTorch and in a
script that somebody pastes. Its words say all that there is to say about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from fuzzers.dirigo.reference.graph import Array, Input, Kind


class Base(StrEnum):
    """What an input is filled with before single elements are set."""

    FILLED = "filled"
    INTEGERS = "integers"
    NORMAL = "normal"


LEAST = 0.25
"""What is added to the size of a number that has to be positive."""
COMFORTABLE = 1e4
"""Beyond this a float32 input is extreme (oracle.md)."""


@dataclass(frozen=True)
class Recipe:
    """`value` fills (FILLED); whole numbers from -3 to 3 (INTEGERS), or normal ones (NORMAL), are multiplied
    by `scale` and moved by `shift`. Parameters and buffers are 1 where `plain`. `single` sets elements of an
    argument, by input name and storage element."""

    base: Base = Base.FILLED
    value: float = 0.0
    scale: float = 1.0
    shift: float = 0.0
    seed: int = 0
    plain: bool = True
    single: tuple[tuple[str, int, float], ...] = ()

    def arrays(
        self, inputs: Sequence[Input], own: Sequence[Array | None], positive: frozenset[int]
    ) -> list[Array]:
        """Flat storages for the inputs, in their order. Integers are `own`."""
        found = []
        for at, (item, held) in enumerate(zip(inputs, own, strict=True)):
            if not item.is_symbolic:
                found.append(held)
                continue
            numbers = self._filled(at, item)
            if at in positive:
                numbers = np.abs(numbers) + (0.0 if self._is_plain(item) else LEAST)
            for name, element, value in self.single:
                if name == item.name:
                    numbers[element] = value
            found.append(in_type(numbers, item.layout.type))
        return found

    def _is_plain(self, item: Input) -> bool:
        return self.plain and item.kind is not Kind.ARGUMENT

    def _filled(self, at: int, item: Input) -> Array:
        if self._is_plain(item):
            return np.ones(item.elements)
        if self.base is Base.FILLED:
            return np.full(item.elements, self.value)
        rng = np.random.default_rng([self.seed, at])
        if self.base is Base.INTEGERS:
            numbers = rng.integers(-3, 4, item.elements).astype(np.float64)
        else:
            numbers = rng.standard_normal(item.elements)
        return numbers * self.scale + self.shift

    def words(self) -> str:
        """For people."""
        single = ", ".join(f"{name}[{at}] = {value:g}" for name, at, value in self.single)
        rest = self._words()
        rest += ", parameters 1" if self.plain and self.base is not Base.FILLED else ""
        return f"{rest} but {single}" if single else rest

    def _words(self) -> str:
        if self.base is Base.FILLED:
            return f"{self.value:g} everywhere"
        what = "whole numbers from -3 to 3" if self.base is Base.INTEGERS else "normal values"
        times = f" times {self.scale:g}" if self.scale != 1 else ""
        plus = f" plus {self.shift:g}" if self.shift else ""
        return f"{what}{times}{plus} (seed {self.seed})"

    def extreme(self) -> bool:
        """Whether it has numbers beyond what float32 carries comfortably."""
        sizes = [
            abs(self.value),
            abs(self.shift) + 6 * abs(self.scale),
            *(abs(value) for _, _, value in self.single),
        ]
        return max(size for size in sizes if np.isfinite(size)) > COMFORTABLE

    def finite(self) -> bool:
        return bool(np.isfinite([self.value, *(value for _, _, value in self.single)]).all())


def in_type(numbers: Array, type_: str) -> Array:
    """Numbers as an input's storage holds them; bfloat16 as uint16 bits."""
    if type_ == "bf16":
        bits = numbers.astype(np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return numbers.astype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[type_])


def simplest(elements: Sequence[tuple[str, int]]) -> list[Recipe]:
    """Recipes from the simplest on; `elements` are input elements that may matter alone."""
    zeros = Recipe()
    ones = Recipe(value=1.0)
    singles = [replace(zeros, single=((name, at, 1.0),)) for name, at in elements]
    holes = [replace(ones, single=((name, at, 2.0),)) for name, at in elements]
    return [zeros, ones, Recipe(value=-1.0), *singles, *holes, *DRAWN]


DRAWN = (
    Recipe(Base.INTEGERS),
    Recipe(Base.INTEGERS, plain=False),
    Recipe(Base.NORMAL, plain=False),
    Recipe(Base.NORMAL, plain=False, seed=1),
    Recipe(Base.NORMAL, plain=False, shift=3.0),
    Recipe(Base.NORMAL, plain=False, shift=-3.0),
    Recipe(Base.NORMAL, plain=False, scale=0.1),
    Recipe(Base.NORMAL, plain=False, scale=0.003),
    Recipe(Base.NORMAL, plain=False, scale=10.0),
    Recipe(Base.NORMAL, plain=False, scale=100.0),
    Recipe(Base.NORMAL, plain=False, shift=30.0, scale=0.5),
    Recipe(Base.NORMAL, plain=False, shift=-30.0, scale=0.5),
)
