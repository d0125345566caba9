"""AlignGuard's worker half with the real torch: seeds, what the engine sees, and the scripts that show it."""

from __future__ import annotations

import ast
import os
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch

from fuzzers.alignguard import form, opinfo, spelling
from fuzzers.alignguard.claim import Claim, Place, claim_from_json, claim_of, seen
from fuzzers.alignguard.emit import script
from fuzzers.alignguard.engine import ENGINE, judged, prepared
from fuzzers.alignguard.known import Seen
from fuzzers.alignguard.program import Mode, Program
from fuzzers.alignguard.reduction import candidates, operators
from fuzzers.alignguard.spelling import Layout, NotSpelled
from fuzzers.alignguard.written import WRITTEN
from fuzzers.engine import StepOutcome, StepStatus, StepTask
from fuzzers.judge import judge
from fuzzers.oracle import examine
from fuzzers.records import Aspect, Ending, Kind
from fuzzers.script import run_script

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(300)]

RELU_FAULT = {"options": {"cpp.inject_relu_bug_TESTING_ONLY": "accuracy"}}
"""The build's own planted fault: relu(x) gives x + 1."""

DEFAULT = Mode()
STATEFUL = WRITTEN["state that changes"]


@pytest.fixture(autouse=True, scope="module")
def _private_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"


def text(body: str, inputs: str, parameters: str = "x") -> str:
    listed = f"({parameters}{',' if ',' not in parameters else ''})"
    rows = ["import torch", "", "", f"def f({parameters}):", *(f"    {r}" for r in body.splitlines()), "", ""]
    rows += ["def inputs():", "    torch.manual_seed(0)", *(f"    {r}" for r in inputs.splitlines())]
    return "\n".join([*rows, f"    return {listed}"]) + "\n"


def stepped(source: str, mode: Mode = DEFAULT, aspects: str = "forward") -> StepOutcome:
    given = {"program": Program(source, mode).to_json(), "by": "rules"}
    return ENGINE.step(StepTask(1, 0, 0, aspects, given=given), lambda sighting: None)


@pytest.fixture(scope="module")
def block() -> Any:
    pytest.importorskip("expecttest")
    return opinfo.block(5, 0, 25)


def test_seeds_of_the_build_are_in_the_form_and_run(block: Any) -> None:
    assert len(block["seeds"]) + sum(block["refused"].values()) == 25
    assert len(block["seeds"]) >= 18
    for seed in block["seeds"]:
        form.read(seed["source"])
        assert opinfo.refused(seed["source"]) == ""


def test_a_block_is_a_function_of_its_arguments(block: Any) -> None:
    again = opinfo.block(5, 20, 5)
    assert again["seeds"] == [s for s in block["seeds"] if s in again["seeds"]]
    assert opinfo.block(6, 20, 5)["seeds"] != again["seeds"]


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_seeds_written_here_run(name: str) -> None:
    assert opinfo.refused(WRITTEN[name]) == ""


LAID_OUT = {
    Layout.TRANSPOSED: lambda t: t.stride()[0] == 1 and not t.is_contiguous(),
    Layout.STRIDED: lambda t: t.stride()[-1] == 2,
    Layout.EXPANDED: lambda t: 0 in t.stride(),
    Layout.CHANNELS_LAST: lambda t: t.is_contiguous(memory_format=torch.channels_last),
    Layout.OFFSET: lambda t: t.storage_offset() > 0,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.uint8, torch.bool, torch.complex64])
@pytest.mark.parametrize("layout", sorted(LAID_OUT))
def test_a_spelled_tensor_has_the_shape_dtype_and_layout(layout: Layout, dtype: torch.dtype) -> None:
    value = torch.ones(2, 3, 4, 5).to(dtype)
    value[0] = 0
    made = eval(spelling.tensor(value, layout))
    assert (made.dtype, made.shape) == (dtype, value.shape)
    assert LAID_OUT[layout](made)


def test_a_view_is_spelled_as_it_lies_and_numbers_stay_in_their_range() -> None:
    value = torch.rand(6, 8)[1:4, ::3].mul(0.5).as_strided((2, 2), (3, 1)).t()
    made = eval(spelling.tensor(value))
    assert made.stride() == value.stride()
    assert 0 <= float(made.min()) <= float(made.max()) <= 0.51
    assert torch.equal(eval(spelling.tensor(value.contiguous(), exact=True)), value)


@pytest.mark.parametrize("value", [torch.ones(2).to_sparse(), torch.ones(10**5), torch.ones(2) + 0j])
def test_what_cannot_be_spelled_says_why(value: torch.Tensor) -> None:
    value = value.conj() if value.is_complex() else value
    with pytest.raises(NotSpelled, match=r"layout|large|conjugated"):
        spelling.tensor(value)


def test_a_planted_fault_is_seen_and_its_script_fails() -> None:
    source = text("return x, torch.relu(x)", "x = torch.randn(7)")
    outcome = stepped(source, Mode(**RELU_FAULT))
    (found,) = outcome.sightings
    assert (found.kind, found.aspect) == (Kind.WRONG, Aspect.VALUES)
    assert "f(*inputs())[1]" in found.script
    assert run_script(found.script).ending is Ending.ASSERTION
    assert run_script(found.script, backend="aot_eager").ending is Ending.OK


def test_a_fault_in_a_second_call_is_seen_and_the_judge_sees_it_too() -> None:
    source = STATEFUL.replace("x * SCALE['by']", "(torch.relu(x) if SCALE['by'] > 2 else x)")
    (found,) = stepped(source, Mode(**RELU_FAULT)).sightings
    assert "again()" in found.script
    assert run_script(found.script).ending is Ending.ASSERTION
    report = judge(found.script, before="eager", examine=True)["report"]
    assert [(d["kind"], d["aspect"]) for d in report["differences"]] == [(Kind.WRONG, Aspect.VALUES)]


