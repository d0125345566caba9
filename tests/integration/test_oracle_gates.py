"""What each gate stops, and that it stops nothing else: for every open contract a program that meets it
and one that does not, evaluated by a stand-in for the compiler that gives another answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from oracle_programs import Compiles

from fuzzers.oracle import Report, examine, open_contracts
from fuzzers.oracle.not_bugs import COMPILED_RAISES, excuse
from fuzzers.records import Kind

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")

I = torch.tensor  # noqa: E741
FLOATS = torch.tensor([0.5, 1.5, 2.5, 3.5])
INTS = torch.tensor([1, 2, 3, 4], dtype=torch.int32)


def off(fn: Callable[..., Any]) -> Compiles:
    """A compiler whose every result is far off."""
    return Compiles(
        lambda *args: torch.logical_not(out) if (out := fn(*args)).dtype == torch.bool else out + 3
    )


def look(fn: Callable[..., Any], args: Any, compiler: Any = None, **options: Any) -> Report:
    return examine(fn, args, compiler=compiler or off(fn), aspects="forward", **options)


OPEN: list[tuple[str, Callable[..., Any], Any, Any]] = [
    # label, program, arguments that meet the contract, arguments that do not (None: always met)
    ("negative float to unsigned", lambda a: a.to(torch.uint8), I([-1.5, 2.0]), I([1.5, 2.0])),
    ("float out of the integer's range", lambda a: a.to(torch.int8), I([300.25, 2.0]), I([100.25, 2.0])),
    ("float out of the integer's range", lambda a: a.to(torch.int32), I([torch.nan, 2.0]), I([0.25, 2.0])),
    ("shift past the width", lambda a: INTS << a, I([32, 1, 1, 1]), I([31, 1, 1, 0])),
    ("shift past the width", lambda a: INTS >> a, I([-1, 1, 1, 1]), I([1, 1, 1, 0])),
    ("signed overflow", lambda a: a * a, I([1 << 20], dtype=torch.int32), I([1 << 10], dtype=torch.int32)),
    ("signed overflow", lambda a: a.abs(), I([-128], dtype=torch.int8), I([-127], dtype=torch.int8)),
    ("signed overflow", lambda a: a.clone().add_(100), I([100], dtype=torch.int8), I([1], dtype=torch.int8)),
    (
        "write with duplicate indices",
        lambda i: torch.zeros(5).index_put((i,), FLOATS),
        I([0, 1, 1, 2]),
        I([0, 1, 3, 2]),
    ),
    (
        "write with duplicate indices",
        lambda i: torch.zeros(5).index_put((i,), FLOATS),
        I([0, 4, -1, 2]),
        I([0, 4, -2, 2]),
    ),
    (
        "scatter with duplicate indices",
        lambda i: torch.zeros(5).scatter(0, i, FLOATS),
        I([0, 1, 1, 2]),
        I([0, 1, 3, 2]),
    ),
    (
        "index_copy with duplicate indices",
        lambda i: torch.zeros(5).index_copy(0, i, FLOATS),
        I([0, 1, 1, 2]),
        I([0, 1, 3, 2]),
    ),
    ("random operator", lambda a: a + torch.rand(4), FLOATS, None),
    ("signs or order of a decomposition", lambda a: torch.linalg.qr(a.view(2, 2))[0], FLOATS, None),
    ("mode", lambda a: a.mode().values, I([1.0, 1.0, 2.0, 2.0]), None),
]


@pytest.mark.parametrize(
    ("label", "fn", "met", "unmet"), OPEN, ids=[f"{k}-{o[0]}" for k, o in enumerate(OPEN)]
)
def test_an_open_contract_excuses_and_only_then(label: str, fn: Any, met: Any, unmet: Any) -> None:
    report = look(fn, (met,))
    assert report.differences == () and report.dropped == f"open: {label}", report
    assert label in open_contracts.LABELS
    if unmet is not None:
        kinds = [d.kind for d in look(fn, (unmet,)).differences]
        assert kinds == [Kind.WRONG], label


def test_overwritten_uninitialised_memory_is_fine() -> None:
    def fn(a: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(a).copy_(a)

    assert [d.kind for d in look(fn, (FLOATS,)).differences] == [Kind.WRONG]


def test_uninitialised_memory_makes_eager_disagree_with_itself() -> None:
    fn = lambda a: torch.empty(a.shape) * 1  # noqa: E731
    assert look(fn, (FLOATS,)).dropped == "eager-nondeterministic"


def test_an_open_contract_reaches_only_what_it_feeds() -> None:
    def fn(a: torch.Tensor) -> Any:
        return a.to(torch.uint8) + 1, a * 2

    def other(a: torch.Tensor) -> Any:
        return a.to(torch.uint8) + 2, a * 3

    report = look(fn, (I([-1.5, 2.0]),), Compiles(other))
    assert [d.where for d in report.differences] == ["output 1"]
    assert report.counts == {"dropped:open: negative float to unsigned": 1}


def test_in_place_on_memory_that_overlaps_itself_is_open() -> None:
    def fn(a: torch.Tensor) -> torch.Tensor:
        wide = a.as_strided((3, 2), (1, 1))
        return wide.index_add_(0, torch.tensor([0]), torch.ones(1, 2)).clone()

    assert look(fn, (FLOATS,)).dropped.startswith("open: write into memory that overlaps")


def test_adding_a_tensor_to_itself_is_no_overlap() -> None:
    fn = lambda a: a.clone().t().add_(1)  # noqa: E731
    assert [d.kind for d in look(fn, (torch.ones(2, 3),)).differences] == [Kind.WRONG]


def test_a_reference_that_moves_is_dropped() -> None:
    def fn(a: torch.Tensor) -> torch.Tensor:
        return ((a + 1000.0) - 1000.0) * 1000

    report = look(fn, (torch.randn(4),), Compiles(lambda a: a * 1000))
    assert report.differences == () and report.dropped in ("ill-conditioned", "")


def test_a_branch_by_a_hair_is_dropped() -> None:
    def fn(a: torch.Tensor) -> torch.Tensor:
        return a * 2 if (a * 0.1).sum() * 10 >= a.sum() else a * 3

    report = look(fn, (torch.rand(7) + 0.1,), Compiles(lambda a: a * 5))
    assert report.differences == () and "decided by a hair" in report.dropped


def test_integers_in_floats_are_exact() -> None:
    """Small integers add up exactly in any order, so a decision about them is firm."""
    x = torch.arange(8.0)
    report = look(lambda a: (a * 2 + 1).floor() >= 9, (x,), Compiles(lambda a: a * 2 + 1 > 9))
    assert [d.kind for d in report.differences] == [Kind.WRONG]


def test_the_sign_of_zero_decides_nothing() -> None:
    fn = lambda a: torch.atan2(a * 0, a - 10)  # noqa: E731
    report = look(fn, (FLOATS,), Compiles(lambda a: -fn(a)))
    assert report.differences == () and report.dropped == "signed-zero"


def test_extreme_values_are_of_low_severity() -> None:
    fn = lambda a: a * 2  # noqa: E731
    other = Compiles(lambda a: torch.where(a > 1e5, a * 3, a * 2))
    assert [d.kind for d in look(fn, (I([1.0, 1e6]),), other).differences] == [Kind.EXTREME]
    anywhere = Compiles(lambda a: a * 3)
    report = look(fn, (I([1.0, 1e6]),), anywhere)
    assert [(d.kind, d.detail["n_bad"]) for d in report.differences] == [(Kind.WRONG, 1)]


def test_denormals_are_of_low_severity() -> None:
    fn = lambda a: a * 1e10 * 1e10 * 1e10  # noqa: E731
    report = look(fn, (I([1e-40, 1e-41]),), Compiles(lambda a: a * 0))
    assert [d.kind for d in report.differences] in ([], [Kind.EXTREME])


def test_half_types_must_differ_with_casts_kept_too() -> None:
    """A stand-in that keeps more precision, except when casts are emulated."""
    x = torch.rand(64, generator=torch.Generator().manual_seed(3)).to(torch.bfloat16)

    def fn(a: torch.Tensor) -> torch.Tensor:
        return a * 1.1

    def other(a: torch.Tensor) -> torch.Tensor:
        emulated = torch._inductor.config.emulate_precision_casts
        return fn(a) if emulated else fn(a) + 0.5

    assert look(fn, (x,), Compiles(other)).dropped == "intended"
    assert [d.kind for d in look(fn, (x,), Compiles(lambda a: fn(a) + 0.5)).differences] == [Kind.WRONG]


def test_documented_nan_is_wrong_and_quoted() -> None:
    nan = torch.full((2, 2), torch.nan)
    eye = torch.eye(2)

    def fn(a: torch.Tensor) -> torch.Tensor:
        return torch.addmm(a, eye, eye, beta=0)

    report = look(fn, (nan,), Compiles(lambda a: a + eye))
    assert [d.kind for d in report.differences] == [Kind.WRONG]
    assert report.differences[0].detail["documented"].startswith("If beta is 0")


def test_nan_out_of_nan_is_a_class_of_its_own() -> None:
    report = look(lambda a: a * 2, (I([torch.nan, 1.0]),), Compiles(lambda a: a.nan_to_num() * 2))
    assert [d.kind for d in report.differences] == [Kind.NONFINITE]


def test_bits_of_floats_have_no_reference() -> None:
    fn = lambda a: (a.view(torch.int32) ^ 0).view(torch.float32) * 2  # noqa: E731
    near = look(fn, (FLOATS,), Compiles(lambda a: fn(a) + 1e-4))
    assert near.differences == () and near.dropped.startswith("no reference")
    far = look(fn, (FLOATS,), Compiles(lambda a: fn(a) + 1))
    assert [d.kind for d in far.differences] == [Kind.WRONG] and not far.differences[0].detail["publishable"]


def test_nothing_compiled_is_counted_apart() -> None:
    report = examine(lambda a: a, (FLOATS,), compiler=lambda fn, **options: fn, aspects="forward")
    assert report.dropped == "nothing-compiled" and report.captured_graphs == 0


def test_a_compile_that_ran_is_counted() -> None:
    report = examine(lambda a: a.sin(), (FLOATS,), compile_options={"backend": "eager"}, aspects="forward")
    assert report.captured_graphs == 1 and not report.dropped and not report.differences


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        ("torch._dynamo.exc.Unsupported", "graph-break"),
        ("torch._inductor.exc.InvalidCxxCompiler", "no-compiler"),
    ],
)
def test_documented_exceptions_are_excused(raised: str, reason: str) -> None:
    module, name = raised.rsplit(".", 1)
    kind = getattr(__import__(module, fromlist=[name]), name)
    error = kind.__new__(kind)
    Exception.__init__(error, "no")
    assert excuse(COMPILED_RAISES, error) == reason
    wrapped = RuntimeError("while compiling")
    wrapped.__cause__ = error
    assert excuse(COMPILED_RAISES, wrapped) == reason


@pytest.mark.parametrize(
    "message", ["Unsupported dtype in codegen", "AssertionError: buf3", "index out of range"]
)
def test_other_exceptions_are_not_excused(message: str) -> None:
    assert excuse(COMPILED_RAISES, RuntimeError(message)) == ""


def test_out_of_memory_is_excused() -> None:
    error = RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes")
    assert excuse(COMPILED_RAISES, error) == "out-of-memory"
    assert excuse(COMPILED_RAISES, MemoryError()) == "out-of-memory"


@pytest.mark.parametrize(
    ("fn", "reason"),
    [(lambda x: x // 2, "eager has no backward either"), (lambda x: x.exp(), "")],
    ids=["no derivative", "a derivative"],
)
def test_a_compiler_that_cannot_trace_the_backward_either(fn: Any, reason: str) -> None:
    def raising(*args: Any) -> Any:
        raise RuntimeError("tracing the backward failed")

    report = examine(
        fn, (torch.ones(3, requires_grad=True),), compiler=lambda fn, **_: raising, aspects="forward"
    )
    assert report.dropped == reason and bool(report.differences) == (not reason)
