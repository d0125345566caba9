"""What people see while a command works: a live bar on a terminal, plain lines elsewhere, tables at the end.

Invariant: progress goes to standard error, so that standard output is the result alone; and a log file
gets a line every ten seconds, not a bar.
"""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table

from bot.durations import short
from bot.record import Record
from bot.steps import Fate
from fuzzers.records import Budget, Finding

PLAIN_SECONDS = 10.0


def figures(record: Record, budget: Budget) -> str:
    """One line: how fast, how many, how legal, how long still."""
    left = budget.seconds - record.seconds - record.startup
    tally = record.tally
    parts = [
        f"{tally.checked} programs checked",
        f"{record.programs_per_second:.2f}/s",
        f"{100 * tally.legal_rate:.0f}% legal",
        f"{record.suspects} suspects",
    ]
    if failed := tally.fates.get(Fate.FAILED, 0):
        parts.append(f"{failed} failed in the machinery")
    if record.restarts:
        parts.append(f"{record.restarts} workers restarted")
    if budget.candidates is not None:
        parts.append(f"step {tally.steps} of {budget.candidates}")
    return ", ".join([*parts, f"{short(left)} left"])


class Screen:
    """The `bot.session.Voice` of the command line. Use as a context: leaving it takes the bar away."""

    def __init__(self, errors: Console) -> None:
        self.errors = errors
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._said = 0.0

    def __enter__(self) -> Screen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._end_bar()

    def say(self, line: str) -> None:
        """One line, as it stands."""
        self._end_bar()
        self.errors.print(escape(line), highlight=False, soft_wrap=True)

    def campaign(self, record: Record, budget: Budget) -> None:
        """The bar, or a line when the last one is old."""
        if self.errors.is_terminal:
            self._show(record, budget)
        elif time.monotonic() - self._said > PLAIN_SECONDS:
            self._said = time.monotonic()
            self.say(figures(record, budget))

    def triage(self, ident: str, stage: str, outcome: str) -> None:
        """A line a stage."""
        self.say(f"{ident[:8]} {stage}: {outcome}")

    def _show(self, record: Record, budget: Budget) -> None:
        if self._bar is None:
            columns = (BarColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=self.errors, transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=budget.seconds)
        assert self._task is not None
        self._bar.update(
            self._task,
            completed=min(budget.seconds, record.seconds + record.startup),
            description=escape(figures(record, budget)),
        )

    def _end_bar(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = self._task = None


def findings_table(findings: list[tuple[Finding, bool, Path]]) -> Table:
    """(finding, whether it is new, where its issue or its reproducer is) as a table."""
    table = Table(title="Findings", title_justify="left", show_edge=False)
    for heading in ("finding", "kind", "stage", "title", "where to look"):
        table.add_column(heading, overflow="fold")
    for finding, new, path in findings:
        mark = " (new)" if new else ""
        cells = (
            short_signature(finding.signature) + mark,
            finding.suspect.kind,
            finding.stage,
            finding.title,
            path,
        )
        table.add_row(*(escape(str(cell)) for cell in cells))
    return table


def short_signature(signature: str) -> str:
    """Enough of a signature to tell two apart: its version tag and eight digits."""
    tag, dash, digest = signature.rpartition("-")
    return f"{tag}{dash}{digest[:8]}"


def counts_table(record: Record) -> Table:
    """What a campaign did, as a table."""
    tally = record.tally
    table = Table(title=f"Campaign {record.id}", title_justify="left", show_edge=False, show_header=False)
    rows = [
        ("proposed", tally.counts.get("proposed", 0)),
        ("executed", tally.executed),
        ("checked", tally.checked),
        ("legal", f"{100 * tally.legal_rate:.1f}%"),
        (f"programs a second ({record.spec.aspects})", f"{record.programs_per_second:.2f}"),
        ("new suspects", record.suspects),
        *((f"dropped: {reason}", n) for reason, n in sorted(tally.dropped.items())),
        *((f"steps: {fate}", n) for fate, n in sorted(tally.fates.items()) if fate != "checked"),
        ("workers restarted", record.restarts),
        ("peak memory", f"{record.peak_mib:.0f} MiB"),
        ("time", f"{short(record.seconds)} and {short(record.startup)} to start"),
    ]
    for name, value in rows:
        table.add_row(escape(name), str(value))
    return table
