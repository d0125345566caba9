"""`nightfuzz state`: the store on a branch of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from bot.branch import Branch
from bot.cli import options
from bot.errors import UserMistake
from bot.files import check_writable
from bot.settings import Settings
from bot.store import Store

app = typer.Typer(help="The store on a branch of its own: fetch it, push it.")

Remote = Annotated[str | None, options.flag("state_remote")]
Name = Annotated[str | None, options.flag("state_branch")]


@app.command("fetch")
def fetch(
    out: options.Out = None,
    state_remote: Remote = None,
    state_branch: Name = None,
) -> int:
    """Take what the branch has into the store in --out. A branch that is not there yet is an empty one."""
    settings, branch, store = _opened(out, state_remote, state_branch)
    found = branch.fetch(store)
    options.say(f"{settings.state_branch}: fetched" if found else f"{settings.state_branch}: not there yet")
    return 0


@app.command("push")
def push(
    out: options.Out = None,
    state_remote: Remote = None,
    state_branch: Name = None,
    message: Annotated[str, typer.Option("--message", help="Of the commit.")] = "a night",
) -> int:
    """Bring the branch and the store in --out to what both have."""
    settings, branch, store = _opened(out, state_remote, state_branch)
    pushed = branch.push(store, message)
    options.say(f"{settings.state_branch}: pushed" if pushed else f"{settings.state_branch}: nothing new")
    return 0


def _opened(out: str | None, remote: str | None, name: str | None) -> tuple[Settings, Branch, Store]:
    settings = options.settings({"out": out, "state_remote": remote, "state_branch": name})
    check_writable(settings.out)
    where = settings.state_remote
    if not where and settings.repository:
        where = f"https://github.com/{settings.repository}.git"
    if not where:
        raise UserMistake("no repository for the state: set `state_remote` or `repository`")
    warn = options.screen().say
    token = settings.token.get_secret_value()
    return settings, Branch(where, settings.state_branch, token, warn), Store(settings.out / "store", warn)
