"""Killed at any change of the disk: nothing is lost, nothing is there twice, and doing it again ends it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.asking import Asker
from bot.merging import merge
from bot.states import Hold, Status, TriageState, Trial, Tried
from bot.store import Store
from bot.triage import Allowance, triage
from fuzzers.records import Kind, Limits
from tests.unit import toy_build
from tests.unit.dying import deaths
from tests.unit.made import a_finding, a_suspect

TRIAL = Trial("torch", "2.13.0", "cpu", "3.11", "cf30153c", "flowmut", "1", Tried.TESTED, "2026-11-01")
HOLD = Hold("torch", "2.13.0", "cpu", "3.11", "cf30153c", "7 of 9 changed", "2026-11-01")

OLDER = a_finding("v2-a", first_seen="2026-11-01", script="older\n", suspects=("1",), verdicts=({"at": "1"},))
YOUNGER = a_finding(
    "v2-b", first_seen="2026-11-02", script="younger\n", suspects=("2",), verdicts=({"at": "2"},)
)
UNTOUCHED = a_finding("v2-c", first_seen="2026-11-03", suspects=("3",))


def opened(folder: Path) -> Store:
    return Store(folder, pytest.fail)


def ours(folder: Path) -> None:
    """A store with three findings, a suspect and a trial."""
    store = opened(folder)
    for finding in (OLDER, YOUNGER, UNTOUCHED):
        store.put_finding(finding, {"log": finding.signature})
    store.add(a_suspect("ours\n"))
    store.set_state(a_suspect("ours\n").id, TriageState(Status.CONFIRMED, finding="v2-b"))
    store.record_trial(TRIAL)


def theirs(folder: Path) -> Store:
    """Another one, which knows that two of the three are one."""
    store = opened(folder)
    store.put_finding(OLDER, {"log": "theirs"})
    store.put_finding(YOUNGER, {"log": "theirs"})
    store.join("v2-a", "v2-b")
    store.put_finding(a_finding("v2-d", first_seen="2026-11-04", suspects=("4",)), {"log": "d"})
    store.add(a_suspect("theirs\n"))
    store.set_state(a_suspect("theirs\n").id, TriageState(Status.FLAKY))
    store.record_run("a-run", {"exit_code": 0})
    store.put_hold(HOLD)
    return store


def picture(store: Store) -> object:
    """All that counts of a store, without the times of writing."""
    return (
        list(store.findings()),
        [(store.evidence(f.signature), store.script(f)) for f in store.findings()],
        {s.id: (store.state(s.id).status, store.state(s.id).finding) for s in store.suspects()},
        store.ledger(),
        store.holds(),
        sorted(path.parent.name for path in store.root.glob("findings/v*/finding.json")),
        sorted(path.name for path in store.root.glob("runs/*.json")),
    )


CHANGES: dict[str, Callable[[Store, Store], object]] = {
    "a new finding": lambda store, other: store.put_finding(a_finding("v2-e"), {"log": "e"}),
    "a changed finding": lambda store, other: store.put_finding(
        a_finding("v2-c", script="x\n"), {"log": "x"}
    ),
    "a finding that is another's alias": lambda store, other: store.put_finding(
        a_finding("v2-e", aliases=("v2-c",)), {"log": "e"}
    ),
    "a join": lambda store, other: store.join("v2-a", "v2-b"),
    "a merge": merge,
    "a suspect": lambda store, other: store.add(a_suspect("more\n")),
    "a state": lambda store, other: store.set_state(a_suspect("ours\n").id, TriageState(Status.FLAKY)),
    "a trial": lambda store, other: store.record_trial(Trial(**{**vars(TRIAL), "engine": "other"})),
    "a run": lambda store, other: store.record_run("more", {"exit_code": 0}),
    "a hold": lambda store, other: store.put_hold(HOLD),
}


@pytest.mark.parametrize("change", CHANGES)
def test_killed_at_any_change_of_the_disk_and_done_again_it_is_done_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    other = theirs(tmp_path / "theirs")
    ours(tmp_path / "before")
    shutil.copytree(tmp_path / "before", tmp_path / "whole")
    CHANGES[change](opened(tmp_path / "whole"), other)
    expected = picture(opened(tmp_path / "whole"))
    known = {s.id for s in opened(tmp_path / "before").suspects()}
    died = 0
    for folder in deaths(
        tmp_path / "deaths",
        lambda folder: shutil.copytree(tmp_path / "before", folder),
        lambda folder: CHANGES[change](opened(folder), other),
        monkeypatch,
    ):
        died += 1
        left = opened(folder)
        assert all(left.finding(f.signature) for f in (OLDER, YOUNGER, UNTOUCHED))
        assert {"1", "2", "3"} <= {s for f in left.findings() for s in f.suspects}
        assert known <= {s.id for s in left.suspects()}
        assert TRIAL in left.ledger().builds.values()
        CHANGES[change](opened(folder), other)
        assert picture(opened(folder)) == expected
    assert died > 2


def test_triage_killed_at_any_change_of_the_disk_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepare(folder: Path) -> None:
        for kind, letters in (
            (Kind.WRONG, "awx"),
            (Kind.WRONG, "wbx"),
            (Kind.EXCEPTION, "ae"),
            (Kind.WRONG, "ab"),
        ):
            opened(folder).add(toy_build.suspect(kind, letters))

    def act(folder: Path) -> None:
        build = toy_build.ToyBuild()
        triage(opened(folder), Asker(build, Limits()), build.fresh, Allowance(seconds=1e9))

    def result(folder: Path) -> object:
        store = opened(folder)
        found = [(f.signature, f.script, f.suspects, f.detail.get("variants")) for f in store.findings()]
        return found, {s.id: (store.state(s.id).status, store.state(s.id).finding) for s in store.suspects()}

    prepare(tmp_path / "whole")
    act(tmp_path / "whole")
    died = 0
    for folder in deaths(tmp_path / "deaths", prepare, act, monkeypatch):
        died += 1
        act(folder)
        assert result(folder) == result(tmp_path / "whole")
    assert died > 50
