"""The order of triage, and exact duplicates."""

from __future__ import annotations

from dataclasses import replace

from bot.order import ordered, twins
from fuzzers.records import Ending, Expect, Kind, Suspect
from tests.unit import toy_build


def of(kind: Kind, expression: str) -> Suspect:
    return replace(
        toy_build.suspect(Kind.WRONG, ""), kind=kind, script=f"def f(x):\n    return {expression}\n"
    )


def test_the_worst_kind_goes_first() -> None:
    mild, bad = of(Kind.GRADIENT, "x.sin()"), of(Kind.WRONG, "x.sin().cos().tan()")
    assert ordered([mild, bad]) == [bad, mild]


def test_within_a_kind_new_operators_go_before_more_of_the_same() -> None:
    rich = of(Kind.WRONG, "x.abs().neg().sum()")
    same = of(Kind.WRONG, "x.abs().neg()")
    other = of(Kind.WRONG, "x.tanh()")
    assert ordered([same, other, rich]) == [rich, other, same]


def test_the_order_does_not_depend_on_the_order_given() -> None:
    some = [of(Kind.WRONG, f"x.roll({i}).abs()") for i in range(5)]
    assert ordered(some) == ordered(some[::-1])


def test_twins_differ_in_numbers_only() -> None:
    def raising(message: str, exception: str = "InductorError") -> Suspect:
        return replace(of(Kind.EXCEPTION, "x"), expect=Expect(Ending.EXCEPTION, exception, message))

    assert twins(raising("size 3 of buf1")) == twins(raising("size 4 of buf22"))
    assert twins(raising("size 3")) != twins(raising("stride 3"))
    assert twins(raising("size 3")) != twins(raising("size 3", "LoweringException"))
    assert twins(raising("")) is None
    assert twins(of(Kind.WRONG, "x")) is None
