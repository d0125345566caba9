"""`nightfuzz retest`: every finding on a build, and what follows for its state."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from bot import retest as retesting
from bot.cli import options
from bot.files import check_writable, utc_now
from bot.progress import short_signature
from bot.retest import Moved, Retested, held
from bot.session import Session
from bot.settings import Settings
from bot.store import Store
from fuzzers.records import Json, Verdict, encode


def retest(
    out: options.Out = None,
    build: options.Build = None,
    framework: options.Framework = None,
    variant: options.Variant = None,
    nightly_index: options.NightlyIndex = None,
    mindspore_index: options.MindsporeIndex = None,
    cache: options.Cache = None,
    cache_gib: options.CacheGib = None,
    interpreter: options.Interpreter = None,
    workers: options.Workers = None,
    only: Annotated[str, typer.Option("--only", help="Signature of the one finding to retest.")] = "",
    accept: Annotated[
        bool,
        typer.Option(
            "--accept", help="Let what a hold keeps back follow; you have looked at it. Runs nothing."
        ),
    ] = False,
    json: options.AsJson = False,
) -> int:
    """Run every finding's repro.py on a build: reproduces, gone, flaky or cannot-run.

    Three builds in a row without it close a finding, and it opens again when it is back. When too many
    change on one build, nothing follows until somebody has looked. Ends with 1 when at least one reproduces.
    """
    flags = {name: value for name, value in locals().items() if name in Settings.model_fields}
    settings = options.settings(flags)
    if accept:
        return _accept(settings, json)
    with options.screen() as screen:
        session = Session(settings, screen)
        done = session.retest(only)
    why = held(session.store, session.build.framework)
    document: Json = {
        "build": encode(session.build),
        "findings": [encode(one) for one in done],
        "held": why,
    }
    session.record("retest", document)
    if json:
        options.print_json(document)
    elif done:
        options.results().print(_table(done))
    else:
        options.results().print(f"no open findings in {session.store.root}")
    if why and not json:
        lifts = f"`nightfuzz retest --accept --out {settings.out}`"
        options.say(f"held: {why}; when you have looked, {lifts} goes on")
    return 1 if any(one.verdict is Verdict.REPRODUCES for one in done) else 0


def _accept(settings: Settings, json: bool) -> int:
    check_writable(settings.out)
    with options.screen() as screen:
        store = Store(settings.out / "store", screen.say)
        lifted, moved = retesting.accept(store)
    document: Json = {"accepted": [encode(hold) for hold in lifted], "moved": dict(moved)}
    store.record_run(f"{utc_now().replace(':', '')}-accept-{os.getpid()}", document)
    if json:
        options.print_json(document)
    elif not lifted:
        options.say(f"nothing is held in {store.root}")
    else:
        for hold in lifted:
            options.say(f"accepted: {hold.framework} {hold.version}: {hold.reason}")
        for signature, how in moved.items():
            options.say(f"{signature}: {how}")
    return 0


def _table(done: list[Retested]) -> Table:
    table = Table(show_edge=False)
    for heading in ("finding", "verdict", "state", "title", "reason"):
        table.add_column(heading, overflow="fold")
    for one in done:
        verdict = f"{one.verdict} (changed)" if one.changed else str(one.verdict)
        state = one.state if one.moved is Moved.NOT else f"{one.state} ({one.moved})"
        cells = (short_signature(one.signature), verdict, state, one.title, one.reason)
        table.add_row(*map(escape, cells))
    return table
