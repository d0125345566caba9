"""Two stores' records of one thing made into one, field by field.

Invariant: pure; merging is commutative and idempotent, so that stores may meet in any order and any number
of times. The later build's word wins, except over a person's decision (`detail["decision"]`, with its time
in `at`), which always wins; the later of two decisions counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot import history
from bot.states import UNFINISHED, Hold, Holds, Ledger, Publications, Published, TriageState, Trial
from bot.wire import text
from fuzzers.records import Finding, Json, Suspect

VARIANTS = 10
"""Variants whose scripts are kept with a finding; of more, only the content hash is."""

DECIDED = frozenset({"invalid", "wontfix", "dup"})
"""States that only a person gives."""

MOVES = ("gone", "regressed")
"""Keys of detail that say on which build a finding last changed its state."""

JOINED = "joined"
"""The key of evidence that holds, by signature, what was put beside the findings that were joined."""

EDITS = "edits"
"""The key of evidence that holds what people made of the script, where `repro.py` is another's."""


@dataclass(frozen=True)
class Kept:
    """All of a finding's folder: `script` is `repro.py`, which a person may have edited."""

    finding: Finding
    evidence: Json
    script: str

    @property
    def is_edited(self) -> bool:
        return self.script != self.finding.script

    def told_edits(self) -> set[str]:
        """What people have made of other records' scripts."""
        found = self.evidence.get(EDITS)
        return {edit for edit in found if isinstance(edit, str)} if isinstance(found, list) else set()

    def files(self) -> Iterator[tuple[str, str]]:
        """(name, text) in the order in which they are written."""
        if self.evidence:
            yield "evidence.json", text(self.evidence)
        yield "repro.py", self.script
        yield "finding.json", text(self.finding)


def merge_kept(a: Kept, b: Kept) -> Kept:
    """What two stores keep of one signature."""
    first = in_order(a.finding, b.finding)[0]
    older, newer = (a, b) if first is a.finding else (b, a)
    tie = told_at(a.finding) == told_at(b.finding)
    merged = merge_findings(a.finding, b.finding)
    edited = [
        kept.script for kept in (older, newer) if kept.is_edited and kept.finding.script == merged.script
    ]
    script = (max(edited) if tie else edited[-1]) if edited else merged.script
    evidence = _merge_evidence(older.evidence, newer.evidence, tie=tie)
    return _with_edits(Kept(merged, evidence, script), a, b)


def join_kept(older: Kept, younger: Kept) -> Kept:
    """What is kept of a finding with which another has been joined."""
    finding = join_findings(older.finding, younger.finding)
    joined = Kept(finding, _join_evidence(older.evidence, younger), older.script)
    return _with_edits(joined, older, younger)


def _with_edits(whole: Kept, *parts: Kept) -> Kept:
    """`whole` with every edited script of its parts that is not its own, and those that were told before."""
    told_before = {edit for part in parts for edit in part.told_edits()}
    edits = {part.script for part in parts if part.is_edited} - {whole.script} | told_before
    told = {EDITS: sorted(edits)} if edits else {}
    return replace(whole, evidence={k: v for k, v in whole.evidence.items() if k != EDITS} | told)


def merge_findings(a: Finding, b: Finding) -> Finding:
    """One finding out of two of the same signature."""
    if a.signature != b.signature:
        raise ValueError(f"two findings, not one: {a.signature} and {b.signature}")
    older, newer = in_order(a, b)
    tie = told_at(older) == told_at(newer)
    detail = _merge_plain(older.detail, newer.detail, tie=tie)
    return _united(
        replace(newer, state=_state(older, newer), since=_merge_plain(older.since, newer.since, tie=tie)),
        (older, newer),
        detail,
        _merge_variants(_variants(older), _variants(newer)),
    )


def join_findings(older: Finding, younger: Finding) -> Finding:
    """`older`, of which `younger` (another signature) has turned out to be the same bug. What was first
    reported stays; the younger's names become aliases and its script a variant."""
    founder = str(younger.detail.get("founder") or younger.suspect.id)
    own = {"suspect": founder, "script": younger.script, "operators": list(younger.operators)}
    known = {variant.get("suspect") for variant in _variants(older)}
    # What stands already was made of both stores' words on that suspect; one of them alone is older.
    added = [v for v in _merge_variants([own], _variants(younger)) if v.get("suspect") not in known]
    variants = _merge_variants(_variants(older), added)
    last = max((older, younger), key=told_at)
    joined = replace(older, state=_state(*sorted((older, younger), key=told_at)))
    moves = {key: last.detail[key] for key in MOVES if key in last.detail}
    return _united(joined, (older, younger), {**older.detail, **moves}, variants)


