"""The command line where no framework is needed: wrong input, empty stores, what goes to which stream."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bot.cli import exit_code, options
from bot.replay import Recorded
from bot.states import Status, TriageState
from bot.store import Store
from fuzzers.records import encode
from tests.unit.made import BUILD, a_finding, a_suspect


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def script(path: Path, text: str) -> str:
    """A shell script in place of an interpreter."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def python(folder: Path) -> str:
    """An interpreter that says it has a torch, and can do nothing else."""
    return script(folder / "python", f"echo '{json.dumps(encode(BUILD))}'")


def assert_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, *said: str) -> None:
    """The command ends with that code and one line on standard error that says so."""
    assert exit_code(arguments) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    for part in said:
        assert part in told.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--budget", "ten"], ["--budget", "'ten'", "90s, 10m or 1h"]),
        (["run", "--budgte", "1m"], ["--budgte", "--budget"]),
        (["run", "--workers", "many"], ["--workers"]),
        (["run", "--workers", "0"], ["--workers", "0"]),
        (["run", "--seed", "-1"], ["--seed"]),
        (["run", "--aspects", "backward"], ["--aspects", "'forward', 'full' or 'mixed'"]),
        (["run", "--publish-down-to", "ugly"], ["--publish-down-to", "'ugly'"]),
        (["run", "--engine", "flow"], ["--engine", "'flow'", "flowmut"]),
        (["run", "--build", "weekly"], ["--build", "'weekly'", "nightly"]),
        (["run", "--interpreter", "/no/such/python"], ["/no/such/python"]),
        (["run", "surplus"], ["surplus"]),
        (["fuzz"], ["fuzz"]),
        (["bench", "flowmut", "--minutes", "0"], ["--minutes"]),
        (["bench", "triage", "--corpus", "/dev/null"], ["/dev/null", "it is empty"]),
        (["bisect", "x" * 5000, "--build", "nightly"], ["neither a script here nor the signature"]),
        (["merge", "x" * 5000], ["is no store and has none"]),
        (["builds", "list", "--cache-gib", "inf"], ["--cache-gib"]),
    ],
)
def test_wrong_input_gets_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: list[str]
) -> None:
    assert_one_line(capsys, arguments, 2, *said)


@pytest.mark.parametrize("text", ["-" * 200_000 + "1", "a" + ".b" * 100_000])
def test_a_script_that_is_nested_too_deeply_gets_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], folder: Path, text: str
) -> None:
    (folder / "deep.py").write_text(text)
    assert_one_line(capsys, ["bisect", "deep.py", "--build", "nightly"], 2, "deep.py", "nested too deeply")


@pytest.mark.parametrize(
    "data",
    [
        b"plain",
        gzip.compress(b"\xff\n", mtime=0),
        gzip.compress(b"{}\n", mtime=0),
        gzip.compress(b"ab" * 99, mtime=0)[:15] + b"\xff" * 9,
    ],
)
def test_what_is_no_corpus_gets_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], folder: Path, data: bytes
) -> None:
    (folder / "corpus.gz").write_bytes(data)
    assert_one_line(capsys, ["bench", "triage", "--corpus", "corpus.gz"], 2, "corpus.gz is no corpus")


def test_a_corpus_that_triage_did_not_finish_gets_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    record = Recorded(a_suspect(), {}, "a bug")
    (folder / "corpus.gz").write_bytes(gzip.compress(json.dumps(encode(record)).encode()))
    assert_one_line(capsys, ["bench", "triage", "--corpus", "corpus.gz"], 2, "has no stage 'confirm'")


def test_a_store_that_is_a_file_gets_one_line(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "store").write_text("")
    assert_one_line(capsys, ["bisect", "nf2-01234567", "--build", "nightly"], 2, "no folder")
    assert_one_line(capsys, ["retest", "--accept"], 3, "cannot write")


def test_an_unknown_setting_gets_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "nightfuzz.toml").write_text('budgit = "1m"\n')
    assert_one_line(capsys, ["run"], 2, "'budgit'", "'budget'")


def test_an_interpreter_without_torch_gets_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    bare = script(folder / "bare", "echo \"ModuleNotFoundError: No module named 'torch'\" >&2; exit 1")
    assert_one_line(capsys, ["run", "--interpreter", bare], 2, bare, "no torch")


def test_a_build_whose_version_is_no_text_gets_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    odd = script(folder / "odd", f"echo '{json.dumps({**encode(BUILD), 'version': 3})}'")
    assert_one_line(capsys, ["run", "--interpreter", odd], 2, odd, "version")


def test_an_interpreter_that_says_no_text_gets_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    noisy = script(folder / "noisy", "printf '\\377'; printf '\\377' >&2; exit 1")
    assert_one_line(capsys, ["run", "--interpreter", noisy], 2, noisy, "is no Python with a torch")


