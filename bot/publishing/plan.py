"""The smallest set of writes that brings a tracker in line with the store.

Invariant: pure, and a fixed point: planned again after its steps were made, there is none. An issue is
known by its mark, if the bot's own account opened it, and by the ledger; never by its title, and never by
search. A finding never gets a second issue: where two have come to be, the older stays. An issue that a
person has closed is left alone for a while, and after that is opened again only if it was closed as done
and a build that was tested since still fails; one that a person has opened again after the bot closed it
stays open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from bot.bodies import Text, TooLongError, Transition
from bot.publishing import marks
from bot.publishing.marks import Seal
from bot.publishing.wanted import Telling, Wanted, wanted
from bot.states import Published
from bot.trackers.protocol import Issue, IssueState, Reason
from fuzzers.records import Finding, Json, Verdict

REMOVED = "removed"
"""The state in the ledger of an issue that somebody has deleted or moved away: it is not filed again."""


class What(StrEnum):
    """The kinds of step."""

    FILE = "file"
    WRITE = "write"
    """Body, title, state: one request."""
    TELL = "tell"
    MERGE = "close as duplicate"
    NOTE = "note"
    """Only in the ledger: the tracker is as it should be."""


@dataclass(frozen=True)
class Step:
    """One step. `record` is what the ledger says once it has been made."""

    what: What
    finding: Finding
    record: Published
    why: str
    title: str | None = None
    body: str | None = None
    labels: tuple[str, ...] = ()
    state: IssueState | None = None
    reason: Reason | None = None
    telling: Telling | None = None
    number: str = ""
    """Of the issue that is to be closed as a duplicate of `older`."""
    older: str = ""

    @property
    def writes(self) -> bool:
        """Whether it changes the tracker."""
        return self.what is not What.NOTE


@dataclass(frozen=True)
class Caps:
    """How much may be filed: issues in this run, today, and open in all; hours of quiet after a person has
    closed an issue."""

    a_run: int
    a_day: int
    open_issues: int
    quiet_hours: float


@dataclass(frozen=True)
class Waiting:
    """A finding that should have an issue and gets none now, and why."""

    signature: str
    title: str
    why: str


@dataclass(frozen=True)
class Plan:
    """Steps in the order in which they are made."""

    steps: tuple[Step, ...] = ()
    waiting: tuple[Waiting, ...] = ()


@dataclass(frozen=True)
class Site:
    """A tracker as it is: its issues that the bot opened, and the ledger's records of it."""

    tracker: str
    login: str
    seal: Seal
    issues: Sequence[Issue]
    records: Mapping[str, Published]
    now: str


Write = Callable[[Finding], Text]
"""The text of a finding's issue."""


