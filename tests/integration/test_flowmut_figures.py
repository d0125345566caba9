"""The engine's own figures: what the tap counts, and that the predicates are what makes mutants legal."""

from __future__ import annotations

import pytest
import torch

from fuzzers.flowmut.figures import figures, unconstrained
from fuzzers.flowmut.mutations.table import MUTATIONS
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.tap import Flow, value_classes

pytestmark = pytest.mark.filterwarnings("ignore")


def kinds(function: object, *inputs: torch.Tensor) -> set[tuple[str, ...]]:
    flow = Flow()
    flow.run(function, inputs)  # type: ignore[arg-type]
    return flow.kinds


def test_an_edge_is_counted_once_with_both_of_its_ends() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.sin().cos() + 1

    edges = kinds(f, torch.ones(4))
    assert {(k[0], k[1]) for k in edges} == {("aten::sin", "aten::cos"), ("aten::cos", "aten::add")}
    assert kinds(f, torch.zeros(5)) == edges, "another size of the same class is no other kind"
    assert kinds(f, torch.zeros(17)) != edges


def test_what_no_output_needs_is_not_counted() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        x.tan().exp()
        return x.sin().cos()

    assert {k[1] for k in kinds(f, torch.ones(4))} == {"aten::cos"}


def test_layout_dtype_and_gradient_tell_kinds_apart() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.clone().t().contiguous()

    plain = kinds(f, torch.ones(3, 4))
    assert kinds(f, torch.ones(3, 4, dtype=torch.float64)).isdisjoint(plain)
    assert kinds(f, torch.ones(3, 4, requires_grad=True)).isdisjoint(plain)
    assert any("permuted" in k for k in plain)


@pytest.mark.parametrize(
    ("values", "marks"),
    [
        ([1.0, 2.0], ("", "0")),
        ([0.0, -300.0], ("zero negative", "2")),
        ([float("nan"), 1.0], ("nan", "0")),
        ([float("inf"), float("inf")], ("inf constant", "0")),
        ([], ("none",)),
    ],
)
def test_values_fall_into_classes(values: list[float], marks: tuple[str, ...]) -> None:
    assert value_classes(torch.tensor(values)) == marks


def test_predicates_are_what_makes_mutants_legal() -> None:
    found = figures(seed=3, programs=24)
    assert found["legal_rate"] >= found["legal_rate_predicates"] >= 0.95
    assert 0.5 < found["legal_rate_unconstrained"] < found["legal_rate_predicates"]
    assert found["diversity_with_values"] >= found["diversity"] > 100
    assert figures(seed=3, programs=24) == found


def test_constraints_come_back() -> None:
    before = [vars(type(thing)) for thing in (OPERATORS["add"], MUTATIONS[0])]
    kept = [dict(names) for names in before]
    with unconstrained():
        assert OPERATORS["add"].unmet([], {}) == []
    assert [dict(names) for names in before] == kept
    assert OPERATORS["add"].unmet([], {}) == ["argument count"]
