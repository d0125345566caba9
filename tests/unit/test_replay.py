"""The benchmark's score counts pairs, and its bisection is the real one."""

from __future__ import annotations

import pytest

from bot.replay import BUILDS, percentile, runs_per_bisect, score


def test_all_right() -> None:
    found = score([("a", "1"), ("a", "1"), ("b", "2")])
    assert (found.precision, found.recall, found.bugs, found.issues) == (1.0, 1.0, 2, 2)
    assert found.wrong == found.split == ()


def test_two_bugs_in_one_finding_cost_precision() -> None:
    found = score([("a", "1"), ("a", "1"), ("b", "1")])
    assert (found.made, found.right, found.recall) == (3, 1, 1.0)
    assert found.wrong == (("1", ("a", "b")),)


def test_one_bug_in_two_findings_costs_recall() -> None:
    found = score([("a", "1"), ("a", "1"), ("a", "2"), ("b", "3")])
    assert (found.true, found.right, found.precision) == (3, 1, 1.0)
    assert found.split == (("a", 2),)


def test_no_pairs_are_no_mistakes() -> None:
    assert score([("a", "1")]).precision == score([("a", "1")]).recall == 1.0


def test_percentiles() -> None:
    assert percentile([3.0]) == 3.0
    assert percentile(list(range(101))) == pytest.approx(95)


def test_a_bisection_judges_few_builds() -> None:
    assert BUILDS == 60
    assert runs_per_bisect() <= 8
