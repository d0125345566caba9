"""`nightfuzz work`: do what a command on a finding's issue ordered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bot import wire
from bot.cli import options
from bot.commands.order import read_order
from bot.commands.work import ON_FINDINGS, on_finding
from bot.errors import UserMistake
from bot.files import write_atomically
from fuzzers.records import encode


def work(
    order: Annotated[Path, typer.Option("--order", help="What `nightfuzz comment` ordered.")],
    result: Annotated[Path, typer.Option("--result", help="Where to write what came of it.")],
    out: options.Out = None,
    json: options.AsJson = False,
) -> int:
    """Retest, bisect or reduce one finding of the store in --out. Needs no token and contacts no tracker."""
    ordered = read_order(order)
    if ordered.verb not in ON_FINDINGS:
        raise UserMistake(
            f"{order} is no order on a finding: its verb is {ordered.verb!r}; `nightfuzz pull` does `run`"
        )
    settings = options.settings({"out": out})
    worked = on_finding(ordered, settings.out)
    write_atomically(result, wire.text(worked))
    if json:
        options.print_json(encode(worked))
    else:
        options.say(worked.said)
    return 3 if worked.failed else 0
