"""Faithful copies of a program's arguments.

Invariant: a copy has the same sizes, strides, storage offsets, overlaps, mutual aliases, object identity
between arguments, conjugate and negative bits, and `requires_grad` as the original, in memory that
nothing else holds; so that a program which writes in place can be run any number of times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

Rebase = Callable[[torch.Tensor], torch.Tensor]


class UnsupportedInput(ValueError):
    """An argument that cannot be copied faithfully: sparse, quantised, nested, or a tensor subclass."""


@dataclass(frozen=True)
class Inputs:
    """Arguments as the caller gave them, never handed to a program themselves."""

    leaves: tuple[Any, ...]
    spec: Any
    requires_grad: tuple[bool, ...]

    @property
    def tensors(self) -> tuple[torch.Tensor, ...]:
        """The tensor leaves, in order: the numbering of `input k` and `grad k`."""
        return tuple(t for t in self.leaves if isinstance(t, torch.Tensor))

    def differentiable(self) -> tuple[bool, ...]:
        """Which tensor leaves can have a gradient."""
        return tuple(t.is_floating_point() for t in self.tensors)

    def with_grad(self, flags: tuple[bool, ...]) -> Inputs:
        """The same arguments with other `requires_grad` flags."""
        return Inputs(self.leaves, self.spec, flags)

    def copies(self) -> tuple[tuple[Any, ...], dict[str, Any], tuple[torch.Tensor, ...]]:
        """(args, kwargs, tensor leaves): a fresh copy of everything."""
        storages: dict[int, torch.UntypedStorage] = {}
        rebuilt: dict[int, torch.Tensor] = {}
        flags = iter(self.requires_grad)
        leaves: list[Any] = []
        for leaf in self.leaves:
            if not isinstance(leaf, torch.Tensor):
                leaves.append(leaf)
                continue
            flag = next(flags)
            if id(leaf) not in rebuilt:
                rebuilt[id(leaf)] = _rebuild(leaf, storages).requires_grad_(flag)
            leaves.append(rebuilt[id(leaf)])
        args, kwargs = tree_unflatten(leaves, self.spec)
        return args, kwargs, tuple(t for t in leaves if isinstance(t, torch.Tensor))


def take(args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Inputs:
    """The arguments of one call. UnsupportedInput when one of them cannot be copied faithfully."""
    leaves, spec = tree_flatten((tuple(args), dict(kwargs or {})))
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            _refuse_exotic(leaf)
    flags = tuple(t.requires_grad for t in leaves if isinstance(t, torch.Tensor))
    return Inputs(tuple(leaves), spec, flags)


def _refuse_exotic(tensor: torch.Tensor) -> None:
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise UnsupportedInput(f"a tensor subclass: {type(tensor).__name__}")
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested:
        raise UnsupportedInput(f"not a strided tensor: {tensor.layout}")


def _rebuild(tensor: torch.Tensor, storages: dict[int, torch.UntypedStorage]) -> torch.Tensor:
    source = tensor.detach()
    storage = source.untyped_storage()
    if storage._cdata not in storages:
        storages[storage._cdata] = storage.clone()
    fresh = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    fresh.set_(storages[storage._cdata], source.storage_offset(), source.size(), source.stride())
    if source.is_conj():
        fresh = torch._conj(fresh)
    if source.is_neg():
        fresh = torch._neg_view(fresh)
    return torch.nn.Parameter(fresh, requires_grad=False) if type(tensor) is torch.nn.Parameter else fresh
