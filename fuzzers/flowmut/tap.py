"""Counts the kinds of data flow in programs, whoever made them: one tap on the framework's dispatcher.

Invariant: an edge is counted for what it was when it was used, both of its ends are operators of the program,
and its consumer lies on the way to an output. Only names that the framework gives are used, so that programs
of another fuzzer are counted by the same rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fuzzers.flowmut.classes import grad_class, size_classes, stride_class

EXPONENTS = 4
"""Powers of two that make one bin of magnitude."""

Kind = tuple[str, ...]


@dataclass(frozen=True)
class _Use:
    """One use of a tensor: by call number `consumer`, made by call number `producer`."""

    producer: int
    consumer: int
    kind: Kind
    values: Kind


@dataclass
class Flow:
    """The kinds of edges seen so far, without and with what is known of their values; and how many programs
    and calls they came from."""

    kinds: set[Kind] = field(default_factory=set)
    valued: set[Kind] = field(default_factory=set)
    programs: int = 0
    calls: int = 0

    def run(self, function: Callable[..., Any], inputs: Sequence[Any]) -> None:
        """Run a program once under the tap, and count. Raises what the program raises."""
        with Tap() as tap:
            outputs = function(*inputs)
        self.programs += 1
        self.calls += len(tap.names)
        for use in tap.live(tree_leaves(outputs)):
            self.kinds.add(use.kind)
            self.valued.add(use.kind + use.values)


class Tap(TorchDispatchMode):  # type: ignore[misc]
    """Notes every use of a tensor that a call made."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self._uses: list[_Use] = []
        self._made: dict[int, int] = {}
        self._stored: dict[int, int] = {}
        self._alive: list[Any] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Let the call run, and note it."""
        number, name = len(self.names), str(func._schema.name)
        self.names.append(name)
        for position, given in enumerate(tree_leaves((args, kwargs or {}))):
            if isinstance(given, torch.Tensor):
                self._use(given, number, name, position)
        result = func(*args, **(kwargs or {}))
        for made in tree_leaves(result):
            if isinstance(made, torch.Tensor):
                self._alive.append(made)
                self._made[id(made)] = self._stored[made.untyped_storage()._cdata] = number
        return result

    def _use(self, tensor: Any, number: int, name: str, position: int) -> None:
        producer = self._made.get(id(tensor))
        if producer is None:
            producer = self._stored.get(tensor.untyped_storage()._cdata)
        if producer is None:
            return
        shape, strides = tuple(tensor.shape), tuple(tensor.stride())
        kind = (
            self.names[producer],
            name,
            str(position),
            str(tensor.dtype),
            str(len(shape)),
            size_classes(shape),
            stride_class(shape, strides, tensor.storage_offset()),
            "view" if tensor._is_view() else "owner",
            grad_class(tensor.requires_grad, tensor.is_leaf),
        )
        self._uses.append(_Use(producer, number, kind, value_classes(tensor)))

    def live(self, outputs: Iterable[Any]) -> list[_Use]:
        """The uses whose consumer an output is computed from; a call that writes is always one."""
        reached = {self._made[id(o)] for o in outputs if id(o) in self._made}
        reached |= {k for k, name in enumerate(self.names) if name.endswith("_")}
        found: list[_Use] = []
        for use in sorted(self._uses, key=lambda u: -u.consumer):
            if use.consumer in reached:
                reached.add(use.producer)
                found.append(use)
        return found


def value_classes(tensor: Any) -> Kind:
    """What the values are like: which of NaN, infinity, zero and negative occur, whether they are all one
    value, and the bin of the largest finite magnitude."""
    if not tensor.numel() or tensor.is_complex():
        return ("none",)
    wide = tensor.detach().double()
    finite = wide[wide.isfinite()]
    top = float(finite.abs().max()) if finite.numel() else 0.0
    marks = (
        "nan" * bool(wide.isnan().any()),
        "inf" * bool(wide.isinf().any()),
        "zero" * bool((wide == 0).any()),
        "negative" * bool((wide < 0).any()),
        "constant" * bool((wide == wide.flatten()[0]).all()),
    )
    exponent = "0" if top == 0 else str(math.frexp(top)[1] // EXPONENTS)
    return (" ".join(filter(None, marks)), exponent)
