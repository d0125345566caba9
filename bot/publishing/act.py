"""Making a plan's steps, one at a time.

Invariant: the ledger says what has been made, a step after it was made and never before, so that a
publisher that dies anywhere is completed by the next. A new issue or comment whose answer was lost is
looked for by its mark before anything else; what is not found then is left to the next run, whose listing
knows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from bot import bodies
from bot.publishing import marks
from bot.publishing.marks import Seal
from bot.publishing.plan import Plan, Step, What
from bot.states import Published
from bot.store import Store
from bot.trackers.protocol import (
    Issue,
    IssueState,
    MissingError,
    Reason,
    ThrottledError,
    Tracker,
    TrackerError,
    UncertainError,
)
from fuzzers.records import Finding

MOST_REFUSALS = 3
"""In a row: then it is the host or the token, not an issue."""


@dataclass
class Done:
    """What became of a plan. `refused` has a line for each step that could not be made, `left` how many steps
    were not tried, `stopped` why; `throttled` tells that it was for want of patience."""

    made: list[Step] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    left: int = 0
    stopped: str = ""
    throttled: bool = False


@dataclass
class Actor:
    """Makes steps on one tracker, none after `until` on the monotonic clock."""

    tracker: Tracker
    store: Store
    seal: Seal
    hosts: tuple[str, ...] = ()
    until: float = math.inf
    tell: Callable[[Step], None] = lambda step: None

    def act(self, plan: Plan) -> Done:
        """Make the steps of a plan in their order."""
        done = Done()
        failed: set[str] = set()
        in_a_row = 0
        self._ready_labels(plan)
        for place, step in enumerate(plan.steps):
            if step.finding.signature in failed:
                done.left += 1  # a later step of a finding rests on those before it
                continue
            if time.monotonic() > self.until:
                done.left += len(plan.steps) - place
                return replace(done, stopped="the time of a run is over; the next goes on", throttled=True)
            try:
                MAKERS[step.what](self, step)
            except ThrottledError as busy:
                done.left += len(plan.steps) - place
                return replace(done, stopped=str(busy), throttled=True)
            except TrackerError as refusal:
                done.refused.append(f"{step.finding.signature}: {step.what}: {refusal}")
                failed.add(step.finding.signature)
                in_a_row += 1
                if in_a_row == MOST_REFUSALS:
                    done.left += len(plan.steps) - place - 1
                    return replace(done, stopped=str(refusal))
                continue
            in_a_row = 0
            done.made.append(step)
            self.tell(step)
        return done

    def _ready_labels(self, plan: Plan) -> None:
        labels = [label for step in plan.steps for label in step.labels]
        if labels:
            self.tracker.ensure_labels(list(dict.fromkeys(labels)))

    def file(self, step: Step) -> None:
        """Open an issue."""
        assert step.title is not None
        assert step.body is not None
        try:
            issue = self.tracker.create(step.title, step.body, step.labels)
        except UncertainError:
            found = self._find(step.finding)
            if found is None:
                raise
            issue = found
        self._note(step.record, issue)

    def _find(self, finding: Finding) -> Issue | None:
        """The finding's issue, by its mark, in a listing of now."""
        listed = marks.named(self.tracker.own_issues(), self.seal)
        return next((issue for name, issue in listed if name in finding.names), None)

    def write(self, step: Step) -> None:
        """Change body, title, state."""
        issue = self.tracker.edit(
            step.record.number, title=step.title, body=step.body, state=step.state, reason=step.reason
        )
        self._note(step.record, issue)

    def say(self, step: Step) -> None:
        """Comment on a transition, unless that has been done."""
        assert step.telling is not None
        mark = self.seal.mark(marks.TOLD, step.finding.signature, step.telling.name.replace(" ", "_"))
        if not self._has_said(step.record.number, mark):
            text = bodies.comment(step.telling.what, step.finding, step.telling.facts, self.hosts)
            self.tracker.comment(step.record.number, f"{text.strip()}\n\n{mark}")
        self.store.put_published(replace(step.record, written_at=self.tracker.now()))

    def _has_said(self, number: str, mark: str) -> bool:
        me = self.tracker.account().ident
        return any(mark in one.body for one in self.tracker.comments(number) if one.author.ident == me)

    def merge(self, step: Step) -> None:
        """Close a second issue of one finding, with a comment that names the first."""
        mark = self.seal.mark(marks.TOLD, step.finding.signature, f"second_{step.number}")
        if not self._has_said(step.number, mark):
            self.tracker.comment(step.number, f"The same finding as #{step.older}.\n\n{mark}")
        try:
            self.tracker.edit(step.number, state=IssueState.CLOSED, reason=Reason.DUPLICATE)
        except MissingError:
            return  # somebody has removed it

    def note(self, step: Step) -> None:
        """The ledger alone."""
        self.store.put_published(step.record)

    def _note(self, record: Published, issue: Issue) -> None:
        now = self.tracker.now()
        self.store.put_published(
            replace(
                record,
                number=issue.number,
                url=issue.url,
                filed_at=record.filed_at or issue.created_at or now,
                written_at=now,
            )
        )


MAKERS: dict[What, Callable[[Actor, Step], None]] = {
    What.FILE: Actor.file,
    What.WRITE: Actor.write,
    What.TELL: Actor.say,
    What.MERGE: Actor.merge,
    What.NOTE: Actor.note,
}
