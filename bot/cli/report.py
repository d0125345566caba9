"""What `run` and `triage` say at the end: the same facts as a table and as JSON."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from bot.progress import counts_table, findings_table
from bot.record import Record
from bot.session import Outcome
from bot.store import Store
from fuzzers.records import Finding, Json, encode


def show(console: Console, outcome: Outcome, store: Store, out: Path) -> None:
    """Tables of what the campaigns did and of all open findings, and what to do next."""
    for record in outcome.campaigns:
        console.print(counts_table(record))
        console.print()
    rows = [(finding, is_new(finding, outcome), place(finding, store, out)) for finding in listed(store)]
    if rows:
        console.print(findings_table(rows))
    else:
        console.print("no findings")
    for line in next_steps(outcome, out):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def document(outcome: Outcome, store: Store, out: Path) -> Json:
    """The same for programs."""
    return {
        "build": encode(outcome.build),
        "campaigns": [campaign(record) for record in outcome.campaigns],
        "triage": encode(outcome.triaged) if outcome.triaged is not None else None,
        "triage_skipped": outcome.why_not,
        "waiting": outcome.waiting,
        "findings": [_finding(finding, outcome, store, out) for finding in listed(store)],
        "exit_code": outcome.exit_code,
    }


def campaign(record: Record) -> Json:
    """A campaign's record with the figures that are computed from it."""
    plain = encode(record)
    return {
        **plain,
        "programs_per_second": round(record.programs_per_second, 3),
        "legal_rate": round(record.tally.legal_rate, 4),
        "aspects": record.spec.aspects,
    }


def listed(store: Store) -> list[Finding]:
    """The open findings, most severe first."""
    found = [finding for finding in store.findings() if finding.state == "open"]
    return sorted(found, key=lambda finding: (finding.suspect.kind.severity, finding.signature))


def is_new(finding: Finding, outcome: Outcome) -> bool:
    """Whether this command found it first."""
    return outcome.triaged is not None and finding.signature in outcome.triaged.new


def place(finding: Finding, store: Store, out: Path) -> Path:
    """Its reproducer in the outbox; in the store when it is not severe enough to become an issue."""
    issue = out / "issues" / finding.signature / "repro.py"
    return issue if issue.exists() else store.finding_folder(finding.signature) / "repro.py"


def next_steps(outcome: Outcome, out: Path) -> list[str]:
    """What is left to do, a line each."""
    lines = []
    if outcome.issues:
        lines.append(f"issues: {len(outcome.issues)} in {out / 'issues'}, each with a repro.py that fails")
    if outcome.why_not and not outcome.campaigns:
        lines.append(outcome.why_not)
    elif outcome.why_not:
        lines.append(f"no triage: {outcome.why_not}; `nightfuzz triage --out {out}` does it")
    elif outcome.waiting:
        lines.append(
            f"suspects that wait for more time: {outcome.waiting}; `nightfuzz triage --out {out}` goes on"
        )
    if outcome.triaged is not None:
        lines += [f"suspect {ident}: {message}" for ident, message in outcome.triaged.failures]
    return lines


def _finding(finding: Finding, outcome: Outcome, store: Store, out: Path) -> Json:
    issue = out / "issues" / f"{finding.signature}.md"
    return {
        "signature": finding.signature,
        "new": is_new(finding, outcome),
        "kind": str(finding.suspect.kind),
        "aspect": str(finding.suspect.aspect),
        "stage": finding.stage,
        "label": finding.label,
        "title": finding.title,
        "operators": list(finding.operators),
        "suspects": len(finding.suspects),
        "repro": str(place(finding, store, out)),
        "issue": str(issue) if issue.exists() else None,
    }
