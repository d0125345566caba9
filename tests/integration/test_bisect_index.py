"""Bisecting over a real index of wheels that pip installs: which build it names, and what that costs."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bot import classify, wire
from bot.across import Answers
from bot.classify import InStore, OnBuilds
from bot.cli import exit_code
from bot.store import Store
from fuzzers.records import Ending, Expect, Json
from tests.integration.toy_index import Answer, Fault, Index, ToyBuild, days
from tests.unit.made import a_finding, a_suspect

TREE = Path(__file__).parents[2]

FIRST_BAD = 41
"""Of sixty builds."""

OF_NO_USE: dict[int, dict[str, Any]] = {
    22: {"fault": Fault.METADATA},
    28: {"fault": Fault.MISSING},
    37: {"fault": Fault.IMPORT},
    43: {"fault": Fault.DEPENDENCY},
    46: {"fault": Fault.PYTHON},
    47: {"flaky": True},
}
"""By day, and so placed that the search meets every one of them."""

ABSENT = (5, 33, 34, 58)
"""Days without a build: the index does not list them."""


def sixty() -> list[ToyBuild]:
    """Sixty days: some have no build, some one that is of no use."""
    made = days(60, FIRST_BAD, **{f"at{n}": fields for n, fields in OF_NO_USE.items()})
    return [build for n, build in enumerate(made) if n not in ABSENT]


@dataclass
class Bench:
    """An index, a script, and the command line on them."""

    index: Index
    folder: Path

    @property
    def log(self) -> Path:
        """A line for every run of the script: the version that ran it."""
        return self.folder / "log"

    def script(self) -> Path:
        """A reproducer that says in the log that it was run."""
        path = self.folder / "repro.py"
        path.write_text(
            "import torch\n\n"
            f"with open({str(self.log)!r}, 'a') as log:\n    log.write(torch.__version__ + '\\n')\n"
            "assert torch.answer() == 42\n"
        )
        return path

    def arguments(self, *more: str, subject: str = "") -> list[str]:
        places = ["--cache", str(self.folder / "cache"), "--out", str(self.folder / "out")]
        channel = ["--build", "nightly", "--nightly-index", self.index.url]
        return ["bisect", subject or str(self.script()), *channel, *places, "--json", *more]

    def undated(self, *more: str) -> list[str]:
        return [one for one in (*self.arguments(), "--undated", *more) if one != str(self.script())]

    def runs(self) -> Counter[str]:
        """How often each version has run the script."""
        return Counter(self.log.read_text().split()) if self.log.exists() else Counter()

    def answers(self) -> dict[str, int]:
        """How many answers are written down, by the build's name."""
        books = (self.folder / "out" / "store" / "bisects").glob("*.json")
        kept = [wire.read(Answers, book.read_bytes()) for book in books]
        return {name: len(judged.answers) for book in kept for name, judged in book.builds.items()}

    def run_and_kill(self, lines: int, then_seconds: float) -> None:
        """Run the command and kill -9 it some time after it has said so many lines, or at its end."""
        command = [sys.executable, "-m", "bot", *self.arguments()]
        with subprocess.Popen(
            command, cwd=TREE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        ) as process:
            assert process.stderr is not None
            for _ in range(lines):
                process.stderr.readline()
            time.sleep(then_seconds)
            os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench with the builds that the test is marked with."""
    builds: Sequence[ToyBuild] = request.param
    with Index(tmp_path, builds) as index:
        for name, value in index.variables.items():
            monkeypatch.setenv(name, value)
        yield Bench(index, tmp_path)


def answered(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> Json:
    """The command's document, after it has ended well."""
    assert exit_code(arguments) == 0
    document: Json = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize("bench", [sixty()], indirect=True)
