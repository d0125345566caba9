"""Positions (argmax, sort, topk...) are compared by what they select.

Invariant: two position tensors over the same source are alike when every position is in range, none is
used twice where none may be, and the elements that they select are equal within tolerance. Which of
several equal elements was taken is never a difference.
"""

from __future__ import annotations

import torch

from fuzzers.oracle.compare import beyond_tolerance
from fuzzers.oracle.lanes import Indices
from fuzzers.oracle.perturb import epsilon
from fuzzers.oracle.thresholds import TIE_ULPS


def is_direct(indices: Indices, output: torch.Tensor) -> bool:
    """Whether an output is the very tensor that the operator returned, not something made of it."""
    origin = indices.tensor
    return (output.shape, output.stride(), output.storage_offset(), output.dtype) == (
        origin.shape,
        origin.stride(),
        origin.storage_offset(),
        origin.dtype,
    )


def select_unlike(indices: Indices, expected: torch.Tensor, actual: torch.Tensor) -> torch.Tensor:
    """Elements of two position tensors that select unlike values. Shape of `expected`."""
    source, dim, a, b = _lined_up(indices, expected, actual)
    size = source.size(dim)
    outside = (b < 0) | (b >= size)
    chosen = [source.gather(dim, i.clamp(0, max(size - 1, 0))) for i in (a, b)]
    bad = outside | beyond_tolerance(*chosen)
    if indices.distinct:
        ordered = b.sort(dim)
        again = torch.zeros_like(bad)
        again.narrow(dim, 1, max(b.size(dim) - 1, 0)).copy_(ordered.values.diff(dim=dim) == 0)
        bad = bad | torch.zeros_like(bad).scatter(dim, ordered.indices, again)
    return bad.reshape(expected.shape)


def _lined_up(
    indices: Indices, expected: torch.Tensor, actual: torch.Tensor
) -> tuple[torch.Tensor, int, torch.Tensor, torch.Tensor]:
    """(source, dim, both positions) such that `source.gather(dim, positions)` is what they select."""
    source, a, b = indices.source, expected.long(), actual.long()
    if indices.spatial:
        keep = source.dim() - indices.spatial
        return source.flatten(keep), keep, a.flatten(keep), b.flatten(keep)
    if indices.dim is None or source.dim() == 0:
        return source.flatten(), 0, a.flatten(), b.flatten()
    dim = indices.dim % source.dim()
    if a.dim() < source.dim():
        a, b = a.unsqueeze(dim), b.unsqueeze(dim)
    return source, dim, a, b


def has_ties(indices: Indices, stable: bool) -> bool:
    """Whether an element that was selected is so near another that either may have been. With `stable`,
    elements that are equal bit for bit keep their order and are no tie."""
    source, dim, positions, _ = _lined_up(indices, indices.tensor, indices.tensor)
    if source.size(dim) < 2 or positions.numel() == 0:
        return False
    source = source.to(torch.uint8) if source.dtype == torch.bool else source
    ordered = source.sort(dim).values
    if indices.spatial:
        return bool((ordered.diff(dim=dim) == 0).any())
    selected = source.gather(dim, positions).contiguous()
    lines = ordered.transpose(dim, -1).contiguous()
    wanted = selected.transpose(dim, -1).contiguous()
    margin = wanted.abs() * (TIE_ULPS * epsilon(source.dtype) if source.is_floating_point() else 0)
    within = torch.searchsorted(lines, wanted + margin, right=True) - torch.searchsorted(
        lines, wanted - margin
    )
    if stable:
        within = (
            within - torch.searchsorted(lines, wanted, right=True) + torch.searchsorted(lines, wanted) + 1
        )
    return bool((within > 1).any())
