"""The short stable name of a bug.

Invariant: a signature depends on nothing but `Traits`, and `Traits` hold nothing that differs between two
occurrences of one bug: no line numbers, seeds, sizes, values, tensor names or paths. The version tag goes up
when the recipe changes, so that an old store can be mapped to the new names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from bot import normalise
from fuzzers.records import Kind

VERSION = "v1"
DIGITS = 12

BY_MESSAGE = frozenset({Kind.EXCEPTION})
"""Kinds named by what was raised rather than by the operators of the program."""

DTYPE_CLASSES: dict[str, str] = {
    "bool": "bool",
    **dict.fromkeys(("uint8", "uint16", "uint32", "uint64"), "uint"),
    **dict.fromkeys(("int8", "int16", "int32", "int64"), "int"),
    **dict.fromkeys(("float16", "bfloat16"), "half"),
    **dict.fromkeys(("float32", "float64"), "float"),
    **dict.fromkeys(("complex32", "complex64", "complex128"), "complex"),
}
"""Widths of one class share their code paths in a compiler; half precision has casts of its own."""


@dataclass(frozen=True)
class Traits:
    """What a bug is named by. `operators` and `dtypes` are those of the reduced program; `exception`,
    `message`, `signal` and `frames` may be raw: the signature normalises them."""

    framework: str
    kind: Kind
    aspect: str
    stage: str
    subsystem: str = ""
    operators: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    exception: str = ""
    message: str = ""
    signal: str = ""
    frames: tuple[str, ...] = ()


def dtype_class(dtypes: Iterable[str]) -> tuple[str, ...]:
    """The sorted classes of some dtype names; a name that the table lacks stands for itself."""
    return tuple(sorted({DTYPE_CLASSES.get(d.removeprefix("torch."), d) for d in dtypes}))


def traits_hashed(traits: Traits) -> tuple[object, ...]:
    """The part of the traits that makes the name.

    An exception is named by class, message and innermost frames: one bug in a lowering is reached by many
    operators. A crash has a signal and perhaps frames, a hang has nothing, so both are named by
    their operators too.
    """
    common = (traits.framework, traits.kind, traits.aspect, traits.stage, traits.subsystem)
    if traits.kind in BY_MESSAGE:
        shown = normalise.message(traits.message)
        return (*common, traits.exception, shown, normalise.frames(traits.frames))
    program = (tuple(sorted(set(traits.operators))), dtype_class(traits.dtypes))
    if traits.kind in (Kind.CRASH, Kind.HANG):
        return (*common, traits.signal, normalise.frames(traits.frames), *program)
    return (*common, *program)


def signature(traits: Traits) -> str:
    """`v1-` and twelve hex digits."""
    body = json.dumps(traits_hashed(traits), separators=(",", ":"))
    return f"{VERSION}-{hashlib.sha256(body.encode()).hexdigest()[:DIGITS]}"
