"""A pull request that changes a model file, from an order to what is told, on the real torch.

torch 2.13.0 on the CPU takes the maximum of bytes wrongly when compiled: of bytes below some it gives others.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest
from rich.console import Console

from bot.commands.order import Order
from bot.progress import Screen
from bot.pulls.result import Result
from bot.pulls.review import Review
from bot.pulls.workbench import Workbench
from bot.settings import Settings
from bot.store import Store
from bot.target import Pool
from bot.trackers.pulls import ChangedFile
from fuzzers.records import Build, Ending, Kind, Limits

NAME = "models/brightness.py"

RIGHT = '''"""Brightness of byte frames."""

import torch
from torch import nn


class Brightness(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(40, 4)

    def forward(self, frame):
        scaled = frame.float() / 255
        brightest = scaled.amax(dim=1)
        return brightest, self.head(scaled).relu()


def model():
    return Brightness()


def inputs():
    return (torch.randint(0, 256, (3, 40), dtype=torch.uint8),)
'''

WRONG = RIGHT.replace(
    "        brightest = scaled.amax(dim=1)\n",
    "        inverted = -frame\n        brightest = inverted.amax(dim=1)\n",
)

BUDGET = 900.0
"""For triage to come to its end on a busy machine; nothing is mutated here."""


class Desk:
    """Runs reviews, all with the session's warm cache."""

    def __init__(self, folder: Path, build: Build, cache: Path) -> None:
        self.folder, self.build, self.cache = folder, build, cache
        self.known: Path | None = None

    def review(self, base: str, head: str) -> Result:
        """What is told of a pull request that changes the model so."""
        for side, text in (("base", base), ("head", head)):
            (self.folder / side / "models").mkdir(parents=True)
            (self.folder / side / NAME).write_text(text)
        before = set(base.splitlines())
        lines = tuple(k for k, line in enumerate(head.splitlines(), 1) if line not in before)
        order = Order(
            "run", "7", "1", "2", "wanda", pull="7", head_sha="a" * 40, base_sha="b" * 40,
            files=(ChangedFile(NAME, "modified", lines),), budget=BUDGET,
        )  # fmt: skip
        bench = Workbench(
            Settings(workers=2),
            self.build,
            self.folder / "bench",
            Screen(Console(file=sys.stderr)),
            threading.Event(),
            self.known,
            self.cache,
        )
        return Review(order, bench, self.folder / "head", self.folder / "base", campaign_share=0.0).run()


@pytest.fixture
def desk(tmp_path: Path, build: Build, warm_folder: Path, pool: Pool) -> Desk:
    """Where pull requests are reviewed; the pool has warmed the cache."""
    return Desk(tmp_path, build, warm_folder)


def line_of(text: str, part: str) -> int:
    """The line of a text that has this in it."""
    return next(k for k, line in enumerate(text.splitlines(), 1) if part in line)


def test_a_model_that_torch_miscompiles_is_told_on_the_very_line(desk: Desk, pool: Pool) -> None:
    (told,) = desk.review(RIGHT, WRONG).findings
    assert (told.path, told.line) == (NAME, line_of(WRONG, "inverted.amax"))
    assert (told.kind, told.mutant) == (Kind.WRONG, False)
    assert "amax" in told.title
    run = pool.call("script.run", {"script": told.script}, Limits(seconds=120.0)).value
    assert run["ending"] == Ending.ASSERTION


def test_a_base_with_the_same_bug_makes_nothing_new(desk: Desk) -> None:
    result = desk.review(WRONG, WRONG.replace(".relu()", ".sigmoid()"))
    assert result.findings == ()
    assert f"{NAME}: 1 differences that the base has too are not told" in result.notes
    assert result.figures[0].base == "compared"


def test_a_harmless_change_makes_nothing_and_writes_nothing(desk: Desk, tmp_path: Path) -> None:
    desk.known = tmp_path / "night" / "store"
    Store(desk.known, pytest.fail)
    before = sorted(desk.known.rglob("*")) if desk.known.exists() else []
    result = desk.review(RIGHT, RIGHT.replace(".relu()", ".sigmoid()"))
    assert result.findings == ()
    assert result.figures[0].checked == 1
    assert (sorted(desk.known.rglob("*")) if desk.known.exists() else []) == before
