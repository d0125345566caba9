"""`nightfuzz merge`: what another store has, taken into this one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from bot.cli import options
from bot.errors import UserMistake
from bot.files import check_writable
from bot.merging import Merged
from bot.merging import merge as take_in
from bot.store import Store
from fuzzers.records import Json, encode

Other = Annotated[
    Path,
    typer.Argument(metavar="OTHER", help="Another output folder, or a store folder.", show_default=False),
]


def merge(other: Other, out: options.Out = None, json: options.AsJson = False) -> int:
    """Take the suspects, findings, runs and tested builds of another store into the one of --out.

    Doing it again changes nothing. Of what both have, the later build's word counts, and a person's
    decision always. Broken files are set aside, a line each.
    """
    settings = options.settings({"out": out})
    check_writable(settings.out)
    set_aside: list[str] = []
    with options.screen() as screen:

        def warn(line: str) -> None:
            set_aside.append(line)
            screen.say(line)

        ours, theirs = Store(settings.out / "store", warn), Store(store_folder(other), warn)
        if theirs.root.resolve() == ours.root.resolve():
            raise UserMistake(f"{other} is the store of {settings.out} itself")
        merged = take_in(ours, theirs)
    document: Json = {**encode(merged), "store": str(ours.root), "set_aside": set_aside}
    if json:
        options.print_json(document)
    else:
        options.say(summary(merged, ours.root))
    return 0


def store_folder(other: Path) -> Path:
    """The store that a person means: an output folder has one, or the folder is one."""
    for folder in (other / "store", other):
        parts = (folder / part for part in ("suspects", "findings", "ledger.json", "runs"))
        if any(os.path.exists(part) for part in parts):  # noqa: PTH110 - pathlib's raises on too long a name
            return folder
    raise UserMistake(f"{other} is no store and has none: no suspects, findings, runs or ledger.json in it")


def summary(merged: Merged, store: Path) -> str:
    """One line for people."""
    counts = {
        "new suspects": merged.suspects,
        "new findings": merged.findings,
        "joined with another": merged.joined,
        "new trials of builds": merged.trials,
        "new runs": merged.runs,
        "new holds": merged.holds,
    }
    told = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    return f"{store}: {told or 'nothing new'}"
