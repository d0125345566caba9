"""Each planted fault is caught, as the aspect and kind that it is: one fault an aspect, planted through a
stand-in for the compiler, and two that torch itself ships."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch._inductor.config
from oracle_programs import Compiles

from fuzzers.oracle import Difference, Report, examine
from fuzzers.records import Aspect, Kind

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

GENERATOR = torch.Generator().manual_seed(1)
X = torch.randn(6, 5, generator=GENERATOR)
Y = torch.randn(6, 5, generator=GENERATOR)


def assert_caught(report: Report, kind: Kind, aspect: Aspect, where: str) -> Difference:
    found = [(d.kind, d.aspect, d.where) for d in report.differences]
    assert (kind, aspect, where) in found, (found, report.dropped, report.counts)
    return report.differences[found.index((kind, aspect, where))]


def two(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return a * b + 1, (a > b)


def look(
    other: Callable[..., Any], fn: Callable[..., Any] = two, args: Any = (X, Y), **options: Any
) -> Report:
    report = examine(fn, args, compiler=Compiles(other), **options)
    assert report.to_json()["differences"] == [
        {**copy.deepcopy(d.__dict__), "kind": str(d.kind), "aspect": str(d.aspect)}
        for d in report.differences
    ]
    return report


def test_one_wrong_element() -> None:
    def other(a: torch.Tensor, b: torch.Tensor) -> Any:
        out, mask = two(a, b)
        out = out.clone()
        out[3, 2] += 0.01
        return out, mask

    d = assert_caught(look(other), Kind.WRONG, Aspect.VALUES, "output 0")
    assert d.detail["at"] == [3, 2] and d.detail["n_bad"] == 1 and d.detail["publishable"]
    assert d.detail["max_abs"] == pytest.approx(0.01, rel=1e-3)


def test_one_wrong_bool() -> None:
    def other(a: torch.Tensor, b: torch.Tensor) -> Any:
        mask = two(a, b)[1].clone()
        mask[0, 0] = ~mask[0, 0]
        return two(a, b)[0], mask

    assert_caught(look(other), Kind.WRONG, Aspect.VALUES, "output 1")


def test_one_wrong_integer() -> None:
    n = torch.arange(12).reshape(3, 4)

    def other(a: torch.Tensor) -> torch.Tensor:
        return (a * 3).index_put((torch.tensor(1), torch.tensor(1)), torch.tensor(0))

    assert_caught(look(other, lambda a: a * 3, (n,)), Kind.WRONG, Aspect.VALUES, "output 0")


def test_wrong_cast_of_floats_to_integers() -> None:
    fn = lambda a: (a * 10).to(torch.int32)  # noqa: E731
    other = lambda a: (a * 10).round().to(torch.int32)  # noqa: E731
    assert_caught(look(other, fn, (X,)), Kind.WRONG, Aspect.VALUES, "output 0")


@pytest.mark.parametrize(
    ("fault", "kind", "aspect"),
    [
        (lambda t: t.double(), Kind.METADATA, Aspect.DTYPE),
        (lambda t: t.unsqueeze(0), Kind.METADATA, Aspect.SHAPE),
        (lambda t: t.to("meta"), Kind.METADATA, Aspect.DEVICE),
        (lambda t: [t], Kind.WRONG, Aspect.STRUCTURE),
        (lambda t: torch.where(t > 1, torch.nan, t), Kind.WRONG, Aspect.NONFINITE),
        (lambda t: torch.where(t > 1, torch.inf, t), Kind.WRONG, Aspect.NONFINITE),
        (lambda t: t.t().contiguous().t(), Kind.LAYOUT, Aspect.STRIDE),
    ],
    ids=["dtype", "shape", "device", "structure", "nan", "inf", "stride"],
)
def test_one_output_is_unlike(fault: Callable[[torch.Tensor], Any], kind: Kind, aspect: Aspect) -> None:
    where = "structure" if aspect is Aspect.STRUCTURE else "output 0"
    report = look(lambda a, b: (fault(two(a, b)[0]), two(a, b)[1]), layout=True, aspects="forward")
    assert_caught(report, kind, aspect, where)


def test_strides_are_off_by_default() -> None:
    report = look(lambda a, b: (two(a, b)[0].t().contiguous().t(), two(a, b)[1]))
    assert report.differences == ()


def test_requires_grad_is_dropped() -> None:
    leaf = X.clone().requires_grad_()
    report = look(lambda a, b: (two(a, b)[0].detach(), two(a, b)[1]), args=(leaf, Y))
    assert_caught(report, Kind.METADATA, Aspect.REQUIRES_GRAD, "output 0")


class _WrongGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, t: torch.Tensor) -> torch.Tensor:
        return t.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * 1.001


def test_the_gradient_is_wrong() -> None:
    report = look(lambda a, b: two(_WrongGradient.apply(a), b))
    d = assert_caught(report, Kind.GRADIENT, Aspect.GRADIENT, "grad 0")
    assert d.detail["phase"] == "gradient"
    assert [e.where for e in report.differences] == ["grad 0"]


def test_a_gradient_of_zero_is_not_none() -> None:
    report = look(lambda a, b: (a.sin(), a), lambda a, b: (a.sin() + 0 * b, a))
    d = assert_caught(report, Kind.GRADIENT, Aspect.GRADIENT, "grad 1")
    assert (d.detail["expected"], d.detail["actual"]) == ("zeros", "None")


def test_gradients_are_left_out_of_forward() -> None:
    assert look(lambda a, b: two(_WrongGradient.apply(a), b), aspects="forward").differences == ()


def _in_place(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a[1:].mul_(2)
    return a + b


def test_a_mutation_is_lost() -> None:
    report = look(lambda a, b: _in_place(a.clone(), b), _in_place)
    assert_caught(report, Kind.WRONG, Aspect.MUTATION, "input 0")


def test_an_input_is_overwritten() -> None:
    def other(a: torch.Tensor, b: torch.Tensor) -> Any:
        result = two(a, b)
        b.fill_(0)
        return result

    assert_caught(look(other), Kind.WRONG, Aspect.MUTATION, "input 1")


def test_a_mutation_reaches_an_alias() -> None:
    base = torch.arange(8.0)
    views = (base[2:6], base)

    def fn(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a.add_(1)
        return b * 2

    def other(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        before = b.clone()
        a.add_(1)
        return before * 2

    assert_caught(look(other, fn, views), Kind.WRONG, Aspect.VALUES, "output 0")
    assert look(fn, fn, views).differences == ()


def test_an_alias_is_lost() -> None:
    report = look(lambda a: a[1:].clone(), lambda a: a[1:], (X,))
    d = assert_caught(report, Kind.ALIASING, Aspect.ALIASING, "output 0")
    assert d.detail["expected"] == ["output 0 ~ input 0"] and d.detail["actual"] == []


def test_whether_reshape_copies_is_open() -> None:
    report = look(lambda a: a.reshape(-1).clone(), lambda a: a.reshape(-1), (X,))
    assert report.differences == () and "reshape" in report.dropped


def test_the_compiled_side_raises() -> None:
    def other(a: torch.Tensor, b: torch.Tensor) -> Any:
        raise AssertionError("buf0 has 3 elements")

    d = assert_caught(look(other), Kind.EXCEPTION, Aspect.OUTCOME, "outcome")
    assert d.detail["actual"]["exception"] == "AssertionError"
    assert "buf0" in d.detail["actual"]["message"]


def test_the_backward_raises() -> None:
    class Raises(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, t: torch.Tensor) -> torch.Tensor:
            return t.clone()

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            raise RuntimeError("tangents_1 is wrong")

    report = look(lambda a, b: two(Raises.apply(a), b))
    assert_caught(report, Kind.EXCEPTION, Aspect.OUTCOME, "outcome")


def test_invalid_input_is_accepted() -> None:
    def fn(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a.view(7, 9)

    report = look(lambda a, b: a, fn)
    assert_caught(report, Kind.ACCEPTS_INVALID, Aspect.OUTCOME, "outcome")


def test_both_sides_raise() -> None:
    fn = lambda a, b: a.view(7, 9)  # noqa: E731
    report = look(fn, fn)
    assert report.differences == () and report.dropped == "eager-raises"


def test_uninitialised_memory_on_the_compiled_side() -> None:
    def other(a: torch.Tensor, b: torch.Tensor) -> Any:
        out, mask = two(a, b)
        buffer = torch.empty_like(out)
        buffer[1:] = out[1:]
        return buffer, mask

    d = assert_caught(look(other), Kind.NONDETERMINISTIC, Aspect.VALUES, "output 0")
    assert d.detail["n_bad"] == 5


def test_a_race_on_the_compiled_side() -> None:
    calls = iter(range(1000))

    def other(a: torch.Tensor, b: torch.Tensor) -> Any:
        return two(a, b)[0] + next(calls) % 3, two(a, b)[1]

    assert_caught(look(other), Kind.NONDETERMINISTIC, Aspect.VALUES, "output 0")


def test_a_position_that_selects_something_else() -> None:
    fn = lambda a: a.argmax(-1)  # noqa: E731
    report = look(lambda a: a.argmin(-1), fn, (X,))
    assert_caught(report, Kind.WRONG, Aspect.INDICES, "output 0")


def test_a_position_used_twice() -> None:
    tied = torch.tensor([[2.0, 1.0, 1.0, 0.0]])
    report = look(lambda a: torch.tensor([[3, 1, 1, 0]]), lambda a: a.argsort(-1), (tied,))
    assert_caught(report, Kind.WRONG, Aspect.INDICES, "output 0")
    report = look(lambda a: torch.tensor([[3, 2, 1, 0]]), lambda a: a.argsort(-1), (tied,))
    assert report.differences == () and report.counts["dropped:another valid position"] == 1


@torch.library.custom_op("nightfuzz_test::sloppy_log1p", mutates_args=())
def sloppy_log1p(x: torch.Tensor) -> torch.Tensor:
    """A kernel that is off in float32 only."""
    return torch.log1p(x) * (1.01 if x.dtype == torch.float32 else 1)


@torch.library.custom_op("nightfuzz_test::rounded_log1p", mutates_args=())
def rounded_log1p(x: torch.Tensor) -> torch.Tensor:
    """A kernel that is a little less exact in float32."""
    return torch.log1p(x) * (1 + 2e-5 if x.dtype == torch.float32 else 1)


def test_eager_is_the_side_that_is_off() -> None:
    report = look(torch.log1p, sloppy_log1p, (X.abs(),), aspects="forward")
    assert_caught(report, Kind.EAGER, Aspect.VALUES, "output 0")


def test_eager_is_only_less_exact() -> None:
    report = look(torch.log1p, rounded_log1p, (X.abs(),), aspects="forward")
    assert report.differences == () and report.dropped == "eager is less exact"


@pytest.mark.parametrize(
    ("switch", "fn"),
    [
        ("cpp.inject_relu_bug_TESTING_ONLY", lambda x: torch.relu(x) * 2),
        ("cpp.inject_log1p_bug_TESTING_ONLY", lambda x: torch.log1p(x.abs())),
    ],
    ids=["relu", "log1p"],
)
def test_faults_that_torch_ships(switch: str, fn: Callable[..., Any]) -> None:
    with torch._inductor.config.patch({switch: "accuracy"}):
        report = examine(fn, (X,), aspects="forward")
    d = assert_caught(report, Kind.WRONG, Aspect.VALUES, "output 0")
    assert d.detail["publishable"] and report.captured_graphs == 1
