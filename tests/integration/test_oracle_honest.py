"""The oracle never reports an honest compiler: a thousand drawn programs, each evaluated in another legal
way, and each compared with itself."""

from __future__ import annotations

import pytest
import torch
from oracle_programs import EAGER, HONEST, Compiles, draw, program

from fuzzers.oracle import Report, Settings, examine
from fuzzers.records import Kind

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ALL = HONEST["everything"]
CHUNKS = [range(start, start + 100) for start in range(0, 1000, 100)]


def assert_nothing_reported(report: Report, seed: int) -> None:
    """Non-finite values may differ in kind only where float64 is not finite either."""
    serious = [d for d in report.differences if d.kind is not Kind.NONFINITE]
    assert not serious, (seed, serious[0])
    for d in report.differences:
        assert not isinstance(d.detail["float64"][0], float), (seed, d)


@pytest.mark.parametrize("seeds", CHUNKS, ids=lambda c: str(c.start))
def test_another_legal_evaluation_is_never_reported(seeds: range) -> None:
    for seed in seeds:
        lines, inputs = draw(seed)
        other = Compiles(program(lines, ALL))
        aspects = "full" if seed % 4 == 0 else "forward"
        report = examine(
            program(lines, EAGER),
            inputs,
            compiler=other,
            aspects=aspects,
            settings=Settings(repeats=2, backend_gates=False),
        )
        assert_nothing_reported(report, seed)


def test_a_result_compared_with_itself_never_differs() -> None:
    compared = 0
    for seed in range(100):
        lines, inputs = draw(seed)
        fn = program(lines, EAGER)
        report = examine(fn, inputs, compiler=Compiles(fn), layout=True)
        assert report.differences == (), (seed, report.differences)
        assert report.dropped in ("", "eager-raises")
        compared += not report.dropped
    assert compared > 90


def test_long_sums_in_another_order_are_not_reported() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(500, 4096, generator=generator)
    fold = lambda a: a.view(-1, 64, 64).sum(1).sum(-1)  # noqa: E731
    backward = lambda a: a.flip(-1).cumsum(-1)[:, -1]  # noqa: E731
    for other in (fold, backward):
        report = examine(
            lambda a: a.sum(-1),
            (x,),
            compiler=Compiles(other),
            aspects="forward",
            settings=Settings(repeats=2),
        )
        assert report.differences == ()


def test_a_sum_near_one_compared_with_one_is_not_reported() -> None:
    x = torch.randn(2410, 37, generator=torch.Generator().manual_seed(0))

    def fn(a: torch.Tensor) -> torch.Tensor:
        return a.softmax(-1).sum(-1) >= 1.0

    def other(a: torch.Tensor) -> torch.Tensor:
        return a.softmax(-1).flip(-1).cumsum(-1)[:, -1] >= 1.0

    assert not torch.equal(fn(x), other(x))
    report = examine(fn, (x,), compiler=Compiles(other), aspects="forward")
    assert report.differences == ()
    assert report.dropped.startswith("ill-conditioned")
