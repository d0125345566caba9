"""One observed execution of a program.

Invariant: an `Observation` holds all that a user could see of one call, and taking it changes nothing a
user could see; both sides are run by the same function, so a difference between two observations is a
difference between the callables.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_flatten

from fuzzers.oracle.inputs import Inputs
from fuzzers.oracle.thresholds import COTANGENT_SEED

_M_PERTURB = -6
_LIBC = ctypes.CDLL(None)


@dataclass(frozen=True)
class Observation:
    """What one call did. `raised` and `backward_raised` are None when it returned.

    `leaves` are the output leaves, tensors detached; `inputs` the tensor arguments after the call;
    `aliases` the pairs of places that share storage; `requires_grad` one flag an output leaf (None for
    a leaf that is no tensor); `grads` one a tensor argument (None where there is none).
    """

    raised: BaseException | None = None
    structure: Any = None
    leaves: tuple[Any, ...] = ()
    inputs: tuple[torch.Tensor, ...] = ()
    aliases: frozenset[tuple[str, str]] = frozenset()
    requires_grad: tuple[bool | None, ...] = ()
    grads: tuple[torch.Tensor | None, ...] = ()
    backward_raised: BaseException | None = None
    differentiated: tuple[int, ...] = ()


def observe(fn: Callable[..., Any], inputs: Inputs, seed: int, gradients: bool) -> Observation:
    """Run `fn` once on a fresh copy of `inputs`, reseeded, and note everything observable."""
    args, kwargs, tensors = inputs.copies()
    return observe_on(fn, args, kwargs, tensors, seed, gradients)


def observe_on(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tensors: tuple[torch.Tensor, ...],
    seed: int,
    gradients: bool,
) -> Observation:
    """As `observe`, on arguments that the caller has copied; `tensors` are their tensor leaves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        try:
            result = fn(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - whatever the program raises is the observation
            return Observation(raised=error)
        leaves, structure = tree_flatten(result)
        aliases = _aliases(leaves, tensors)
        flags = tuple(t.requires_grad if isinstance(t, torch.Tensor) else None for t in leaves)
        grads: tuple[torch.Tensor | None, ...] = ()
        differentiated: tuple[int, ...] = ()
        failed: BaseException | None = None
        if gradients:
            differentiated = tuple(k for k, t in enumerate(leaves) if flags[k] and t.is_floating_point())
            try:
                grads = _gradients([leaves[k] for k in differentiated], differentiated, tensors)
            except Exception as error:  # noqa: BLE001 - whatever the backward raises is the observation
                failed = error
    return Observation(
        structure=structure,
        leaves=tuple(t.detach() if isinstance(t, torch.Tensor) else t for t in leaves),
        inputs=tuple(t.detach() for t in tensors),
        aliases=aliases,
        requires_grad=flags,
        grads=grads,
        backward_raised=failed,
        differentiated=differentiated,
    )


def cotangent(output: torch.Tensor, index: int) -> torch.Tensor:
    """The fixed random cotangent of output leaf `index`: standard normal, the same for both sides."""
    with _disable_current_modes():
        generator = torch.Generator().manual_seed(COTANGENT_SEED + index)
        drawn = torch.randn(output.shape, generator=generator, dtype=torch.float64)
        return drawn.to(dtype=output.dtype, device=output.device)


def _gradients(
    outputs: list[torch.Tensor], indices: tuple[int, ...], tensors: tuple[torch.Tensor, ...]
) -> tuple[torch.Tensor | None, ...]:
    wanted = {id(t): t for t in tensors if t.requires_grad}
    if not outputs or not wanted:
        return tuple(None for _ in tensors)
    found = torch.autograd.grad(
        outputs,
        list(wanted.values()),
        [cotangent(o, k) for o, k in zip(outputs, indices, strict=True)],
        allow_unused=True,
    )
    of = dict(zip(wanted, found, strict=True))
    return tuple(of.get(id(t)) for t in tensors)


def _aliases(leaves: list[Any], tensors: tuple[torch.Tensor, ...]) -> frozenset[tuple[str, str]]:
    """Pairs of places, at least one of them an output, that share storage. Empty storages share nothing."""
    places = [(f"output {k}", t) for k, t in enumerate(leaves) if isinstance(t, torch.Tensor)]
    places += [(f"input {k}", t) for k, t in enumerate(tensors)]
    keyed = [(name, _storage_key(t)) for name, t in places]
    return frozenset(
        (a, b)
        for (a, key_a), (b, key_b) in combinations(keyed, 2)
        if key_a == key_b and key_a is not None and a.startswith("output")
    )


def _storage_key(tensor: torch.Tensor) -> int | None:
    if tensor.layout is not torch.strided or tensor.numel() == 0:
        return None
    return int(tensor.untyped_storage().data_ptr()) or None


@contextmanager
def fresh_memory_filled(pattern: int) -> Iterator[None]:
    """Within, memory that the C allocator hands out holds `pattern` in every byte, as MALLOC_PERTURB_
    would have it (the allocator writes the complement of the parameter). The allocator forgets to for
    the odd small block that it takes from its list of just freed ones."""
    _LIBC.mallopt(_M_PERTURB, pattern ^ 0xFF)
    try:
        yield
    finally:
        _LIBC.mallopt(_M_PERTURB, 0)
