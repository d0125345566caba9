"""How numbers of each type are held: as arrays for formulas, as bits for a tape and a storage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fuzzers.dirigo.reference.graph import Array
from fuzzers.dirigo.simt import rounding

NUMPY: Mapping[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": np.float32,
    "s64": np.int64,
    "s32": np.int32,
    "s16": np.int16,
    "s8": np.int8,
    "u8": np.uint8,
    "pred": np.bool_,
}
"""How numbers of a type are held here; a bfloat16 is held as the float32 that it is."""


def bits_of(type_: str, number: Array) -> Array:
    """Numbers as the bits that a tape holds; truth values stay truth values."""
    if type_ == "bf16":
        return rounding.f32_to_bf16(number)
    return number if type_ == "pred" else number.view(f"u{number.itemsize}")


def numbers_of(type_: str, bits: Array) -> Array:
    """What `bits_of` made into bits."""
    if type_ == "bf16":
        return rounding.bf16_to_f32(bits.view(np.uint16))
    return bits.view(NUMPY[type_])


def rounded(type_: str, number: Array) -> Array:
    """Numbers in a type. What does not fit an integer is what the processor makes of it, as in torch."""
    if type_ == "bf16":
        return rounding.bf16_to_f32(rounding.f32_to_bf16(np.asarray(number).astype(np.float32)))
    if type_ == "pred" and number.dtype.kind == "f":
        return number != 0
    return number.astype(NUMPY[type_], copy=False)


def stored(type_: str) -> np.dtype:
    """The dtype of an input's storage."""
    return np.dtype(np.uint16 if type_ == "bf16" else NUMPY[type_])
