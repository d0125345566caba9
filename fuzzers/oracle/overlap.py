"""Whether an operator writes into memory that it also reads, or writes twice.

Invariant: exact for small storages, where the very elements are compared, and careful (says yes) for
large ones. In-place on identical memory is not an overlap: elementwise operators define it.
"""

from __future__ import annotations

from typing import Any

import torch

_EXACT_UP_TO = 1 << 16
"""Elements of storage up to which element sets are compared; beyond, ranges are."""


def writes_overlap(func: Any, given: dict[str, Any]) -> bool:
    """Whether a mutated argument overlaps itself, or partly overlaps another argument."""
    written = [
        given[a.name]
        for a in func._schema.arguments
        if a.alias_info is not None and a.alias_info.is_write and isinstance(given.get(a.name), torch.Tensor)
    ]
    tensors = [t for v in given.values() for t in (v if isinstance(v, list | tuple) else (v,))]
    read = [t for t in tensors if isinstance(t, torch.Tensor)]
    return any(overlaps_itself(w) or any(_partly(w, r) for r in read if r is not w) for w in written)


def overlaps_itself(tensor: torch.Tensor) -> bool:
    """Whether two different indices of the tensor are the same element of memory."""
    if tensor.numel() < 2 or tensor.is_contiguous():
        return False
    if any(n > 1 and s == 0 for n, s in zip(tensor.shape, tensor.stride(), strict=True)):
        return True
    if tensor.numel() > _EXACT_UP_TO:
        return bool(torch._debug_has_internal_overlap(tensor) == 1)
    places = _elements(tensor)
    return bool(places.unique().numel() < places.numel())


def _partly(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.untyped_storage()._cdata != b.untyped_storage()._cdata or not a.numel() or not b.numel():
        return False
    if (a.storage_offset(), a.shape, a.stride(), a.dtype) == (
        b.storage_offset(),
        b.shape,
        b.stride(),
        b.dtype,
    ):
        return False
    if a.dtype == b.dtype and max(a.numel(), b.numel()) <= _EXACT_UP_TO:
        return bool(torch.isin(_elements(a), _elements(b)).any())
    (low_a, high_a), (low_b, high_b) = _range(a), _range(b)
    return low_a < high_b and low_b < high_a


def _elements(tensor: torch.Tensor) -> torch.Tensor:
    """Positions in storage of all elements of the tensor."""
    places = torch.tensor(tensor.storage_offset())
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        places = places.unsqueeze(-1) + torch.arange(size) * stride
    return places.flatten()


def _range(tensor: torch.Tensor) -> tuple[int, int]:
    """Byte range that the tensor spans."""
    reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    start = tensor.storage_offset()
    return start * tensor.element_size(), (start + reach + 1) * tensor.element_size()
