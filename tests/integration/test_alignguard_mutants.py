"""What the rules make runs in the real framework, and what the reader says of a program is true."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from fuzzers.alignguard import opinfo
from fuzzers.alignguard.characteristics.table import CHARACTERISTICS
from fuzzers.alignguard.program import load
from fuzzers.alignguard.reading.reader import read
from fuzzers.alignguard.reading.values import Literal, Several, Tensor, Value
from fuzzers.alignguard.rules import mutate
from tests.integration.eager_mutants import run
from tests.unit.alignguard_seeds import SEEDS

pytestmark = pytest.mark.filterwarnings("ignore")

VALID = 0.97
"""Share of mutants that have to run."""


@pytest.fixture(scope="module")
def samples() -> list[str]:
    """Test cases of the build itself."""
    return [s["source"] for s in opinfo.block(11, 0, 120)["seeds"]]


def assert_true_of(known: Value, real: Any, arguments: list[tuple[Value, Any]], source: str) -> None:
    """Everything that is claimed of a value holds."""
    if isinstance(known, Several):
        assert len(real) == len(known.items), source
        for inner, value in zip(known.items, real, strict=True):
            assert_true_of(inner, value, arguments, source)
    elif isinstance(known, Literal):
        assert not isinstance(real, torch.Tensor), source
    elif isinstance(known, Tensor):
        assert isinstance(real, torch.Tensor), source
        assert known.shape in (None, tuple(real.shape)), source
        assert known.dtype is None or f"torch.{known.dtype}" == str(real.dtype), source
        for given, value in arguments:
            if (
                isinstance(given, Tensor)
                and isinstance(value, torch.Tensor)
                and value.numel()
                and real.numel()
            ):
                shared = value.untyped_storage().data_ptr() == real.untyped_storage().data_ptr()
                assert not shared or known.storage == given.storage, source


def test_what_is_read_of_a_program_is_true(samples: list[str]) -> None:
    known = 0
    for source in samples:
        reading = read(source)
        assert reading is not None
        program = load(source, "sample")
        arguments = list(zip(reading.given.values(), program.inputs(), strict=True))
        for given, value in arguments:
            assert_true_of(given, value, [], source)
        assert_true_of(reading.returned, program.f(*(v for _, v in arguments)), arguments, source)
        known += isinstance(reading.returned, Tensor) and reading.returned.shape is not None
    assert known > 0.4 * len(samples)


def test_what_is_read_of_a_mutant_is_true() -> None:
    rng = Random(5)
    for source in SEEDS.values():
        for characteristic in rng.sample(CHARACTERISTICS, 40):
            made = mutate(source, characteristic.name, rng)
            reading = read(made) if made else None
            if made is None or reading is None:
                continue
            program = load(made, "mutant")
            if program.setup is not None:
                program.setup()
            arguments = list(zip(reading.given.values(), program.inputs(), strict=True))
            assert_true_of(reading.returned, program.f(*(v for _, v in arguments)), arguments, made)


@pytest.mark.parametrize("characteristic", CHARACTERISTICS, ids=lambda c: c.name)
def test_a_mutant_of_a_small_seed_runs(characteristic: Any) -> None:
    ran = 0
    for number, source in enumerate(SEEDS.values()):
        made = mutate(source, characteristic.name, Random(number))
        if made is not None:
            assert run(made) == "", made
            ran += 1
    assert ran >= 4


def test_nearly_all_mutants_of_the_build_s_own_test_cases_run() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.eager_mutants", "300", "7"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["count"] == 300
    assert told["exercised"] > 0.75 * len(CHARACTERISTICS)
    assert len(told["bad"]) <= (1 - VALID) * told["count"], [b["error"] for b in told["bad"]]
