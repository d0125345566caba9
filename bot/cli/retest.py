"""`nightfuzz retest`: every open finding on a build."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from bot.cli import options
from bot.progress import short_signature
from bot.retest import Retested
from bot.session import Session
from fuzzers.records import Json, Verdict, encode


def retest(
    out: options.Out = None,
    build: options.Build = None,
    interpreter: options.Interpreter = None,
    workers: options.Workers = None,
    json: options.AsJson = False,
) -> int:
    """Run every open finding's repro.py on a build: reproduces, gone, flaky or cannot-run.

    Ends with 1 when at least one still reproduces.
    """
    settings = options.settings({"out": out, "build": build, "interpreter": interpreter, "workers": workers})
    with options.screen() as screen:
        session = Session(settings, screen)
        done = session.retest()
    document: Json = {"build": encode(session.build), "findings": [encode(one) for one in done]}
    session.record("retest", document)
    if json:
        options.print_json(document)
    elif done:
        options.results().print(_table(done))
    else:
        options.results().print(f"no open findings in {session.store.root}")
    return 1 if any(one.verdict is Verdict.REPRODUCES for one in done) else 0


def _table(done: list[Retested]) -> Table:
    table = Table(show_edge=False)
    for heading in ("finding", "verdict", "title", "reason"):
        table.add_column(heading, overflow="fold")
    for one in done:
        verdict = f"{one.verdict} (changed)" if one.changed else str(one.verdict)
        table.add_row(*(escape(c) for c in (short_signature(one.signature), verdict, one.title, one.reason)))
    return table
