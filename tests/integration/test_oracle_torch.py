"""The stock compiler on programs that it gets right: several dozen operators, none of which may alarm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F  # noqa: N812 - its name everywhere

from fuzzers.oracle import examine

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")

G = torch.Generator().manual_seed(5)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=G)


def pointwise(a: torch.Tensor, b: torch.Tensor) -> Any:
    c = torch.sigmoid(a) * torch.tanh(b) + F.gelu(a) - F.silu(b)
    return c.exp().log1p(), torch.erf(c), torch.atan2(a, b), F.softplus(c), torch.hypot(a, b).rsqrt()


def reductions(a: torch.Tensor, b: torch.Tensor) -> Any:
    return a.sum(0), b.mean(), a.var(1), (a * b).logsumexp(1), a.amax(1), b.norm(), a.prod(0), a.std()


def positions(a: torch.Tensor, b: torch.Tensor) -> Any:
    values, where = a.sort(1)
    return values, where, a.argmax(1), b.topk(3).indices, (a * b).max(0), b.argmin()


def decisions(a: torch.Tensor, b: torch.Tensor) -> Any:
    return (
        a.floor(),
        (a * 3).round().to(torch.int32),
        a > b,
        (a - b).sign(),
        torch.where(a > 0, a, b),
        a % 0.7,
    )


def products(a: torch.Tensor, b: torch.Tensor) -> Any:
    return a @ b.t(), torch.addmm(a[:, :6], a, b.t()), torch.einsum("ij,kj->ik", a, b), F.linear(a, b)


def networks(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = F.conv2d(x, w, padding=1).relu()
    y = F.batch_norm(y, None, None, training=True)
    y = F.max_pool2d(y, 2)
    return F.adaptive_avg_pool2d(y, 2).flatten(1).log_softmax(1)


def attention(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    scores = (q @ k.transpose(-1, -2)) / q.shape[-1] ** 0.5
    mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
    return F.layer_norm(scores.masked_fill(~mask, float("-inf")).softmax(-1) @ k, (k.shape[-1],))


def in_place(a: torch.Tensor, b: torch.Tensor) -> Any:
    a[1:3].mul_(2)
    a.t()[0].add_(b[:, 0])
    b.clamp_(-1, 1)
    return a[:, ::2], a + b


def integers(a: torch.Tensor, b: torch.Tensor) -> Any:
    return a + b, a * b // 3, a & b, (a << 1).sum(), a.cumsum(0), a.to(torch.float32) / 3, torch.gcd(a, b)


def movements(a: torch.Tensor, b: torch.Tensor) -> Any:
    return (
        torch.cat([a, b]).flip(0),
        F.pad(a, (1, 2)),
        a.unfold(0, 2, 1),
        b[[0, 2, 1]],
        a.roll(1, 0),
        b.tril(),
    )


SMALL = (normal(6, 6), normal(6, 6))
ODD = (normal(6, 12)[:, ::2], normal(6, 6).t())
HALF = tuple(t.to(torch.bfloat16) for t in SMALL)
WHOLE = tuple(torch.randint(1, 50, (6, 6), generator=G) for _ in range(2))

PROGRAMS: list[tuple[Callable[..., Any], Any, dict[str, Any]]] = [
    (pointwise, SMALL, {}),
    (pointwise, HALF, {}),
    (reductions, ODD, {}),
    (reductions, HALF, {}),
    (positions, SMALL, {}),
    (decisions, SMALL, {}),
    (products, ODD, {}),
    (networks, (normal(2, 3, 8, 8), normal(4, 3, 3, 3)), {}),
    (attention, (normal(2, 5, 8), normal(2, 5, 8)), {}),
    (in_place, (normal(6, 6), normal(6, 6)), {}),
    (integers, WHOLE, {}),
    (movements, ODD, {"dynamic": True}),
]


@pytest.mark.parametrize(
    ("fn", "args", "options"), PROGRAMS, ids=[f"{k}-{p[0].__name__}" for k, p in enumerate(PROGRAMS)]
)
def test_a_program_that_the_compiler_gets_right(fn: Callable[..., Any], args: Any, options: Any) -> None:
    report = examine(fn, args, compile_options=options)
    assert report.differences == (), report.differences[0]
    assert report.captured_graphs >= 1 and report.dropped in ("", "ill-conditioned")