@dataclass
class Planner:
    """Makes one plan. `held` says why a finding must not be touched now, empty when it may."""

    site: Site
    caps: Caps
    write: Write
    held: Callable[[Finding], str] = lambda finding: ""
    missing: frozenset[str] = frozenset()
    """Numbers that the ledger knows and the host has no more."""
    steps: list[Step] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)

    def plan(self, findings: Iterable[Finding]) -> Plan:
        """The plan for these findings, of which only those that are to be published are given."""
        everyone = sorted(findings, key=lambda f: (f.suspect.kind.severity, f.first_seen, f.signature))
        by_name = self._by_name(everyone)
        unfiled = []
        for finding in everyone:
            known = by_name.get(finding.signature, [])
            record = self._record(finding)
            if why := self.held(finding):
                if not known and not record.number and wanted(finding).may_be_filed:
                    self._wait(finding, why)
            elif known:
                self._known(finding, record, known)
            elif record.state == REMOVED or record.number in self.missing:
                after = replace(record, state=REMOVED)
                if after != self.site.records.get(finding.signature):
                    self.steps.append(Step(What.NOTE, finding, after, "somebody has removed its issue"))
                self._wait(finding, f"somebody has removed its issue {record.number}")
            elif record.number:
                self._wait(finding, f"the host does not list its issue {record.number} yet")
            elif wanted(finding).may_be_filed:
                unfiled.append((finding, record))
        self._file(unfiled)
        return Plan(tuple(self.steps), tuple(self.waiting))

    def _by_name(self, findings: Sequence[Finding]) -> dict[str, list[Issue]]:
        """Each finding's issues, the oldest first."""
        owner = {name: f.signature for f in findings for name in f.aliases}
        owner |= {f.signature: f.signature for f in findings}
        by_number = {
            one.number: owner.get(one.signature, one.signature)
            for one in self.site.records.values()
            if one.number
        }
        found: dict[str, list[Issue]] = {}
        for issue in sorted(self.site.issues, key=_age):
            said = self.site.seal.read(marks.ISSUE, issue.body)
            name = owner.get(said[0][0]) if said else by_number.get(issue.number)
            if name is not None:
                found.setdefault(name, []).append(issue)
        return found

    def _record(self, finding: Finding) -> Published:
        """The ledger's record of a finding, whichever of its names it was written under."""
        known = [self.site.records[name] for name in finding.names if name in self.site.records]
        told = tuple(sorted({slug for one in known for slug in one.told}))
        first = next((one for one in known if one.number), known[0] if known else None)
        if first is None:
            return Published(finding.signature, self.site.tracker)
        return replace(first, signature=finding.signature, told=told)

    def _known(self, finding: Finding, record: Published, issues: list[Issue]) -> None:
        issue, *younger = self._settled(issues)
        for one in younger:
            self.steps.append(
                Step(
                    What.MERGE,
                    finding,
                    record,
                    f"{one.number} is of the same finding as {issue.number}",
                    state=IssueState.CLOSED,
                    reason=Reason.DUPLICATE,
                    number=one.number,
                    older=issue.number,
                )
            )
        want = wanted(finding)
        if self._is_left_alone(finding, issue, record, want):
            return
        self._bring(finding, record, issue, want)

    def _settled(self, issues: list[Issue]) -> list[Issue]:
        """The oldest, and of the others those that are still open: a closed one has been dealt with."""
        first, *others = issues
        return [first, *(one for one in others if one.state is IssueState.OPEN)]

    def _is_left_alone(self, finding: Finding, issue: Issue, record: Published, want: Wanted) -> bool:
        """Whether a person has closed it, and it is not yet, or never, for us to touch."""
        if issue.state is IssueState.OPEN or self._closed_by_us(issue, record):
            return False
        if want.state is IssueState.CLOSED:
            return True
        if issue.reason in (Reason.NOT_PLANNED, Reason.DUPLICATE):
            return True
        quiet = timedelta(hours=self.caps.quiet_hours)
        if _time(self.site.now) < _time(issue.closed_at or self.site.now) + quiet:
            return True
        return not _failed_since(finding, issue.closed_at)

    def _closed_by_us(self, issue: Issue, record: Published) -> bool:
        if issue.closed_by:
            return issue.closed_by == self.site.login
        said = self.site.seal.read(marks.ISSUE, issue.body)
        by_mark = bool(said) and said[0][1:2] == (IssueState.CLOSED,)
        return by_mark or (not said and record.state == IssueState.CLOSED)

    def _is_reopened(self, issue: Issue, want: Wanted) -> bool:
        """Whether a person has opened it again since we closed it, as what it should be closed as now. Body
        and state are written at once, so that nothing else leaves them apart."""
        said = self.site.seal.read(marks.ISSUE, issue.body)
        return bool(said) and said[0][1:] == (want.state, want.reason)

    def _bring(self, finding: Finding, record: Published, issue: Issue, want: Wanted) -> None:
        """Our part of the body, the title, the state; then what is to be told."""
        known, record = record.number, replace(record, number=issue.number, url=issue.url)
        text = self._written(finding)
        if text is None:
            return
        mark = self.site.seal.mark(marks.ISSUE, finding.signature, want.state, *filter(None, [want.reason]))
        new = marks.part(text.body, mark)
        changes: dict[str, object] = {}
        why = []
        if marks.ours(issue.body) != new:
            changes["body"] = marks.rewritten(issue.body, new)
            why.append("what is known has changed")
        if issue.title != text.title and issue.title == record.title:
            changes["title"] = text.title  # nobody but us has named it
            why.append("its title has changed")
        if issue.state is not want.state and not self._is_reopened(issue, want):
            changes |= {"state": want.state, "reason": want.reason}
            why.append("it is open again" if want.state is IssueState.OPEN else f"it is {finding.state}")
        after = replace(
            record,
            title=str(changes.get("title", issue.title if issue.title == text.title else record.title)),
            body=marks.digest(new),
            state=str(want.state),
            filed_at=record.filed_at or issue.created_at,
            written_at=record.written_at or issue.created_at,
        )
        if not known and not changes:  # filed, and the answer lost: its body has told all that it says now
            after = replace(after, told=tuple(telling.name for telling in want.tellings))
        if changes:
            self.steps.append(Step(What.WRITE, finding, after, "; ".join(why), **changes))  # type: ignore[arg-type]
        elif after != record:
            self.steps.append(Step(What.NOTE, finding, after, "the ledger did not have it so"))
        elif record != self.site.records.get(finding.signature):
            self.steps.append(Step(What.NOTE, finding, after, "the ledger had it under another name"))
        for telling in (*want.tellings, *self._explained(finding, record, issue, want)):
            if telling.name not in after.told:
                after = replace(after, told=(*after.told, telling.name))
                self.steps.append(Step(What.TELL, finding, after, telling.name, telling=telling))

    def _explained(self, finding: Finding, record: Published, issue: Issue, want: Wanted) -> list[Telling]:
        """Why an issue is opened again that a person has closed: a build that was tested since still
        fails."""
        if issue.state is want.state or want.state is IssueState.CLOSED or self._closed_by_us(issue, record):
            return []
        if any(telling.what is Transition.REGRESSED for telling in want.tellings):
            return []
        failed = [v for v in finding.verdicts if _failed(v, issue.closed_at)]
        facts = {key: str(failed[-1].get(key, "")) for key in ("build", "at")} if failed else {}
        name = f"still {facts.get('build', '')} {issue.closed_at}"
        return [Telling(Transition.STILL, name, facts)]

    def _file(self, unfiled: Sequence[tuple[Finding, Published]]) -> None:
        """The most severe first, within the caps."""
        today = self.site.now[:10]
        filed_today = sum(one.created_at.startswith(today) for one in self.site.issues)
        is_open = sum(one.state is IssueState.OPEN for one in self.site.issues)
        room = (
            (self.caps.a_run, f"{self.caps.a_run} new issues a run"),
            (self.caps.a_day - filed_today, f"{self.caps.a_day} new issues a day"),
            (self.caps.open_issues - is_open, f"{self.caps.open_issues} open issues"),
        )
        most, cap = min(room, key=lambda one: one[0])
        for finding, record in unfiled:
            if most <= 0:
                self._wait(finding, f"the cap of {cap} is reached")
                continue
            text = self._written(finding)
            if text is None:
                continue
            body = marks.part(text.body, self.site.seal.mark(marks.ISSUE, finding.signature, IssueState.OPEN))
            most -= 1
            want = wanted(finding)
            after = replace(
                record,
                title=text.title,
                body=marks.digest(body),
                state=str(IssueState.OPEN),
                told=tuple(sorted({*record.told, *(telling.name for telling in want.tellings)})),
            )
            self.steps.append(
                Step(What.FILE, finding, after, "new", title=text.title, body=body, labels=text.labels)
            )

    def _written(self, finding: Finding) -> Text | None:
        """Its text; None, and it waits, where its reproducer is longer than an issue."""
        try:
            return self.write(finding)
        except TooLongError as refusal:
            self._wait(finding, str(refusal))
            return None

    def _wait(self, finding: Finding, why: str) -> None:
        self.waiting.append(Waiting(finding.signature, finding.title, why))


def _failed_since(finding: Finding, at: str) -> bool:
    """Whether a build that was tested after `at` still fails."""
    return any(_failed(verdict, at) for verdict in finding.verdicts)


def _failed(verdict: Json, at: str) -> bool:
    return verdict.get("verdict") == Verdict.REPRODUCES and str(verdict.get("at", "")) > at


def _age(issue: Issue) -> tuple[str, int, str]:
    return issue.created_at, len(issue.number), issue.number


def _time(at: str) -> datetime:
    return datetime.fromisoformat(at)
