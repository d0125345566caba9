"""Settings: who wins, and one clear line for what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.durations import seconds, short
from bot.errors import UserMistake
from bot.settings import load
from fuzzers.records import Kind


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_refused(flags: dict[str, Any], *said: str) -> None:
    with pytest.raises(UserMistake) as told:
        load(flags)
    line = str(told.value)
    assert "\n" not in line
    for part in said:
        assert part in line


@pytest.mark.parametrize(
    ("written", "value"),
    [("90s", 90), ("10m", 600), ("1h", 3600), ("1h30m", 5400), ("45", 45), ("1.5m", 90), (" 2 M ", 120)],
)
def test_durations_as_people_write_them(written: str, value: float) -> None:
    assert seconds(written) == value


@pytest.mark.parametrize("written", ["ten", "", "10 parsecs", "-5s", "0", "m", "1h-30m", "nan", "inf"])
def test_what_is_no_duration_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        seconds(written)


@pytest.mark.parametrize(
    ("value", "written"), [(0, "0s"), (-3, "0s"), (75.4, "1m15s"), (3600, "1h"), (59.6, "1m")]
)
def test_durations_are_shown_short(value: float, written: str) -> None:
    assert short(value) == written


def test_flags_win_over_the_environment_and_that_over_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pyproject.toml").write_text(
        '[tool.nightfuzz]\nseed = 1\nbudget = "1m"\ntriage-budget = "3m"\n'
    )
    monkeypatch.setenv("NIGHTFUZZ_SEED", "2")
    monkeypatch.setenv("NIGHTFUZZ_BUDGET", "2m")
    told = load({"seed": 3, "budget": None})
    assert (told.seed, told.budget, told.triage_budget) == (3, 120.0, 180.0)


def test_nightfuzz_toml_is_read(folder: Path) -> None:
    (folder / "nightfuzz.toml").write_text('publish_down_to = "wrong"\nengine = ["flowmut"]\n')
    told = load({})
    assert (told.publish_down_to, told.engine) == (Kind.WRONG, ("flowmut",))


def test_other_tables_of_pyproject_are_none_of_ours(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.other]\nbudgets = 3\n")
    assert load({}).budget == 300.0


def test_an_unknown_key_in_a_file_names_the_right_one(folder: Path) -> None:
    (folder / "nightfuzz.toml").write_text('triage-buget = "1m"\n')
    assert_refused({}, "triage_buget", "nightfuzz.toml", "'triage_budget'")


def test_an_unknown_variable_names_the_right_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIGHTFUZZ_WORKRES", "2")
    assert_refused({}, "NIGHTFUZZ_WORKRES", "'NIGHTFUZZ_WORKERS'")


def test_a_wrong_value_names_where_it_came_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_refused({"budget": "ten"}, "--budget", "'ten'", "90s, 10m or 1h")
    monkeypatch.setenv("NIGHTFUZZ_ASPECTS", "backward")
    assert_refused({}, "NIGHTFUZZ_ASPECTS", "'backward'", "'forward', 'full' or 'mixed'")
    monkeypatch.delenv("NIGHTFUZZ_ASPECTS")
    (folder / "nightfuzz.toml").write_text("workers = 0\n")
    assert_refused({}, "workers in nightfuzz.toml", "0", "greater than or equal to 1")


def test_an_engine_that_does_not_exist_is_refused() -> None:
    assert_refused({"engine": "flowmut,flowmutt"}, "--engine", "'flowmutt'", "flowmut")


def test_a_file_that_is_not_toml_is_named(folder: Path) -> None:
    (folder / "nightfuzz.toml").write_text("budget = = 3\n")
    assert_refused({}, "nightfuzz.toml is not TOML")


def test_a_table_that_is_no_table_is_refused(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool]\nnightfuzz = "yes"\n')
    assert_refused({}, "pyproject.toml", "tool.nightfuzz")
