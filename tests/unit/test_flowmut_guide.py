"""FlowMuT's guide: what it rewards, when it starts a chain over, and that it can be put down and taken up."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzers import guides
from fuzzers.engine import StepOutcome, StepStatus, StepTask
from fuzzers.flowmut.choosing import COVERAGE_BITS, FEATURES, Choice, Counts, Guidance, Pick, novelty
from fuzzers.flowmut.guide import STALE, FlowMutGuide, rarity, work

TASK = StepTask(0, 7, 1, "forward", state={"some": "program"})
NEW = Pick("tensor/insert", (1.0, 1.0, 1.0, 0.5, 0.5), ("site a", "state b", "mutation c"))


def outcome(
    events: tuple[str, ...],
    *picks: Pick,
    status: StepStatus = StepStatus.CHECKED,
    kernels: int = 1,
    refused: bool = False,
) -> StepOutcome:
    choice = Choice(refused=list(picks)) if refused else Choice(taken=list(picks), kernels=kernels)
    return StepOutcome(status, {}, events=events, choice=choice.to_json())


def expected(guide: FlowMutGuide, pick: Pick = NEW) -> float:
    """What the models expect of a pick, without the bounds."""
    bandit = guide.guidance.bandit
    models = (bandit.shared, *(m for arm, m in bandit.arms.items() if arm == pick.arm))
    return sum(sum(a * b for a, b in zip(solved(m.a, m.b), pick.x, strict=True)) for m in models)


def solved(a: object, b: object) -> list[float]:
    import numpy as np

    return [float(v) for v in np.linalg.solve(a, b)]  # type: ignore[call-overload]


def test_the_campaign_finds_the_guide() -> None:
    assert isinstance(guides.load("flowmut", 3), FlowMutGuide)


def test_new_events_pay_and_the_same_again_pay_less() -> None:
    first, second = FlowMutGuide(), FlowMutGuide()
    first.after(TASK, outcome(("e", "f", "g"), NEW), 1.0)
    second.events.add(("e", "f", "g"))
    second.after(TASK, outcome(("e", "f", "g"), NEW), 1.0)
    assert expected(first) > expected(second) > 0


def test_a_new_order_of_old_events_pays() -> None:
    guide = FlowMutGuide()
    guide.after(TASK, outcome(("e", "f", "g"), NEW), 1.0)
    before = rarity(guide.events, ("e", "f", "g"))
    guide.after(TASK, outcome(("g", "f", "e"), NEW), 1.0)
    assert guide.gains[7][-1] == pytest.approx((before + 1.0) / 2)


def test_many_kernels_pay_less_than_one() -> None:
    assert work(0) == work(1) == 1.0 > work(2) > work(8) > 0


@pytest.mark.parametrize("status", [StepStatus.DROPPED, StepStatus.REJECTED])
def test_what_could_not_be_compared_pays_nothing_and_covers_no_event(status: StepStatus) -> None:
    guide = FlowMutGuide()
    guide.after(TASK, outcome(("e",), NEW, status=status), 1.0)
    assert expected(guide) == 0
    assert guide.events.of("e") == 0


def test_a_refused_pick_pays_nothing_and_covers_nothing() -> None:
    guide = FlowMutGuide()
    guide.after(TASK, outcome(("e",), NEW, refused=True), 1.0)
    assert expected(guide) == 0
    assert guide.guidance.covered.of("site a") == 0
    assert guide.guidance.bandit.arms["tensor/insert"].a[0][0] == 2.0, "it is known to pay nothing"


def test_a_step_that_died_teaches_nothing() -> None:
    guide = FlowMutGuide()
    before = json.dumps(guide.state())
    guide.after(TASK, None, 1.0)
    assert json.dumps(guide.state()) == before


def test_what_is_learned_does_not_depend_on_the_clock() -> None:
    quick, slow = FlowMutGuide(), FlowMutGuide()
    for guide, seconds in ((quick, 0.1), (slow, 60.0)):
        guide.after(TASK, outcome(("e", "f"), NEW, kernels=3), seconds)
    assert quick.state() == slow.state()


def test_a_chain_that_stops_yielding_starts_over_and_others_go_on() -> None:
    guide = FlowMutGuide()
    guide.events.add(("always",) * 9)
    for number in range(STALE):
        assert guide.before(TASK).state == TASK.state, f"after {number} steps"
        guide.after(TASK, outcome(("always",), NEW), 1.0)
    assert guide.before(replace(TASK, chain=8)).state == TASK.state
    assert guide.before(TASK).state is None
    assert guide.before(TASK).state == TASK.state, "only once"


def test_a_step_gets_what_was_learned() -> None:
    guide = FlowMutGuide()
    guide.after(TASK, outcome(("e",), NEW), 1.0)
    given = guide.before(TASK).guidance
    assert given is not None
    read = Guidance.from_json(json.loads(json.dumps(given)))
    x = read.context(NEW.keys, 0.5, 0.5)
    assert x == (novelty(1),) * 3 + (0.5, 0.5)
    assert len(x) == len(FEATURES)


def test_the_better_of_two_picks_is_chosen() -> None:
    guide, poor = FlowMutGuide(), replace(NEW, arm="tensor/delete")
    for k in range(8):
        guide.after(TASK, outcome((f"e{k}", f"f{k}"), NEW), 1.0)
        guide.after(TASK, outcome((), poor), 1.0)
    assert guide.guidance.best([poor, NEW]) == 1


def test_what_was_learned_can_be_put_down_and_taken_up() -> None:
    guide = FlowMutGuide()
    for k in range(5):
        guide.after(TASK, outcome((f"e{k}", "f"), NEW), 1.0)
    other = FlowMutGuide()
    other.restore(json.loads(json.dumps(guide.state())))
    assert other.state() == guide.state()
    assert other.before(TASK) == guide.before(TASK)


@pytest.mark.parametrize(
    "change", [{"events": "?"}, {"events": ""}, {"guidance": {}}, {"gains": 3}, {"average": None}]
)
def test_what_is_no_state_is_refused_and_changes_nothing(change: dict[str, object]) -> None:
    guide = FlowMutGuide()
    guide.after(TASK, outcome(("e",), NEW), 1.0)
    before = guide.state()
    with pytest.raises(ValueError):
        guide.restore({**before, **change})
    assert guide.state() == before


@given(st.lists(st.text(max_size=3), max_size=300))
def test_counters_survive_json_and_never_count_less_than_was_added(keys: list[str]) -> None:
    counts = Counts.fresh(COVERAGE_BITS)
    counts.add(keys)
    again = Counts.from_json(counts.to_json(), COVERAGE_BITS)
    assert again == counts
    assert all(again.of(key) >= min(keys.count(key), 255) for key in keys)
