"""Reducing one suspect: the engine's candidates if it has a program, source passes if not, judged by scripts.

Invariant: the result is the suspect's own script or was judged to show the same failure by the slip key. A
candidate that is not first failing at the same backend is another bug, so the rung below must be right and
the rung itself must fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from bot import source_passes
from bot.asking import Asker, Judgement
from bot.confirm import UNEXAMINED, SlipKey
from bot.errors import MachineryFailure
from bot.localise import LADDERS, failed
from bot.reduce import Candidate, End, Hold, Options, Smaller, reduce
from fuzzers.records import Ending, Json, Kind, Limits, Suspect

HANG_SECONDS = 20.0
"""A small program compiles in at most 2 s in a warm worker (design facts); ten times that is a hang."""

PAGE = 6
"""Candidates that are made at a time: about as many as it takes until one holds."""


@dataclass(frozen=True)
class Shortened:
    """The smallest script found, formatted, its program if it has one, and how the search went."""

    script: str
    program: Json | None
    end: End
    tried: int
    taken: int
    unknown: int


def shorten(
    suspect: Suspect,
    slip: SlipKey,
    asker: Asker,
    out_of_time: Callable[[], bool],
    hints: Sequence[Sequence[str]] = (),
) -> Shortened:
    """The smallest script that can be found in time and has the slip key. A failure that no warm worker
    shows (unknown place) is left as it is: candidates could not be judged. `hints` are the operators of
    known findings, likeliest first: where the suspect shows one of those, that is found at once."""
    start = Candidate(suspect.script, suspect.program)
    if not slip.rung and suspect.kind is not Kind.EAGER:
        return Shortened(source_passes.formatted(start.script), start.program, End.UNKNOWN, 0, 0, 0)
    found = reduce(
        start,
        smaller_of(suspect, asker, hints),
        holding(slip, asker),
        batch=asker.at_once,
        out_of_time=out_of_time,
    )
    script = source_passes.formatted(found.best.script)
    return Shortened(script, found.best.program, found.end, found.tried, found.taken, found.unknown)


def smaller_of(suspect: Suspect, asker: Asker, hints: Sequence[Sequence[str]] = ()) -> Smaller:
    """Where a suspect's candidates come from. An engine that fails on one of its own programs is replaced
    by the source passes from there on: the bug is no less a bug."""

    def by_engine(program: Json, start: int) -> Options:
        page = asker.page(suspect.engine, program, start, PAGE, hints)
        made = [Candidate(s, p) for s, p in zip(page.scripts, page.programs, strict=True)]
        return Options(made, page.places, page.after)

    def by_source(script: str, start: int) -> Options:
        placed = list(islice(source_passes.smaller(script, start), PAGE + 1))
        after = placed[PAGE][0] if len(placed) > PAGE else None
        return Options([Candidate(text) for _, text in placed[:PAGE]], [p for p, _ in placed[:PAGE]], after)

    def smaller(candidate: Candidate, start: int) -> Options:
        if candidate.program is None:
            return by_source(candidate.script, start)
        try:
            return by_engine(candidate.program, start)
        except MachineryFailure:
            made = [Candidate(text) for _, text in source_passes.smaller(candidate.script)]
            return Options(made, [start] * len(made))

    return smaller


def holding(slip: SlipKey, asker: Asker) -> Hold:
    """The predicate. Cheap first: one child runs a candidate and, only if it fails, the rung below and the
    oracle; the rung itself is asked for only where it is not the stock one."""
    limits = limits_for(slip.kind, asker.limits)

    def hold(scripts: Sequence[str]) -> list[bool | None]:
        try:
            judged = asker.judge(scripts, slip.below, slip.kind not in UNEXAMINED, limits)
            right = [slip.holds(j) for j in judged]
            _also(right, lambda some: _fails_at(slip, asker, [scripts[i] for i in some], limits))
            _also(
                right, lambda some: _fine_below(slip, asker, [(scripts[i], judged[i]) for i in some], limits)
            )
        except MachineryFailure:
            return [None] * len(scripts)
        return list(right)

    return hold


def _also(right: list[bool], ask: Callable[[list[int]], list[bool]]) -> None:
    """Ask one more question about those that are right so far."""
    some = [i for i, answer in enumerate(right) if answer]
    for index, answer in zip(some, ask(some), strict=True):
        right[index] = answer


def _fails_at(slip: SlipKey, asker: Asker, scripts: list[str], limits: Limits) -> list[bool]:
    """Whether scripts fail at the rung to blame, when that is not what stock settings use."""
    if slip.rung in ("", *(ladder[-1] for ladder in LADDERS.values())) or not scripts:
        return [True] * len(scripts)
    return [failed(run) for run in asker.runs([(s, slip.rung) for s in scripts], limits)]


def _fine_below(
    slip: SlipKey, asker: Asker, judged: list[tuple[str, Judgement]], limits: Limits
) -> list[bool]:
    """Whether the rung below is right where the child did not live to run it (a crash, a hang)."""
    if slip.below is None or not judged or slip.kind not in (Kind.CRASH, Kind.HANG):
        return [True] * len(judged)
    return [run.ending is Ending.OK for run in asker.runs([(s, slip.below) for s, _ in judged], limits)]


def limits_for(kind: Kind, usual: Limits) -> Limits:
    """Limits of the many runs of a reduction: what hangs is not waited for as long as in a campaign."""
    seconds = min(usual.seconds, HANG_SECONDS) if kind is Kind.HANG else usual.seconds
    return Limits(seconds, usual.memory_mib, usual.output_kib)
