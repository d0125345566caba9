"""Walking through operator arguments and results.

Invariant: the order is that of the schema, nested lists included, so that what one lane returns lines up
with what eager returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from fuzzers.oracle.lanes import inexact, widened


def agree(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal in shape and in every element, NaN equal to NaN."""
    if a.shape != b.shape:
        return False
    same = a == b
    if inexact(a.dtype):
        same |= torch.isnan(a) & torch.isnan(b)
    return bool(same.all())


def upcast(tensor: torch.Tensor) -> torch.Tensor:
    """The values in the dtype of a lane."""
    return tensor.detach().to(widened(tensor.dtype))


def tensors_in(tree: Any, python: bool = False) -> Iterator[torch.Tensor]:
    """Tensors in nested arguments or results, in order; with `python`, numbers too, as tensors."""
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, list | tuple):
        for item in tree:
            yield from tensors_in(item, python)
    elif isinstance(tree, dict):
        for item in tree.values():
            yield from tensors_in(item, python)
    elif python and isinstance(tree, bool | int | float | complex):
        yield torch.tensor(tree)


def mapped(tree: Any, to_lane: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Arguments with every tensor replaced and every floating dtype widened."""
    if isinstance(tree, torch.Tensor):
        return to_lane(tree)
    if isinstance(tree, torch.dtype):
        return widened(tree)
    if isinstance(tree, list | tuple):
        return type(tree)(mapped(item, to_lane) for item in tree)
    if isinstance(tree, dict):
        return {key: mapped(item, to_lane) for key, item in tree.items()}
    return tree
