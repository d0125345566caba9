"""`nightfuzz init` writes files that linters and nightfuzz itself accept, and replaces nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bot.cli import exit_code
from bot.settings import load

SHA = "0123456789" * 4
BIN = Path(sys.executable).parent


@pytest.fixture(params=["user", "framework"])
def written(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    arguments = [
        "--kind",
        request.param,
        "--repository",
        "me/mine",
        "--ref",
        SHA,
        "--runner",
        "gpu,self-hosted",
    ]
    assert exit_code(["init", *arguments]) == 0
    return tmp_path


def test_the_settings_are_ones(written: Path) -> None:
    settings = load({})
    assert (settings.repository, settings.tracker, settings.build) == ("me/mine", "github", "nightly")


@pytest.mark.parametrize(
    "command",
    [
        ["actionlint", "-ignore", 'label "gpu" is unknown'],
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows"],
        ["zizmor", "--offline", "--strict-collection", "--quiet"],
    ],
    ids=lambda command: command[0],
)
def test_linters_accept_the_workflow(written: Path, command: list[str]) -> None:
    file = ".github/workflows/nightfuzz.yml"
    done = subprocess.run([BIN / command[0], *command[1:], file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_workflow_pins_a_commit(written: Path) -> None:
    text = (written / ".github/workflows/nightfuzz.yml").read_text()
    assert text.count(f"@{SHA}") == 2
    assert "${{ secrets.NIGHTFUZZ_MARKER_KEY }}" in text


def test_nothing_is_replaced_without_being_told(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (written / "nightfuzz.toml").write_text("mine")
    assert exit_code(["init", "--repository", "me/mine", "--ref", SHA]) == 2
    assert "--force" in capsys.readouterr().err
    assert (written / "nightfuzz.toml").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--repository", "me/mine"], "--ref"),
        (["--ref", SHA], "--repository"),
        (["--ref", SHA, "--repository", "me/mine", "--runner", 'x"]'], "labels"),
    ],
)
def test_what_is_missing_is_one_line(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exit_code(["init", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
