"""Bisecting over real releases: two changes between torch 2.13.0 and 2.14.1 that were found by hand.

Installs both, and 2.14.1 takes 5.5 GB, so they are run by hand: `pytest -m slow` with the path of this file.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.cli import exit_code

PUT_RIGHT = """
import torch


def fn(x):
    return (-torch.cat([x, x]).abs()).sum()


x = torch.arange(1, 101, dtype=torch.uint8)
expected = fn(x)
actual = torch.compile(fn)(x)
assert torch.equal(actual, expected)
"""

BROKEN = """
import torch


def fn(bias, a, b):
    return torch.addmm(bias, a, b, beta=0)


bias = torch.full((1, 4), float("nan"))
a, b = torch.ones(1, 3), torch.ones(3, 4)
expected = fn(bias, a, b)
actual = torch.compile(fn)(bias, a, b)
assert torch.equal(actual, expected)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "good", "bad", "outcome"),
    [(PUT_RIGHT, "2.14.1", "2.13.0", "first-good"), (BROKEN, "2.13.0", "2.14.1", "first-bad")],
    ids=["uint8-abs", "addmm-beta-0"],
)
def test_releases_tell_what_they_put_right_and_what_they_broke(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, script: str, good: str, bad: str, outcome: str
) -> None:
    path = tmp_path / "repro.py"
    path.write_text(script.lstrip())
    ends = ["--good", good, "--bad", bad]
    assert (
        exit_code(["bisect", str(path), "--build", "release", *ends, "--out", str(tmp_path), "--json"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["outcome"] == outcome
    assert [
        one["answers"][0]["word"] for one in found["judged"] if one["build"].startswith(f"torch {bad}")
    ] == ["bad"]
    assert found["before"].startswith("torch 2.1")
    assert found["link"].startswith("https://github.com/pytorch/pytorch/compare/")
