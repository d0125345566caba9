"""`nightfuzz retest --accept`: a person lets go on what a hold keeps back; nothing is run for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bot import history
from bot.cli import exit_code
from bot.states import Hold
from bot.store import Store
from fuzzers.records import Verdict
from tests.unit.made import BUILD, a_finding

HOLD = Hold("torch", "2.15.0", "cpu", "3.11.7", "abc", "6 of 8 changed", "2026-11-01T00:00:00Z")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store with a hold, and a finding that three builds call gone; the current folder is around it."""
    monkeypatch.chdir(tmp_path)
    store = Store(tmp_path / "out" / "store", pytest.fail)
    finding = a_finding()
    for number in range(3):
        build = replace(BUILD, version=f"2.15.{number}", git_sha=str(number))
        finding = history.noted(finding, history.entry(build, Verdict.GONE, f"{number}"))
    store.put_finding(finding)
    store.put_hold(HOLD)
    return store


def test_accepting_lets_states_change(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["retest", "--accept"]) == 0
    told = capsys.readouterr().out
    assert "accepted: torch 2.15.0: 6 of 8 changed" in told
    assert f"{a_finding().signature}: gone" in told
    (finding,) = Store(store.root, pytest.fail).findings()
    assert finding.state == "gone"


def test_accepting_as_json(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["retest", "--accept", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [hold["version"] for hold in document["accepted"]] == ["2.15.0"]
    assert document["moved"] == {a_finding().signature: "gone"}
    (run,) = (store.root / "runs").iterdir()
    assert json.loads(run.read_text()) == document


def test_there_may_be_nothing_to_accept(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    exit_code(["retest", "--accept"])
    capsys.readouterr()
    assert exit_code(["retest", "--accept"]) == 0
    assert "nothing is held" in capsys.readouterr().out
