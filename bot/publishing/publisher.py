"""One run of publishing: look, plan, take the lease, look and plan again, act.

Invariant: without something to write nothing is written, the lease included; what is written rests on what
was seen inside the lease. A tracker that refuses the first question leaves everything as it was.
"""

from __future__ import annotations

import math
import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bot import bodies, retest
from bot.commands import heard
from bot.publishing import marks, upstream
from bot.publishing.act import Actor, Done
from bot.publishing.marks import sealed
from bot.publishing.plan import REMOVED, Caps, Plan, Planner, Site, Step
from bot.render import is_published
from bot.settings import Settings
from bot.states import Published
from bot.store import Store
from bot.trackers.protocol import Issue, MissingError, Tracker
from fuzzers.records import Finding

LEASE_SECONDS = 900.0
"""After this another publisher may take over."""

SLOWEST_STEP_SECONDS = 300.0
"""With all its tries and all patience: no step begins later than that before the lease ends."""


@dataclass
class Publisher:
    """Publishes one store on one tracker; `other` is the upstream's, where there is one."""

    store: Store
    tracker: Tracker
    settings: Settings
    other: Tracker | None = None
    hosts: tuple[str, ...] = field(default_factory=lambda: (socket.gethostname(),))
    tell: Callable[[Step], None] = lambda step: None

    def plan(self) -> Plan:
        """What there is to do; writes nothing."""
        seal = sealed(self.settings, self.tracker)
        issues = list(self.tracker.own_issues())
        records = self.store.published(self.tracker.name)
        findings = [f for f in self.store.findings() if self._is_published(f, records)]
        planner = Planner(
            Site(self.tracker.name, self.tracker.account().login, seal, issues, records, self.tracker.now()),
            self._caps(),
            self._text,
            self._held,
            self._missing(issues, records),
        )
        return planner.plan(findings)

    def publish(self) -> tuple[Plan, Done]:
        """Hear what people decided, plan, and act if there is something to do."""
        heard.hear(self.tracker, self.store)
        return self._under_lease(self.plan, self.tracker)

    def outward(self) -> tuple[Plan, Done]:
        """The upstream tier: file there what is approved, and note what it says of what was filed."""
        if self.other is None:
            return Plan(), Done()
        tier = self._tier(self.other)
        return self._under_lease(tier.outward, self.other)

    def homeward(self) -> tuple[Plan, Done]:
        """The upstream tier: tell on the triage tracker what has become of it."""
        if self.other is None:
            return Plan(), Done()
        return self._under_lease(self._tier(self.other).homeward, self.tracker)

    def upstream_plan(self) -> Plan:
        """What the upstream tier would do; writes nothing."""
        if self.other is None:
            return Plan()
        outward, homeward = self._tier(self.other).outward(), self._tier(self.other).homeward()
        return Plan(outward.steps + homeward.steps, outward.waiting)

    def _under_lease(self, plan: Callable[[], Plan], on: Tracker) -> tuple[Plan, Done]:
        found = plan()
        if not any(step.writes for step in found.steps):
            return found, self._actor(on).act(found)
        until = time.monotonic() + LEASE_SECONDS - SLOWEST_STEP_SECONDS
        with self.tracker.lease(_holder(), LEASE_SECONDS):
            found = plan()
            return found, self._actor(on, until).act(found)

    def _tier(self, other: Tracker) -> upstream.Tier:
        return upstream.Tier(self.store, self.tracker, other, self.settings, self.hosts)

    def calls(self) -> int:
        """Requests made to both trackers."""
        return self.tracker.calls() + (self.other.calls() if self.other is not None else 0)

    def _actor(self, on: Tracker, until: float = math.inf) -> Actor:
        return Actor(on, self.store, sealed(self.settings, on), self.hosts, until, self.tell)

    def _caps(self) -> Caps:
        given = self.settings
        return Caps(given.new_a_run, given.new_a_day, given.open_issues, given.quiet_hours)

    def _is_published(self, finding: Finding, records: dict[str, Published]) -> bool:
        """Severe enough, or on the tracker already: what was filed is looked after."""
        is_filed = any(name in records and records[name].number for name in finding.names)
        return is_filed or is_published(finding, self.settings.publish_down_to)

    def _text(self, finding: Finding) -> bodies.Text:
        form = bodies.Form(self.settings.upstream_form) if self.settings.upstream else None
        return bodies.issue(
            finding, upstream=form, hosts=self.hosts, longest=self.tracker.longest_body - marks.ROOM
        )

    def _held(self, finding: Finding) -> str:
        return retest.held(self.store, finding.suspect.build.framework)

    def _missing(self, issues: Sequence[Issue], records: dict[str, Published]) -> frozenset[str]:
        """Issues of the ledger that the listing lacks and that are not there when asked for."""
        listed = {issue.number for issue in issues}
        gone = set()
        for record in records.values():
            if record.number and record.number not in listed and record.state != REMOVED:
                try:
                    self.tracker.issue(record.number)
                except MissingError:
                    gone.add(record.number)
        return frozenset(gone)


def _holder() -> str:
    """Who publishes, for people who wait: the workflow run, or this process."""
    run = os.environ.get("GITHUB_RUN_ID", "")
    return f"workflow run {run}" if run.isdigit() else f"process {os.getpid()}"
