"""Rules give a program their characteristic, keep what it tests, and take any text."""

from __future__ import annotations

import ast
import heapq
import statistics
import textwrap
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzers.alignguard import form
from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.table import CHARACTERISTICS
from fuzzers.alignguard.editing import Program
from fuzzers.alignguard.reading.reader import read
from fuzzers.alignguard.rules import detect, kept, mutate
from tests.unit.alignguard_seeds import SEEDS, seed

NAMES = [c.name for c in CHARACTERISTICS]

WANTED = 4
"""Seeds that each rule has to find something to do in."""


def test_there_are_sixty_characteristics_and_every_stage_has_ten() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 60
    assert all(sum(c.stage is stage for c in CHARACTERISTICS) >= 10 for stage in Stage)


@pytest.mark.parametrize("characteristic", CHARACTERISTICS, ids=NAMES)
def test_a_prompt_is_a_short_paragraph_with_code_that_parses(characteristic: Characteristic) -> None:
    assert f"({characteristic.stage})" in characteristic.prompt
    assert 2 <= f"{characteristic.what} {characteristic.why}".count(".") <= 7
    assert len(characteristic.what) + len(characteristic.why) < 450
    ast.parse(f"def f(x):\n{textwrap.indent(characteristic.example, '    ')}")


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_introduces_what_it_is_named_after(name: str) -> None:
    found = 0
    for text in (s for s in SEEDS.values() if name not in detect(s)):
        made = next((m for k in range(6) if (m := mutate(text, name, Random(k))) is not None), None)
        if made is not None:
            form.read(made)
            assert name in detect(made)
            found += 1
    assert found >= WANTED


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_is_a_function_of_the_text_and_the_generator(name: str) -> None:
    for text in (SEEDS["sin"], SEEDS["abs of uint8"]):
        assert mutate(text, name, Random(3)) == mutate(text, name, Random(3))


def test_rules_compose_and_keep_the_operator_that_is_tested() -> None:
    for k in range(30):
        rng = Random(k)
        text = seed("torch.erfinv(x)", x="torch.rand(4, 6)")
        for name in rng.sample(NAMES, 6):
            text = mutate(text, name, rng) or text
        reading = read(text)
        assert reading is not None
        assert "torch.erfinv(" in text
        assert kept(Program.of(seed("torch.erfinv(x)", x="torch.rand(4, 6)")).reading, reading)  # type: ignore[union-attr]


def test_a_program_that_lost_its_operator_is_told() -> None:
    before = read(seed("torch.sin(x)", x="torch.randn(3)"))
    after = read(seed("torch.sin(x) * 0 if False else x", x="torch.randn(3)"))
    gone = read(
        "import torch\n\n\ndef f(x):\n    y = torch.sin(x)\n    return x + 1\n\n\n"
        "def inputs():\n    x = torch.randn(3)\n    return (x,)\n"
    )
    assert before and after and gone
    assert kept(before, after)
    assert not kept(before, gone)


def test_an_unknown_characteristic_is_refused() -> None:
    with pytest.raises(KeyError):
        mutate(SEEDS["sin"], "no such thing", Random(0))


def functions_of_the_library() -> list[str]:
    """Functions of modules that have nothing to do with tensors, each as `f` of a program."""
    found = []
    for module in (textwrap, heapq, statistics, ast):
        for node in ast.parse(Path(module.__file__).read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.args.kwonlyargs and not node.decorator_list:
                node.name = form.F
                names = [ast.arg(a.arg) for a in node.args.args]
                node.args = ast.arguments([], names, None, [], [], None, [])
                values = "torch.ones(2, 3), " * len(names)
                found.append(f"import torch\n\n{ast.unparse(node)}\n\ndef inputs():\n    return ({values})\n")
    return found


def test_no_rule_raises_on_python_that_it_was_not_made_for() -> None:
    texts = functions_of_the_library()
    assert sum(read(t) is not None for t in texts) > 20
    for number, text in enumerate(texts):
        detect(text)
        for name in Random(number).sample(NAMES, 6):
            mutate(text, name, Random(number))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1",
        "def f(x): return x",
        "not python at all (",
        seed(" + ".join(["x"] * 4000), x="torch.ones(2)"),
        seed(f"{'(' * 80}x{')' * 80}", x="torch.ones(2)"),
        seed("x if x.sum() else (y := x)", x="torch.ones(2)"),
        seed("[*x, *(a for a in x)]", x="torch.ones(2)"),
        "import torch\n\n\nasync def g(): pass\n\n\ndef f(x):\n    while True:\n        return x\n\n\n"
        "def inputs():\n    return (torch.ones(1),)\n",
        "import torch\n\n\ndef f(x):\n    match x:\n        case 1: return x\n        case _: pass\n\n\n"
        "def inputs():\n    return (1,)\n",
        "import torch\ndef f(): yield 1\ndef inputs(): return ()\n",
    ],
)
def test_odd_texts_are_refused_or_mutated_but_never_raise(text: str) -> None:
    detect(text)
    for number, name in enumerate(NAMES):
        mutate(text, name, Random(number))


EXPRESSIONS = st.recursive(
    st.sampled_from(["x", "y", "1", "-2", "0.5", "None", "x.shape", "(1, 2)", "torch.float64", "x[0]"]),
    lambda inner: st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("torch.cat([{}, {}], {})".format, inner, inner, inner),
        st.builds("{}.transpose({}, 1)".format, st.just("x"), inner),
        st.builds("x.sum({}, keepdim={})".format, inner, inner),
        st.builds("{}[{}:{}:2]".format, st.just("y"), inner, inner),
        st.builds("torch.where({} > {}, {}, x)".format, inner, inner, inner),
        st.builds("x.reshape({})".format, inner),
        st.builds(
            "x.{}({})".format, st.sampled_from(["to", "view", "expand", "narrow", "max", "foo_"]), inner
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(body=EXPRESSIONS, name=st.sampled_from(NAMES), number=st.integers(0, 99))
def test_nonsense_over_tensors_never_raises(body: str, name: str, number: int) -> None:
    text = seed(body, x="torch.randn(3, 4)", y="torch.randint(0, 3, (5,), dtype=torch.int8)")
    made = mutate(text, name, Random(number))
    if made is not None:
        form.read(made)
