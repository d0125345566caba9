"""Retesting: the verdicts of open findings on a build, and what is remembered of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bot.asking import Asker
from bot.errors import MachineryFailure
from bot.retest import Retested, retest
from bot.store import Store
from bot.triage import Allowance, triage
from fuzzers.records import Kind, Limits, Run, Verdict
from tests.unit import toy_build


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with one open finding, the wrong result `wx`."""
    store = Store(tmp_path / "store", pytest.fail)
    store.add(toy_build.suspect(Kind.WRONG, "awx"))
    build = toy_build.ToyBuild()
    triage(store, Asker(build, Limits()), build.fresh, Allowance(1e9))
    return store


def only(store: Store, build: toy_build.ToyBuild) -> Retested:
    (one,) = retest(store, toy_build.BUILD, build.fresh)
    return one


def edit(store: Store, text: str) -> None:
    (finding,) = store.findings()
    (store.finding_folder(finding.signature) / "repro.py").write_text(text)


def test_a_bug_that_is_still_there_reproduces(store: Store) -> None:
    found = only(store, toy_build.ToyBuild())
    assert (found.verdict, found.changed) == (Verdict.REPRODUCES, False)


def test_a_build_without_the_bug_says_gone(store: Store) -> None:
    assert only(store, toy_build.ToyBuild(fixed="w")).verdict is Verdict.GONE


def test_the_script_in_the_folder_is_what_is_run(store: Store) -> None:
    edit(store, toy_build.script("abc"))
    assert only(store, toy_build.ToyBuild()).verdict is Verdict.GONE
    edit(store, toy_build.script("nwx"))
    found = only(store, toy_build.ToyBuild())
    assert (found.verdict, found.reason) == (Verdict.CANNOT_RUN, "No module named 'n'")


def test_another_failure_than_recorded_reproduces_and_is_said_to_have_changed(store: Store) -> None:
    edit(store, toy_build.script("ke"))
    found = only(store, toy_build.ToyBuild())
    assert (found.verdict, found.changed) == (Verdict.REPRODUCES, True)


def test_a_failure_of_the_machinery_is_cannot_run(store: Store) -> None:
    def fresh(scripts: Sequence[str]) -> list[Run]:
        raise MachineryFailure("no disk")

    (found,) = retest(store, toy_build.BUILD, fresh)
    assert found.verdict is Verdict.CANNOT_RUN
    assert "no disk" in found.reason


def test_verdicts_are_remembered_once_a_build(store: Store) -> None:
    only(store, toy_build.ToyBuild())
    only(store, toy_build.ToyBuild(fixed="w"))
    (finding,) = store.findings()
    assert [v["verdict"] for v in finding.verdicts] == ["gone"]
    retest(store, replace(toy_build.BUILD, git_sha="another"), toy_build.ToyBuild().fresh)
    (finding,) = store.findings()
    assert [v["verdict"] for v in finding.verdicts] == ["gone", "reproduces"]


def test_another_framework_is_left_alone(store: Store) -> None:
    assert retest(store, replace(toy_build.BUILD, framework="mindspore"), toy_build.ToyBuild().fresh) == []
