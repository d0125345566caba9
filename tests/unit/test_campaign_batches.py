"""Steps that are taken together, and the guide that chooses between them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.campaign import Campaign
from bot.store import Store
from fuzzers.engine import Ask, StepOutcome, StepTask
from fuzzers.records import Budget, Json
from tests.unit.test_campaign import SUSPECTS, fine, mixed, only, out, suspects
from tests.unit.toy_pool import SPEC, Deed, ToyPool

__all__ = ["out"]

BATCH = 4


class Counting:
    """A guide that knows what it was told."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.told: list[tuple[int, int, bool]] = []
        self.restored: Json | None = None

    def prepare(self, ask: Ask) -> None:
        self.names = ask("toy.names", {})["names"]

    def before(self, task: StepTask) -> StepTask:
        return replace(task, guidance={"seen": len(self.told)}, given={"name": self.names[task.chain % 2]})

    def after(self, task: StepTask, outcome: StepOutcome | None, seconds: float) -> None:
        assert task.guidance is not None and seconds >= 0
        self.told.append((task.chain, task.step, outcome is None))

    def state(self) -> Json:
        return {"told": len(self.told)}

    def restore(self, state: Json) -> None:
        if "told" not in state:
            raise ValueError("not what this guide wrote")
        self.restored = state


def run(
    out: Path, deeds: Deed, batch: int, candidates: int = 40, **fields: Any
) -> tuple[ToyPool, list[str], str]:
    """The pool, the warnings and the trace of a campaign whose steps go `batch` together."""
    warnings: list[str] = []
    pool = ToyPool(deeds)
    spec = replace(SPEC, batch=batch)
    made = Campaign(spec, out / "campaign", Store(out / "store", warnings.append), **fields)
    made.progress.warn = warnings.append
    made.run(pool, Budget(3600.0, candidates))
    return pool, warnings, (out / "campaign" / "candidates.jsonl").read_text()


def test_together_or_alone_the_candidates_are_the_same(out: Path) -> None:
    _, _, alone = run(out / "alone", fine, 1, candidates=48)
    pool, _, together = run(out / "together", fine, BATCH, candidates=48)
    assert together == alone
    assert [len(batch) for batch in pool.batches] == [BATCH] * 12
    assert pool.began == []


def test_a_batch_that_dies_is_taken_step_by_step(out: Path) -> None:
    pool, _, _ = run(out, mixed, BATCH)
    assert suspects(out) == SUSPECTS
    taken = [place for batch in pool.batches for place in batch if place not in pool.began]
    assert len(taken) + len(pool.began) == len({*taken, *pool.began}) == 40
    assert {(0, 2), (1, 0)} < set(pool.began)


@pytest.mark.parametrize("deed", ["babbles", "raises", "is killed", "dies unannounced"])
def test_a_batch_that_says_nothing_useful_costs_no_step(deed: str, out: Path) -> None:
    _, _, trace = run(out, only((1, 1), deed), BATCH)
    assert trace.count("\n") == 40


def test_a_budget_of_candidates_cuts_the_batch(out: Path) -> None:
    pool, _, trace = run(out, fine, BATCH, candidates=6)
    assert trace.count("\n") == 6
    assert [len(batch) for batch in pool.batches] == [4, 2]


def test_near_the_end_of_the_budget_steps_are_taken_alone(out: Path) -> None:
    pool = ToyPool(fine)
    made = Campaign(replace(SPEC, batch=BATCH), out / "campaign", Store(out / "store", pytest.fail))
    made.run(pool, Budget(15.0, 8))
    assert pool.batches == []
    assert len(pool.began) == 8


def test_a_guide_is_told_of_every_step_once(out: Path) -> None:
    guide = Counting()
    run(out, mixed, 1, guide=guide)
    assert len(guide.told) == len({place[:2] for place in guide.told}) == 40
    assert {place[:2] for place in guide.told if place[2]} == {(0, 2), (1, 0)}


def test_what_a_guide_learned_is_there_when_the_campaign_goes_on(out: Path) -> None:
    run(out, fine, 1, candidates=5, guide=Counting())
    later = Counting()
    run(out, fine, 1, candidates=7, guide=later)
    assert later.restored == {"told": 5}
    assert len(later.told) == 2


@pytest.mark.parametrize("left", ["{", "{}", "\xff"])
def test_a_guide_whose_state_is_broken_starts_anew(left: str, out: Path) -> None:
    run(out, fine, 1, candidates=5, guide=Counting())
    (out / "campaign" / "guide.json").write_bytes(left.encode("latin-1"))
    guide = Counting()
    _, warnings, trace = run(out, fine, 1, candidates=7, guide=guide)
    assert trace.count("\n") == 7
    assert guide.restored is None
    assert "what the engine had learned is lost" in warnings[0]
