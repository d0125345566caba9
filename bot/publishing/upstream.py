"""The upstream tier: what a person has approved goes to the framework's own tracker, and its answer comes
back.

Invariant: nothing is filed upstream but what a person with write access approved, byte for byte: the hash
that they approved is that of the text as it would be filed now. Nor anything that has not been seen to fail
within a day, or twice: what was filed and its answer lost is found by its mark. A few a day at most. Where
a person files, the bot writes nothing upstream, ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot import bodies, retest
from bot.publishing import marks
from bot.publishing.marks import Seal
from bot.publishing.plan import Plan, Step, Waiting, What
from bot.publishing.wanted import Telling, wanted
from bot.settings import Settings
from bot.states import Published
from bot.store import Store
from bot.trackers.protocol import Issue, IssueState, MissingError, Tracker
from fuzzers.records import Finding

OLDEST = timedelta(days=1)
"""What was seen to fail before that has to be run again before it goes out."""


@dataclass
class Tier:
    """The findings of a store that go from the triage tracker `here` to the upstream's `there`."""

    store: Store
    here: Tracker
    there: Tracker
    settings: Settings
    hosts: tuple[str, ...] = ()

    @property
    def form(self) -> bodies.Form:
        """The upstream's issue form."""
        return bodies.Form(self.settings.upstream_form)

    def outward(self) -> Plan:
        """Steps on the upstream's tracker: file, keep up to date, and note what it says."""
        steps: list[Step] = []
        waiting: list[Waiting] = []
        unfiled = []
        for finding, record in self._records():
            if record.number:
                steps += self._follow(finding, record)
            elif why := self._waits(finding, record):
                waiting.append(Waiting(finding.signature, finding.title, why))
            elif self.settings.upstream_filed_by == "bot":
                unfiled.append((finding, record))
        if unfiled:
            self._file(unfiled, steps, waiting)
        return Plan(tuple(steps), tuple(waiting))

    def homeward(self) -> Plan:
        """Steps on the triage tracker: how to file what is approved, that it is filed, what upstream said."""
        here = {name: one for name, one in self.store.published(self.here.name).items() if one.number}
        steps = []
        for finding, record in self._records():
            issue = next((here[name] for name in finding.names if name in here), None)
            if issue is None:
                continue
            for telling in self._tellings(finding, record):
                if telling.name not in issue.told:
                    issue = replace(issue, told=(*issue.told, telling.name))
                    steps.append(Step(What.TELL, finding, issue, telling.name, telling=telling))
        return Plan(tuple(steps))

    def _tellings(self, finding: Finding, record: Published) -> Iterator[Telling]:
        what = bodies.Transition
        if not record.number and self.settings.upstream_filed_by == "person":
            if not self._waits(finding, record):
                text = self._text(finding, record)
                link = bodies.new_issue_link(self.settings.upstream, text)
                facts = {"link": link, "body": text.body, "title": text.title, "by": record.approved_by}
                yield Telling(what.APPROVED, f"approved {record.approved}", facts)
            return
        if record.number and self.settings.upstream_filed_by == "bot":
            yield Telling(what.FILED, f"filed {record.url}", {"url": record.url, "by": record.approved_by})
        if record.number and record.mirrored not in ("", IssueState.OPEN):
            facts = {"url": record.url, "said": record.mirrored}
            yield Telling(what.MIRRORED, f"mirrored {record.mirrored}", facts)

    def _records(self) -> Iterator[tuple[Finding, Published]]:
        """The findings that a person has approved or filed, with the upstream's record."""
        findings = self.store.catalogue.now()
        for name, record in self.store.published(self.there.name).items():
            finding = findings.named(name)
            if finding and (record.approved or record.number):
                yield finding, record

    def _waits(self, finding: Finding, record: Published) -> str:
        """Why what a person has approved cannot go out now; empty when it can."""
        if record.approved != bodies.approval_hash(finding, self.form):
            return "the text has changed since it was approved: the issue shows the new hash"
        if wanted(finding).state is IssueState.CLOSED:
            return f"it is {finding.state}"
        if not self.here.permission(record.approved_by).may_write:
            return f"{record.approved_by}, who approved it, may no longer write here: somebody else has to"
        if held := retest.held(self.store, finding.suspect.build.framework):
            return held
        oldest = datetime.fromisoformat(self.there.now()) - OLDEST
        if not finding.last_seen or datetime.fromisoformat(finding.last_seen) < oldest:
            return f"a retest must say first that it still fails (last seen {finding.last_seen or '?'})"
        return ""

    def _text(self, finding: Finding, record: Published) -> bodies.Text:
        person = bodies.Person(record.approved_by, record.words, record.approved_at)
        longest = self.there.longest_body - marks.ROOM
        return bodies.upstream(finding, self.form, person=person, hosts=self.hosts, longest=longest)

    def _file(
        self, unfiled: Sequence[tuple[Finding, Published]], steps: list[Step], waiting: list[Waiting]
    ) -> None:
        """Those that the bot is to file, as far as a day's cap goes."""
        today = self.there.now()[:10]
        most = self.settings.upstream_a_day
        most -= sum(bool(one.number) and one.filed_at[:10] == today for _, one in self._records())
        filed = self._filed()
        for finding, record in unfiled:
            if issue := next((filed[name] for name in finding.names if name in filed), None):
                after = replace(record, number=issue.number, url=issue.url, filed_at=issue.created_at)
                steps.append(Step(What.NOTE, finding, after, "it is filed; the answer was lost"))
            elif most <= 0:
                why = f"the cap of {self.settings.upstream_a_day} upstream a day is reached"
                waiting.append(Waiting(finding.signature, finding.title, why))
            else:
                most -= 1
                steps.append(self._filing(finding, record))

    def _filed(self) -> dict[str, Issue]:
        """What the bot has filed upstream, by the names in its marks; the oldest of a name."""
        found: dict[str, Issue] = {}
        for name, issue in marks.named(self.there.own_issues(), self._seal()):
            found.setdefault(name, issue)
        return found

    def _filing(self, finding: Finding, record: Published) -> Step:
        text = self._text(finding, record)
        body = marks.part(text.body, self._seal().mark(marks.ISSUE, finding.signature, IssueState.OPEN))
        after = replace(record, title=text.title, body=marks.digest(body), state=str(IssueState.OPEN))
        return Step(What.FILE, finding, after, "approved", title=text.title, body=body, labels=())

    def _follow(self, finding: Finding, record: Published) -> Iterator[Step]:
        """What the upstream says now, and our part of the text where we filed it."""
        try:
            issue = self.there.issue(record.number)
        except MissingError:
            if record.mirrored != "removed":
                yield Step(What.NOTE, finding, replace(record, mirrored="removed"), "upstream removed it")
            return
        said = _said(issue)
        after = replace(record, mirrored=said)
        if self.settings.upstream_filed_by == "bot" and issue.state is IssueState.OPEN:
            ours = marks.ours(issue.body)
            if self._seal().read(marks.ISSUE, ours):
                state = wanted(finding).state
                new = marks.part(
                    self._text(finding, record).body, self._seal().mark(marks.ISSUE, finding.signature, state)
                )
                if new != ours:
                    body = marks.rewritten(issue.body, new)
                    after = replace(after, body=marks.digest(new))
                    yield Step(What.WRITE, finding, after, "what is known has changed", body=body)
                    return
        if after != record:
            yield Step(What.NOTE, finding, after, f"upstream says: {said}")

    def _seal(self) -> Seal:
        return marks.sealed(self.settings, self.there)


def _said(issue: Issue) -> str:
    """What an upstream issue's state comes to."""
    if issue.state is IssueState.OPEN:
        return IssueState.OPEN
    return f"{IssueState.CLOSED} as {issue.reason}" if issue.reason else str(IssueState.CLOSED)
