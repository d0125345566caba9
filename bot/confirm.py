"""Whether a suspect is a failure at all: three fresh processes, then the ladder and the oracle's gates.

Invariant: `Confirmed` means that every fresh process failed in the same way with stock settings, and, for a
difference, that the oracle still reports it on the call that the script makes. What was seen goes into the
slip key, which every later stage holds a script to. A run that says nothing (cannot-run, killed from
outside) is neither for nor against.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bot import normalise
from bot.alike import ALIKE, alike
from bot.asking import Asker, Judgement
from bot.evidence import difference, publishable
from bot.fingerprint import is_named_by_message
from bot.localise import Place, failed, localise
from bot.verdict import verdict
from fuzzers.records import Aspect, Ending, Expect, Json, Kind, Run, Suspect, Verdict

FRESH_RUNS = 3
"""3 of 3: a failure with probability 1/2 still passes one time in eight, and the finding's own script is
confirmed three times more after it was reduced."""

ENDED_AS: dict[Ending, Kind] = {
    Ending.SIGNAL: Kind.CRASH,
    Ending.TIMEOUT: Kind.HANG,
    Ending.EXCEPTION: Kind.EXCEPTION,
}
"""Endings that show a kind by themselves; for an assertion the oracle says which kind it is."""

UNEXAMINED = frozenset(ENDED_AS.values())
"""Kinds for which running the oracle would only fail again."""

Fresh = Callable[[Sequence[str]], list[Run]]
"""Runs each script in a fresh process with stock settings, side by side as far as there are cores."""


@dataclass(frozen=True)
class Way:
    """The comparable part of how a script ended; class and normalised message for an exception only (an
    assertion's message holds values, and the oracle speaks for those), and where it was raised."""

    ending: Ending
    exception: str = ""
    message: str = ""
    signal: str = ""
    frames: tuple[str, ...] = field(default=(), compare=False)

    def is_still(self, other: Way) -> bool:
        """Whether another script of the same suspect ended in this way. A message may name what a smaller
        program has no more, so one from the same place may differ in a word; not so what generated code
        raises, where the place says nothing."""
        if self == other:
            return True
        return (
            (self.ending, self.exception) == (other.ending, other.exception)
            and is_named_by_message(Kind.EXCEPTION, self.frames)
            and normalise.frames(self.frames) == normalise.frames(other.frames)
            and alike(self.message, other.message) > ALIKE
        )


def way(run: Run) -> Way:
    """How a script ended, comparable."""
    if run.ending is Ending.EXCEPTION:
        return Way(run.ending, run.exception, normalise.message(run.message), frames=run.frames)
    return Way(run.ending, signal=run.signal)


@dataclass(frozen=True)
class SlipKey:
    """What a failure is held to while its script changes: kind and aspect, the way it ends, and the first
    failing backend of the ladder (with the one below it)."""

    kind: Kind
    aspect: Aspect
    way: Way
    rung: str
    below: str | None
    publishable: bool = True

    def holds(self, judged: Judgement) -> bool:
        """Whether a judged script shows this failure: it ends so, the rung below is right, and the oracle
        reports the same difference."""
        return (
            self.way.is_still(way(judged.run))
            and (self.below is None or judged.before is None or judged.before.ending is Ending.OK)
            and (self.kind in UNEXAMINED or self._still_reported(judged.report))
        )

    def _still_reported(self, report: Json | None) -> bool:
        """Whether the oracle reports the difference, and would still publish it if it would before."""
        seen = difference(report, self.kind, self.aspect)
        return seen is not None and (publishable(seen) or not self.publishable)


@dataclass(frozen=True)
class Confirmed:
    """A failure that is there every time, where it starts, and the oracle's evidence for it."""

    runs: tuple[Run, ...]
    place: Place
    rungs: dict[str, Run]
    slip: SlipKey
    evidence: Json


@dataclass(frozen=True)
class Refused:
    """Not a finding (on this build, now). FLAKY is kept; GONE did not reproduce, or the oracle takes it
    back; CANNOT_RUN could not be tried."""

    verdict: Verdict
    reason: str
    runs: tuple[Run, ...] = ()


def in_fresh_processes(
    expect: Expect, script: str, run_fresh: Fresh, at_once: int
) -> tuple[Verdict, str, list[Run]]:
    """The verdict of FRESH_RUNS runs. Stops early when none of the first batch failed: nothing that
    could still come would make it a finding."""
    runs: list[Run] = []
    while len(runs) < FRESH_RUNS:
        runs += run_fresh([script] * min(at_once, FRESH_RUNS - len(runs)))
        if not any(failed(run) for run in runs):
            break
    found, _, reason = verdict(expect, runs)
    if found is Verdict.REPRODUCES and not all(failed(run) for run in runs):
        return Verdict.CANNOT_RUN, f"some runs say nothing: {reason}", runs
    return found, reason, runs


def confirm(suspect: Suspect, run_fresh: Fresh, asker: Asker) -> Confirmed | Refused:
    """Confirm a suspect and take its slip key.

    The kind is the one seen now: a candidate that was running when everything died may turn out to be
    anything, and a wrong result may turn into an exception. Only a *difference* must be the one that was
    reported, because there the oracle's gates have the last word.
    """
    expect = Expect(Ending.TIMEOUT) if suspect.detail.get("interrupted") else suspect.expect
    found, reason, runs = in_fresh_processes(expect, suspect.script, run_fresh, asker.at_once)
    if found is not Verdict.REPRODUCES:
        return Refused(found, reason, tuple(runs))
    if len({way(run) for run in runs}) > 1:
        return Refused(Verdict.FLAKY, "fails in a different way each time", tuple(runs))
    kind, aspect, evidence = ENDED_AS.get(runs[0].ending, suspect.kind), Aspect.OUTCOME, suspect.detail
    if runs[0].ending is Ending.ASSERTION:
        (judged,) = asker.judge([suspect.script], None, examine=True)
        seen = reported(judged.report, suspect)
        if seen is None:
            return Refused(Verdict.GONE, taken_back(judged), tuple(runs))
        kind, aspect, evidence = Kind(seen["kind"]), Aspect(seen["aspect"]), seen
    place, rungs = localise(kind, suspect.script, asker.runs, suspect.build.framework)
    slip = SlipKey(kind, aspect, way(runs[0]), place.rung, place.below, publishable(evidence))
    return Confirmed(tuple(runs), place, rungs, slip, evidence)


def reported(report: Json | None, suspect: Suspect) -> Json | None:
    """The difference that a suspect claims; for one that claims none (a crash, a hang, an exception that
    turned out to be a wrong result) the most severe that the oracle reports."""
    if suspect.kind not in UNEXAMINED:
        return difference(report, suspect.kind, suspect.aspect)
    found = (report or {}).get("differences") or [None]
    return None if (report or {}).get("dropped") else found[0]


def taken_back(judged: Judgement) -> str:
    """Why the oracle does not report a difference that the script shows."""
    if judged.run.ending is Ending.OK:
        return "fails in a fresh process but not in a warm worker"
    if judged.report is None:
        return f"the oracle could not look at the call ({judged.run.reason or judged.run.ending})"
    if dropped := judged.report.get("dropped"):
        return f"the oracle drops the call: {dropped}"
    others = {f"{d.get('kind')}/{d.get('aspect')}" for d in judged.report.get("differences") or []}
    return f"the oracle reports {', '.join(sorted(others)) or 'no difference'} instead"
