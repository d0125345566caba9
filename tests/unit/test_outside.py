"""Taking an operator out of the graph changes where it runs and nothing else."""

from __future__ import annotations

import ast

import pytest

from bot.outside import NAME, outside

SCRIPT = """\
import torch
import torch.nn.functional as F


def f(x, y):
    y.copy_(x.narrow(0, 1, 1))
    return -F.relu(x) + x % y, (x < y).narrow(0, 0, 1)


x = torch.ones(3)
expected = f(x.clone(), x.clone())
actual = torch.compile(f)(x, x.clone())
assert torch.equal(actual[0], expected[0]), (actual, expected)
"""


def test_each_operator_of_a_function_once_and_nothing_of_the_rest() -> None:
    assert set(outside(SCRIPT)) == {"copy_", "narrow", "neg", "relu", "add", "mod", "lt"}


@pytest.mark.parametrize(("name", "times"), [("narrow", 2), ("relu", 1), ("lt", 1), ("neg", 1)])
def test_every_call_of_the_operator_goes_outside(name: str, times: int) -> None:
    body = outside(SCRIPT)[name].partition("def f(")[2]
    assert body.count(f"{NAME}(") == times


def test_indexing_is_an_operator_and_slicing_is_not() -> None:
    found = outside("def f(x, i):\n    return x[i], x[1:], x[0, 1:2]\n\n\nassert f\n")
    assert list(found) == ["getitem"]
    assert found["getitem"].count(f"{NAME}(operator.getitem, x, i)") == 1


def test_the_last_statement_stays_an_assertion() -> None:
    for script in outside(SCRIPT).values():
        assert isinstance(ast.parse(script).body[-1], ast.Assert)


def test_what_is_computed_stays_the_same() -> None:
    plain = "def f(x, y):\n    return -x + x % y, x < y, x.bit_count()\n\n\nmade = f(7, 3)\nassert made\n"
    wanted: dict[str, object] = {}
    exec(plain, wanted)
    for name, script in outside(plain).items():
        ran: dict[str, object] = {}
        stand_in = script.replace("import torch\n", "").replace("@torch._dynamo.disable\n", "")
        exec(stand_in, ran)
        assert ran["made"] == wanted["made"], name


def test_what_is_no_python_has_no_operators() -> None:
    assert outside("def f(:\n") == {}
