"""`nightfuzz report`: say what came of a command's work, in the job that has the token."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from bot.cli import options
from bot.commands import reply
from bot.commands.order import Order, read_order
from bot.commands.work import Worked, read_worked
from bot.defang import defang, fence, inline
from bot.errors import UserMistake
from bot.files import write_atomically
from bot.publishing.marks import Seal, sealed
from bot.pulls.checks import Reporter, Told, harmless
from bot.pulls.result import read_result
from bot.pulls.sarif import sarif
from bot.trackers.opening import pull_host, tracker
from bot.trackers.protocol import Tracker


def report(
    order: Annotated[Path, typer.Option("--order", help="What `nightfuzz comment` ordered.")],
    result: Annotated[Path, typer.Option("--result", help="What the work came to; need not be there.")],
    sarif_file: Annotated[
        Path | None, typer.Option("--sarif", help="Where to write the findings for code scanning.")
    ] = None,
    out: options.Out = None,
    json: options.AsJson = False,
) -> int:
    """Tell what came of a command: on a pull request a check run with annotations; the reply is edited.

    The result comes from a machine that ran foreign code, and is believed in nothing that can be checked.
    """
    settings = options.settings({"out": out})
    if settings.tracker == "outbox":
        raise UserMistake("an outbox has no commands to answer: set `tracker` to github or gitee")
    ordered = read_order(order)
    here = tracker(settings, settings.out)
    seal = sealed(settings, here)
    if not ordered.pull:
        _on_finding(ordered, result, here, seal)
        return 0
    found, problem = None, ""
    try:
        found = read_result(result)
    except UserMistake as error:
        problem = str(error)
    told = Reporter(ordered, found, here, pull_host(settings), seal, problem).report()
    if sarif_file is not None:
        write_atomically(sarif_file, json_text.dumps(sarif(told.findings), indent=1) + "\n")
    _say(told, json)
    return 0


def _say(told: Told, json: bool) -> None:
    if json:
        options.print_json(
            {
                "conclusion": str(told.conclusion),
                "said": told.headline,
                "cancelled": told.cancelled,
                "findings": [one.model_dump(mode="json") for one in told.findings],
            }
        )
    else:
        said = "cancelled, so nothing was reported" if told.cancelled else told.headline
        options.say(said)


def _on_finding(ordered: Order, result: Path, here: Tracker, seal: Seal) -> None:
    """The last word on a command about a finding."""
    try:
        said = worked(read_worked(result))
    except UserMistake as error:
        said = f"{ordered.verb}: no result: {inline(str(error))}."
    reply.finish(here, seal, ordered.issue, ordered.comment, said)


def worked(found: Worked) -> str:
    """What came of a command on a finding, as a reply."""
    text = defang(found.said)
    parts = [f"{found.verb}: {'it did not work' if found.failed else 'done'}.", _block(text, "text")]
    if found.script:
        parts.append(_block(harmless(found.script), "python"))
    return "\n\n".join(parts)


def _block(text: str, language: str) -> str:
    mark = fence(text)
    return f"{mark}{language}\n{text.rstrip()}\n{mark}"
