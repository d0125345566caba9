"""MindSpore's half of FlowMuT: bindings, worker, and a known bug from a suspect to an issue."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from drawing import legal_singles

from bot.asking import Asker
from bot.errors import UserMistake
from bot.render import render
from bot.session import SCRIPT_LIMITS, fresh_runner
from bot.store import Store
from bot.target import Pool, probe
from bot.triage import Allowance, triage
from fuzzers import framework
from fuzzers.flowmut.on_mindspore.bindings import BINDINGS
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Program, to_json
from fuzzers.records import Aspect, Build, Ending, Expect, Kind, Limits, Suspect

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(900)]

TREE = Path(__file__).parents[2]
EACH = 3

WRONG_DTYPE = """import mindspore as ms
from mindspore import ops


def f(x, y):
    a = ops.sin(y)
    b = x * 1
    return a + 2, b


x = ms.Tensor([True, False])
y = ms.Tensor([1.0, 2.0], ms.float32)
expected = f(x, y)[1]
actual = ms.jit(f)(x, y)[1]
assert actual.dtype == expected.dtype, (actual.dtype, expected.dtype)
"""
"""True of MindSpore 2.10.0: PyNative makes an int64 of a bool times a whole number, Graph mode a bool."""


@pytest.fixture(scope="module")
def build() -> Build:
    try:
        return probe(sys.executable, "mindspore")
    except UserMistake as why:
        pytest.skip(str(why))


@pytest.fixture(scope="module")
def pool(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    with Pool(build, 1, tmp_path_factory.mktemp("workers")) as pool:
        yield pool


def drawn(name: str) -> list[Program]:
    """Legal programs of one operator that MindSpore can be given."""
    found = legal_singles(OPERATORS[name], 0, 4 * EACH)
    plain = [p for p in found if not any(i.views or i.dtype == "bfloat16" for i in p.inputs)]
    return [replace(p, dynamic=None) for p in plain[:EACH]]


def test_bindings_are_of_operators_and_at_least_120_run_alike_in_both_modes(build: Build) -> None:
    assert set(BINDINGS) <= set(OPERATORS)
    given = {name: [to_json(p) for p in drawn(name)] for name in BINDINGS}
    run = subprocess.run(
        [sys.executable, Path(__file__).with_name("on_mindspore.py")],
        input=json.dumps(given), capture_output=True, text=True, timeout=600, cwd=TREE,
        env={**os.environ, framework.VARIABLE: "mindspore", "PYTHONPATH": str(TREE), "GLOG_v": "4"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    found = json.loads(run.stdout)
    alike = [name for name, went in found.items() if "agrees" in went]
    assert len(alike) >= 120, found


def test_the_worker_says_which_build_it_is(build: Build) -> None:
    assert (build.framework, build.variant) == ("mindspore", "cpu")
    assert build.version.count(".") == 2


def test_a_step_is_the_same_twice(pool: Pool) -> None:
    task = {"engine": "flowmut", "seed": 4, "chain": 2, "step": 0, "aspects": "forward", "state": None}
    first, second = (pool.call("engine.step", task, Limits(seconds=240.0)) for _ in range(2))
    assert (first.ended, first.value) == (Ending.OK, second.value)
    assert first.value["counts"]["proposed"]


def test_a_known_bug_goes_from_a_suspect_to_an_issue(build: Build, pool: Pool, tmp_path: Path) -> None:
    store = Store(tmp_path / "store", pytest.fail)
    expect = Expect(Ending.ASSERTION)
    store.add(Suspect("flowmut", "1", build, Kind.METADATA, Aspect.DTYPE, WRONG_DTYPE, expect))
    asker = Asker(pool, SCRIPT_LIMITS)
    result = triage(store, asker, fresh_runner(build, 1, None), Allowance(600.0))
    (signature,) = result.new
    finding = store.finding(signature)
    assert finding is not None
    assert (finding.stage, finding.rungs) == ("graph", {"O0": "assertion", "O1": "assertion"})
    assert "ops" not in finding.script
    assert "x * 1" in finding.script
    (issue,) = render(store.findings(), tmp_path / "issues", Kind.METADATA)
    assert "mindspore" in issue.read_text().lower()


def test_an_engine_that_mindspore_has_not_is_a_mistake(build: Build, tmp_path: Path) -> None:
    run = partial(subprocess.run, capture_output=True, text=True, timeout=120, cwd=TREE)
    command = [sys.executable, "-m", "bot", "run", "--framework", "mindspore", "--engine", "alignguard"]
    told = run([*command, "--out", str(tmp_path)])
    assert told.returncode == 2
    assert told.stderr.splitlines()[-1] == ("nightfuzz: alignguard: not on mindspore, which has flowmut")
