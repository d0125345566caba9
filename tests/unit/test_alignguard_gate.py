"""The gate: nothing hostile passes, what programs are made of does, and no text makes it fail."""

from __future__ import annotations

import ast
import string
from itertools import cycle
from random import Random
from textwrap import indent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzers.alignguard import form
from fuzzers.alignguard.characteristics.table import CHARACTERISTICS
from fuzzers.alignguard.gate import refusals
from fuzzers.alignguard.gate.rules import MOST_SAID
from fuzzers.alignguard.rules import mutate
from fuzzers.alignguard.written import WRITTEN
from tests.unit.benign_programs import IN_F as BENIGN_IN_F
from tests.unit.benign_programs import WHOLE
from tests.unit.hostile_programs import IN_F, MODULE_LEVEL, in_f


def assert_refused(source: str) -> None:
    found = refusals(source)
    assert found
    assert not str(found[0]).startswith("line 0: line"), "refused as no Python, which tests nothing"
    for refusal in found:
        assert 0 < refusal.line <= source.count("\n") + 1
        assert refusal.why
        assert "\n" not in refusal.why


def assert_passes(source: str) -> None:
    form.read(source)
    assert [str(one) for one in refusals(source)] == []


def test_there_are_hundreds_of_both() -> None:
    assert len(set(IN_F) | set(MODULE_LEVEL)) >= 200
    assert len(set(BENIGN_IN_F)) + len(WHOLE) + len(WRITTEN) >= 150


@pytest.mark.parametrize("lines", IN_F)
def test_nothing_hostile_passes_in_f(lines: str) -> None:
    assert_refused(in_f(lines))


@pytest.mark.parametrize("lines", MODULE_LEVEL)
def test_nothing_hostile_passes_before_f(lines: str) -> None:
    assert_refused(in_f("pass").replace("import torch\n", f"import torch\n{lines}\n", 1))


@pytest.mark.parametrize("lines", IN_F)
def test_a_hostile_line_is_found_wherever_it_hides(lines: str) -> None:
    """In a method of a class, in a branch, in a function in a function."""
    hidden = f"class A:\n    def m(self, x):\n        if x is None:\n{indent(lines, ' ' * 12)}\n"
    inner = in_f(f"def g():\n    def h(x):\n{indent(lines, ' ' * 8)}\n        return x\n    return h")
    outer = in_f("pass").replace("import torch\n", f"import torch\n\n\n{hidden}\n", 1)
    for source in (inner, outer):
        ast.parse(source)
        assert refusals(source)


@pytest.mark.parametrize("lines", BENIGN_IN_F)
def test_what_programs_are_made_of_passes(lines: str) -> None:
    assert_passes(in_f(lines))


@pytest.mark.parametrize("source", [*WHOLE, *WRITTEN.values()])
def test_programs_pass(source: str) -> None:
    assert_passes(source)


def test_what_the_rules_make_passes_nearly_always() -> None:
    """A model is asked for the same things."""
    made = [
        mutant
        for number, (one, seed) in enumerate(zip(CHARACTERISTICS, cycle(WRITTEN.values()), strict=False))
        if (mutant := mutate(seed, one.name, Random(number))) is not None
    ]
    assert len(made) > len(CHARACTERISTICS) / 2
    assert sum(not refusals(mutant) for mutant in made) >= 0.95 * len(made)


def test_a_refusal_names_the_line_and_what_stands_there() -> None:
    (found,) = refusals(in_f("y = x + 1\nz = open('f')"))
    assert str(found) == "line 6: `open` is neither defined in the program nor a builtin that it may use"


def test_only_so_many_refusals_are_told() -> None:
    assert len(refusals(in_f("\n".join(f"a{n} = open('{n}')" for n in range(50))))) == MOST_SAID


@pytest.mark.parametrize(
    "source",
    [
        "x = " + "(" * 300 + ")" * 300,
        "x = " + "-" * 400 + "1",
        "x = " + "+".join(["1"] * 5000),
        "x" * 30_000,
        "\x00",
        "def f(:\n",
        "x = '\ud800'",
        "x = " + "[" * 90 + "1" + "]" * 90,
    ],
)
def test_a_text_that_would_break_a_reader_is_refused(source: str) -> None:
    assert refusals(source)


def test_nothing_is_refused_for_what_it_looks_like() -> None:
    """Attributes that the program makes itself, whatever they are called otherwise."""
    assert_passes(in_f("class Box:\n    scale = 2\nbox = Box()\nbox.scale = 3\nx = x * box.scale"))


@given(st.text(alphabet=string.printable, max_size=200))
def test_no_text_makes_the_gate_fail(text: str) -> None:
    refusals(text)


@given(st.lists(st.sampled_from([*IN_F, *BENIGN_IN_F]), min_size=1, max_size=4), st.data())
def test_whatever_stands_beside_a_hostile_line_does_not_help_it(
    lines: list[str], data: st.DataObject
) -> None:
    bad = data.draw(st.sampled_from(IN_F))
    place = data.draw(st.integers(0, len(lines)))
    source = in_f("\n".join([*lines[:place], bad, *lines[place:]]))
    assert refusals(source)
