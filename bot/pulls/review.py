"""A pull request reviewed: its changed files on head and on base, as they stand and mutated.

Invariant: what is told is new against the base: the base, run the same way, does not show it; and what a
mutation alone brought about is told only where it takes an operator that the pull request brings. What could
not be run is a note with its reason, never a silent pass. Nothing here has a token.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from bot.commands.order import Order
from bot.errors import MachineryFailure
from bot.pulls import lines
from bot.pulls.checkout import LARGEST, file_in, text_of
from bot.pulls.result import (
    MOST_FINDINGS,
    MOST_NOTES,
    Figures,
    PullFinding,
    Result,
    as_told,
    short,
)
from bot.pulls.routes import Routed, routed
from bot.pulls.workbench import Looked, Workbench
from bot.target import Pool
from fuzzers.engine import Piece
from fuzzers.records import Finding, Suspect

AS_IT_STANDS_SHARE = 0.5
"""Of the time that is left after all files were checked: for triage of what differs as it stands."""

CAMPAIGN_SHARE = 0.4
"""Of the time that is then left, for mutants of the head; the rest is for their triage and the base's."""

SHORTEST_CAMPAIGN = 15.0
"""Seconds: less makes a handful of candidates, which say nothing."""

Found = Mapping[str, tuple[Finding, list[Suspect]]]
Base = Literal["compared", "new file", "not run"]


@dataclass
class Reviewed:
    """One file while it is being reviewed."""

    route: Routed
    head: Looked
    base: Looked
    is_new: bool
    mutants: frozenset[str] = frozenset()
    seconds: float = 0.0

    @property
    def changed(self) -> frozenset[int]:
        """The lines that the pull request adds or changes."""
        return frozenset(self.route.file.lines)

    @property
    def touched(self) -> tuple[Piece, ...]:
        """The pieces that changed lines are in."""
        return tuple(p for p in self.head.reading.pieces if self.changed & set(p.lines))

    @property
    def stands(self) -> Base:
        """What the base says."""
        if self.is_new:
            return "new file"
        return "not run" if self.base.why_not else "compared"


