"""`nightfuzz builds`: what a channel has, which build is next, and an interpreter for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from bot.builds.channels import channel, environments, newest
from bot.builds.environments import CannotInstall
from bot.builds.offer import Offer
from bot.builds.untested import trial_that_tested
from bot.cli import options
from bot.errors import MachineryFailure
from bot.settings import Settings
from bot.states import Ledger
from bot.store import Store
from fuzzers.records import Json, encode

app = typer.Typer(help="What a channel has, which build is next, and an interpreter for it.")

Untested = Annotated[
    bool, typer.Option("--untested", help="Only if an engine has not tested it; without one, nothing.")
]


@app.command("list")
def list_builds(
    build: options.Build = None,
    framework: options.Framework = None,
    variant: options.Variant = None,
    nightly_index: options.NightlyIndex = None,
    mindspore_index: options.MindsporeIndex = None,
    interpreter: options.Interpreter = None,
    cache: options.Cache = None,
    out: options.Out = None,
    json: options.AsJson = False,
) -> int:
    """The builds of a channel, oldest first; which are installed, and which were tested (store in --out)."""
    settings = _settings(locals())
    source = channel(settings)
    rows = _rows(settings, source.offers())
    if json:
        options.print_json({"channel": source.name, "builds": rows})
        return 0
    table = Table(show_edge=False)
    for heading in ("build", "variant", "date", "installed", "tested by"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        name = f"{row['framework']} {row['version']}"
        installed = "yes" if row["installed"] else ""
        cells = (name, row["variant"], row["date"], installed, ", ".join(row["tested_by"]))
        table.add_row(*(escape(cell) for cell in cells))
    options.results().print(table)
    return 0


@app.command("latest")
def latest(
    build: options.Build = None,
    framework: options.Framework = None,
    variant: options.Variant = None,
    engine: options.Engine = None,
    nightly_index: options.NightlyIndex = None,
    mindspore_index: options.MindsporeIndex = None,
    interpreter: options.Interpreter = None,
    cache: options.Cache = None,
    out: options.Out = None,
    untested: Untested = False,
    json: options.AsJson = False,
) -> int:
    """The newest build of a channel; with --untested only if one of the engines has not tested it."""
    settings = _settings({name: value for name, value in locals().items() if name != "untested"})
    (row,) = _rows(settings, [newest(settings)])
    is_new = any(engine not in row["tested_by"] for engine in settings.engine)
    shown = row if is_new or not untested else None
    if json:
        options.print_json({"build": shown})
    elif shown is None:
        options.results().print("no new build")
    else:
        options.results().print(f"{row['framework']} {row['version']}", highlight=False, markup=False)
    return 0


@app.command("install")
def install(
    version: Annotated[str, typer.Argument(help="Version to install; default: the newest.")] = "",
    build: options.Build = None,
    framework: options.Framework = None,
    variant: options.Variant = None,
    nightly_index: options.NightlyIndex = None,
    mindspore_index: options.MindsporeIndex = None,
    interpreter: options.Interpreter = None,
    cache: options.Cache = None,
    cache_gib: options.CacheGib = None,
    json: options.AsJson = False,
) -> int:
    """Make the environment of a build, or find it, and print its interpreter.

    Ends with 3 when the build cannot be installed.
    """
    settings = _settings({name: value for name, value in locals().items() if name != "version"})
    offer = _named(settings, version) if version else newest(settings)
    with (
        options.screen() as screen,
        options.interruptible(screen) as stop,
        environments(settings, screen.say, stop.is_set).using(offer) as got,
    ):
        if isinstance(got, CannotInstall):
            raise MachineryFailure(f"{offer.name} cannot be installed: {got.reason}")
    if json:
        options.print_json({"build": encode(got)})
    else:
        options.say(got.interpreter)
    return 0


def _settings(flags: Json) -> Settings:
    return options.settings({name: value for name, value in flags.items() if name != "json"})


def _named(settings: Settings, version: str) -> Offer:
    offers = channel(settings).offers()
    for offer in reversed(offers):
        if version in (offer.version, offer.version.partition("+")[0]):
            return offer
    newest_few = ", ".join(offer.version for offer in offers[-3:])
    raise MachineryFailure(f"the {settings.build} channel has no {version}; its newest are {newest_few}")


def _rows(settings: Settings, offers: list[Offer]) -> list[Json]:
    """Each offer with what the cache and the ledger say of it."""
    kept = environments(settings, _silent)
    ledger = _ledger(settings.out)
    engines = sorted({trial.engine for trial in ledger.builds.values()})
    python = kept.python.version
    return [
        {
            **encode(offer),
            "installed": kept.has(offer),
            "tested_by": [
                engine for engine in engines if trial_that_tested(offer, ledger, engine, "", python)
            ],
        }
        for offer in offers
    ]


def _ledger(out: Path) -> Ledger:
    """The ledger below an output folder, which need not be there."""
    with options.screen() as screen:
        return Store(out / "store", screen.say).ledger() if (out / "store").is_dir() else Ledger()


def _silent(line: str) -> None:
    """Nothing is installed here, so there is nothing to say."""