def one_each(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, in order of their signatures, with those that share a name joined into one: into one
    that no other calls an alias, and of those the one first seen."""
    return sorted(map(_joined, groups(findings)), key=lambda finding: finding.signature)


def groups(findings: Iterable[Finding]) -> list[list[Finding]]:
    """The findings in groups that share names, each with the one that the others are joined into first.
    Their signatures differ."""
    by_name: dict[str, list[Finding]] = {}
    for finding in findings:
        met = {id(g): g for name in finding.names if (g := by_name.get(name))}
        group = [finding, *(member for g in met.values() for member in g)]
        for member in group:
            by_name.update(dict.fromkeys(member.names, group))
    return [_by_age(group) for group in {id(g): g for g in by_name.values()}.values()]


def merge_suspects(a: Suspect, b: Suspect) -> Suspect:
    """One suspect out of two of the same content: the one that was found first."""
    return a if a == b else min(a, b, key=lambda s: (s.found_at == "", s.found_at, text(s)))


def merge_states(a: TriageState, b: TriageState) -> TriageState:
    """The one that is further: finished before unfinished, then more stages, then later."""

    def reached(state: TriageState) -> tuple[bool, int, str]:
        return (state.status not in UNFINISHED, len(state.stages), state.updated_at)

    if reached(a) == reached(b):
        return max(a, b, key=text)
    return max(a, b, key=reached)


def merge_ledgers(a: Ledger, b: Ledger) -> Ledger:
    """Every trial of both; of one that both have, the later word."""

    def later(x: Trial, y: Trial) -> Trial:
        return max(x, y, key=lambda trial: (trial.at, text(trial)))

    return replace(a, builds=_merge_keys(a.builds, b.builds, later))


def merge_holds(a: Holds, b: Holds) -> Holds:
    """Every hold of both; of one that both have, the later word, and that a person has accepted it."""

    def settled(x: Hold, y: Hold) -> Hold:
        later = max(x, y, key=lambda hold: (hold.at, hold.reason, text(hold)))
        return replace(later, accepted_at=max(x.accepted_at, y.accepted_at))

    return replace(a, holds=_merge_keys(a.holds, b.holds, settled))


def merge_publications(a: Publications, b: Publications) -> Publications:
    """Every record of both; of one that both have, what was written later, the later approval, every
    transition that was told, and an issue that only one of them knows of."""

    def settled(x: Published, y: Published) -> Published:
        later = max(x, y, key=lambda one: (one.number != "", one.written_at, text(one)))
        approval = max(x, y, key=lambda one: (one.approved_at, one.approved))
        return replace(
            later,
            told=tuple(sorted({*x.told, *y.told})),
            approved=approval.approved,
            approved_by=approval.approved_by,
            approved_id=approval.approved_id,
            approved_at=approval.approved_at,
            words=approval.words,
        )

    return replace(a, records=_merge_keys(a.records, b.records, settled))


def in_order(a: Finding, b: Finding) -> tuple[Finding, Finding]:
    """Two records of one finding, the one whose word counts last."""
    older, newer = sorted((a, b), key=lambda f: (told_at(f), text(_alone(f))))
    return older, newer


def told_at(finding: Finding) -> str:
    """When a build last had a word on it: by failing for a suspect, or by a verdict."""
    return max(finding.last_seen, *(str(verdict.get("at", "")) for verdict in finding.verdicts), "")


def _merge_evidence(older: Json, newer: Json, *, tie: bool) -> Json:
    """The newer's, and what only the older has."""
    merged = _merge_plain(older, newer, tie=tie)
    if JOINED in older and JOINED in newer:
        merged[JOINED] = _merge_plain(older[JOINED], newer[JOINED], tie=True)
    return merged


def _join_evidence(older: Json, younger: Kept) -> Json:
    """The older finding's evidence, with that of the younger in a place of its own."""
    own = {key: value for key, value in younger.evidence.items() if key not in (JOINED, EDITS)}
    told = {younger.finding.signature: own} if own else {}
    joined = {**younger.evidence.get(JOINED, {}), **told, **older.get(JOINED, {})}
    return {**older, JOINED: joined} if joined else older


def _united(finding: Finding, parts: Sequence[Finding], detail: Json, variants: list[Json]) -> Finding:
    """`finding` with what is the union of its parts."""
    own = {finding.signature}
    aliases = {name for part in parts for name in part.names} - own
    if decision := _later_decision(*parts):
        detail["decision"] = decision
    if variants:
        detail["variants"] = variants
    united = replace(
        finding,
        suspects=tuple(sorted({ident for part in parts for ident in part.suspects})),
        verdicts=_merge_verdicts(*(part.verdicts for part in parts)),
        first_seen=min((part.first_seen for part in parts if part.first_seen), default=""),
        last_seen=max(part.last_seen for part in parts),
        aliases=tuple(sorted(aliases)),
        near=tuple(sorted({name for part in parts for name in part.near} - aliases - own)),
        detail=detail,
    )
    return replace(united, state=_after(decision, united)) if decision else united


def _state(older: Finding, newer: Finding) -> str:
    """On the same day a failure that is still seen by one of them is open."""
    return newer.state if told_at(older) < told_at(newer) else max(older.state, newer.state)


def _joined(group: Sequence[Finding]) -> Finding:
    first, *others = group
    for other in others:
        first = join_findings(first, other)
    return first


def _by_age(group: list[Finding]) -> list[Finding]:
    def age(finding: Finding) -> tuple[bool, bool, str, str]:
        is_joined = any(finding.signature in f.aliases for f in group if f is not finding)
        return (is_joined, finding.first_seen == "", finding.first_seen, finding.signature)

    return sorted(group, key=age)


def _alone(finding: Finding) -> Finding:
    """A finding without the fields that merging changes, so that a merged one sorts as what it came from."""
    return replace(
        finding,
        state="",
        suspects=(),
        verdicts=(),
        first_seen="",
        last_seen="",
        aliases=(),
        near=(),
        since={},
        detail={},
    )


def _merge_plain(older: Json, newer: Json, *, tie: bool) -> Json:
    """The newer's values and those that only the older has; on a tie neither is newer, and which one
    counts must not depend on the order in which they came."""

    def settle(x: Any, y: Any) -> Any:
        return max(x, y, key=_canonical) if tie and x != y else y

    return _merge_keys(older, newer, settle)


def _merge_keys(a: dict[str, Any], b: dict[str, Any], settle: Callable[[Any, Any], Any]) -> dict[str, Any]:
    both = {key: settle(a[key], b[key]) for key in a.keys() & b.keys()}
    return {**a, **b, **both}


def _variants(finding: Finding) -> list[Json]:
    found = finding.detail.get("variants")
    return [v for v in found if isinstance(v, dict)] if isinstance(found, list) else []


def _merge_variants(a: list[Json], b: list[Json]) -> list[Json]:
    """One a suspect. Which ones are kept must not depend on the order in which they came."""
    by_suspect: dict[str, Json] = {}
    for variant in (*a, *b):
        ident = str(variant.get("suspect", ""))
        by_suspect[ident] = max(by_suspect.get(ident, variant), variant, key=_canonical)
    return [by_suspect[ident] for ident in sorted(by_suspect)][:VARIANTS]


def _after(decision: Json, finding: Finding) -> str:
    """The state once a decision counts. One that takes another back has none: of a finding that the other
    left decided, builds have the word again."""
    if "state" in decision:
        return str(decision["state"])
    return history.state(replace(finding, state="open")) if finding.state in DECIDED else finding.state


def _later_decision(*findings: Finding) -> Json | None:
    decisions = [d for f in findings if isinstance(d := f.detail.get("decision"), dict)]
    return max(decisions, key=lambda d: (str(d.get("at", "")), _canonical(d)), default=None)


def _merge_verdicts(*parts: tuple[Json, ...]) -> tuple[Json, ...]:
    by_content = {_canonical(verdict): verdict for part in parts for verdict in part}
    return tuple(sorted(by_content.values(), key=lambda v: (str(v.get("at", "")), _canonical(v))))


def _canonical(plain: object) -> str:
    return json.dumps(plain, sort_keys=True)
