"""AlignGuard's guide: what it proposes, what it learns, and that it is the same twice."""

from __future__ import annotations

import json

import pytest

from fuzzers.alignguard import form
from fuzzers.alignguard.guide import AlignGuardGuide, make
from fuzzers.alignguard.known import Seen
from fuzzers.alignguard.pairs import Joint, join, joints
from fuzzers.alignguard.written import WRITTEN
from fuzzers.alignguard.yields import Yields
from fuzzers.engine import Sighting, StepOutcome, StepStatus, StepTask
from fuzzers.records import Aspect, Ending, Expect, Json, Kind

ONE = (
    "import torch\n\n\ndef f(x):\n    return torch.sin(x)\n\n\n"
    "def inputs():\n    x = torch.randn(3, 4)\n    return (x,)\n"
)
TWO = (
    "import torch\n\n\ndef f(x, y):\n    z = x * 2\n    return torch.add(z, y), z\n\n\n"
    "def inputs():\n    x = torch.randn(3, 4)\n    y = torch.randn(3, 4)\n    return (x, y)\n"
)
SHAPE: Json = {"dtype": "float32", "shape": [3, 4]}
FOUND = Sighting(Kind.WRONG, Aspect.VALUES, "assert True", Expect(Ending.ASSERTION), None)


def seeds(job: str, args: Json) -> Json:
    assert job == "alignguard.seeds"
    made = [{"source": ONE.replace("sin", name), "where": f"opinfo {name}"} for name in ("sin", "cos", "exp")]
    return {"seeds": made if args["start"] == 0 else [], "refused": {}, "operators": 3}


def prepared(seed: int = 7) -> AlignGuardGuide:
    guide = make(seed)
    guide.prepare(seeds)
    return guide


def answered(guide: AlignGuardGuide, step: int, found: bool = False) -> StepTask:
    """One step, as if the program had run and shown two events."""
    task = guide.before(StepTask(7, 0, step, "forward"))
    assert task.given is not None
    if "block" in task.given:
        guide.after(
            task, StepOutcome(StepStatus.REJECTED, None, choice=seeds("alignguard.seeds", {"start": 9})), 1
        )
        return task
    outcome = StepOutcome(
        StepStatus.CHECKED,
        None,
        (FOUND,) if found else (),
        events=(f"event {step}", "event"),
        choice={"outputs": [SHAPE], "inputs": [SHAPE]},
    )
    guide.after(task, outcome, 1.0)
    return task


def test_what_it_proposes_is_in_the_form_and_new() -> None:
    guide = prepared()
    given = [t.given for t in (answered(guide, k) for k in range(60)) if t.given and "program" in t.given]
    sources = [g["program"]["source"] for g in given]
    for source in sources:
        form.read(source)
    assert len({form.digest(s) for s in sources}) == len(sources)
    assert {g["by"] for g in given} >= {"seed", "rules"}


def test_the_same_outcomes_make_the_same_proposals() -> None:
    one, other = prepared(), prepared()
    assert [answered(one, k).given for k in range(40)] == [answered(other, k).given for k in range(40)]
    third = prepared(8)
    assert [answered(third, k).given for k in range(40)] != [answered(prepared(), k).given for k in range(40)]


def test_a_restored_guide_goes_on_as_the_one_that_was_left() -> None:
    guide = prepared()
    for k in range(30):
        answered(guide, k)
    other = prepared()
    other.restore(json.loads(json.dumps(guide.state())))
    assert other.state() == guide.state()
    assert [answered(guide, k).given for k in range(30, 40)] == [
        answered(other, k).given for k in range(30, 40)
    ]


@pytest.mark.parametrize(
    "broken", [{}, {"corpus": 3}, {"corpus": {}, "yields": {}, "seen": "", "operators": 0}]
)
def test_a_broken_state_is_refused(broken: Json) -> None:
    with pytest.raises(ValueError, match=r"no |bytes"):
        prepared().restore(broken)


def test_without_a_database_it_starts_from_what_is_written_here() -> None:
    guide = make(3)
    guide.prepare(lambda job, args: {"seeds": [], "refused": {"no database": 1}, "operators": 0})
    tasks = [answered(guide, k) for k in range(30)]
    assert all(t.given and "block" not in t.given for t in tasks)
    assert len(guide.corpus.entries) >= len(WRITTEN)


def test_given_seeds_come_into_the_corpus() -> None:
    guide = prepared()
    guide.before(StepTask(7, 0, 0, "forward", seeds=({"source": TWO, "origin": "test_it.py"},)))
    assert any(e.origin == "test_it.py" for e in guide.corpus.waiting)


def test_what_shows_a_difference_is_not_mutated_further() -> None:
    guide = prepared()
    answered(guide, 0, found=True)
    assert guide.corpus.entries == []


def test_a_step_whose_process_died_teaches_nothing() -> None:
    guide = prepared()
    task = guide.before(StepTask(7, 0, 0, "forward"))
    before = guide.state()
    guide.after(task, None, 1.0)
    assert guide.state() == before


def test_what_yields_is_drawn_more_and_what_finds_one_thing_again_less() -> None:
    yields = Yields()
    for _ in range(30):
        yields.learn("good", 20, found=False, useful=True)
        yields.learn("bad", 0, found=False, useful=True)
        yields.learn("again", 0, found=True, useful=True)
    weights = {name: way.weight for name, way in yields.ways.items()}
    assert weights["good"] > 5 * weights["bad"]
    assert weights["again"] < weights["good"]
    assert min(weights.values()) > 0
    assert Yields.from_json(json.loads(json.dumps(yields.to_json()))) == yields


def test_events_are_remembered_across_json() -> None:
    seen = Seen()
    seen.add("one")
    again = Seen.from_json(seen.to_json())
    assert again.new(["one", "two", "two"]) == ("two",)
    with pytest.raises(ValueError, match="bytes"):
        Seen.from_json("AAAA")


def test_two_programs_are_joined_where_they_fit() -> None:
    fits = joints([SHAPE], [SHAPE, SHAPE])
    assert fits == [Joint(0, 0), Joint(0, 1)]
    text = join(ONE, TWO, fits[1])
    assert text is not None
    read = form.read(text)
    assert read.parameters == ("a_x", "b_x")
    assert "b_y = torch.sin(a_x)" in text
    assert join(TWO, ONE, Joint(1, 0, many=True)) is not None


def test_programs_that_do_not_fit_are_not_joined() -> None:
    assert joints([{"dtype": "int64", "shape": [3, 4]}], [SHAPE]) == []
    assert joints([{}], [{}]) == []
    assert join(WRITTEN["state that changes"], ONE, Joint(0, 0)) is None
    assert join("no program", ONE, Joint(0, 0)) is None