def test_an_output_folder_that_cannot_be_written_gets_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "file").write_text("")
    assert_one_line(capsys, ["run", "--out", "file/out"], 2, "cannot write", "file/out")


def test_a_target_that_does_not_work_is_a_failure_of_the_machinery(
    capsys: pytest.CaptureFixture[str], python: str
) -> None:
    assert exit_code(["run", "--interpreter", python, "--workers", "1", "--budget", "5s"]) == 3
    assert "does not start" in capsys.readouterr().err


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code([]) == 2
    assert "triage" in capsys.readouterr().out


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["--version"]) == 0
    assert capsys.readouterr().out.startswith("nightfuzz ")


def test_a_fault_of_ours_is_shown_whole_and_is_not_mistaken_for_findings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("bot.cli.doctor.examine", broken)
    assert exit_code(["doctor"]) == 3
    assert "ZeroDivisionError: oops" in capsys.readouterr().err


def a_store(folder: Path) -> Store:
    """A store with one finding and its suspect, and one suspect file cut in half."""
    store = Store(folder / "out" / "store", lambda line: pytest.fail(line))
    store.add(a_suspect())
    store.put_finding(a_finding())
    store.set_state(a_suspect().id, TriageState(Status.CONFIRMED, finding=a_finding().signature))
    cut = a_suspect("cut\n")
    store.add(cut)
    (store.root / "suspects" / cut.id / "suspect.json").write_text('{"engine": "flo')
    return store


def test_triage_names_a_file_cut_in_half_and_goes_on(
    capsys: pytest.CaptureFixture[str], folder: Path, python: str
) -> None:
    a_store(folder)
    assert exit_code(["triage", "--interpreter", python, "--json"]) == 0
    told = capsys.readouterr()
    assert f"set aside suspects/{a_suspect('cut' + chr(10)).id}" in told.err
    document = json.loads(told.out)
    assert [f["signature"] for f in document["findings"]] == [a_finding().signature]
    assert document["exit_code"] == 0


def test_triage_shows_the_findings_and_where_to_look(
    capsys: pytest.CaptureFixture[str], folder: Path, python: str
) -> None:
    a_store(folder)
    assert exit_code(["triage", "--interpreter", python]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "[inductor] wrong result" in shown
    issue = folder / "out" / "issues" / f"{a_finding().signature}.md"
    assert issue.exists()
    assert "issues: 1 in out/issues" in shown


def test_triage_keeps_one_file_a_run(folder: Path, python: str) -> None:
    exit_code(["triage", "--interpreter", python])
    (run,) = (folder / "out" / "store" / "runs").iterdir()
    assert json.loads(run.read_text())["findings"] == []


def test_retest_of_an_empty_store_says_so(capsys: pytest.CaptureFixture[str], python: str) -> None:
    assert exit_code(["retest", "--interpreter", python]) == 0
    assert "no open findings" in capsys.readouterr().out


def test_doctor_tells_what_is_here_and_the_line_for_what_is_not(
    capsys: pytest.CaptureFixture[str], folder: Path, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.doctor.FREE_GIB", 0.0)
    monkeypatch.setattr("bot.doctor.MEMORY_GIB_A_WORKER", 0.01)
    exit_code(["doctor", "--json", "--interpreter", python])
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["torch"]["found"].startswith(BUILD.version)
    assert set(checks) == {"python", "system", "compiler", "torch", "mindspore", "disk", "cache", "memory"}
    bare = script(folder / "bare", "echo \"ModuleNotFoundError: No module named 'torch'\" >&2; exit 1")
    assert exit_code(["doctor", "--json", "--interpreter", bare]) == 3
    document = json.loads(capsys.readouterr().out)
    assert not document["fit"]
    checks = {check["name"]: check for check in document["checks"]}
    assert (checks["torch"]["standing"], checks["mindspore"]["standing"]) == ("missing", "note")
    assert checks["torch"]["remedy"] == f"{bare} -m pip install torch"


def test_doctor_misses_a_compiler(
    capsys: pytest.CaptureFixture[str], python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.doctor.shutil.which", lambda name: python if name == python else None)
    monkeypatch.delenv("CXX", raising=False)
    assert exit_code(["doctor", "--json", "--interpreter", python]) == 3
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert (checks["compiler"]["standing"], checks["compiler"]["remedy"]) == (
        "missing",
        "apt-get install g++",
    )


def test_a_reader_who_goes_away_is_no_finding() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "bot", "doctor", "--json", "--interpreter", sys.executable],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        told = process.stderr.read()
    assert (process.returncode, told) == (0, b"")


def test_the_first_ctrl_c_asks_and_the_second_stops() -> None:
    before = signal.getsignal(signal.SIGINT)
    with options.screen() as screen:
        with pytest.raises(KeyboardInterrupt), options.interruptible(screen) as stop:
            signal.raise_signal(signal.SIGTERM)
            assert stop.is_set()
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is before
