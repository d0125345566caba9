"""A signature is a function of what a bug is, and of nothing that varies from run to run."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.fingerprint import Traits, dtype_class, is_named_by_message, signature
from fuzzers.records import Kind

WRONG = Traits("torch", Kind.WRONG, "values", "inductor", operators=("abs", "cat", "neg"), dtypes=("uint8",))
RAISES = Traits(
    "torch",
    Kind.EXCEPTION,
    "outcome",
    "inductor",
    operators=("relu",),
    dtypes=("float32",),
    exception="InductorError",
    message="AssertionError: size 17 of buf3 at 0x7f00 in '/tmp/a/b.py:12'",
    frames=("torch._inductor.graph:run", "torch._inductor.lowering:add"),
)
CRASH = replace(WRONG, kind=Kind.CRASH, aspect="outcome", signal="SIGSEGV")


def test_form() -> None:
    assert re.fullmatch(r"v2-[0-9a-f]{12}", signature(WRONG))


def test_stays_the_same_between_versions_of_this_code() -> None:
    assert signature(WRONG) == "v2-1b52be5d716b"


@given(st.permutations(["abs", "cat", "neg", "abs"]))
def test_order_and_repetition_of_operators_make_no_difference(operators: list[str]) -> None:
    assert signature(replace(WRONG, operators=tuple(operators))) == signature(WRONG)


@given(
    st.integers(0, 10**6),
    st.integers(0, 99),
    st.integers(1, 2**48),
    st.from_regex(r"/tmp/[a-z]{1,8}/[a-z]{1,8}", fullmatch=True),
)
def test_numbers_names_and_paths_of_a_message_make_no_difference(
    size: int, buf: int, at: int, path: str
) -> None:
    other = f"AssertionError: size {size} of buf{buf} at 0x{at:x} in '{path}.py:{size}'"
    assert signature(replace(RAISES, message=other)) == signature(RAISES)


def test_an_exception_is_named_by_what_was_raised_whatever_the_program() -> None:
    assert signature(replace(RAISES, operators=("gelu", "cat"), dtypes=("int8",))) == signature(RAISES)


def test_what_generated_code_raises_is_named_by_the_program_too() -> None:
    built = replace(RAISES, frames=("torch._inductor.codecache:load", "torch._inductor.cpp_builder:build"))
    assert is_named_by_message(RAISES.kind, RAISES.frames)
    assert not is_named_by_message(built.kind, built.frames)
    assert signature(replace(built, operators=("gelu",))) != signature(built)
    assert signature(replace(built, message="AssertionError: stride")) != signature(built)


def test_where_in_the_compiler_it_is_counts() -> None:
    assert signature(replace(WRONG, debug_name="aten.abs")) != signature(WRONG)


def test_widths_of_one_class_are_one_bug() -> None:
    assert signature(replace(WRONG, dtypes=("uint16",))) == signature(WRONG)
    assert dtype_class(["torch.int8", "int64", "bool"]) == ("bool", "int")


@pytest.mark.parametrize(
    "other",
    [
        replace(WRONG, framework="mindspore"),
        replace(WRONG, kind=Kind.GRADIENT),
        replace(WRONG, aspect="dtype"),
        replace(WRONG, stage="aot"),
        replace(WRONG, subsystem="lowerings"),
        replace(WRONG, operators=("abs", "cat")),
        replace(WRONG, dtypes=("float32",)),
        replace(RAISES, exception="LoweringException"),
        replace(RAISES, message="AssertionError: stride of buf3"),
        replace(RAISES, frames=("torch._inductor.graph:run", "torch._inductor.lowering:mul")),
        RAISES,
        CRASH,
        replace(CRASH, signal="SIGFPE"),
        replace(CRASH, operators=("abs",)),
    ],
    ids=lambda t: f"{t.kind}-{t.stage}-{t.exception}-{t.signal}-{','.join(t.operators)}",
)
def test_every_trait_that_counts_tells_two_bugs_apart(other: Traits) -> None:
    others = {signature(t) for t in (WRONG, RAISES, CRASH) if t != other}
    assert signature(other) not in others
