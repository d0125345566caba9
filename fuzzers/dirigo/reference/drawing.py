"""Values for the inputs of a reference.

Invariant: integers come from the reference itself, floats from nowhere: no distribution of get_inputs() and
no initial parameter is part of what is checked; only their sizes and signs are kept.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.utils import _pytree

from fuzzers.dirigo.reference.arrays import storage_of
from fuzzers.dirigo.reference.graph import Array, Input, Kind, Traced
from fuzzers.dirigo.reference.kinds import bits_of, numbers_of, rounded, stored
from fuzzers.dirigo.reference.sources import REAL_BYTES, first_line, loaded
from fuzzers.dirigo.simt.events import Stopped


def draw(traced: Traced, seed: int) -> list[Array] | Stopped:
    """Flat storages for every input, in the order of `traced.inputs`: floats normal (arguments of spread 1,
    parameters and buffers of the spread of their own values, or 1 where these are all 0; where these are all
    positive, positive, from half to twice them), integer arguments from get_inputs() under that seed where
    the shapes are its own, integer buffers as they are. numpy arrays of the input's dtype; bfloat16 as uint16
    bits. Reasons: "inputs: <bytes>", "reference: get_inputs: <what it raised>"."""
    size = sum(item.elements * stored(item.layout.type).itemsize for item in traced.inputs)
    if size > REAL_BYTES:
        return Stopped(f"inputs: {size} bytes")
    rng = np.random.default_rng(seed)
    integers = any(i.kind is Kind.ARGUMENT and not i.is_symbolic for i in traced.inputs)
    own: list[Array | None] = list(traced.initial)
    if integers and seed:
        try:
            own = _redrawn(traced, seed)
        except Exception as error:  # noqa: BLE001 - foreign code raises what it likes
            return Stopped(f"reference: get_inputs: {type(error).__name__}: {first_line(error)}")
    return [_drawn(rng, item, value) for item, value in zip(traced.inputs, own, strict=True)]


def _drawn(rng: np.random.Generator, item: Input, own: Array | None) -> Array:
    if not item.is_symbolic:
        return own
    number = rng.standard_normal(item.elements, np.float32)
    if own is not None and own.size:
        held = numbers_of(item.layout.type, own).astype(np.float64)
        if held.min() > 0:
            number = held * np.exp2(np.tanh(number))
        else:
            number = number * (float(np.sqrt(np.mean(held * held))) or 1.0)
    return bits_of(item.layout.type, rounded(item.layout.type, number)).view(stored(item.layout.type))


def _redrawn(traced: Traced, seed: int) -> list[Array | None]:
    """The initial values with integer arguments drawn anew; those of other shapes stay."""
    module = loaded(traced.source)
    torch.manual_seed(seed)
    tensors = [t for t in _pytree.tree_leaves(module.get_inputs()) if isinstance(t, torch.Tensor)]
    found = list(traced.initial)
    arguments = [at for at, item in enumerate(traced.inputs) if item.kind is Kind.ARGUMENT]
    for at, tensor in zip(arguments, tensors, strict=True):
        item = traced.inputs[at]
        if not item.is_symbolic and tuple(tensor.shape) == item.layout.shape:
            found[at] = storage_of(tensor)
    return found
