"""The whole line on the installed torch: hand-made suspects to issues that a maintainer can run.

The first bug is real (torch 2.13.0 on the CPU sums the negated absolute values of a concatenated uint8
tensor without wrapping them); the others are planted with the switch that inductor has for its own tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.asking import Asker
from bot.evidence import difference
from bot.render import render
from bot.retest import retest
from bot.session import fresh_runner
from bot.store import Store
from bot.target import Pool
from bot.triage import Allowance, triage
from fuzzers.flowmut.candidate import payload
from fuzzers.flowmut.claim import Claim
from fuzzers.flowmut.program import Input, Node, Program
from fuzzers.records import Aspect, Build, Ending, Expect, Finding, Json, Kind, Limits, Run, Suspect, Verdict

UINT8 = """import torch


def f(x, y):
    z = torch.relu(y)
    b = -torch.cat([x, x]).abs()
    return b.sum() + z.sum().long()


torch.manual_seed(0)
x = torch.randint(0, 256, (20,), dtype=torch.uint8)
y = torch.randn(3, 5)
expected = f(x.clone(), y.clone())
actual = torch.compile(f)(x.clone(), y.clone())
assert torch.equal(actual, expected), (actual, expected)
"""

PLANTED = """import torch
import torch._inductor.config as config

config.cpp.inject_relu_bug_TESTING_ONLY = "{fault}"


def f(x):
    y = x + 1
    return torch.relu(y).sin()


torch.manual_seed(0)
x = torch.randn(4, 5)
expected = f(x.clone())
actual = torch.compile(f)(x.clone())
assert torch.allclose(actual, expected), (actual, expected)
"""

PROGRAM = Program(
    inputs=(
        Input("x", (20,), "uint8", fill="randint", low=0, high=256),
        Input("y", (3, 5), "float32"),
    ),
    nodes=(
        Node("z", "relu", ("y",)),
        Node("a", "cat", ("x", "x"), (("dim", 0),)),
        Node("b", "abs", ("a",)),
        Node("c", "neg", ("b",)),
        Node("d", "sum", ("c",)),
    ),
    outputs=("d", "z"),
)

ENDINGS = {Kind.WRONG: Ending.ASSERTION, Kind.EXCEPTION: Ending.EXCEPTION}


def suspect(build: Build, kind: Kind, script: str, program: Json | None = None) -> Suspect:
    aspect = Aspect.VALUES if kind is Kind.WRONG else Aspect.OUTCOME
    return Suspect(
        engine="flowmut",
        revision="1",
        build=build,
        kind=kind,
        aspect=aspect,
        script=script,
        expect=Expect(ENDINGS[kind]),
        program=program,
        found_at="2026-01-02T03:04:05Z",
    )


class Line:
    """Triage, rendering and retesting on the real build, with a store of its own."""

    def __init__(self, pool: Pool, folder: Path) -> None:
        self.folder = folder
        self.asker = Asker(pool, Limits())
        self.build = pool.build
        self.fresh = fresh_runner(pool.build, pool.size, pool.folder)
        self.store = Store(folder / "store", pytest.fail)

    def take(self, suspect: Suspect) -> Finding:
        """The one finding that `suspect` ends in."""
        self.store.add(suspect)
        result = triage(self.store, self.asker, self.fresh, Allowance(seconds=280))
        state = self.store.state(suspect.id)
        assert state.finding, (state, result)
        finding = self.store.finding(state.finding)
        assert finding is not None
        return finding

    def issue(self, finding: Finding) -> tuple[str, Path]:
        """(the rendered issue, where its reproducer is)."""
        rendered = render([finding], self.folder / "issues", hosts=[])
        assert len(rendered) == 1
        return rendered[0].read_text(), self.folder / "issues" / finding.signature / "repro.py"


@pytest.fixture
def line(pool: Pool, tmp_path: Path) -> Line:
    return Line(pool, tmp_path)


def assert_fails_by_assertion_as_a_maintainer_runs_it(repro: Path, cache: Path) -> None:
    done = subprocess.run(
        [sys.executable, repro.name],
        cwd=repro.parent,
        env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 1, done
    assert "AssertionError" in done.stderr
    assert "assert torch" in done.stderr


def assert_shows_the_uint8_bug(finding: Finding) -> None:
    """Nothing but the operators that it needs; the concatenation may go, because what it does (keep the
    loop from being vectorised) a small size does as well."""
    assert {"abs", "neg", "sum"} <= set(finding.operators) <= {"abs", "cat", "neg", "sum"}, finding.script


def assert_reads_well(script: str) -> None:
    lines = script.splitlines()
    assert len(lines) <= 25, script
    assert lines[0] == "import torch"
    assert lines[-1].startswith("assert ")


@pytest.mark.timeout(600)
def test_the_known_wrong_result_becomes_an_issue_that_a_maintainer_can_run(line: Line) -> None:
    finding = line.take(suspect(line.build, Kind.WRONG, UINT8))
    assert_shows_the_uint8_bug(finding)
    assert (finding.stage, finding.label, finding.confirmed) == ("inductor", "module: inductor", "3 of 3")
    assert finding.rungs["aot_eager_decomp_partition"] == "ok"
    assert finding.detail["difference"]["detail"]["expected"]
    assert_reads_well(finding.script)
    issue, repro = line.issue(finding)
    assert finding.script in issue
    assert "| element | eager | float64 | compiled |" in issue
    assert_fails_by_assertion_as_a_maintainer_runs_it(repro, line.folder / "cache")
    (again,) = retest(line.store, line.build, line.fresh)
    assert (again.verdict, again.changed) == (Verdict.REPRODUCES, False)


@pytest.mark.timeout(600)
def test_the_same_bug_by_its_program_reduces_on_the_graph(line: Line) -> None:
    claim = Claim(kind="wrong", aspect="values")
    program = payload(PROGRAM, claim)
    (script,) = line.asker.scripts("flowmut", [program])
    finding = line.take(suspect(line.build, Kind.WRONG, script, program))
    assert_shows_the_uint8_bug(finding)
    assert_reads_well(finding.script)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("kind", "fault", "ending"),
    [
        (Kind.EXCEPTION, "compile_error", Ending.EXCEPTION),
        pytest.param(Kind.WRONG, "accuracy", Ending.ASSERTION, marks=pytest.mark.slow),
    ],
)
def test_planted_faults_are_reduced_to_relu_and_placed_in_inductor(
    line: Line, kind: Kind, fault: str, ending: Ending
) -> None:
    finding = line.take(suspect(line.build, kind, PLANTED.format(fault=fault)))
    assert finding.operators == ("relu",), finding.script
    assert finding.stage == "inductor"
    assert {run.ending for run in finding.runs} == {ending}
    issue, _ = line.issue(finding)
    assert ("<details>" in issue) == (kind is Kind.EXCEPTION)


@pytest.mark.timeout(300)
def test_the_oracle_speaks_in_the_form_that_triage_reads(line: Line) -> None:
    """Confirming and reducing stand on these keys; a report in another form would refuse every suspect."""
    (judged,) = line.asker.judge([UINT8], "aot_eager_decomp_partition", examine=True)
    assert judged.run.ending is Ending.ASSERTION
    assert isinstance(judged.before, Run) and judged.before.ending is Ending.OK
    seen = difference(judged.report, Kind.WRONG, Aspect.VALUES)
    assert seen is not None, judged.report
    assert {"expected", "actual", "n_bad", "numel"} <= set(seen["detail"])
