"""How much the outputs of a program move with each of its edges, from one backward pass.

Invariant: an answer is in [0, 1] for every edge and never raises: where no gradient flows (integers, detached
parts, operators without a backward, writes that a backward does not survive) it is 0.

The number is |sum over elements of gradient times value| made relative, s / (1 + s), with the norms standing
for the sum: |g| |v| / |out| says by which share of itself the output moves when the edge moves by one.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch

from fuzzers.flowmut.edge import FLOATING
from fuzzers.flowmut.program import Program
from fuzzers.flowmut.record import Observer, Refused, walk
from fuzzers.flowmut.source import build


def sensitivities(program: Program) -> dict[str, float]:
    """One number an edge, by name."""
    wanting = replace(
        program, inputs=tuple(replace(i, requires_grad=i.dtype in FLOATING) for i in program.inputs)
    )
    found = dict.fromkeys(program.names(), 0.0)
    try:
        tensors = walk(wanting, build(wanting)[1](), Observer(profiles=False))
    except Refused:
        # With gradients wanted, a write to an input is refused; such a program has no numbers.
        return found
    ends = [tensors[o] for o in program.outputs if _tracked(tensors[o])]
    edges = [name for name, tensor in tensors.items() if _tracked(tensor)]
    if not ends or not edges:
        return found
    try:
        grads = torch.autograd.grad(
            ends, [tensors[e] for e in edges], [torch.ones_like(end) for end in ends], allow_unused=True
        )
    except RuntimeError:
        return found
    size = sum(_norm(end) for end in ends)
    for name, grad in zip(edges, grads, strict=True):
        found[name] = _squashed(_norm(grad) * _norm(tensors[name]), size) if grad is not None else 0.0
    return found


def _tracked(tensor: Any) -> bool:
    return bool(tensor.requires_grad and tensor.is_floating_point() and tensor.numel())


def _norm(tensor: Any) -> float:
    return float(torch.linalg.vector_norm(tensor.detach().double()))


def _squashed(moved: float, size: float) -> float:
    share = moved / size if size else moved
    return share / (1 + share) if math.isfinite(share) else 0.0
