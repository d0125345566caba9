"""What should be so of one finding on the tracker: open or closed, with what text; and what is to be told.

Invariant: pure. An open finding wants an open issue, one that is gone or that a person has decided on a
closed one; a transition is told once, by the name that it has here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot import classify, history
from bot.bisect import Outcome
from bot.bodies import Transition
from bot.trackers.protocol import IssueState, Reason
from fuzzers.records import Finding

FINAL: dict[str, Reason] = {
    "wontfix": Reason.NOT_PLANNED,
    "invalid": Reason.NOT_PLANNED,
    "dup": Reason.DUPLICATE,
}
"""What a person's decision closes an issue as."""


@dataclass(frozen=True)
class Telling:
    """A transition to comment on. `name` is what it is known by, `facts` what the comment says."""

    what: Transition
    name: str
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """An issue as it should be."""

    state: IssueState
    reason: Reason | None
    tellings: tuple[Telling, ...] = ()

    @property
    def may_be_filed(self) -> bool:
        """Whether it is worth opening where there is none."""
        return self.state is IssueState.OPEN


def wanted(finding: Finding) -> Wanted:
    """What a finding wants."""
    decided = finding.detail.get("decision")
    kind = str(decided.get("kind", "")) if isinstance(decided, dict) else ""
    if history.decision(finding) is not None and finding.state != "open":
        return Wanted(IssueState.CLOSED, FINAL.get(kind, Reason.NOT_PLANNED), _tellings(finding))
    if finding.state == "gone":
        return Wanted(IssueState.CLOSED, Reason.COMPLETED, _tellings(finding))
    return Wanted(IssueState.OPEN, None, _tellings(finding))


def _tellings(finding: Finding) -> tuple[Telling, ...]:
    """The transitions of a finding's life so far, in their order."""
    found = []
    change = classify.standing(finding).change
    if change is not None and change.outcome in (Outcome.FIRST_BAD, Outcome.FIRST_GOOD):
        facts = {
            "before": change.before,
            "after": change.after,
            "link": change.link,
            "outcome": change.outcome,
        }
        found.append(Telling(Transition.BISECTED, f"bisected {change.outcome} {change.after}", facts))
    for key, what in (("regressed", Transition.REGRESSED), ("gone", Transition.FIXED)):
        told = finding.detail.get(key)
        if isinstance(told, dict):
            facts = {"build": str(told.get("build", "")), "at": str(told.get("at", ""))}
            found.append(Telling(what, f"{what} {facts['build']} {facts['at']}", facts))
    # What is not so any more is not told late: a comment about a fix on a bug that is back misleads.
    stale = {"open": Transition.FIXED, "gone": Transition.REGRESSED}.get(finding.state)
    return tuple(telling for telling in found if telling.what is not stale)
