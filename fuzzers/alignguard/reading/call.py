"""A call of an operator, as it is met in a program.

Invariant: a method's receiver is the first argument, so that `x.sum(0)` and `torch.sum(x, 0)` are one call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from fuzzers.alignguard.reading import names
from fuzzers.alignguard.reading.values import (
    UNKNOWN,
    DType,
    Literal,
    Several,
    Tensor,
    Value,
)


@dataclass(frozen=True)
class Call:
    """A call of `name`; the receiver of a method is the first of `args`. `in_place`: the first argument is
    written and returned. `method`: it was called on a value."""

    name: str
    args: tuple[Value, ...]
    named: Mapping[str, Value]
    method: bool = False
    in_place: bool = False

    def value(self, at: int, name: str, default: object = None) -> object:
        """The Python value of an argument; the default when it is not there, Ellipsis when unknown."""
        given = self.named.get(name, self.args[at] if at < len(self.args) else Literal(default))
        return plain(given)

    @property
    def first(self) -> Tensor:
        """The first argument; a tensor of which nothing is known when it is none."""
        given = self.args[0] if self.args else self.named.get("input", UNKNOWN)
        return given if isinstance(given, Tensor) else Tensor()

    @property
    def tensors(self) -> list[Tensor]:
        """Every tensor among the arguments, lists looked into."""
        return [t for v in (*self.args, *self.named.values()) for t in tensors(v)]

    def dtype(self, default: str | None) -> str | None:
        """The `dtype` that is asked for, the default when none is, None when it is not known."""
        given = plain(self.named.get("dtype", Literal(None)))
        if given is None:
            return default
        return given.name if isinstance(given, DType) else None

    def numbers(self, start: int, name: str) -> tuple[int, ...] | None:
        """Ints given as a sequence or one by one from `start` on."""
        one = self.value(start, name, ...)
        if isinstance(one, tuple):
            return one if all(isinstance(n, int) for n in one) else None
        rest = tuple(plain(a) for a in self.args[start:]) or ((one,) if one is not ... else ())
        ints = tuple(n for n in rest if isinstance(n, int) and not isinstance(n, bool))
        return ints if rest and len(ints) == len(rest) else None


Result: TypeAlias = Callable[[Call], "Value | None"]
"""What a call gives; None when it cannot be told."""


def each(words: str | frozenset[str], rule: Result) -> dict[str, Result]:
    """One rule for several names, given as a text or a group."""
    return dict.fromkeys(names.names(words) if isinstance(words, str) else words, rule)


def plain(value: Value) -> object:
    """The Python value, Ellipsis when it is not known."""
    if isinstance(value, Literal):
        return value.value
    if isinstance(value, Several):
        parts = tuple(plain(v) for v in value.items)
        return ... if ... in parts else parts
    return ...


def tensors(value: Value) -> list[Tensor]:
    """The tensors in a value, in order."""
    if isinstance(value, Tensor):
        return [value]
    return [t for v in value.items for t in tensors(v)] if isinstance(value, Several) else []
