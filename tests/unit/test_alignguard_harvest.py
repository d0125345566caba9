"""Seeds from test files: what is cut out, and what is left with a reason."""

from __future__ import annotations

from pathlib import Path

from fuzzers.alignguard import form
from fuzzers.alignguard.harvest import Harvest, harvest

FILE = """
import math
import os
import torch
import torch.nn as nn
SIZE = 8


def helper(x):
    return x.relu()


class CommonTemplate:
    def test_compared(self):
        def fn(a):
            return (a + 1, torch.add(a, 1, alpha=2))

        for dtype in [torch.float16, torch.float32]:
            self.common(fn, (torch.randn(32, dtype=dtype),))

    def test_lambda(self):
        args = (torch.randn(4), 2)
        self.common(lambda x, n: helper(x) + SIZE * n, args)

    def test_module(self):
        class Mod(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(SIZE, 2)

            def forward(self, x):
                return self.lin(x).sum(math.floor(1.2))

        mod = Mod()
        x = torch.randn(3, SIZE, device=self.device)
        opt = torch.compile(mod, backend="eager")
        self.assertEqual(mod(x), opt(x))

    def test_decorated(self):
        @torch.compile
        def f(inputs):
            return inputs.sin()

        inputs = torch.ones(3)
        self.assertEqual(f(inputs), inputs.sin())

    def test_of_its_class(self):
        def fn(x):
            return self.helper(x)

        self.common(fn, (torch.randn(3),))

    def test_with_files(self):
        def fn(x):
            return x + len(os.listdir("."))

        self.common(fn, (torch.randn(3),))

    def test_nothing(self):
        self.assertTrue(True)
"""

SCRIPT = """
import torch


def f(x):
    return x.cumsum(0)


x = torch.ones(3, 4).t()
expected = f(x)
actual = torch.compile(f)(x)
assert torch.equal(actual, expected)
"""


def harvested(folder: Path, text: str) -> Harvest:
    (folder / "test_it.py").write_text(text)
    return harvest([folder])


def test_tests_become_programs_in_the_form(tmp_path: Path) -> None:
    found = {s["origin"].partition(":")[2]: s["source"] for s in harvested(tmp_path, FILE).seeds}
    assert set(found) == {"test_compared", "test_lambda", "test_module", "test_decorated"}
    for source in found.values():
        form.read(source)
    assert "dtype = torch.float16" in found["test_compared"]
    assert "def helper" in found["test_lambda"]
    assert "device='cpu'" in found["test_module"]


def test_what_gives_no_seed_is_counted_by_reason(tmp_path: Path) -> None:
    assert harvested(tmp_path, FILE).refused == {
        "uses its test class": 1,
        "imports what a program may not": 1,
        "nothing is compiled and called": 1,
    }


def test_a_reproducer_is_a_seed(tmp_path: Path) -> None:
    (seed,) = harvested(tmp_path, SCRIPT).seeds
    assert "torch.ones(3, 4).t()" in seed["source"]
    assert form.read(seed["source"]).parameters == ("x0",)


def test_files_that_are_no_python_are_counted(tmp_path: Path) -> None:
    assert harvested(tmp_path, "def (").refused == {"a file that cannot be read: SyntaxError": 1}
