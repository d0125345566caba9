"""Watching the compiler: what is stripped from an event, and that hooks come off whatever they find."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzers.events import LONGEST, Hook, Watch, literal_free, shortened, watching


class Compiler:
    """Something to watch."""

    def lower(self, target: str) -> str:
        return target.upper()


@pytest.fixture(autouse=True)
def compiler() -> Iterator[None]:
    module = ModuleType("a_compiler")
    vars(module)["Compiler"] = Compiler
    sys.modules["a_compiler"] = module
    yield
    del sys.modules["a_compiler"]


def note_target(watch: Watch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    watch.note(f"lower {args[1]}")


def cannot(watch: Watch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    raise TypeError("another form")


HOOK = Hook("a_compiler", "Compiler", "lower", note_target)


def test_each_event_comes_once_in_the_order_of_its_first_coming() -> None:
    with watching([HOOK]) as watch:
        assert [Compiler().lower(t) for t in "baab"] == list("BAAB")
        assert watch.take() == ("lower b", "lower a")
        Compiler().lower("b")
        assert watch.take() == ("lower b",), "the next program begins with nothing seen"


def test_hooks_come_off_after_an_exception_too() -> None:
    before = vars(Compiler)["lower"]
    with pytest.raises(KeyError), watching([HOOK]):
        raise KeyError
    assert vars(Compiler)["lower"] is before


def test_a_hook_that_does_not_fit_is_named_and_the_call_goes_on() -> None:
    with watching([Hook("a_compiler", "Compiler", "lower", cannot)]) as watch:
        assert Compiler().lower("x") == Compiler().lower("x") == "X"
    assert watch.missing == ["Compiler.lower"]
    assert watch.take() == ()


@pytest.mark.parametrize(
    "hook",
    [
        Hook("no_such_module", "Lacking", "lower", note_target),
        Hook("a_compiler", "Other", "lower", note_target),
        Hook("a_compiler", "Compiler", "raise_", note_target),
    ],
    ids=lambda h: h.name,
)
def test_a_hook_that_is_not_there_is_named(hook: Hook) -> None:
    with watching([hook, HOOK]) as watch:
        Compiler().lower("x")
    assert watch.missing == [hook.name]
    assert watch.take() == ("lower x",)


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("auto tmp12 = in_ptr0[static_cast<int64_t>(x1)];", "auto tmp = in_ptr[static_cast<int64_t>(x)];"),
        ("tmp3 = tl.load(in_ptr1 + (r0_1 + 33*x0), other=0.0)", "tmp = tl.load(in_ptr + (r + 0*x), other=0)"),
        ("at::vec::convert<int8_t>(tmp4)", "at::vec::convert<int8_t>(tmp)"),
        ("tl.float32 libdevice.log2 expm1", "tl.float32 libdevice.log2 expm1"),
        ("void cpp_fused_add_mul_0(const uint8_t* in_ptr3)", "void kernel(const uint8_t* in_ptr)"),
        ("x = -1.5e-05f + 3", "x = 0 + 0"),
    ],
)
def test_literals_are_stripped_and_types_are_kept(line: str, bare: str) -> None:
    assert literal_free(line) == bare


@given(st.text(max_size=400))
def test_an_event_is_short_and_shortening_is_done_once(text: str) -> None:
    assert len(shortened(text)) <= LONGEST
    assert shortened(shortened(text)) == shortened(text)


@given(st.text("ab", min_size=LONGEST, max_size=LONGEST + 9), st.text("ab", min_size=1, max_size=9))
def test_long_events_that_differ_at_the_end_stay_apart(text: str, more: str) -> None:
    assert shortened(text + "x" + more) != shortened(text + "y" + more)
