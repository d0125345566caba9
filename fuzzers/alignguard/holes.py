"""What fills the holes of a variant's text: numbers, dimensions, dtypes and operators that suit a tensor.

Invariant: a filling is legal for the tensor as far as is known of it; None when there is none, and the
variant then does not apply. A hole that is not in the table stands for a new name.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from string import Formatter
from typing import TypeAlias

from fuzzers.alignguard.reading.values import COMPLEX, FLOATS, INTEGERS, SMALL, Tensor

Filled: TypeAlias = dict[str, str]
Fill: TypeAlias = Callable[[Tensor, Random, Filled], "str | None"]


def holes(text: str) -> list[str]:
    """The holes of a text, in order of their first use."""
    found = [name for _, name, _, _ in Formatter().parse(text) if name]
    return list(dict.fromkeys(found))


def _kind(tensor: Tensor) -> str:
    if tensor.dtype == "bool":
        return "bool"
    groups = (("float", FLOATS), ("integer", INTEGERS), ("complex", COMPLEX))
    return next((name for name, group in groups if tensor.dtype in group), "")


def _by_kind(**choices: str) -> Fill:
    """One of the words that suit the tensor's kind; `unknown` for one of which nothing is known."""

    def fill(tensor: Tensor, rng: Random, filled: Filled) -> str | None:
        words = choices.get(_kind(tensor) or "unknown", "")
        return rng.choice(words.split()) if words else None

    return fill


def _one_of(*words: str) -> Fill:
    return lambda tensor, rng, filled: rng.choice(words)


def _dim(tensor: Tensor, rng: Random, filled: Filled) -> str | None:
    if tensor.rank is None:
        return rng.choice(("0", "-1"))
    return str(rng.randrange(-tensor.rank, tensor.rank)) if tensor.rank else None


def _other(tensor: Tensor, rng: Random, filled: Filled) -> str | None:
    """A dimension that is not the one chosen as `dim`."""
    if not tensor.rank or tensor.rank < 2:
        return None
    return str(rng.choice([d for d in range(tensor.rank) if d != int(filled["dim"]) % tensor.rank]))


def _not_last(tensor: Tensor, rng: Random, filled: Filled) -> str | None:
    return str(rng.randrange(tensor.rank - 1)) if tensor.rank and tensor.rank > 1 else None


def _of_size(least: int) -> Fill:
    """A dimension of at least this size."""

    def fill(tensor: Tensor, rng: Random, filled: Filled) -> str | None:
        fit = [d for d, n in enumerate(tensor.shape or ()) if n >= least]
        return str(rng.choice(fit)) if fit else None

    return fill


def _size(hole: str) -> Fill:
    """The size of a dimension that was chosen before."""

    def fill(tensor: Tensor, rng: Random, filled: Filled) -> str | None:
        return str(tensor.shape[int(filled[hole])]) if tensor.shape and hole in filled else None

    return fill


def _end(at: int) -> Fill:
    """The size of the first or the last dimension."""
    return lambda tensor, rng, filled: str(tensor.shape[at]) if tensor.shape else None


def _perm(tensor: Tensor, rng: Random, filled: Filled) -> str | None:
    if tensor.rank is None or tensor.rank < 2:
        return None
    order = list(range(tensor.rank))
    while order == sorted(order):
        rng.shuffle(order)
    return f"({', '.join(map(str, order))})"


def _shape(tensor: Tensor, rng: Random, filled: Filled) -> str | None:
    return None if tensor.shape is None else str(tensor.shape)


def _row(tensor: Tensor, rng: Random, filled: Filled) -> str | None:
    """The last size, as a shape."""
    return f"({tensor.shape[-1]},)" if tensor.shape else None


def _count(tensor: Tensor, rng: Random, filled: Filled) -> str | None:
    return None if tensor.count is None else str(tensor.count)


def _rank(tensor: Tensor, rng: Random, filled: Filled) -> str | None:
    return None if tensor.rank is None else str(tensor.rank)


def _dtype(tensor: Tensor, rng: Random, filled: Filled) -> str | None:
    return f"torch.{tensor.dtype}" if tensor.dtype else None


def _same_bits(tensor: Tensor, rng: Random, filled: Filled) -> str | None:
    """A dtype of the same width and another kind."""
    pairs = {
        "float32": "int32",
        "int32": "float32",
        "float64": "int64",
        "int64": "float64",
        "float16": "int16",
        "bfloat16": "int16",
        "uint8": "int8",
        "int8": "uint8",
        "bool": "uint8",
        "int16": "float16",
    }
    found = pairs.get(tensor.dtype or "")
    return f"torch.{found}" if found else None