@dataclass
class Review:
    """One order's work."""

    order: Order
    bench: Workbench
    head: Path
    base: Path
    clock: Callable[[], float] = time.monotonic
    stop: threading.Event = field(default_factory=threading.Event)
    campaign_share: float = CAMPAIGN_SHARE
    notes: list[str] = field(default_factory=list)
    waiting: int = 0

    def run(self) -> Result:
        """All files, within the order's budget."""
        self.end = self.clock() + self.order.budget
        found, left = routed(
            self.order.files,
            self.bench.settings.routes,
            engines=self.order.engines,
            paths=self.order.paths,
            text=lambda path: text_of(self.head, path),
        )
        self.notes += left
        told: list[PullFinding] = []
        reviewed: list[Reviewed] = []
        if found:
            self.bench.voice.say(f"files: {', '.join(one.file.path for one in found)}")
            with self.bench.pool() as pool:
                reviewed = [one for route in found if (one := self._as_it_stands(pool, route)) is not None]
                self._triage(pool, self._left() * AS_IT_STANDS_SHARE)
            for one in reviewed:
                told += self._new_as_it_stands(one)
            told += self._mutated(reviewed, {finding.signature for finding in told})
        else:
            self.notes.append("no changed file is one that an engine of this version looks at")
        return self._result(told, reviewed)

    def _left(self) -> float:
        return max(0.0, self.end - self.clock())

    # As they stand

    def _as_it_stands(self, pool: Pool, route: Routed) -> Reviewed | None:
        """A file on head, and if there is something to compare with, on base."""
        began, name = self.clock(), route.file.path
        here, there = file_in(self.head, name), file_in(self.base, name)
        if here is None:
            self.notes.append(f"{name}: it is not a plain file below {LARGEST} bytes")
            return None
        try:
            head = self.bench.look(pool, route.engine, here, route.file.lines, check=True)
            base = Looked()
            if there is not None:
                base = self.bench.look(pool, route.engine, there, (), check=bool(head.suspects))
        except MachineryFailure as failure:
            self.notes.append(f"{name}: not looked at, the machinery failed: {failure}")
            return None
        if head.why_not:
            self.notes.append(f"{name}: not compared, {head.why_not}")
        if base.why_not:
            self.notes.append(f"{name}: the base's version was not compared, {base.why_not}")
        if head.reading.left:
            self.notes.append(f"{name}: not mutated: {head.reading.left}")
        head, base = self._apart(name, head, base)
        self.bench.voice.say(f"{name}: {len(head.suspects)} suspects as it stands")
        return Reviewed(route, head, base, there is None, seconds=self.clock() - began)

    def _apart(self, name: str, head: Looked, base: Looked) -> tuple[Looked, Looked]:
        """Without what both show by the same script, which needs no name to be old; the rest is for triage,
        the base's only if there is something to tell from it."""
        both = head.suspects & base.suspects
        if both:
            self.notes.append(f"{name}: {len(both)} differences that the base has too are not told")
        head = replace(head, suspects=head.suspects - both)
        base = replace(base, suspects=base.suspects - both if head.suspects else frozenset())
        self.bench.take(head.suspects | base.suspects)
        return head, base

    def _new_as_it_stands(self, one: Reviewed) -> list[PullFinding]:
        """What the head shows and the base does not."""
        shown = self.bench.findings(one.base.suspects)
        told = []
        for signature, (finding, suspects) in self.bench.findings(one.head.suspects).items():
            if signature in shown:
                continue
            at = self._place(one, finding, suspects)
            line = at.line if at else 0
            why = "" if line in one.changed else self._may_be_old(one, finding, shown)
            if why:
                self.notes.append(f"{one.route.file.path}:{line}: not told, {why}: {finding.title}")
            else:
                told.append(self._as_told(one, finding, line))
        return told

    def _may_be_old(self, one: Reviewed, finding: Finding, shown: Found) -> str:
        """Why what is on a line that was not changed is not taken for new; empty when it is."""
        if one.base.why_not:
            return (
                "the base could not be asked, and the night knows it" if self.bench.is_known(finding) else ""
            )
        if any(is_like(finding, other) for other, _ in shown.values()):
            return "the base has one like it"
        waiting = self.bench.waiting(one.base.suspects)
        if any((s.kind, s.aspect) == (finding.suspect.kind, finding.suspect.aspect) for s in waiting):
            return "the base has one of this kind that there was no time to look into"
        return ""

    # Mutants

    def _mutated(self, reviewed: list[Reviewed], told: set[str]) -> list[PullFinding]:
        """What small changes of the changed lines show, where that is of the pull request's making."""
        seconds = self._left() * self.campaign_share / max(1, len(reviewed))
        for one in reviewed:
            one.mutants = self._campaign(one, one.touched, "head", seconds)
        if not any(one.mutants for one in reviewed):
            return []
        with self.bench.pool() as pool:
            self._triage(pool, self._left() * AS_IT_STANDS_SHARE)
        suspected = {id(one): self._of_its_making(one, told) for one in reviewed}
        if any(suspected.values()):
            self._ask_the_base([one for one in reviewed if suspected[id(one)]])
        return [finding for one in reviewed for finding in self._new_mutants(one, suspected[id(one)])]

    def _campaign(
        self, one: Reviewed, pieces: tuple[Piece, ...], side: str, seconds: float
    ) -> frozenset[str]:
        name = one.route.file.path
        if self.stop.is_set() or not pieces:
            if side == "head" and not one.head.why_not and not pieces:
                self.notes.append(f"{name}: no changed line has a piece that can be mutated")
            return frozenset()
        if seconds < SHORTEST_CAMPAIGN:
            self.notes.append(
                f"{name}: not mutated on the {side}, the time is used up; a larger --budget helps"
            )
            return frozenset()
        self.bench.voice.say(f"{name}: mutating {len(pieces)} pieces of the {side} for {seconds:.0f} s")
        began = self.clock()
        folder = f"{side}-{len(self.bench.campaigns)}"
        found = self.bench.mutate(one.route.engine, pieces, folder, seconds)
        one.seconds += self.clock() - began
        return found

    def _of_its_making(self, one: Reviewed, told: set[str]) -> Found:
        """The mutants' findings that take an operator which changed lines apply and the base does not."""
        brought = [call for call in one.head.reading.calls if call.line in one.changed]
        kept = {}
        for signature, (finding, suspects) in self.bench.findings(one.mutants).items():
            fresh = lines.own(brought, finding.operators) - lines.own(
                one.base.reading.calls, finding.operators
            )
            if fresh and signature not in told:
                kept[signature] = (finding, suspects)
        return kept

    def _ask_the_base(self, some: list[Reviewed]) -> None:
        """The same campaign on the base, whose findings are none of the pull request's."""
        seconds = self._left() * self.campaign_share / len(some)
        for one in some:
            if not one.is_new:
                found = self._campaign(one, one.base.reading.pieces, "base", seconds)
                one.base = Looked(one.base.reading, one.base.suspects | found, one.base.why_not)
        with self.bench.pool() as pool:
            self._triage(pool, self._left())

    def _new_mutants(self, one: Reviewed, suspected: Found) -> list[PullFinding]:
        shown = self.bench.findings(one.base.suspects)
        told = []
        for signature, (finding, suspects) in suspected.items():
            at = self._place(one, finding, suspects)
            if signature not in shown and at is not None and at.line in one.changed:
                told.append(self._as_told(one, finding, at.line, mutant=True))
        return told

    # Telling

    def _triage(self, pool: Pool, seconds: float) -> None:
        if not self.bench.store.pending():
            return
        self.waiting = left = self.bench.triage(pool, seconds)
        if left:
            self.notes.append(
                f"{left} suspects were not looked into, the time is used up; a larger --budget helps"
            )

    def _place(self, one: Reviewed, finding: Finding, suspects: list[Suspect]) -> lines.Place | None:
        """The line of the head's file; the lines of the piece narrow it, where a suspect is one."""
        calls = one.head.reading.calls
        within = {line for s in suspects for line in lines_of(str(s.detail.get("seed", "")))}
        return lines.place(calls, finding.operators, finding.dtypes, one.changed, within) or lines.place(
            calls, finding.operators, finding.dtypes, one.changed
        )

    def _as_told(self, one: Reviewed, finding: Finding, line: int, *, mutant: bool = False) -> PullFinding:
        known = self.bench.is_known(finding)
        return as_told(finding, one.route.file.path, line, mutant=mutant, known=known)

    def _result(self, told: list[PullFinding], reviewed: list[Reviewed]) -> Result:
        told.sort(key=lambda f: (f.mutant, f.kind.severity, f.path, f.line))
        if len(told) > MOST_FINDINGS:
            self.notes.append(f"{len(told) - MOST_FINDINGS} more findings are not told")
        return Result(
            head_sha=self.order.head_sha,
            base_sha=self.order.base_sha,
            build=self.bench.build.name,
            findings=tuple(told[:MOST_FINDINGS]),
            figures=tuple(
                Figures(
                    path=one.route.file.path,
                    engine=one.route.engine,
                    base=one.stands,
                    checked=0 if one.head.why_not else 1,
                    suspects=len(one.head.suspects | one.mutants),
                    seconds=round(one.seconds, 1),
                )
                for one in reviewed[:MOST_NOTES]
            ),
            notes=tuple(short(note) for note in self.notes[:MOST_NOTES]),
            waiting=self.waiting,
        )


def is_like(finding: Finding, other: Finding) -> bool:
    """Whether two findings that have different names may be one bug: a reduction that ran out of time leaves
    more in a program than another."""
    same = (finding.suspect.kind, finding.suspect.aspect) == (other.suspect.kind, other.suspect.aspect)
    return same and bool(set(finding.operators) & set(other.operators))


def lines_of(origin: str) -> set[int]:
    """The lines in the origin of a piece, `model.py:3,4`."""
    return {int(part) for part in origin.rpartition(":")[2].split(",") if part.isdigit()}
