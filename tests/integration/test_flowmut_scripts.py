"""Reproducers of drawn programs: they are formatted, they run, and where both sides agree they pass."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from drawing import grown

from fuzzers.flowmut.emit import Claim, build, script
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Input, Node, Program, View
from fuzzers.flowmut.record import record
from fuzzers.flowmut.source import mutated_inputs
from fuzzers.records import Aspect, Ending, Kind
from fuzzers.script import run_script

pytestmark = pytest.mark.filterwarnings("ignore")

ATTRIBUTES = (
    Aspect.DTYPE,
    Aspect.SHAPE,
    Aspect.DEVICE,
    Aspect.REQUIRES_GRAD,
    Aspect.STRIDE,
    Aspect.STRUCTURE,
)


def claims(program: Program) -> list[Claim]:
    """Every claim that can be made about a program."""
    last = len(program.outputs) - 1
    made = [Claim(Kind.METADATA, aspect, last) for aspect in ATTRIBUTES]
    made += [Claim(Kind.WRONG, Aspect.VALUES, last, rtol=1.3e-6, atol=1e-5)]
    made += [Claim(Kind.CRASH, Aspect.OUTCOME)]
    made += [Claim(Kind.ACCEPTS_INVALID, Aspect.OUTCOME)]
    made += [Claim(Kind.NONDETERMINISTIC, Aspect.VALUES, last)]
    made += [Claim(Kind.ALIASING, Aspect.ALIASING, pair=(f"output {last}", "input 0"))]
    for k in mutated_inputs(program):
        made.append(Claim(Kind.WRONG, Aspect.MUTATION, k, "input", rtol=1e-5, atol=1e-5))
        made.append(Claim(Kind.NONFINITE, Aspect.NONFINITE, k, "input", rtol=1e-5, atol=1e-5))
    states = record(program)
    tracked = any(states[o].requires_grad for o in program.outputs)
    if tracked and not any(OPERATORS[n.op].writes == 0 for n in program.nodes):
        made.append(Claim(Kind.GRADIENT, Aspect.GRADIENT, 0, "grad", rtol=1e-5, atol=1e-5))
        made.append(Claim(Kind.GRADIENT, Aspect.GRADIENT, 0, "grad", none=True))
        made.append(Claim(Kind.CRASH, Aspect.OUTCOME, 0, "grad"))
    return made


@pytest.fixture(scope="module")
def drawn() -> list[tuple[Program, Claim, str]]:
    rng = Random(11)
    programs = [grown(rng, rng.randint(1, 7)) for _ in range(40)]
    leaf = Input("x", (3, 4), "float32", requires_grad=True)
    programs += [grown(rng, rng.randint(1, 5), leaf) for _ in range(15)]
    return [(p, c, script(p, c)) for p in programs for c in claims(p)]


def assert_formatted(scripts: list[str], folder: Path) -> None:
    for k, text in enumerate(scripts):
        (folder / f"s{k}.py").write_text(text)
    ruff = [sys.executable, "-m", "ruff", "format", "--isolated", "--diff", "--quiet", str(folder)]
    done = subprocess.run(ruff, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[:4000] + done.stderr


def assert_passes(text: str) -> None:
    run = run_script(text, backend="eager")
    assert run.ending is Ending.OK, f"{run.ending} {run.exception}: {run.message} {run.reason}\n{text}"


def test_every_form_is_drawn(drawn: list[tuple[Program, Claim, str]]) -> None:
    assert {c.aspect for _, c, _ in drawn} >= set(Aspect) - {Aspect.INDICES}
    assert {c.where for _, c, _ in drawn} == {"output", "input", "grad"}


def test_scripts_are_formatted(drawn: list[tuple[Program, Claim, str]], tmp_path: Path) -> None:
    assert_formatted([text for *_, text in drawn], tmp_path)


def test_scripts_end_in_an_assertion_and_import_only_torch(drawn: list[tuple[Program, Claim, str]]) -> None:
    for *_, text in drawn:
        tree = ast.parse(text)
        assert isinstance(tree.body[-1], ast.Assert), text
        imported = {a.name for n in tree.body if isinstance(n, ast.Import) for a in n.names}
        assert imported <= {"torch", "torch.nn.functional"}
        assert ("torch.nn.functional" in imported) == ("F." in text.split("\n\n\n", 1)[1]), text


def test_scripts_pass_where_both_sides_are_eager(drawn: list[tuple[Program, Claim, str]]) -> None:
    chosen = Random(5).sample(drawn, 120)
    for _, _, text in chosen:
        assert_passes(text)


def test_a_float64_reference_passes_where_eager_is_right() -> None:
    program = Program((Input("x", (5,), "float32"),), (Node("a", "exp", ("x",)),), ("a",))
    assert_passes(script(program, Claim(Kind.EAGER, Aspect.VALUES, rtol=1e-5, atol=1e-5)))


@pytest.mark.parametrize(
    ("op", "attrs", "selected"),
    [
        ("argmax", (), "x.flatten()[actual]"),
        ("argmin", (("dim", 1),), "x.gather(1, actual.unsqueeze(1))"),
        ("argmax", (("dim", 0), ("keepdim", True)), "x.gather(0, actual)"),
        ("argsort", (("dim", -1),), "x.gather(-1, actual)"),
    ],
)
def test_positions_are_compared_by_what_they_select(op: str, attrs: tuple[Any, ...], selected: str) -> None:
    program = Program((Input("x", (3, 4), "float32", "ones"),), (Node("n", op, ("x",), attrs),), ("n",))
    text = script(program, Claim(Kind.WRONG, Aspect.INDICES))
    assert selected in text
    assert_passes(text)


@pytest.mark.parametrize("size", [3, 12, 40])
@pytest.mark.parametrize("views", [(), (View("expand", (2, -1)),)])
def test_literal_inputs_are_formatted(size: int, views: tuple[View, ...], tmp_path: Path) -> None:
    shape = (1, size) if views else (size,)
    values = tuple(k / 7 for k in range(size))
    x = Input("x", shape, "float64", "literal", values=values, views=views, requires_grad=bool(views))
    program = Program((x,), (Node("n", "sum", ("x",)),), ("n",))
    texts = [
        script(program, c)
        for c in (
            Claim(Kind.WRONG, Aspect.VALUES, rtol=1e-7, atol=1e-7),
            Claim(Kind.GRADIENT, Aspect.GRADIENT, where="grad", rtol=1e-7, atol=1e-7),
        )
    ]
    assert_formatted(texts, tmp_path)


def test_a_program_of_many_inputs_is_formatted(tmp_path: Path) -> None:
    inputs = tuple(Input(f"x{k}", (2, 3), "float32", requires_grad=True) for k in range(30))
    node = Node("n", "cat", tuple(i.name for i in inputs))
    program = Program(inputs, (node,), (*(i.name for i in inputs), "n"))
    texts = [script(program, c) for c in claims(program)]
    assert_formatted(texts, tmp_path)
    for text in texts:
        assert_passes(text)


def test_what_is_built_computes_what_is_recorded() -> None:
    rng = Random(6)
    for _ in range(30):
        program = grown(rng, rng.randint(1, 6))
        fn, inputs = build(program)
        results = fn(*inputs())
        results = results if isinstance(results, tuple) else (results,)
        states = record(program)
        for name, result in zip(program.outputs, results, strict=True):
            seen = states[name]
            assert (tuple(result.shape), str(result.dtype)) == (seen.shape, f"torch.{seen.dtype}"), program
            assert result.stride() == seen.strides


def test_inputs_are_the_same_at_every_call() -> None:
    rng = Random(7)
    for _ in range(30):
        _, inputs = build(grown(rng, 2))
        for a, b in zip(inputs(), inputs(), strict=True):
            assert torch.equal(a.nan_to_num(), b.nan_to_num())
            assert (a.stride(), a.requires_grad) == (b.stride(), b.requires_grad)


def test_no_write_is_moved_past_a_read() -> None:
    """a is read before and after its part is overwritten: both readings survive emission."""
    nodes = (
        Node("a", "mul_scalar", ("x",), (("value", 2),)),
        Node("before", "sum", ("a",)),
        Node("part", "select", ("a",), (("dim", 0), ("index", 0))),
        Node("written", "zero_", ("part",)),
        Node("after", "sum", ("a",)),
    )
    program = Program((Input("x", (4,), "float32", "ones"),), nodes, ("before", "after"))
    fn, inputs = build(program)
    assert [float(t) for t in fn(*inputs())] == [8.0, 6.0]


def test_a_mutated_view_is_rebuilt_rather_than_cloned() -> None:
    x = Input("x", (4, 3), "float32", views=(View("permute", (1, 0)),))
    text = script(
        Program((x,), (Node("n", "relu_", ("x",)),), ("n",)),
        Claim(Kind.WRONG, Aspect.MUTATION, 0, "input", rtol=0.0, atol=0.0),
    )
    assert ".clone()" not in text
    assert_passes(text)
