"""The commands on pull requests: what is a mistake, and what a framework without wheels is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.cli import exit_code
from bot.commands.order import Order, write_order
from bot.pulls.result import read_result

ORDER = Order("run", "7", "1", "2", "wanda", pull="7", head_sha="a" * 40, base_sha="b" * 40)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an order and two checkouts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "head").mkdir()
    (tmp_path / "base").mkdir()
    write_order(tmp_path / "order.json", ORDER)
    return tmp_path


def pull(head: str = "head") -> int:
    """The exit code of the command in the current folder."""
    files = ["--order", "order.json", "--head", head, "--base", "base", "--result", "result.json"]
    return exit_code(["pull", *files])


def test_an_order_on_a_finding_is_the_user_s_mistake(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_order(here / "order.json", replace(ORDER, verb="retest"))
    assert pull() == 2
    assert "its verb is 'retest'" in capsys.readouterr().err


def test_a_checkout_that_is_not_there_is_the_user_s_mistake(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pull(head="nowhere") == 2
    assert "there is no such folder" in capsys.readouterr().err


def test_an_outbox_answers_no_commands(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["report", "--order", "order.json", "--result", "result.json"]) == 2
    assert "an outbox has no commands" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "said"), [("", "have no `wheel_url`"), ("wheels/{sha}.whl", "no wheel for a")]
)
def test_a_framework_without_a_wheel_is_told_so_and_nothing_else_is_run(
    here: Path, monkeypatch: pytest.MonkeyPatch, url: str, said: str
) -> None:
    monkeypatch.setenv("NIGHTFUZZ_KIND", "framework")
    monkeypatch.setenv("NIGHTFUZZ_WHEEL_URL", url)
    assert pull() == 0
    result = read_result(here / "result.json")
    assert said in result.notes[0]
    assert f"no wheel for {ORDER.head_sha}" in result.notes[0]
    assert (result.findings, result.figures, result.build) == ((), (), "")


@pytest.mark.parametrize(
    ("fields", "said"),
    [({"build": "2.13.0"}, "--build 2.13.0"), ({"framework": "mindspore"}, "--framework mindspore")],
)
def test_a_build_that_cannot_be_had_is_told_and_nothing_is_run(
    here: Path, fields: dict[str, str], said: str
) -> None:
    write_order(here / "order.json", replace(ORDER, **fields))  # type: ignore[arg-type]
    assert pull() == 0
    assert said in read_result(here / "result.json").notes[0]