def _other_dtype(group: tuple[str, ...]) -> Fill:
    """A dtype of the group that is not the tensor's own."""
    return lambda tensor, rng, filled: f"torch.{rng.choice([d for d in group if d != tensor.dtype])}"


def _again_a_leaf(tensor: Tensor, rng: Random, filled: Filled) -> str | None:
    """What makes a new argument ask for a gradient when the old one did."""
    return ".requires_grad_()" if tensor.leaf else ""


FILLS: dict[str, Fill] = {
    "g": _again_a_leaf,
    "dim": _dim,
    "other": _other,
    "notlast": _not_last,
    "long": _of_size(3),
    "some": _of_size(1),
    "two": _of_size(2),
    "size": _size("dim"),
    "longsize": _size("long"),
    "somesize": _size("some"),
    "twosize": _size("two"),
    "firstsize": _end(0),
    "lastsize": _end(-1),
    "perm": _perm,
    "shape": _shape,
    "row": _row,
    "count": _count,
    "rank": _rank,
    "dtype": _dtype,
    "bits": _same_bits,
    "small": _other_dtype(SMALL),
    "floats": _other_dtype(FLOATS),
    "half": _other_dtype(("float16", "bfloat16")),
    "wide": _other_dtype(("float64", "int64", "float32", "int32")),
    "step": _one_of("2", "3"),
    "k": _one_of("1", "2", "3"),
    "negative": _one_of("-1", "-2", "-3"),
    "odd": _one_of("3", "5", "7", "9"),
    "ragged": _one_of("9", "17", "31", "33", "65"),
    "scalar": _one_of("0.5", "2", "-1.5", "3.0"),
    "divisor": _one_of("2", "-2", "3", "-3", "7"),
    "seed": _one_of("1", "2", "3", "4", "5"),
    "unary": _by_kind(
        float="sin tanh abs neg square sigmoid relu sign cos",
        integer="abs neg square sign",
        bool="logical_not",
        complex="neg square",
    ),
    "reduce": _by_kind(
        float="sum mean amax amin prod", integer="sum prod amax amin", bool="any all sum", unknown="sum"
    ),
    "extreme": _by_kind(float="amax amin", integer="amax amin", bool="amax amin"),
    "arg": _by_kind(float="argmax argmin", integer="argmax argmin"),
    "write": _by_kind(
        float="add_(1) mul_(2) neg_() zero_() sub_(0.5) fill_(3) sin_() clamp_(min=0)",
        integer="add_(1) mul_(3) neg_() zero_() fill_(2) bitwise_xor_(1)",
        bool="logical_not_() fill_(True) zero_()",
        complex="mul_(2) neg_() zero_()",
        unknown="zero_() fill_(1) mul_(1)",
    ),
    "join": _by_kind(
        float="add sub mul maximum minimum",
        integer="add sub mul maximum minimum bitwise_xor",
        bool="logical_and logical_or logical_xor eq",
        complex="add sub mul",
    ),
    "value": _by_kind(float="1.0 -2.0 0.5", integer="1 2 3", bool="True False", complex="1.0", unknown="1"),
    "scatter": _by_kind(float="sum amax amin prod mean", integer="sum amax amin prod"),
    "flag": _one_of("True", "False"),
    "rounding": _one_of("floor", "trunc"),
    "signed": _one_of("int8", "int16", "int32", "int64"),
    "u8": _one_of("abs", "neg", "square", "bitwise_not"),
    "arg32": _one_of("argmax", "argmin"),
    "signedint": _one_of("torch.int8", "torch.int16", "torch.int32", "torch.int64"),
    "exponent": _one_of("0", "1", "2", "3", "-1", "0.5", "-0.5", "1.5"),
    "whole": _one_of("0", "1", "2", "3"),
    "eight": _one_of("torch.float8_e4m3fn", "torch.float8_e5m2"),
    "outop": _one_of("sin", "exp", "neg", "abs", "tanh", "square", "cos"),
    "few": _one_of("0", "1", "2"),
    "order": _one_of("0", "1", "2", "3", "float('inf')", "float('-inf')", "0.5"),
    "mode": _one_of("reflect", "replicate", "circular"),
    "truth": _one_of("any", "all", "sum", "prod"),
    "compare": _one_of("<", "<=", ">", ">=", "==", "!="),
}
"""Hole -> what fills it."""


def fill(text: str, tensor: Tensor, rng: Random, filled: Filled, name: Callable[[str], str]) -> bool:
    """Fill the holes of a text into `filled`; a hole without a fill becomes a new name. False when one cannot
    be filled."""
    for hole in holes(text):
        if hole in filled:
            continue
        made = FILLS[hole](tensor, rng, filled) if hole in FILLS else name(hole)
        if made is None:
            return False
        filled[hole] = made
    return True