def test_sixty_builds_give_the_right_one_and_few_are_installed(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answered(capsys, bench.arguments())
    made = days(60, FIRST_BAD)
    assert (found["outcome"], found["builds"]) == ("first-bad", 56)
    assert (found["before"], found["after"]) == (
        f"torch {made[FIRST_BAD - 1].version}",
        f"torch {made[FIRST_BAD].version}",
    )
    assert found["between"] == []
    assert found["link"].endswith(f"{made[FIRST_BAD - 1].git_sha}...{made[FIRST_BAD].git_sha}")
    assert found["runs_beyond_ends"] <= 12
    words = {one["build"].removeprefix("torch "): one["answers"][-1]["word"] for one in found["judged"]}
    for day, fields in OF_NO_USE.items():
        assert words[made[day].version] == ("flaky" if "flaky" in fields else "unknown")
    fetched = [name.split("-")[1] for name in bench.index.downloads]
    assert len(fetched) == len(set(fetched))
    assert set(fetched) <= set(words)
    again = answered(capsys, bench.arguments("--good", made[0].version, "--bad", made[-1].date))
    assert (again["runs_now"], again["after"]) == (0, found["after"])
    assert len(bench.index.downloads) == len(fetched)


@pytest.mark.parametrize("bench", [days(2)], indirect=True)
def test_the_second_ctrl_c_ends_the_scripts_that_run(bench: Bench) -> None:
    script = bench.folder / "slow.py"
    log = bench.folder / "began"
    script.write_text(f"import time\n\nopen({str(log)!r}, 'w').close()\ntime.sleep(200)\nassert True\n")
    command = [sys.executable, "-m", "bot", *bench.arguments(subject=str(script))]
    with subprocess.Popen(
        command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while not log.exists():
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "nightfuzz: stopped"
    assert bench.answers() == {}


BROKEN_WEEK = {f"at{n}": {"fault": fault} for n, fault in enumerate((Fault.IMPORT, Fault.DEPENDENCY), 3)}


@pytest.mark.parametrize(
    "bench", [days(8, 5, **BROKEN_WEEK, at5={"flaky": True, "bad": True})], indirect=True
)
def test_a_change_among_builds_that_say_nothing_is_a_range_with_reasons(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answered(capsys, bench.arguments())
    made = [f"torch {build.version}" for build in bench.index.builds]
    assert (found["before"], found["after"]) == (made[2], made[6])
    reasons = {one["build"]: one["reason"] for one in found["between"]}
    assert list(reasons) == made[3:6]
    assert "libtoy.so" in reasons[made[3]]
    assert "nightfuzz-toy-that-nobody-has" in reasons[made[4]]
    assert reasons[made[5]].startswith("fails in ")
    answers = {one["build"]: one["answers"] for one in found["judged"]}
    assert [one["word"] for one in answers[made[5]]] == ["flaky", "flaky"]


@pytest.mark.parametrize("bench", [[replace(b, bad=not b.bad) for b in days(5, 2)]], indirect=True)
def test_a_findings_signature_finds_what_put_it_right_and_the_finding_is_dated(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(bench.folder / "out" / "store", pytest.fail)
    script = bench.script().read_text()
    suspect = a_suspect(script, expect=Expect(Ending.ASSERTION))
    store.put_finding(a_finding("nf2-0123456789abcdef", suspect=suspect, script=script))
    found = answered(capsys, bench.arguments(subject="nf2-01234"))
    made = [f"torch {build.version}" for build in bench.index.builds]
    assert (found["outcome"], found["before"], found["after"]) == ("first-good", made[1], made[2])
    assert "the other way round" in found["notes"][0]
    (finding,) = Store(store.root, pytest.fail).findings()
    standing = classify.standing(finding)
    assert (standing.in_store, standing.on_builds) == (InStore.KNOWN, OnBuilds.PRE_EXISTING)
    assert standing.change is not None
    assert (standing.change.after, standing.change.link) == (made[2], found["link"])


@pytest.mark.parametrize("bench", [days(5, 2)], indirect=True)
def test_every_open_finding_without_a_date_is_searched_once(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(bench.folder / "out" / "store", pytest.fail)
    script = bench.script().read_text()
    for number, state in enumerate(("open", "open", "wontfix")):
        text = f"{script}# {number}\n"
        suspect = a_suspect(text, expect=Expect(Ending.ASSERTION))
        store.put_finding(a_finding(f"nf2-{number:016x}", suspect=suspect, script=text, state=state))
    assert answered(capsys, bench.undated("--within", "0.001s")) == {"reports": []}
    reports = answered(capsys, bench.undated())["reports"]
    assert [report["outcome"] for report in reports] == ["first-bad"] * 2
    changes = [classify.standing(finding).change for finding in store.findings()]
    assert [change is None for change in changes] == [False, False, True]
    assert answered(capsys, bench.undated()) == {"reports": []}


@pytest.mark.parametrize("bench", [days(4, 2)], indirect=True)
def test_an_index_that_fails_ends_the_search_and_it_goes_on_where_it_was_to_a_report(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    oldest, right, middle, newest = bench.index.builds
    bench.index.answers[middle.filename] = Answer.OTHER_BYTES
    assert exit_code(bench.arguments()) == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert f"torch {oldest.version}: good (ends normally)" in told.err
    assert told.err.splitlines()[-1].startswith("nightfuzz: ")
    before, runs = bench.answers(), bench.runs()
    assert f"torch {middle.version}" not in before
    bench.index.answers.clear()
    assert answered(capsys, bench.arguments())["after"] == f"torch {middle.version}"
    assert all(bench.runs()[version] == n for version, n in runs.items())
    assert exit_code([part for part in bench.arguments() if part != "--json"]) == 0
    report = capsys.readouterr().out.splitlines()
    assert report[0] == f"first bad: torch {middle.version}; the last good one is torch {right.version}"
    assert report[1] == "how it fails: its last assertion fails"
    ends = f"--good {oldest.version} --bad {newest.version}"
    assert report[-1] == f"again: nightfuzz bisect {bench.script()} --build nightly {ends}"


@pytest.mark.parametrize("bench", [days(2)], indirect=True)
def test_what_is_no_question_gets_one_line_and_exit_2(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    nonsense = bench.folder / "nonsense.py"
    nonsense.write_text("this is no Python\n")
    (bench.folder / "empty.py").write_text("# nothing\n")
    version = bench.index.builds[0].version
    for arguments, said in (
        (bench.arguments(subject="no-such-thing"), "neither a script here nor the signature"),
        (bench.arguments(subject=str(nonsense)), "is no Python script"),
        (bench.arguments(subject=str(bench.folder / "empty.py")), "is empty"),
        (bench.arguments("--good", "1.0"), "no build '1.0'"),
        (bench.arguments("--bad", version), "both ends are"),
        (["bisect", str(bench.script()), "--build", "installed"], "--build installed"),
        (["bisect", "--build", "nightly"], "--undated"),
        (bench.arguments("--undated"), "--undated"),
        (bench.undated("--good", "2.9.0"), "--good"),
        (bench.undated("--within", "soon"), "--within soon"),
    ):
        assert exit_code(arguments) == 2
        told = capsys.readouterr()
        assert said in told.err
        assert (told.out, told.err.count("\n")) == ("", 1)


@pytest.mark.parametrize("bench", [days(9, 4, at3={"fault": Fault.IMPORT})], indirect=True)
def test_killed_at_any_moment_it_goes_on_to_the_same_answer_and_judges_nothing_twice(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = random.Random(7)
    settled: Counter[str] = Counter()
    for _ in range(5):
        bench.run_and_kill(lines=draw.randint(1, 3), then_seconds=draw.uniform(0.0, 3.0))
        runs = bench.runs()
        for build in bench.answers():
            version = build.removeprefix("torch ")
            settled.setdefault(version, runs[version])
    found = answered(capsys, bench.arguments())
    made = [f"torch {build.version}" for build in bench.index.builds]
    assert (found["before"], found["after"]) == (made[2], made[4])
    assert [one["build"] for one in found["between"]] == [made[3]]
    assert all(n == 1 for n in bench.answers().values())
    assert settled
    assert {version: bench.runs()[version] for version in settled} == dict(settled)
