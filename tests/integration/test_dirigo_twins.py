"""Every kind of bug is found in a wrong kernel, by an input that was run; its right twin is not reported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from kernels.plain import examined
from kernels.twins import TWINS, Twin

from fuzzers.dirigo.verdict import Answer, Fault, Severity

NAMES = [twin.bug for twin in TWINS]
ALWAYS_WRONG = frozenset({Fault.WRITE_OUTSIDE, Fault.MISALIGNED, Fault.BARRIER, Fault.TRAP})


@pytest.mark.parametrize("twin", TWINS, ids=NAMES)
def test_a_right_kernel_is_equal(twin: Twin) -> None:
    report = examined(twin, wrong=False)
    assert report.differences == ()
    assert report.answer is Answer.EQUAL, report.words()
    assert all(place.cells for place in report.places)


@pytest.mark.parametrize("twin", TWINS, ids=NAMES)
def test_a_wrong_kernel_is_different(twin: Twin) -> None:
    report = examined(twin, wrong=True)
    if twin.note:
        assert any("nan" in note for note in report.notes)
        return
    assert report.answer is Answer.DIFFERENT, report.words()
    assert {difference.fault for difference in report.differences} & twin.faults, report.differences
    for difference in report.differences:
        assert difference.severity is not Severity.NONFINITE
        assert difference.input or difference.fault in ALWAYS_WRONG


@pytest.mark.parametrize("bug", ["out-of-bounds read", "eps left out", "ignored parameter", "ignored batch"])
def test_a_reproducer_fails_in_its_last_statement_and_needs_nothing_of_ours(bug: str, tmp_path: Path) -> None:
    (twin,) = [twin for twin in TWINS if twin.bug == bug]
    report = examined(twin, wrong=True, locations=1)
    script = next(difference.script for difference in report.differences if difference.script)
    assert "fuzzers" not in script
    assert script.splitlines()[-1].startswith("assert ")
    file = tmp_path / "repro.py"
    file.write_text(script)
    ended = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    last = script.splitlines()[-1]
    assert "AssertionError" in ended.stderr
    assert last in ended.stderr


def test_an_accumulation_is_a_loop_in_the_reproducer() -> None:
    (twin,) = [twin for twin in TWINS if twin.bug == "hard-coded size"]
    report = examined(twin, wrong=True, locations=1)
    script = next(difference.script for difference in report.differences if difference.script)
    assert "for i in range(59):" in script
