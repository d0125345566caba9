"""Runs a program eagerly, node by node, and notes the state of every edge.

Invariant: a state is what was seen, with storages told apart by identity and named after the first edge
that owns them. `observe` works on real and on fake tensors alike (a fake one has no profile), so that a
recorded and a predicted state are comparable field by field.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from types import CodeType
from typing import Any

import torch

from fuzzers.flowmut.edge import FLOATING, INTEGER_RANGE, EdgeState, Profile, self_overlapping
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Node, Program
from fuzzers.flowmut.rejection import Refused as Refused
from fuzzers.flowmut.runtime import Guard, States
from fuzzers.flowmut.source import build


def dtype_name(tensor: Any) -> str:
    """`float32` of torch.float32."""
    return str(tensor.dtype).removeprefix("torch.")


def profile_of(tensor: Any) -> Profile:
    """The value profile of a real tensor; saturation counts integers at a limit of their dtype."""
    flat = tensor.detach().reshape(-1)
    count = flat.numel()
    if not count:
        return Profile()
    dtype = dtype_name(flat)
    wide = flat.double() if dtype in FLOATING else flat.long()
    nans = infs = negative_zeros = denormals = saturated = 0
    if dtype in FLOATING:
        finite = wide.isfinite()
        bad = count - int(finite.sum())
        nans = int(wide.isnan().sum()) if bad else 0
        infs = bad - nans
        zero = wide == 0
        negative_zeros = int((zero & wide.signbit()).sum())
        denormals = int((~zero & (wide.abs() < torch.finfo(flat.dtype).tiny)).sum())
        wide = wide[finite] if bad else wide
    elif dtype != "bool":
        low, high = INTEGER_RANGE[dtype]
        saturated = int(((wide == high) | ((wide == low) & (low < 0))).sum())
    zeros = float((wide == 0).sum()) / count
    if not wide.numel():
        return Profile(nans=nans, infs=infs)
    real = wide.double()
    return Profile(
        low=float(wide.min()),
        high=float(wide.max()),
        mean=float(real.mean()),
        std=float(real.std(correction=0)),
        nans=nans,
        infs=infs,
        zeros=zeros,
        negative_zeros=negative_zeros,
        denormals=denormals,
        saturated=saturated,
        constant=bool((wide == wide[0]).all()) and wide.numel() == count,
        whole=bool((real == real.trunc()).all()),
        distinct=wide.unique().numel() == count,
        rising=wide.numel() == count and bool((wide[1:] >= wide[:-1]).all()),
    )


class Observer:
    """Notes states, keeping track of which storage was first seen under which name."""

    def __init__(self, *, profiles: bool) -> None:
        self._profiles = profiles
        self._owners: dict[int, str] = {}
        self._leaves: set[str] = set()
        self._tensors: dict[str, Any] = {}
        self.states: States = {}

    def note(self, name: str, tensor: Any) -> EdgeState:
        """Record the state of one edge."""
        owner = self._owners.setdefault(tensor.untyped_storage()._cdata, name)
        same = next((n for n, t in self._tensors.items() if t is tensor), "")
        if tensor.is_leaf and tensor.requires_grad:
            self._leaves.add(owner)
        shape, strides = tuple(tensor.shape), tuple(tensor.stride())
        state = EdgeState(
            shape=shape,
            dtype=dtype_name(tensor),
            strides=strides,
            offset=tensor.storage_offset(),
            requires_grad=tensor.requires_grad,
            is_leaf=tensor.is_leaf,
            storage=owner,
            relation="same" if same else "fresh" if owner == name else "view",
            alias_of=same or ("" if owner == name else owner),
            on_leaf=owner in self._leaves,
            overlaps=self_overlapping(shape, strides),
            profile=profile_of(tensor) if self._profiles else None,
        )
        self._tensors[name] = tensor
        self.states[name] = state
        return state

    def wrote(self, node: Node, target: str) -> None:
        """A node wrote in place: every edge on that storage that was there before is later mutated, and
        what is known of its values from now on is what they are now."""
        owner = self.states[target].storage
        for name, state in self.states.items():
            if state.storage == owner and name != node.name:
                self.states[name] = replace(state, later_mutated=True)

    def current(self, name: str) -> EdgeState:
        """The state as it is now: after a write, other values and another grad state than were noted."""
        state = self.states[name]
        if not state.later_mutated:
            return state
        tensor = self._tensors[name]
        return replace(
            state,
            requires_grad=tensor.requires_grad,
            is_leaf=tensor.is_leaf,
            profile=profile_of(tensor) if self._profiles else None,
        )


@lru_cache(maxsize=4096)
def _compiled(expression: str) -> CodeType:
    return compile(expression, "<node>", "eval")


def apply(node: Node, tensors: dict[str, Any]) -> Any:
    """Evaluate one node's expression on the tensors of its arguments."""
    operator = OPERATORS[node.op]
    names = [f"t{k}" for k in range(len(node.args))]
    scope = {"torch": torch, "F": torch.nn.functional}
    scope.update(zip(names, (tensors[a] for a in node.args), strict=True))
    return eval(_compiled(operator.render(names, operator.values(node))), scope)


def walk(
    program: Program, inputs: Sequence[Any], observer: Observer, guard: Guard | None = None
) -> dict[str, Any]:
    """Run the nodes in order on the given inputs; every tensor by name. Raises Refused at the first node
    that the guard or the framework rejects."""
    tensors = dict(zip((i.name for i in program.inputs), inputs, strict=True))
    for name, tensor in tensors.items():
        observer.note(name, tensor)
    for node in program.nodes:
        if guard and (reason := guard(node, [observer.current(a) for a in node.args])):
            raise Refused(node.name, node.op, reason)
        try:
            tensors[node.name] = apply(node, tensors)
        # The framework rejects a call by whatever class it likes; its answer is data here.
        except Exception as error:
            raise Refused(node.name, node.op, f"{type(error).__name__}: {error}") from error
        observer.note(node.name, tensors[node.name])
        if (written := OPERATORS[node.op].writes) is not None:
            observer.wrote(node, node.args[written])
    return tensors


def record(program: Program, guard: Guard | None = None) -> States:
    """The states of every edge of an eager run. Raises Refused (see `walk`)."""
    observer = Observer(profiles=True)
    walk(program, build(program)[1](), observer, guard)
    return observer.states
