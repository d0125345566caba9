"""The test that an issue offers for torch's own suite, run as torch runs it, on the pinned torch."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from bot import facts
from fuzzers.records import Aspect, Build, Ending, Expect, Finding, Kind, Suspect

ANY = """import torch


def f(x):
    return x.{operator}()


x = torch.ones((), dtype=torch.uint8)
expected = f(x)
actual = torch.compile(f, backend="inductor")(x)
assert actual.dtype == expected.dtype, (actual.dtype, expected.dtype)
"""

SUITE = """import torch
from torch.testing._internal.common_utils import TestCase, run_tests


class TestFound(TestCase):
{method}


if __name__ == "__main__":
    run_tests()
"""


def finding(script: str) -> Finding:
    build = Build("torch", "2.13.0", "cpu", "", sys.executable, "3.11")
    suspect = Suspect("flowmut", "1", build, Kind.METADATA, Aspect.DTYPE, script, Expect(Ending.ASSERTION))
    return Finding(
        signature="v2-0123456789ab",
        suspect=suspect,
        script=script,
        operators=("any",),
        dtypes=("uint8",),
        stage="inductor",
        label="",
        confirmed="3 of 3",
        runs=(),
        rungs={},
        suspects=(suspect.id,),
        title="any",
    )


@pytest.mark.parametrize(("operator", "ends"), [("any", 1), ("clone", 0)])
def test_the_offered_test_fails_in_the_suite_for_the_bug_and_for_nothing_else(
    operator: str, ends: int, tmp_path: Path
) -> None:
    method = facts.suite_test(finding(ANY.format(operator=operator)))
    file = tmp_path / "test_found.py"
    file.write_text(SUITE.format(method=textwrap.indent(method, "    ")))
    # With CI set, torch's runner writes XML reports through a package that this project has no use for.
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    run = subprocess.run(
        [sys.executable, file], capture_output=True, text=True, timeout=240, cwd=tmp_path, env=environment
    )
    assert run.returncode == ends, run.stderr
    assert "Ran 1 test" in run.stderr
    assert ("AssertionError: (torch.bool, torch.uint8)" in run.stderr) or ends == 0, run.stderr
