"""What the runs of a reproducer say about a build.

Invariant: pure, and three-valued for each run: it failed, it ended well, or it says nothing. What says
nothing (cannot-run, killed from outside, an unexpected time-out) counts neither for nor against.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot import normalise
from fuzzers.records import Ending, Expect, Run, Verdict

FROM_OUTSIDE = frozenset({"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"})
"""Signals that a program does not raise by itself: the kernel's memory killer, an operator, a supervisor."""


def verdict(expect: Expect, runs: Sequence[Run]) -> tuple[Verdict, bool, str]:
    """(verdict, whether it fails in another way than expected, the reason in a few words).

    ValueError when there are no runs.
    """
    if not runs:
        raise ValueError("no runs to judge by")
    bad = [run for run in runs if fails(expect, run)]
    good = [run for run in runs if run.ending is Ending.OK]
    if bad and good:
        return Verdict.FLAKY, False, f"fails in {len(bad)} of {len(bad) + len(good)} runs"
    if bad:
        other = next((run for run in bad if not as_expected(expect, run)), None)
        return Verdict.REPRODUCES, other is not None, told(other or bad[0])
    if good:
        return Verdict.GONE, False, "ends normally"
    return Verdict.CANNOT_RUN, False, told(runs[0])


def fails(expect: Expect, run: Run) -> bool:
    """Whether a run is a failure of the build. A time-out is one only where a hang is expected: anything
    is slow on a loaded machine."""
    match run.ending:
        case Ending.ASSERTION | Ending.EXCEPTION:
            return True
        case Ending.SIGNAL:
            return run.signal not in FROM_OUTSIDE
        case Ending.TIMEOUT:
            return expect.ending is Ending.TIMEOUT
        case _:
            return False


def as_expected(expect: Expect, run: Run) -> bool:
    """Whether a failing run fails in the way recorded. An empty message in `expect` matches any."""
    if run.ending is not expect.ending:
        return False
    if run.ending is Ending.SIGNAL:
        return run.signal == expect.signal
    if run.ending is Ending.EXCEPTION:
        same = not expect.message or normalise.message(run.message) == normalise.message(expect.message)
        return run.exception == expect.exception and same
    return True


def told(run: Run) -> str:
    """How a run ended, in a few words."""
    first_line = run.message.partition("\n")[0][:200]
    words = {
        Ending.OK: "ends normally",
        Ending.ASSERTION: "its last assertion fails",
        Ending.EXCEPTION: f"{run.exception}: {first_line}",
        Ending.SIGNAL: f"killed by {run.signal}",
        Ending.TIMEOUT: "does not end in time",
        Ending.CANNOT_RUN: run.reason or f"{run.exception}: {first_line}",
    }
    return words[run.ending]
