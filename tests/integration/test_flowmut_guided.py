"""Choosing with guidance on real programs, and what a real compile shows to those who watch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
import torch
import torch._functorch.config
import torch._inductor.config

from fuzzers.engine import StepOutcome, StepTask
from fuzzers.events import HOOKS, watching
from fuzzers.flowmut.candidate import Candidate, plan
from fuzzers.flowmut.chooser import Chooser
from fuzzers.flowmut.choosing import Guidance
from fuzzers.flowmut.guide import FlowMutGuide
from fuzzers.flowmut.mutations.table import MUTATIONS
from fuzzers.flowmut.program import Input, Node, Program
from fuzzers.flowmut.record import record
from fuzzers.flowmut.seeds.table import SEEDS
from fuzzers.flowmut.sensitivity import sensitivities

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def no_caches() -> Iterator[None]:
    """A graph that comes from a cache is not lowered again."""
    with (
        torch._inductor.config.patch(fx_graph_cache=False),
        torch._functorch.config.patch(enable_autograd_cache=False),
    ):
        torch._dynamo.reset()
        yield


def attended(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    z = y + torch.mm(x, x.t())
    return z.relu().sin(), torch.cat([z, z.abs()], 1)


def test_the_installed_build_has_every_hook_and_all_kinds_of_events_come() -> None:
    with watching() as watch:
        torch.compile(attended)(torch.ones(8, 8), torch.ones(8))
        kernels, events = watch.kernels, watch.take()
    assert watch.missing == []
    assert kernels > 0
    kinds = Counter(event.partition(" ")[0] for event in events)
    assert {"lower", "fuse", "line", "count", "pattern"} <= set(kinds), kinds
    assert "lower aten::sin float32/2/Pointwise" in events
    assert not any("8" in event for event in events if event.startswith("line")), "sizes are stripped"


def test_the_same_program_shows_the_same_events_and_watching_changes_no_result() -> None:
    x, y, seen = torch.ones(8, 8), torch.ones(8), []
    for _ in range(2):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        with watching() as watch:
            watched = torch.compile(attended)(x, y)
            seen.append(watch.take())
    assert seen[0] == seen[1]
    torch._dynamo.reset()
    alone = torch.compile(attended)(x, y)
    assert all(torch.equal(a, b) for a, b in zip(watched, alone, strict=True))
    assert all(not hasattr(vars(_owner(hook.name))[hook.method], "__wrapped__") for hook in HOOKS)


def _owner(name: str) -> type:
    hook = next(h for h in HOOKS if h.name == name)
    from importlib import import_module

    owner: type = getattr(import_module(hook.module), hook.owner)
    return owner


ARMS = {f"{m.object}/{m.primitive}" for m in MUTATIONS}


def learned(arm: str) -> Guidance:
    """Guidance of a campaign in which only that arm ever paid."""
    guidance = Guidance.fresh()
    for k in range(300):
        x = (1.0, 1.0, 1.0, (k % 7) / 7, (k % 5) / 5)
        guidance.bandit.learn(arm, x, 1.0)
        for other in ARMS - {arm}:
            guidance.bandit.learn(other, x, 0.0)
    return guidance


@pytest.mark.parametrize("arm", ["tensor/insert", "subgraph/insert"])
def test_what_paid_is_chosen_more_often(arm: str) -> None:
    base = SEEDS[0]
    states = record(base)

    def share(guidance: Guidance | None) -> float:
        chooser, rng = Chooser(guidance), Random(1)
        drawn = [d for _ in range(40) if (d := chooser.draw(base, states, rng)) is not None]
        return sum(f"{d.mutation.object}/{d.mutation.primitive}" == arm for d in drawn) / len(drawn)

    plain, guided = share(None), share(learned(arm))
    assert guided > 0.6
    assert guided > plain + 0.2


def test_a_step_is_a_function_of_its_task_with_guidance_too() -> None:
    guide = FlowMutGuide()
    task = guide.before(StepTask(5, 1, 0, "forward"))
    again = StepTask(**json.loads(json.dumps({**vars(task), "seeds": []})) | {"seeds": ()})
    first, second = plan(task), plan(again)
    assert isinstance(first, Candidate)
    assert first == second
    assert first.choice.taken and all(len(pick.x) == 5 for pick in first.choice.taken)
    assert all(0 <= value <= 1 for pick in first.choice.taken for value in pick.x)


def test_a_rejected_step_tells_what_it_refused() -> None:
    guide = FlowMutGuide()
    outcomes = [plan(guide.before(StepTask(k, 0, 0, "forward"))) for k in range(4)]
    for outcome in outcomes:
        if isinstance(outcome, StepOutcome):
            assert outcome.choice is not None and not outcome.choice["taken"]
        else:
            assert outcome.counts["proposed"] >= len(outcome.choice.taken) + len(outcome.choice.refused)


def test_sensitivity_is_high_where_the_output_moves_and_zero_where_it_cannot() -> None:
    nodes = (
        Node("much", "mul_scalar", ("x",), (("value", 3),)),
        Node("little", "mul_scalar", ("y",), (("value", 0),)),
        Node("sum", "add", ("much", "little")),
        Node("cut", "detach", ("sum",)),
        Node("both", "add", ("sum", "cut")),
    )
    inputs = (Input("x", (4,), "float32"), Input("y", (4,), "float32"), Input("n", (4,), "int64", "ones"))
    moved = sensitivities(Program(inputs, nodes, ("both",)))
    assert moved["x"] == pytest.approx(moved["much"]) == pytest.approx(0.5)
    assert moved["y"] == 0
    assert moved["n"] == moved["cut"] == 0
    assert set(moved) == {"x", "y", "n", "much", "little", "sum", "cut", "both"}


@pytest.mark.parametrize("seed", SEEDS, ids=lambda s: s.origin)
def test_every_seed_has_sensitivities_within_bounds(seed: Program) -> None:
    assert all(0 <= value < 1 for value in sensitivities(seed).values())
