"""The benchmark's score counts pairs, and its bisection is the real one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from bot.errors import UserMistake
from bot.replay import BUILDS, STAGES, load, percentile, replay, runs_per_bisect, score
from fuzzers.records import encode

CORPUS = Path(__file__).parents[1] / "benchmarks" / "triage" / "suspects.jsonl.gz"


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


@pytest.mark.parametrize("seed", range(3))
def test_recorded_suspects_are_put_together_by_their_cause(tmp_path: Path, seed: int) -> None:
    """triage.md: precision 1.0 and recall 0.95 of pairs."""
    corpus = load(CORPUS)
    found = replay(corpus, tmp_path, seed)
    assert found.suspects == len(corpus)
    assert found.precision == 1.0, found.wrong
    assert found.recall >= 0.95, found.split


def test_the_order_in_which_suspects_arrive_decides_nothing(tmp_path: Path) -> None:
    corpus = load(CORPUS)
    assert {replay(corpus, tmp_path / str(seed), seed).issues for seed in range(3)} == {
        replay(corpus, tmp_path / "again", 0).issues
    }


@pytest.mark.parametrize("stage", STAGES)
def test_a_suspect_recorded_without_a_stage_is_refused(tmp_path: Path, stage: str) -> None:
    plain = encode(load(CORPUS)[0])
    del plain["stages"][stage]
    path = tmp_path / "corpus.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(plain).encode() + b"\n"))
    with pytest.raises(UserMistake, match=stage):
        load(path)
