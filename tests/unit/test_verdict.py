"""Three-valued verdicts: what says nothing counts neither for nor against."""

from __future__ import annotations

from itertools import permutations

import pytest

from bot.verdict import told, verdict
from fuzzers.records import Ending, Expect, Run, Verdict

OK = Run(Ending.OK)
FALSE = Run(Ending.ASSERTION, "AssertionError", "(1, 2)")
RAISED = Run(Ending.EXCEPTION, "InductorError", "no lowering for 0x7f5a3c2d1e50", compiled_side=True)
OTHER = Run(Ending.EXCEPTION, "BackendCompilerFailed", "bad", compiled_side=True)
SEGV = Run(Ending.SIGNAL, signal="SIGSEGV")
KILLED = Run(Ending.SIGNAL, signal="SIGKILL")
STUCK = Run(Ending.TIMEOUT)
NO_MODULE = Run(Ending.CANNOT_RUN, "ModuleNotFoundError", reason="ModuleNotFoundError: No module named 'x'")

WRONG = Expect(Ending.ASSERTION)
EXCEPTION = Expect(Ending.EXCEPTION, "InductorError", "no lowering for <addr>")
CRASH = Expect(Ending.SIGNAL, signal="SIGSEGV")
HANG = Expect(Ending.TIMEOUT)

ONE_RUN: list[tuple[Expect, Run, Verdict, bool]] = [
    (WRONG, OK, Verdict.GONE, False),
    (WRONG, FALSE, Verdict.REPRODUCES, False),
    (WRONG, RAISED, Verdict.REPRODUCES, True),
    (WRONG, SEGV, Verdict.REPRODUCES, True),
    (WRONG, KILLED, Verdict.CANNOT_RUN, False),
    (WRONG, STUCK, Verdict.CANNOT_RUN, False),
    (WRONG, NO_MODULE, Verdict.CANNOT_RUN, False),
    (EXCEPTION, RAISED, Verdict.REPRODUCES, False),
    (EXCEPTION, OTHER, Verdict.REPRODUCES, True),
    (EXCEPTION, FALSE, Verdict.REPRODUCES, True),
    (CRASH, SEGV, Verdict.REPRODUCES, False),
    (CRASH, Run(Ending.SIGNAL, signal="SIGABRT"), Verdict.REPRODUCES, True),
    (CRASH, KILLED, Verdict.CANNOT_RUN, False),
    (HANG, STUCK, Verdict.REPRODUCES, False),
    (HANG, FALSE, Verdict.REPRODUCES, True),
    (HANG, OK, Verdict.GONE, False),
]


@pytest.mark.parametrize(("expect", "run", "wanted", "changed"), ONE_RUN)
def test_one_run(expect: Expect, run: Run, wanted: Verdict, changed: bool) -> None:
    assert verdict(expect, [run])[:2] == (wanted, changed)
    assert verdict(expect, [run] * 3)[:2] == (wanted, changed)


def assert_says(wanted: Verdict, *runs: Run) -> None:
    """In whatever order the runs came."""
    for order in permutations(runs):
        assert verdict(WRONG, order)[0] is wanted


def test_failing_now_and_then_is_flaky() -> None:
    assert_says(Verdict.FLAKY, FALSE, FALSE, OK)
    assert_says(Verdict.FLAKY, FALSE, OK, NO_MODULE)
    assert verdict(WRONG, [OK, FALSE, KILLED])[2] == "fails in 1 of 2 runs"


def test_what_says_nothing_does_not_count() -> None:
    assert_says(Verdict.REPRODUCES, FALSE, KILLED, STUCK)
    assert_says(Verdict.GONE, OK, NO_MODULE, KILLED)
    assert_says(Verdict.CANNOT_RUN, NO_MODULE, KILLED, STUCK)


def test_the_reason_names_the_way_that_changed() -> None:
    assert verdict(EXCEPTION, [RAISED, OTHER]) == (Verdict.REPRODUCES, True, "BackendCompilerFailed: bad")
    assert verdict(WRONG, [NO_MODULE])[2] == "ModuleNotFoundError: No module named 'x'"


def test_an_expected_message_that_is_empty_matches_any() -> None:
    assert verdict(Expect(Ending.EXCEPTION, "InductorError"), [RAISED])[1] is False


def test_no_runs_give_no_verdict() -> None:
    with pytest.raises(ValueError, match="no runs"):
        verdict(WRONG, [])


def test_every_ending_can_be_told() -> None:
    for ending in Ending:
        assert told(Run(ending, "E", "m", "SIGBUS"))