def test_gradients_are_compared_and_shown() -> None:
    source = text("return torch.relu(x * x).sum()", "x = torch.randn(7)")
    assert stepped(source, aspects="full").sightings == ()
    made, returned = prepared(Program(source))
    places = seen(returned, made.arguments, made.first, twice=False)
    claim = Claim(Kind.GRADIENT, Aspect.GRADIENT, Place("grad", 0, "[0]"), rtol=1e-5, atol=1e-5)
    shown = replace(claim, wanting=(places.inputs[0][0],), outputs=(places.outputs[0][0],))
    assert "torch.autograd.grad" in script(Program(source), shown)
    assert run_script(script(Program(source), shown), backend="eager").ending is Ending.OK


def claims() -> list[Claim]:
    out, given = Place("output", 1, "[0]"), Place("input", 1, "[0]")
    made = [
        Claim(Kind.METADATA, a, out) for a in (Aspect.DTYPE, Aspect.SHAPE, Aspect.STRIDE, Aspect.STRUCTURE)
    ]
    made += [
        Claim(Kind.WRONG, Aspect.VALUES, out, rtol=1e-5, atol=1e-5),
        Claim(Kind.WRONG, Aspect.INDICES, out),
    ]
    made += [Claim(Kind.WRONG, Aspect.MUTATION, given), Claim(Kind.CRASH, Aspect.OUTCOME, out, rtol=0.01)]
    made += [Claim(Kind.ALIASING, Aspect.ALIASING, out, other=given)]
    made += [Claim(Kind.ACCEPTS_INVALID, Aspect.OUTCOME), Claim(Kind.NONDETERMINISTIC, Aspect.VALUES, out)]
    return made


@pytest.mark.parametrize("claim", claims(), ids=lambda c: f"{c.kind} {c.aspect}")
def test_scripts_end_in_an_assertion_that_passes_where_both_sides_are_eager(claim: Claim) -> None:
    source = text("return (x * 2,)", "x = torch.randn(3)")
    source += "\n\ndef again():\n    x = torch.randn(4)\n    return (x,)\n"
    written = script(Program(source, Mode(dynamic=True)), claim)
    assert isinstance(ast.parse(written).body[-1], ast.Assert)
    run = run_script(written, backend="eager")
    assert run.ending is Ending.OK, f"{run.message}\n{written}"
    assert claim_from_json(claim.to_json()) == claim


def test_eager_is_shown_against_float64() -> None:
    source = text("return x.exp()", "x = torch.randn(3)")
    written = script(Program(source), Claim(Kind.EAGER, Aspect.VALUES, rtol=1e-5, atol=1e-5))
    assert run_script(written).ending is Ending.OK


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (text("return x @ x", "x = torch.randn(3, 4)"), "RuntimeError"),
        (text("return x + 1", "x = torch.zeros(3000, 3000)"), "too large"),
        ("import os\n" + text("return x", "x = torch.zeros(3)"), "not in the normal form"),
    ],
)
def test_what_eager_refuses_is_not_compiled(source: str, why: str) -> None:
    outcome = stepped(source)
    assert outcome.status is StepStatus.REJECTED
    assert outcome.choice == {"refused": why}
    assert outcome.counts["eager_rejects"] == 1
    assert "built" not in outcome.counts


def test_a_program_that_asks_nothing_new_of_the_compiler_is_not_built() -> None:
    made, _ = prepared(Program(text("return x.sin() * 2", "x = torch.randn(8, 8)")))
    known, counts = Seen(), Counter[str]()
    _, events = judged(made, "forward", known, counts)
    for event in events:
        known.add(event)
    again, _ = judged(made, "forward", known, counts)
    assert counts == {"built": 1, "not-built": 1}
    assert not again.dropped


def test_places_are_paths_into_what_is_returned_and_given() -> None:
    outputs = ((torch.ones(1), {"a": torch.ones(2)}), torch.ones(3))
    found = seen(outputs, ([torch.ones(1)], 3, torch.ones(4)), 2, twice=True)
    assert [p for p, _ in found.outputs] == [
        Place("output", 0, "[0]"),
        Place("output", 0, "[1]['a']"),
        Place("output", 1, ""),
    ]
    assert [p for p, _ in found.inputs] == [Place("input", 0, "[0][0]"), Place("input", 1, "[0]")]


def test_a_compiled_side_that_raises_is_told_by_how_it_raises() -> None:
    def refuse(module: Any, inputs: Any) -> Any:
        raise ZeroDivisionError("planted")

    made, returned = prepared(Program(text("return x + 1", "x = torch.randn(3)")))
    options = {"backend": refuse}
    report = examine(made.fn, made.arguments, compile_options=options, compiler=made.compiler)
    claim = claim_of(report.differences[0], seen(returned, made.arguments, made.first, twice=False))
    assert (claim.kind, claim.place, claim.rtol) == (Kind.EXCEPTION, Place("output", 0, ""), 0.01)


def test_smaller_programs_are_smaller_and_in_the_form() -> None:
    program = Program(WRITTEN["another size"], Mode(dynamic=True))
    found = candidates(program)
    assert found[0].mode == Mode()
    for smaller in found[1:]:
        form.read(smaller.source)
        assert len(smaller.source) < len(program.source)
    assert any("def again" not in s.source for s in found)


def test_operators_are_those_of_what_is_compiled() -> None:
    names, dtypes = operators(text("return torch.sin(x).to(torch.int8)", "x = torch.randn(3).t()"))
    assert names == ["sin", "to"]
    assert dtypes == ["int8"]
