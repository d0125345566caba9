"""Drawn programs, and honest compilers for them.

Invariant: a program is a straight line of operators out of one table, evaluated by an *algebra*. The eager
algebra calls torch; every other algebra computes the same mathematics in another legal way (another order
of a sum, a fused multiply-add, another of several equal positions, another sign of a zero). So whatever
differs between two algebras is a difference that the oracle must not report.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Algebra = dict[str, Callable[..., Any]]

EAGER: Algebra = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": lambda a, b: a / (b.abs() + 0.5),
    "muladd": lambda a, b: a * b + a,
    "sum": lambda a: a.sum(-1, keepdim=True),
    "mean": lambda a: a.mean(-1, keepdim=True),
    "var": lambda a: a.var(-1, keepdim=True, unbiased=False),
    "matmul": lambda a, b: a @ b.t() / a.shape[-1],
    "softmax": lambda a: a.softmax(-1),
    "cumsum": lambda a: a.cumsum(-1),
    "exp": lambda a: (a.clamp(-3, 3)).exp(),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": torch.relu,
    "abs": torch.abs,
    "max": lambda a: a.amax(-1, keepdim=True),
    "sort": lambda a: a.sort(-1).values,
    "flip": lambda a: a.flip(-1),
    "transpose": lambda a: a.t(),
    "sqrt": lambda a: a.abs().sqrt(),
    "floor": torch.floor,
    "round": torch.round,
    "where": lambda a, b: torch.where(a > b, a, b * 2),
    "step": lambda a: (a >= 1.0).to(a.dtype),
    "remainder": lambda a: torch.remainder(a, 0.5),
    "sign": torch.sign,
    "reciprocal": lambda a: 1 / (a * a + 0.25),
    "inverse": lambda a: 1 / a,
    "half": lambda a: a.to(torch.bfloat16).to(a.dtype),
    "inplace": lambda a: a.clone().mul_(a),
}

LAST: Algebra = {
    "argmax": lambda a: a.argmax(-1),
    "argsort": lambda a: a.argsort(-1),
    "topk": lambda a: a.topk(max(1, a.shape[-1] // 2), -1),
    "compare": lambda a: a >= 1.0,
    "int": lambda a: (a * 10).to(torch.int32),
    "count": lambda a: (a > 0).sum(),
    "nonzero": lambda a: (a > 0.5).nonzero(),
    "bucketize": lambda a: torch.bucketize(a, torch.tensor([-1.0, 0.0, 0.5, 1.0], dtype=a.dtype)),
    "gathered": lambda a: a.flip(-1).gather(-1, a.argmax(-1, keepdim=True)),
}
"""Operators that may only come last, since their result is no matrix of the common dtype."""


def _wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """Computed in double and rounded once: what a fused kernel with a wide accumulator gives."""

    def run(*tensors: torch.Tensor) -> Any:
        return function(*(t.double() for t in tensors)).to(tensors[0].dtype)

    return run


def _reordered_sum(a: torch.Tensor) -> torch.Tensor:
    total = torch.zeros_like(a[..., :1])
    for k in reversed(range(a.shape[-1])):
        total = total + a[..., k : k + 1]
    return total


def _other_argmax(a: torch.Tensor) -> torch.Tensor:
    return a.shape[-1] - 1 - a.flip(-1).argmax(-1)


def _other_argsort(a: torch.Tensor) -> torch.Tensor:
    return a.shape[-1] - 1 - a.flip(-1).argsort(dim=-1, stable=True)


class _OtherZero(torch.autograd.Function):
    """Zeros of the other sign; the gradient passes through."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor) -> torch.Tensor:
        return torch.where(values == 0, -values, values)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad


def _other_zero(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *tensors: _OtherZero.apply(function(*tensors))


HONEST: dict[str, Algebra] = {
    "reordered": {
        "sum": _reordered_sum,
        "mean": lambda a: _reordered_sum(a) * (1.0 / a.shape[-1]),
        "cumsum": _wide(lambda a: a.cumsum(-1)),
        "var": lambda a: ((a - a.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True),
        "matmul": lambda a, b: (a.flip(-1) @ b.flip(-1).t()) / a.shape[-1],
    },
    "fused": {
        name: _wide(EAGER[name]) for name in ("muladd", "div", "softmax", "sigmoid", "exp", "matmul", "tanh")
    },
    "ties": {
        "argmax": _other_argmax,
        "argsort": _other_argsort,
        "gathered": lambda a: a.flip(-1).gather(-1, _other_argmax(a).unsqueeze(-1)),
    },
    "zeros": {
        name: _other_zero(EAGER[name]) for name in ("mul", "relu", "sub", "muladd", "where", "max", "round")
    },
}
HONEST["everything"] = {name: f for algebra in reversed(HONEST.values()) for name, f in algebra.items()}


@dataclass(frozen=True)
class Line:
    """One operator over earlier values."""

    op: str
    args: tuple[int, ...]


def evaluate(lines: tuple[Line, ...], algebra: Algebra, inputs: tuple[torch.Tensor, ...]) -> Any:
    """The last value and the one in the middle of the line."""
    table = {**EAGER, **LAST, **algebra}
    values: list[Any] = list(inputs)
    for line in lines:
        values.append(table[line.op](*(values[k] for k in line.args)))
    return values[-1], values[(len(inputs) + len(values)) // 2]


def draw(seed: int) -> tuple[tuple[Line, ...], tuple[torch.Tensor, ...]]:
    """A program of 3 to 8 operators on two square matrices, and its inputs: normal, with ties, integers,
    or with zeros; float32 mostly."""
    rng = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    size = rng.choice([1, 2, 4, 8, 17, 33])
    dtype = rng.choice([torch.float32] * 6 + [torch.float64, torch.float16, torch.bfloat16])
    fill = rng.choice(["normal", "ties", "integers", "zeros"])

    def matrix() -> torch.Tensor:
        drawn = torch.randn(size, size, generator=generator)
        if fill == "ties":
            drawn = (drawn * 2).round() / 2
        if fill == "integers":
            drawn = (drawn * 3).round()
        if fill == "zeros":
            drawn = drawn * (torch.rand(size, size, generator=generator) > 0.5)
        return drawn.to(dtype)

    inputs = (matrix(), matrix())
    lines: list[Line] = []
    for k in range(rng.randint(3, 8)):
        op = rng.choice(sorted(EAGER))
        count = 2 if op in ("add", "sub", "mul", "div", "muladd", "where", "matmul") else 1
        lines.append(Line(op, tuple(rng.randrange(len(inputs) + k) for _ in range(count))))
    if rng.random() < 0.6:
        lines.append(Line(rng.choice(sorted(LAST)), (len(inputs) + len(lines) - 1,)))
    return tuple(lines), inputs


def program(lines: tuple[Line, ...], algebra: Algebra) -> Callable[..., Any]:
    """The line as a callable over its two inputs."""

    def fn(a: torch.Tensor, b: torch.Tensor) -> Any:
        return evaluate(lines, algebra, (a, b))

    return fn


class Compiles:
    """A stand-in for the compiler: whatever it is given, it returns one callable."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn

    def __call__(self, fn: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        def compiled(*args: Any, **kwargs: Any) -> Any:
            return self.fn(*args, **kwargs)

        compiled.captured_graphs = 1  # type: ignore[attr-defined]
        return compiled
