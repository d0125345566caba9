"""Orders on a finding: what our own commands come to, as a bounded result that is checked when it is read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bot import wire
from bot.cli import exit_code
from bot.commands import work
from bot.commands.order import Order, write_order
from bot.commands.work import Worked, on_finding, read_worked
from bot.errors import UserMistake
from bot.store import Store
from tests.unit.made import a_finding

ORDER = Order("retest", "1", "2", "3", "wanda", signature="v2-x")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    Store(tmp_path / "out" / "store", pytest.fail).put_finding(
        a_finding("v2-x", script="x = 1\n\nassert x == 2\n")
    )
    return tmp_path / "out"


@pytest.mark.parametrize(
    ("verb", "build", "command"),
    [
        ("retest", "", ["retest", "--only", "v2-x"]),
        ("bisect", "", ["bisect", "v2-x", "--build", "nightly"]),
        ("bisect", "2.13.0", ["bisect", "v2-x", "--build", "release"]),
    ],
)
def test_a_verb_is_one_of_our_commands(
    out: Path, monkeypatch: pytest.MonkeyPatch, verb: str, build: str, command: list[str]
) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(work, "_nightfuzz", lambda arguments: (asked.append(arguments), (1, "it said"))[1])
    worked = on_finding(replace(ORDER, verb=verb, build=build), out)
    assert asked == [[*command, "--out", str(out)]]
    assert (worked.said, worked.failed) == ("it said", False)


def test_a_failure_is_told(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "_nightfuzz", lambda arguments: (3, "no such build"))
    assert on_finding(ORDER, out) == Worked("retest", "no such build", failed=True)


def test_a_smaller_reproducer_is_handed_back(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def triage(arguments: list[str]) -> tuple[int, str]:
        folder = Path(arguments[arguments.index("--out") + 1])
        store = Store(folder / "store", pytest.fail)
        assert len(list(store.suspects())) == 1
        store.put_finding(a_finding("v2-y", script="assert 1 == 2\n"))
        return 1, ""

    monkeypatch.setattr(work, "_nightfuzz", triage)
    worked = on_finding(replace(ORDER, verb="reduce"), out)
    assert worked == Worked("reduce", "3 lines before, 1 now.", "assert 1 == 2\n")


def test_a_finding_that_is_not_there_is_told(out: Path) -> None:
    assert on_finding(replace(ORDER, signature="v2-zzz"), out).failed


def test_an_order_on_a_pull_request_is_refused(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_order(tmp_path / "order.json", replace(ORDER, verb="run"))
    arguments = [
        "--order",
        str(tmp_path / "order.json"),
        "--result",
        str(tmp_path / "r.json"),
        "--out",
        str(out),
    ]
    assert exit_code(["work", *arguments]) == 2
    assert "nightfuzz pull" in capsys.readouterr().err


HOSTILE = [
    b"",
    b"{",
    b"[]",
    json.dumps({"verb": "retest"}).encode(),
    json.dumps({"verb": "retest", "said": 1}).encode(),
    json.dumps({"verb": "retest", "said": "x", "extra": 1}).encode(),
    json.dumps({"verb": "retest", "said": "x" * 30_000}).encode(),
    json.dumps({"verb": "retest", "said": "x", "script": "y" * 40_000}).encode(),
    b"x" * (work.LARGEST + 1),
    b"[" * 100_000,
]


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_result_is_refused_in_one_line(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(data)
    with pytest.raises(UserMistake) as refused:
        read_worked(path)
    assert "\n" not in str(refused.value)


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    worked = Worked("bisect", "first bad: x", "script")
    (tmp_path / "r.json").write_text(wire.text(worked))
    assert read_worked(tmp_path / "r.json") == worked
