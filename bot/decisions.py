"""What people decide on a finding: not a bug, not to be fixed, the same as another; and taking it back.

Invariant: pure. A decision stands in `Finding.detail["decision"]` with who made it and when, and wins over
what builds say, in every merge; the later of two counts. Taking one back is a decision of its own, which
has no state: from then on builds have the word again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from bot import history
from fuzzers.records import Finding, Json


class Kind(StrEnum):
    """What was decided."""

    INVALID = "invalid"
    WONTFIX = "wontfix"
    DUP = "dup"
    UNDO = "undo"


@dataclass(frozen=True)
class Decision:
    """One decision. `by_id` is the account's number, which outlives its name; `comment` the command's."""

    kind: Kind
    by: str
    by_id: str
    at: str
    reason: str = ""
    comment: str = ""


def decided(finding: Finding, decision: Decision) -> Finding:
    """The finding after a decision."""
    told: Json = {
        "kind": str(decision.kind),
        "by": decision.by,
        "by_id": decision.by_id,
        "at": decision.at,
        "reason": decision.reason,
        "comment": decision.comment,
    }
    if decision.kind is not Kind.UNDO:
        told["state"] = str(decision.kind)
        return replace(finding, state=str(decision.kind), detail={**finding.detail, "decision": told})
    before = replace(finding, state="open", detail={**finding.detail, "decision": told})
    return replace(before, state=history.state(before))


def standing(finding: Finding) -> Json | None:
    """The decision that stands; None when there is none or it has been taken back."""
    told = finding.detail.get("decision")
    return told if isinstance(told, dict) and "state" in told else None
