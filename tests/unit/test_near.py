"""Two failures are one bug when an experiment shows it, and near when only their looks say so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.fingerprint import Traits
from bot.near import Seen, likeness, same
from fuzzers.records import Kind

WRONG = Traits("torch", Kind.WRONG, "values", "inductor", operators=("abs", "cat"), dtypes=("uint8",))
RAISES = Traits(
    "torch",
    Kind.EXCEPTION,
    "outcome",
    "inductor",
    operators=("abs", "amin"),
    dtypes=("int8", "uint8"),
    exception="InductorError",
    message="C++ compile error: no matching function for call to min_propagate_nan(...)",
    frames=("torch._inductor.codecache:load", "torch._inductor.cpp_builder:build"),
)
ABS = {"lowerings/aten.abs": True, "lowerings/aten.cat": False, "codegen/fusion": False}


def assert_same(a: Seen, b: Seen, part: str) -> None:
    assert same(a, b) == same(b, a) == part


def test_a_wrong_result_and_an_exception_of_one_operator_are_one_bug() -> None:
    other = {"lowerings/aten.abs": True, "lowerings/aten.amin": True, "codegen/fusion": False}
    assert_same(Seen(WRONG, ABS), Seen(RAISES, other), "lowerings/aten.abs")


def test_a_part_that_decides_for_one_only_tells_them_apart() -> None:
    other = {"lowerings/aten.abs": True, "codegen/fusion": True}
    assert_same(Seen(WRONG, ABS), Seen(RAISES, other), "")


def test_without_an_experiment_nothing_is_the_same() -> None:
    assert_same(Seen(WRONG, {}), Seen(WRONG, {}), "")
    assert_same(Seen(WRONG, ABS), Seen(WRONG, {"lowerings/aten.amin": True}), "")


def test_an_operator_that_reaches_the_part_by_another_name_is_the_same() -> None:
    other = replace(WRONG, operators=("softsign",))
    assert likeness(WRONG, other) == ""
    assert_same(Seen(WRONG, ABS), Seen(other, ABS), "lowerings/aten.abs")


@pytest.mark.parametrize("part", ["codegen/vectorisation", "config/emulate_precision_casts", "partition/cse"])
def test_a_part_of_every_program_shows_nothing(part: str) -> None:
    assert_same(Seen(WRONG, {part: True}), Seen(RAISES, {part: True}), "")


def test_what_is_not_near_is_not_the_same_whatever_fixes_it() -> None:
    elsewhere = replace(RAISES, operators=("relu",), dtypes=("float32",))
    assert likeness(WRONG, elsewhere) == ""
    assert_same(Seen(WRONG, ABS), Seen(elsewhere, ABS), "")


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (replace(RAISES, operators=("abs",), frames=()), "both have abs"),
        (replace(RAISES, operators=("abs",), dtypes=("float32",), frames=()), ""),
        (replace(RAISES, stage="aot"), ""),
        (replace(RAISES, framework="mindspore"), ""),
    ],
)
def test_operators_count_with_a_dtype_in_one_stage(other: Traits, why: str) -> None:
    assert likeness(WRONG, other) == likeness(other, WRONG) == why


def test_messages_and_frames_bring_exceptions_near() -> None:
    apart = replace(RAISES, operators=("relu",), dtypes=("float32",), frames=())
    reworded = replace(apart, message=RAISES.message.replace("min_", "max_"))
    other = replace(apart, message="something else entirely was refused", operators=("gelu",))
    assert likeness(apart, other) == ""
    assert "alike" in likeness(apart, reworded)
    assert likeness(replace(reworded, frames=RAISES.frames, message="x"), RAISES) == "common frames"


PARTS = st.dictionaries(
    st.sampled_from(
        ["lowerings/aten.abs", "lowerings/aten.cat", "codegen/fusion", "decomposition/aten.addmm"]
    ),
    st.booleans(),
)


@given(PARTS, PARTS)
def test_same_is_symmetric_and_never_contradicted(a: dict[str, bool], b: dict[str, bool]) -> None:
    found = same(Seen(WRONG, a), Seen(WRONG, b))
    assert found == same(Seen(WRONG, b), Seen(WRONG, a))
    if found:
        assert a[found] and b[found]
        assert all(a[part] == b[part] for part in a.keys() & b.keys())
