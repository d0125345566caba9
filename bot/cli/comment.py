"""`nightfuzz comment`: handle one issue-comment event."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from bot.cli import options
from bot.commands.event import read_event
from bot.commands.handle import Gate, Handled
from bot.commands.order import write_order
from bot.errors import UserMistake
from bot.publishing.marks import sealed
from bot.store import Store
from bot.trackers.opening import pull_host, tracker
from fuzzers.records import encode


def comment(
    event: Annotated[Path, typer.Option("--event", help="The webhook's payload (GITHUB_EVENT_PATH).")],
    order: Annotated[Path, typer.Option("--order", help="Where to write what later jobs have to do.")] = Path(
        "order.json"
    ),
    github_output: Annotated[
        Path | None, typer.Option("--github-output", help="File to add the workflow's outputs to.")
    ] = None,
    out: options.Out = None,
    tracker_: Annotated[str | None, options.flag("tracker")] = None,
    repository: Annotated[str | None, options.flag("repository")] = None,
    api: Annotated[str | None, options.flag("api")] = None,
    json: options.AsJson = False,
) -> int:
    """Answer one comment: acknowledge it, do what is quick, and write down what takes time.

    Does nothing for comments that are no command, for bots, and for people without write access.
    """
    given = {"out": out, "tracker": tracker_, "repository": repository, "api": api}
    settings = options.settings(given)
    payload = read_event(event)
    if not (payload.comment.body or "").startswith("/fuzz"):
        return _tell(json, "no command")
    outputs = github_output
    if settings.tracker == "outbox":
        raise UserMistake("an outbox takes no comments: set `tracker` to github or gitee")
    with options.screen() as screen:
        here = tracker(settings, settings.out)
        pulls = pull_host(settings) if settings.tracker == "github" else None
        store = Store(settings.out / "store", screen.say)
        gate = Gate(here, pulls, store, settings, sealed(settings, here))
        handled = gate.handle(payload)
    if handled.order is not None:
        write_order(order, handled.order)
    if outputs is not None:
        with outputs.open("a", encoding="utf-8") as file:
            file.writelines(f"{name}={value}\n" for name, value in workflow_outputs(handled).items())
    return _tell(
        json,
        handled.why or "answered",
        order=encode(handled.order) if handled.order else None,
        publish=handled.publish,
    )


def workflow_outputs(handled: Handled) -> dict[str, str]:
    """What later jobs decide by: one line each, of an order that has been checked."""
    told = {"publish": str(handled.publish).lower()}
    if (order := handled.order) is not None:
        told |= {
            "order": json_text.dumps(encode(order)),
            "verb": order.verb,
            "is_fork": str(order.is_fork).lower(),
            "head_repository": order.head_repository,
            "head_sha": order.head_sha,
            "base_sha": order.base_sha,
            "settings_sha": order.settings_sha,
        }
    return told


def _tell(json: bool, why: str, **more: object) -> int:
    if json:
        options.print_json({"said": why, "order": None, "publish": False, **more})
    else:
        options.say(why)
    return 0
