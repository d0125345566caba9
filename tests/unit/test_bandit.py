"""LinUCB: it learns which context pays in which arm, and what it has learned survives JSON."""

from __future__ import annotations

import json
import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzers.bandit import LinUCB

UNIT = st.floats(0, 1)
CONTEXTS = st.lists(st.tuples(UNIT, UNIT), min_size=1, max_size=8)


def test_nothing_learned_scores_by_the_bounds_alone() -> None:
    """A = I: theta is 0 and both bounds are |x|."""
    (score,) = LinUCB.fresh(2).scores(["a"], [(3.0, 4.0)])
    assert score == pytest.approx(2 * 5.0)


def test_one_observation_gives_the_published_score() -> None:
    """By hand for d = 1: A = 1 + x^2, b = r x, in the shared model and in the arm's."""
    bandit = LinUCB.fresh(1)
    bandit.learn("a", (2.0,), 0.5)
    theta, bound = 0.5 * 2 / 5, 1 / math.sqrt(5)
    assert bandit.scores(["a"], [(1.0,)])[0] == pytest.approx(2 * (theta + bound))
    assert bandit.scores(["b"], [(1.0,)])[0] == pytest.approx(theta + bound + 1.0)


def test_the_arm_and_the_context_that_pay_come_to_be_chosen() -> None:
    rng, bandit, chosen = Random(0), LinUCB.fresh(2), []
    for _ in range(400):
        arms = ["good", "bad", "good", "bad"]
        xs = [(rng.random(), rng.random()) for _ in arms]
        scores = bandit.scores(arms, xs)
        best = max(range(4), key=lambda k: scores[k])
        pays = xs[best][0] if arms[best] == "good" else 0.0
        bandit.learn(arms[best], xs[best], pays)
        chosen.append((arms[best], xs[best][0]))
    late = chosen[200:]
    assert sum(arm == "good" for arm, _ in late) > 150, "of 200; 100 by chance"
    assert sum(x for _, x in late) / len(late) > 0.6, "of two drawn contexts the better one, mostly"


@given(CONTEXTS, st.lists(UNIT, min_size=8, max_size=8))
def test_what_was_learned_survives_json(xs: list[tuple[float, float]], rewards: list[float]) -> None:
    bandit = LinUCB.fresh(2)
    for k, x in enumerate(xs):
        bandit.learn("ab"[k % 2], x, rewards[k])
    again = LinUCB.from_json(json.loads(json.dumps(bandit.to_json())))
    assert again.scores(["a", "b", "c"], [(1, 0)] * 3) == bandit.scores(["a", "b", "c"], [(1, 0)] * 3)


@given(CONTEXTS)
def test_a_context_that_was_tried_is_never_less_certain(xs: list[tuple[float, float]]) -> None:
    """With rewards of 0 the score is the bound, which each observation can only shrink."""
    bandit, probe = LinUCB.fresh(2), (0.6, 0.8)
    before = bandit.scores(["a"], [probe])[0]
    for x in xs:
        bandit.learn("a", x, 0.0)
        after = bandit.scores(["a"], [probe])[0]
        assert after <= before + 1e-9
        before = after


@pytest.mark.parametrize("x", [(1.0,), (1.0, math.nan), (math.inf, 0.0)])
def test_what_is_no_context_is_refused(x: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="no observation"):
        LinUCB.fresh(2).learn("a", x, 0.0)


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"width": 2, "shared": {}, "arms": {}},
        {"width": 2, "shared": {"a": [[1]], "b": [0]}, "arms": {}},
        3,
    ],
)
def test_what_is_no_bandit_is_refused(broken: object) -> None:
    with pytest.raises(ValueError, match="no "):
        LinUCB.from_json(broken)  # type: ignore[arg-type]
