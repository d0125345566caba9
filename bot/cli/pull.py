"""`nightfuzz pull`: what a pull request changes, run by the engines, base against head."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bot.cli import options
from bot.commands.order import Order, read_order
from bot.confine import private_folder
from bot.defang import inline
from bot.errors import UserMistake
from bot.pulls.result import Result, write_result
from bot.pulls.running import run
from bot.settings import Settings


def pull(
    order: Annotated[Path, typer.Option("--order", help="What `nightfuzz comment` ordered.")],
    head: Annotated[Path, typer.Option("--head", help="Checkout of the pull request's head.")],
    base: Annotated[Path, typer.Option("--base", help="Checkout of the commit that it branched from.")],
    result: Annotated[Path, typer.Option("--result", help="Where to write what came of it.")],
    interpreter: options.Interpreter = None,
    workers: options.Workers = None,
    out: options.Out = None,
    json: options.AsJson = False,
) -> int:
    """Look at what a pull request changes: as it stands, and mutated; what the base shows too is not told.

    Runs foreign code in supervised children; needs no token and contacts no tracker. The store in --out is
    read, to know a bug again, and never written. Ends with 1 when there is something new.
    """
    settings = options.settings({"interpreter": interpreter, "workers": workers, "out": out})
    found = reviewed(read_order(order), settings, head, base)
    write_result(result, found)
    if json:
        options.print_json(found.model_dump(mode="json"))
    else:
        show(found)
    return 1 if found.findings else 0


def reviewed(ordered: Order, settings: Settings, head: Path, base: Path) -> Result:
    """What came of an order on a pull request, done in a folder that goes away."""
    if ordered.verb != "run" or not ordered.head_sha:
        raise UserMistake(f"no order to run something on a pull request: its verb is {ordered.verb!r}")
    for folder in (head, base):
        if not folder.is_dir():
            raise UserMistake(f"{folder}: there is no such folder")
    with options.screen() as screen, options.interruptible(screen) as stop, private_folder() as folder:
        return run(ordered, settings, head, base, folder, screen, stop)


def show(found: Result) -> None:
    """For people, and for a job's summary: a line a finding, a line a note, all of it harmless."""
    said = [
        f"{one.path}:{one.line}: {one.title} ({'mutant' if one.mutant else 'as it stands'}, {one.signature})"
        for one in found.findings
    ]
    for line in (*(said or ["nothing new against the base"]), *found.notes):
        options.say(inline(line, longest=800))
