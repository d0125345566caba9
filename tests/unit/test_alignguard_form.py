"""The normal form: what passes, what is refused and why, and when two texts are one program."""

from __future__ import annotations

import textwrap

import pytest

from fuzzers.alignguard import form
from fuzzers.alignguard.form import NotNormal, digest, read
from fuzzers.alignguard.written import WRITTEN

GOOD = """
import torch


def f(x, y):
    return x + y


def inputs():
    torch.manual_seed(0)
    x = torch.randn(3)
    y = torch.randn(3)
    return (x, y)
"""


def examples() -> list[str]:
    """The two programs of the form's own docstring."""
    assert form.__doc__ is not None
    text = form.__doc__.split("An operator, one call:")[1]
    return [textwrap.dedent(part).strip("\n") for part in text.split("A module whose attribute", 1)]


def test_the_documented_examples_are_in_the_form() -> None:
    operator, module = examples()
    module = module.partition("\n\n")[2]
    assert read(textwrap.dedent(operator)).parameters == ("x", "y")
    stateful = read(textwrap.dedent(module))
    assert stateful.has_setup
    assert stateful.has_again


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_seeds_written_here_are_in_the_form(name: str) -> None:
    assert read(WRITTEN[name]).parameters


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("def f(x, y)", "def g(x, y)", "no module-level `def f"),
        ("def inputs()", "def other()", "no module-level `def inputs"),
        ("import torch", "import os", "may not import `os`"),
        ("import torch", "from . import torch", "may not import"),
        ("import torch", "import torch\nprint(1)", "effect"),
        ("import torch", "import torch\nfor k in (): pass", "`For` may not stand"),
        ("import torch", "import torch\ntorch.x = 1", "plain names"),
        ("import torch", "import torch\ninputs = 1", "has to be a `def`"),
        ("def f(x, y)", "@torch.compile\ndef f(x, y)", "decorator"),
        ("def f(x, y)", "def f(x, y=1)", "without defaults"),
        ("def f(x, y)", "def f(x)", "returns 2 values and f takes 1"),
        ("return (x, y)", "return [x, y]", "tuple written out"),
        ("return (x, y)", "return (*x, y)", "values and f takes"),
        ("    torch.manual_seed(0)", "    if torch:\n        return (1, 2)", "only `return`"),
        ("return x + y", "return x +", "not Python"),
        ("import torch", f"import torch\nA = '{'a' * form.LONGEST}'", "characters"),
    ],
)
def test_what_is_not_in_the_form_is_refused_with_the_reason(old: str, new: str, said: str) -> None:
    read(GOOD)
    with pytest.raises(NotNormal, match=said.replace("(", r"\(").replace("`", "`")):
        read(GOOD.replace(old, new, 1))


def test_comments_and_spelling_do_not_make_another_program() -> None:
    other = GOOD.replace("return x + y", '"""Adds."""\n    # what it is\n    return (x  +  y)')
    assert digest(other) == digest(GOOD)
    assert digest(GOOD.replace("x + y", "x - y")) != digest(GOOD)
