"""Two stores' records of one thing made into one, field by field.

Invariant: merging is commutative and idempotent, so that stores may meet in any order and any number of
times. The later build's word wins, except over a person's decision (`detail["decision"]`, with its time
in `at`), which always wins; the later of two decisions counts.
"""

from __future__ import annotations

import json
from dataclasses import replace

from bot.states import UNFINISHED, TriageState
from bot.wire import text
from fuzzers.records import Finding, Json


def merge_findings(a: Finding, b: Finding) -> Finding:
    """One finding out of two of the same signature."""
    if a.signature != b.signature:
        raise ValueError(f"two findings, not one: {a.signature} and {b.signature}")
    older, newer = sorted((a, b), key=lambda f: (f.last_seen, text(_alone(f))))
    detail = _merge_details(older, newer)
    # On the same day a failure that is still seen by one of them is open.
    state = newer.state if older.last_seen < newer.last_seen else max(older.state, newer.state)
    if decision := _later_decision(older, newer):
        detail["decision"] = decision
        state = str(decision.get("state", state))
    return replace(
        newer,
        state=state,
        suspects=tuple(sorted({*older.suspects, *newer.suspects})),
        verdicts=_merge_verdicts(older.verdicts, newer.verdicts),
        first_seen=min((f.first_seen for f in (older, newer) if f.first_seen), default=""),
        detail=detail,
    )


def merge_states(a: TriageState, b: TriageState) -> TriageState:
    """The one that is further: finished before unfinished, then more stages, then later."""

    def reached(state: TriageState) -> tuple[bool, int, str, str]:
        return (state.status not in UNFINISHED, len(state.stages), state.updated_at, text(state))

    return max(a, b, key=reached)


def _alone(finding: Finding) -> Finding:
    """A finding without the fields that merging changes, so that a merged one sorts as what it came from."""
    return replace(finding, state="", suspects=(), verdicts=(), first_seen="", detail={})


def _merge_details(older: Finding, newer: Finding) -> Json:
    detail = {**older.detail, **newer.detail}
    if older.last_seen == newer.last_seen:
        for key in older.detail.keys() & newer.detail.keys():
            detail[key] = max(older.detail[key], newer.detail[key], key=_canonical)
    return detail


def _later_decision(*findings: Finding) -> Json | None:
    decisions = [d for f in findings if isinstance(d := f.detail.get("decision"), dict)]
    return max(decisions, key=lambda d: (str(d.get("at", "")), _canonical(d)), default=None)


def _merge_verdicts(a: tuple[Json, ...], b: tuple[Json, ...]) -> tuple[Json, ...]:
    by_content = {_canonical(verdict): verdict for verdict in (*a, *b)}
    return tuple(sorted(by_content.values(), key=lambda v: (str(v.get("at", "")), _canonical(v))))


def _canonical(plain: object) -> str:
    return json.dumps(plain, sort_keys=True)
