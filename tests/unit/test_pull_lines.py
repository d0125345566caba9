"""Which line of a changed file a finding is about."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.pulls.lines import own, place
from fuzzers.engine import Call

CALLS = (
    Call(10, ("float", "to"), ("uint8", "float32")),
    Call(11, ("neg",), ("uint8",)),
    Call(12, ("amax",), ("uint8",)),
    Call(13, ("linear",), ("float32",)),
    Call(14, ("amax",), ("float32",)),
    Call(0, ("relu",), ("float32",)),
)


def line_of(*operators: str, dtypes: tuple[str, ...] = (), changed: tuple[int, ...] = ()) -> int:
    """Where a finding of these operators is placed; 0 for nowhere."""
    found = place(CALLS, operators, dtypes, changed)
    return found.line if found else 0


def test_the_last_of_the_calls_that_apply_all_the_operators_is_the_line() -> None:
    assert line_of("neg", "amax") == 12


def test_dtypes_tell_two_calls_of_one_operator_apart() -> None:
    assert line_of("amax", dtypes=("uint8",)) == 12
    assert line_of("amax", dtypes=("float32",)) == 14


def test_a_changed_line_is_preferred() -> None:
    assert line_of("amax", changed=(14,)) == 14
    assert line_of("amax", changed=(12,)) == 12
    assert line_of("neg", "amax", dtypes=("uint8",), changed=(11,)) == 11


def test_lines_that_a_piece_was_cut_from_bound_the_search() -> None:
    found = place(CALLS, ("amax",), (), (), within=(11, 12))
    assert found is not None
    assert found.line == 12


def test_a_call_outside_of_the_file_has_no_line() -> None:
    assert line_of("relu") == 0
    assert line_of("conv2d") == 0


def test_own_operators_are_those_that_the_file_applies() -> None:
    assert own(CALLS, ("amax", "conv2d")) == {"amax"}


NAMES = st.sampled_from(("add", "neg", "amax", "cat", "to"))
SOME = st.lists(st.builds(Call, st.integers(0, 9), st.tuples(NAMES), st.just(("uint8",))), max_size=12)


@given(SOME, st.sets(NAMES, min_size=1), st.sets(st.integers(1, 9)))
def test_a_line_is_always_one_on_which_an_operator_of_the_finding_is_called(
    calls: list[Call], operators: set[str], changed: set[int]
) -> None:
    lines = {call.line for call in calls if call.line and set(call.names) & operators}
    found = place(calls, operators, (), changed)
    if found is None:
        assert not lines
    else:
        assert found.line in lines
        assert found.names <= operators


@given(SOME, st.sets(NAMES, min_size=1))
def test_as_many_operators_are_covered_as_any_place_covers(calls: list[Call], operators: set[str]) -> None:
    found = place(calls, operators, (), ())
    applied = {name for call in calls if call.line for name in call.names} & operators
    assert (found.names if found else frozenset()) == applied
