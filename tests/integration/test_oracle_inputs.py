"""Copies of arguments are faithful, and the float64 run follows views, writes and casts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from fuzzers.oracle.execution import fresh_memory_filled, observe_on
from fuzzers.oracle.float64 import Trace, Tracked
from fuzzers.oracle.inputs import UnsupportedInput, take


def layout(t: torch.Tensor) -> Any:
    return t.size(), t.stride(), t.storage_offset(), t.dtype, t.is_conj(), t.is_neg(), t.requires_grad


BASE = torch.arange(24.0)
ODD: list[torch.Tensor] = [
    BASE[3:9],
    BASE.view(4, 6).t(),
    BASE.view(4, 6)[::2, 1:4],
    torch.ones(1, 3).expand(5, 3),
    torch.ones(7).as_strided((3, 3), (2, 1)),
    torch.ones(2, dtype=torch.complex64).conj(),
    torch.empty(0, 3),
    torch.tensor(2.0),
    torch.ones(3, requires_grad=True),
]


@pytest.mark.parametrize("tensor", ODD, ids=range(len(ODD)))
def test_a_copy_has_the_same_layout_and_other_memory(tensor: torch.Tensor) -> None:
    _, _, (copied,) = take((tensor,), None).copies()
    assert layout(copied) == layout(tensor)
    assert torch.equal(copied, tensor)
    if tensor.numel():
        assert copied.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr()


def test_aliases_and_identity_are_kept() -> None:
    (a, b, c, same), kwargs, _ = take((BASE[2:6], BASE, torch.ones(2), BASE), {"k": BASE[:1]}).copies()
    assert same is b and a is not b
    a.fill_(-1)
    assert b[2:6].tolist() == [-1] * 4 and BASE[2] == 2
    kwargs["k"].fill_(-2)
    assert b[0] == -2 and c.tolist() == [1, 1]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_cannot_be_copied_is_refused() -> None:
    with pytest.raises(UnsupportedInput, match="not a strided tensor"):
        take((torch.ones(3).to_sparse(),), None)


@pytest.mark.parametrize("pattern", [0x3F, 0xC1])
@pytest.mark.parametrize("size", [3, 4000, 1_000_000])
def test_fresh_memory_shows_the_pattern(pattern: int, size: int) -> None:
    with fresh_memory_filled(pattern):
        fresh = [torch.empty(size, dtype=torch.uint8) for _ in range(9)]
    assert sum(set(t.tolist()) == {pattern} for t in fresh) >= 8


def reference(fn: Callable[..., Any], *args: torch.Tensor) -> Tracked:
    """What the float64 run knows about the only output."""
    trace = Trace()
    given, kwargs, tensors = take(args, None).copies()
    for t in tensors:
        trace.memory.take(t)
    with trace:
        seen = observe_on(fn, given, kwargs, tensors, 0, False)
    if seen.raised is not None:
        raise seen.raised
    return trace.tracked(seen.leaves[0])


def written_through_views(a: torch.Tensor) -> torch.Tensor:
    a = a * (1 / 3)
    a[1:].mul_(7)
    a.t()[0].copy_(a[:, 1])
    a.view(-1)[::3].add_(a.view(-1)[1::3])
    return a


PROGRAMS: list[Callable[[torch.Tensor], torch.Tensor]] = [
    written_through_views,
    lambda a: a.softmax(-1) @ a.t(),
    lambda a: torch.nn.functional.layer_norm(a, (3,)) / 3,
    lambda a: torch.stack([a, a / 7]).var(0),
    lambda a: torch.fft.fft(a).abs(),
    lambda a: torch.where(a > 0, a / 3, a / 7),
    lambda a: a.sum(dtype=torch.float64),
    lambda a: torch.linspace(0, 1, 3) * a,
]


@pytest.mark.parametrize("fn", PROGRAMS, ids=range(len(PROGRAMS)))
def test_the_reference_is_what_double_precision_gives(fn: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.randn(3, 3, generator=torch.Generator().manual_seed(0))
    known = reference(fn, x)
    expected = fn(x.double())
    assert known.clean is not None
    assert known.clean.dtype == torch.float64
    torch.testing.assert_close(known.clean, expected.double(), rtol=1e-12, atol=1e-12)


def test_explicit_casts_stay_rounding_points() -> None:
    x = torch.rand(50)
    known = reference(lambda a: a.to(torch.bfloat16).to(torch.float32) * 3, x)
    assert known.clean is not None
    assert torch.equal(known.clean, x.to(torch.bfloat16).double() * 3)
    widened = reference(lambda a: a.to(torch.float32) * 3, x)
    assert widened.clean is not None and torch.equal(widened.clean, x.double() * 3)


def test_bits_and_missing_kernels_have_no_reference() -> None:
    x = torch.rand(4)
    assert (
        reference(lambda a: a.view(torch.int32).view(torch.float32) * 2, x).reference
        == "bits seen as another dtype"
    )
    assert reference(lambda a: a * a.sum().item(), x).reference == "a float that Python saw"


def test_integers_that_no_float_decided_are_exact() -> None:
    assert not reference(lambda a: a * 2 + a.argsort(), torch.arange(5)).by_floats
    assert reference(lambda a: (a * 2.5).to(torch.int64) + 1, torch.arange(5)).by_floats
