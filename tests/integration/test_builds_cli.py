"""`nightfuzz builds`, and `nightfuzz run` on nightlies: from a local index to the ledger."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.cli import exit_code
from bot.states import Trial, Tried
from bot.store import Store
from tests.integration.toy_index import Answer, Fault, Index, ToyBuild

TREE = Path(__file__).parents[2]
ENGINE = "tests.integration.toy:ENGINE"
BUILDS = [ToyBuild("20261101"), ToyBuild("20261102")]
PYTHON = platform.python_version()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, with a cache and an output folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NIGHTFUZZ_OUT", str(tmp_path / "out"))
    monkeypatch.setenv("NIGHTFUZZ_INDEX_TIMEOUT", "2s")
    monkeypatch.setenv("NIGHTFUZZ_BUILD", "nightly")
    monkeypatch.setenv("NIGHTFUZZ_ENGINE", ENGINE)
    monkeypatch.setenv("NIGHTFUZZ_ENGINE_PATH", str(TREE))
    monkeypatch.setenv("NIGHTFUZZ_WORKERS", "1")
    return tmp_path


@pytest.fixture
def index(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    with Index(home, BUILDS) as served:
        monkeypatch.setenv("NIGHTFUZZ_NIGHTLY_INDEX", served.url)
        for name, value in served.variables.items():
            monkeypatch.setenv(name, value)
        yield served


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """The document of a command that ends well."""
    capsys.readouterr()
    assert exit_code([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def assert_fails_in_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], *said: str) -> None:
    """Exit 3; the last line on standard error says so."""
    capsys.readouterr()
    assert exit_code(arguments) == 3
    out, err = capsys.readouterr()
    assert out == ""
    last = err.strip().splitlines()[-1]
    for part in ("nightfuzz: ", *said):
        assert part in last


def store(home: Path) -> Store:
    return Store(home / "out" / "store", pytest.fail)


def outcomes(home: Path) -> dict[str, Trial]:
    """The ledger's trials by what became of them."""
    return {trial.outcome: trial for trial in store(home).ledger().builds.values()}


def a_trial(build: ToyBuild, revision: str = "1") -> Trial:
    return Trial(
        "torch", build.version, "cpu", PYTHON, build.git_sha, ENGINE, revision,
        Tried.TESTED, "2026-11-09T00:00:00Z", campaign="c1",
    )  # fmt: skip


def test_list_tells_what_is_installed_and_tested(
    home: Path, index: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = told(capsys, "builds", "list")["builds"]
    assert [row["version"] for row in rows] == [build.version for build in BUILDS]
    assert [(row["installed"], row["tested_by"]) for row in rows] == [(False, []), (False, [])]
    assert index.downloads == []

    made = told(capsys, "builds", "install", "2.15.0.dev20261101")["build"]
    assert made["version"] == BUILDS[0].version
    subprocess.run([made["interpreter"], "-c", "import torch, numpy, expecttest"], check=True)
    store(home).record_trial(a_trial(BUILDS[1]))
    rows = told(capsys, "builds", "list")["builds"]
    assert [(row["installed"], row["tested_by"]) for row in rows] == [(True, []), (False, [ENGINE])]

    assert exit_code(["builds", "list"]) == 0
    shown = capsys.readouterr().out
    assert BUILDS[0].version in shown
    assert "2026-11-02" in shown


def test_latest_is_the_newest_and_untested_only_while_it_is(
    home: Path, index: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys, "builds", "latest")["build"]["version"] == BUILDS[1].version
    assert told(capsys, "builds", "latest", "--untested")["build"]["version"] == BUILDS[1].version
    store(home).record_trial(a_trial(BUILDS[1]))
    assert told(capsys, "builds", "latest")["build"]["version"] == BUILDS[1].version
    assert told(capsys, "builds", "latest", "--untested") == {"build": None}
    assert exit_code(["builds", "latest", "--untested"]) == 0
    assert capsys.readouterr().out == "no new build\n"


def test_a_version_that_the_channel_does_not_have_names_the_newest(
    index: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_fails_in_one_line(capsys, ["builds", "install", "2.16.0"], "2.16.0", BUILDS[1].version)


@pytest.mark.parametrize(
    "command", [["builds", "list"], ["builds", "latest"], ["builds", "install"], ["run"]]
)
def test_an_index_that_fails_ends_every_command_with_3(
    index: Index, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    index.answers["/torch/"] = Answer.ERROR
    assert_fails_in_one_line(capsys, command, index.url, "500")


def test_an_index_without_a_build_for_this_interpreter_is_told(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index(home, []) as empty:
        monkeypatch.setenv("NIGHTFUZZ_NIGHTLY_INDEX", empty.url)
        empty.put("torch", "torch-2.15.0.dev20261101+cpu-cp27-cp27m-win32.whl", b"")
        assert_fails_in_one_line(capsys, ["builds", "latest"], "no build of torch cpu")


def test_a_build_that_cannot_be_installed_is_written_down_and_tried_again(
    home: Path, index: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = ToyBuild("20261103", fault=Fault.IMPORT)
    index.put("torch", broken.filename, broken.wheel())
    for _ in range(2):
        assert_fails_in_one_line(capsys, ["run"], broken.version, "cannot be installed", "libtoy.so")
    assert index.downloads == [broken.filename] * 2
    (trial,) = outcomes(home).values()
    assert (trial.outcome, trial.version, trial.engine) == (Tried.INSTALL_FAILED, broken.version, ENGINE)
    assert "libtoy.so" in trial.reason


def test_a_campaign_that_cannot_be_run_is_written_down_and_tried_again(
    home: Path, index: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    """The toy has no compiler, so that no worker of it starts."""
    for _ in range(2):
        capsys.readouterr()
        assert exit_code(["run", "--budget", "1s"]) == 3
        assert f"a worker for torch {BUILDS[1].version} does not start" in capsys.readouterr().err
    (trial,) = outcomes(home).values()
    assert (trial.outcome, trial.revision) == (Tried.CAMPAIGN_FAILED, "1")
    assert "does not start" in trial.reason


def test_no_new_build_says_so_ends_with_0_and_is_written_down(
    home: Path, index: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    store(home).record_trial(a_trial(BUILDS[1]))
    for _ in range(2):
        document = told(capsys, "run")
        assert document["campaigns"] == []
        assert "no new build" in document["triage_skipped"]
    assert outcomes(home) == {
        Tried.NO_NEW_BUILD: replace(
            a_trial(BUILDS[1]),
            outcome=Tried.NO_NEW_BUILD,
            at=outcomes(home)[Tried.NO_NEW_BUILD].at,
            reason="it had been tested before",
        )
    }
    assert exit_code(["run"]) == 0
    assert "no new build" in capsys.readouterr().err


def test_another_revision_of_the_engine_tests_the_build_anew(
    home: Path, index: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    store(home).record_trial(a_trial(BUILDS[1], revision="0"))
    assert exit_code(["run", "--budget", "1s"]) == 3
    assert set(outcomes(home)) == {Tried.TESTED, Tried.CAMPAIGN_FAILED}
