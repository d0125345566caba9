"""`nightfuzz plan`: which builds are untested, as an Actions matrix."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from bot import planning
from bot.builds.channels import interpreter, newest
from bot.builds.pythons import examine
from bot.cli import options
from bot.files import utc_now
from bot.store import Store


def plan(
    out: options.Out = None,
    build: options.Build = None,
    framework: options.Framework = None,
    variant: options.Variant = None,
    engine: options.Engine = None,
    nightly_index: options.NightlyIndex = None,
    mindspore_index: options.MindsporeIndex = None,
    shards: Annotated[str | None, options.flag("shards")] = None,
    github_output: Annotated[
        Path | None, typer.Option("--github-output", help="File to add `matrix=` and `any=` to.")
    ] = None,
    json: options.AsJson = False,
) -> int:
    """The shards of a night: the newest build, unless it was tested, by engine, each with a seed."""
    github = github_output
    flags = {
        "out": out, "build": build, "framework": framework, "variant": variant, "engine": engine,
        "nightly_index": nightly_index, "mindspore_index": mindspore_index, "shards": shards,
    }  # fmt: skip
    settings = options.settings(flags)
    with options.screen() as screen:
        ledger = Store(settings.out / "store", screen.say).ledger()
    if settings.build == "installed":
        offers, python = [planning.installed(settings.framework)], ""
    else:
        offers, python = [newest(settings)], examine(interpreter(settings)).version
    day = utc_now()[:10]
    found = planning.shards(offers, ledger, settings.engine, settings.shards, day, python)
    document = planning.matrix(found)
    if github is not None:
        with github.open("a", encoding="utf-8") as file:
            file.write(f"matrix={json_text.dumps(document)}\nany={str(bool(found)).lower()}\n")
    if json:
        options.print_json(document)
    else:
        for shard in found:
            options.results().print(f"{shard.name}: {shard.build}, seed {shard.seed}", highlight=False)
        if not found:
            options.results().print("every engine has tested the newest build", highlight=False)
    return 0
