"""The exit codes that the two classes of failure stand for."""

from __future__ import annotations

from bot.errors import MachineryFailure, NightfuzzError, UserMistake


def test_a_mistake_of_the_user_exits_2_and_a_failure_of_the_machinery_3() -> None:
    assert (UserMistake("x").exit_code, MachineryFailure("x").exit_code) == (2, 3)


def test_neither_is_caught_as_the_other() -> None:
    assert not issubclass(UserMistake, MachineryFailure)
    assert not issubclass(MachineryFailure, UserMistake)
    assert {UserMistake, MachineryFailure} == set(NightfuzzError.__subclasses__())
