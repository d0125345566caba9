"""Which build is next, and what the ledger keeps of a night."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import trials
from bot.builds.environments import CannotInstall
from bot.builds.offer import Offer
from bot.builds.untested import trial_that_tested, untested
from bot.errors import MachineryFailure
from bot.record import Over, Record
from bot.states import Ledger, Trial, Tried
from bot.steps import Spec
from bot.tally import Tally
from fuzzers.records import Build

PYTHON = "3.11.7"
NIGHTS = [Offer("torch", f"2.15.0.dev202611{day:02}+cpu", "cpu", f"2026-11-{day:02}") for day in range(1, 6)]


def a_trial(offer: Offer, outcome: Tried = Tried.TESTED, revision: str = "1", sha: str = "abc") -> Trial:
    return Trial(
        offer.framework,
        offer.version,
        "cpu",
        PYTHON,
        sha,
        "flowmut",
        revision,
        outcome,
        "2026-11-09T00:00:00Z",
    )


def ledger(*kept: Trial) -> Ledger:
    return Ledger({trial.key: trial for trial in kept})


def next_of(
    known: Ledger, engine: str = "flowmut", revision: str = "1", python: str = PYTHON
) -> Offer | None:
    return untested(NIGHTS, known, engine, revision, python)


def test_with_nothing_tested_the_newest_is_next() -> None:
    assert next_of(Ledger()) == NIGHTS[-1]


def test_a_build_of_ours_whose_version_is_none_is_no_hindrance() -> None:
    odd = Offer("torch", "my own build", "cpu")
    known = ledger(a_trial(odd))
    assert next_of(known) == NIGHTS[-1]
    assert trial_that_tested(odd, known, "flowmut", "1", PYTHON) is not None


def test_without_offers_nothing_is_next() -> None:
    assert untested([], Ledger(), "flowmut", "1", PYTHON) is None


def test_once_the_newest_is_tested_nothing_is_next_whatever_was_missed_before() -> None:
    assert next_of(ledger(a_trial(NIGHTS[-1]))) is None


def test_an_older_one_tested_leaves_the_newest() -> None:
    assert next_of(ledger(a_trial(NIGHTS[-2]))) == NIGHTS[-1]


@pytest.mark.parametrize("outcome", [Tried.INSTALL_FAILED, Tried.CAMPAIGN_FAILED])
def test_what_failed_is_tried_again(outcome: Tried) -> None:
    assert next_of(ledger(a_trial(NIGHTS[-1], outcome))) == NIGHTS[-1]


def test_a_night_without_a_new_build_does_not_make_the_build_new() -> None:
    known = trials.of_known(a_trial(NIGHTS[-1]))
    assert known.outcome is Tried.NO_NEW_BUILD
    assert next_of(ledger(known)) is None


@pytest.mark.parametrize(("engine", "revision", "python"), [
    ("dirigo", "1", PYTHON), ("flowmut", "2", PYTHON), ("flowmut", "1", "3.12.1"),
])  # fmt: skip
def test_another_engine_revision_or_python_tests_it_anew(engine: str, revision: str, python: str) -> None:
    assert next_of(ledger(a_trial(NIGHTS[-1])), engine, revision, python) == NIGHTS[-1]


def test_a_build_of_the_same_version_from_another_commit_is_another() -> None:
    dated = Offer("mindspore", "2.8.0+20261101010017", "cpu", git_sha="a" * 40)
    trial = replace(a_trial(dated), git_sha="a" * 40)
    assert trial_that_tested(dated, ledger(trial), "flowmut", "1", PYTHON) == trial
    assert trial_that_tested(replace(dated, git_sha="b" * 40), ledger(trial), "flowmut", "1", PYTHON) is None


def test_a_release_whose_framework_adds_its_label_is_the_same_release() -> None:
    trial = replace(a_trial(Offer("torch", "2.14.1+cu130")), variant="cu130")
    assert trial_that_tested(Offer("torch", "2.14.1"), ledger(trial), "flowmut", "1", PYTHON) == trial
    assert (
        trial_that_tested(Offer("torch", "2.14.1+cpu", "cpu"), ledger(trial), "flowmut", "1", PYTHON) is None
    )


@given(st.lists(st.tuples(st.sampled_from(NIGHTS), st.sampled_from(list(Tried)))))
def test_what_is_next_is_the_newest_offer_or_nothing_and_testing_it_leaves_nothing(
    told: list[tuple[Offer, Tried]],
) -> None:
    known = ledger(*(a_trial(offer, outcome) for offer, outcome in told))
    found = next_of(known)
    assert found in (NIGHTS[-1], None)
    if found is not None:
        after = {**known.builds, a_trial(found).key: a_trial(found)}
        assert next_of(Ledger(after)) is None


def test_the_four_records_of_a_night_are_different() -> None:
    build = Build("torch", NIGHTS[0].version, "cpu", "abc", "python", PYTHON)
    failed = trials.of_failure(build, "flowmut", "1", MachineryFailure("no worker\nits log"))
    assert (failed.outcome, failed.reason, failed.revision) == (Tried.CAMPAIGN_FAILED, "no worker", "1")
    broken = trials.of_install(CannotInstall(NIGHTS[0], "no such dependency"), PYTHON, "flowmut")
    assert (broken.outcome, broken.reason) == (Tried.INSTALL_FAILED, "no such dependency")
    assert broken.key != failed.key
    idle = Record("c1", Spec("flowmut", "1", 5, build, 0, "mixed"), Over.BUDGET, "", "", 60.0, Tally())
    assert trials.of_campaign(idle).outcome is Tried.CAMPAIGN_FAILED
    busy = replace(idle, tally=Tally(fates={"checked": 1}))
    assert trials.of_campaign(busy).outcome is Tried.TESTED
    assert trials.of_campaign(replace(busy, over=Over.FAILED)).outcome is Tried.CAMPAIGN_FAILED
    assert trials.of_known(replace(a_trial(NIGHTS[0]), campaign="c1")).campaign == "c1"
