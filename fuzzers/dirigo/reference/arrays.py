"""Between tensors and the arrays that the graph is evaluated on.

Invariant: a tensor's storage and its numpy array hold the same bits; bfloat16, which numpy has not, is
uint16.
"""

from __future__ import annotations

import numpy as np
import torch

from fuzzers.dirigo.reference.graph import TYPES, Array, Layout
from fuzzers.dirigo.reference.kinds import numbers_of
from fuzzers.dirigo.simt.events import Unknown


def layout_of(tensor: torch.Tensor) -> Layout:
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in TYPES:
        raise Unknown(f"dtype {name}")
    return Layout(TYPES[name], tuple(map(int, tensor.shape)), tuple(map(int, tensor.stride())))


def storage_of(tensor: torch.Tensor) -> Array:
    """The whole storage of a tensor, flat."""
    flat = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    return flat.view(torch.uint16).numpy() if tensor.dtype is torch.bfloat16 else flat.numpy()


def numbers_in(tensor: torch.Tensor) -> Array:
    """A tensor's elements as formulas hold them, in its shape."""
    if tensor.dtype is torch.bfloat16:
        return tensor.float().numpy()
    return tensor.numpy()


def tensor_of(type_: str, number: Array) -> torch.Tensor:
    """What `numbers_in` made into an array."""
    if type_ == "bf16":
        return torch.from_numpy(np.ascontiguousarray(number)).to(torch.bfloat16)
    return torch.from_numpy(np.ascontiguousarray(number))


def in_storage(layout: Layout, offset: int, storage: Array) -> Array:
    """The elements of an input, from its storage, in its shape and as formulas hold them."""
    number = numbers_of(layout.type, storage) if layout.type in ("bf16",) else storage
    step = number.itemsize
    view: Array = np.lib.stride_tricks.as_strided(
        number[offset:], layout.shape, tuple(s * step for s in layout.strides), writeable=False
    )
    return view.copy()
