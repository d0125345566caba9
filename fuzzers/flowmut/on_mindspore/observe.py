"""Runs a program in PyNative, node by node, and notes the state of every edge.

Invariant: the states are those of `fuzzers.flowmut.edge`, so that requirements and mutations read them as
they read torch's. MindSpore shows no strides and no storages: every edge is dense and owns its memory, which
holds because only functional operators are bound.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from types import CodeType
from typing import Any, TypeAlias

import mindspore as ms
import numpy as np
from mindspore import ops

from fuzzers.flowmut.edge import FLOATING, INTEGER_RANGE, EdgeState, Profile, dense_strides
from fuzzers.flowmut.on_mindspore.bindings import BINDINGS
from fuzzers.flowmut.on_mindspore.source import build, spell
from fuzzers.flowmut.program import Program
from fuzzers.flowmut.rejection import Refused
from fuzzers.flowmut.runtime import Guard, States

Array: TypeAlias = Any
"""A numpy array."""


def dtype_name(tensor: Any) -> str:
    """`float32` of a Float32 tensor."""
    return str(tensor.dtype).lower()


def to_numpy(tensor: Any) -> Array:
    """The values; waits for what computes them, so an asynchronous error is raised here."""
    values: Array = np.asarray(tensor.asnumpy())
    return values


def profile_of(values: Array) -> Profile:
    """The value profile, as torch's recorder takes it."""
    flat = values.reshape(-1)
    if not flat.size:
        return Profile()
    wide: Array = flat.astype(np.float64)
    finite = np.isfinite(wide)
    kept = wide[finite]
    nans = int(np.isnan(wide).sum())
    if not kept.size:
        return Profile(nans=nans, infs=flat.size - nans)
    is_float = values.dtype.name in FLOATING
    zero = wide == 0
    low, high = INTEGER_RANGE.get(values.dtype.name, (0, 0))
    counts = values.dtype.name in INTEGER_RANGE and values.dtype.name != "bool"
    return Profile(
        low=float(kept.min()),
        high=float(kept.max()),
        mean=float(kept.mean()),
        std=float(kept.std()),
        nans=nans,
        infs=int((~finite).sum()) - nans,
        zeros=float(zero.mean()),
        negative_zeros=int((zero & np.signbit(wide)).sum()) if is_float else 0,
        denormals=int((~zero & (np.abs(wide) < np.finfo(flat.dtype).tiny)).sum()) if is_float else 0,
        saturated=int(((flat == high) | ((flat == low) & (low < 0))).sum()) if counts else 0,
        constant=bool((kept == kept[0]).all()) and kept.size == flat.size,
        whole=bool((kept == np.trunc(kept)).all()),
        distinct=len(np.unique(kept)) == flat.size,
        rising=kept.size == flat.size and bool((kept[1:] >= kept[:-1]).all()),
    )


def state_of(name: str, tensor: Any, wants_gradient: bool = False) -> EdgeState:
    """The state of one edge."""
    shape = tuple(int(size) for size in tensor.shape)
    return EdgeState(
        shape=shape,
        dtype=dtype_name(tensor),
        strides=dense_strides(shape),
        requires_grad=wants_gradient,
        storage=name,
        profile=profile_of(to_numpy(tensor)),
    )


@lru_cache(maxsize=4096)
def _compiled(expression: str) -> CodeType:
    return compile(expression, "<node>", "eval")


def run(program: Program, guard: Guard | None = None) -> tuple[States, dict[str, Any]]:
    """The states and the tensors of every edge of a PyNative run. Refused at the first node that the guard or
    MindSpore rejects."""
    made = build(replace(program, nodes=(), outputs=()))[1]
    tensors = dict(zip((i.name for i in program.inputs), made(), strict=True))
    states = {i.name: state_of(i.name, tensors[i.name], i.requires_grad) for i in program.inputs}
    for node in program.nodes:
        if guard and (reason := guard(node, [states[a] for a in node.args])):
            raise Refused(node.name, node.op, reason)
        if node.op not in BINDINGS:
            raise Refused(node.name, node.op, "MindSpore has no such operator")
        names = [f"t{k}" for k in range(len(node.args))]
        scope = {"ms": ms, "ops": ops, **dict(zip(names, (tensors[a] for a in node.args), strict=True))}
        try:
            tensors[node.name] = eval(_compiled(spell(node, names)), scope)
            wants = any(states[a].requires_grad for a in node.args)
            states[node.name] = state_of(node.name, tensors[node.name], wants)
        # MindSpore rejects a call by whatever class it likes; its answer is data here.
        except Exception as error:
            raise Refused(node.name, node.op, f"{type(error).__name__}: {error}") from error
    return states, tensors
