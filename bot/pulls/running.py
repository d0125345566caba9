"""An order on a pull request, by what kind of repository it is in.

Invariant: what runs is the build that was asked for, or nothing: a build that cannot be had is a note in the
result. For a user's repository that is the newest build of the channel, for head and base alike; for a
framework's the wheels of head and base, and the commands' own programs.
"""

from __future__ import annotations

import threading
from pathlib import Path

from bot.commands.order import Order
from bot.errors import MachineryFailure, UserMistake
from bot.pulls.framework import compare_wheels
from bot.pulls.result import Result, short
from bot.pulls.review import Review
from bot.pulls.workbench import Workbench
from bot.session import Session, Voice
from bot.settings import CHANNELS, Settings

CHANNEL_OF = {"": "", "latest": "nightly"}
"""What an order says of the build -> the channel, empty for the one of the settings."""


def run(
    order: Order,
    settings: Settings,
    head: Path,
    base: Path,
    folder: Path,
    voice: Voice,
    stop: threading.Event,
) -> Result:
    """Do it, in a folder of its own; `settings` have the store that is only read."""
    try:
        asked = _ordered(order, settings)
        if asked.kind == "framework":
            return compare_wheels(order, asked, folder, voice, stop)
        return _on_one_build(order, asked, head, base, folder, voice, stop)
    except NotHadError as error:
        return Result(head_sha=order.head_sha, base_sha=order.base_sha, build="", notes=(short(str(error)),))


class NotHadError(Exception):
    """The build that was asked for is not to be had; the message says which."""


def _ordered(order: Order, settings: Settings) -> Settings:
    """The settings with what the order says."""
    if order.build not in CHANNEL_OF and order.build not in CHANNELS:
        raise NotHadError(f"--build {order.build}: only `latest` is in this version; nothing was run")
    if order.framework not in ("", "torch"):
        raise NotHadError(
            f"--framework {order.framework}: not on pull requests in this version; nothing was run"
        )
    changes: dict[str, object] = {"seed": order.seed, "framework": "torch"}
    if build := CHANNEL_OF.get(order.build, order.build):
        changes["build"] = build
    return settings.model_copy(update=changes)


def _on_one_build(
    order: Order,
    settings: Settings,
    head: Path,
    base: Path,
    folder: Path,
    voice: Voice,
    stop: threading.Event,
) -> Result:
    """The changed files on one build."""
    private = settings.model_copy(update={"out": folder / "out"})
    try:
        build = Session(private, voice, stop).build
    except (UserMistake, MachineryFailure) as error:
        raise NotHadError(f"there is no build to run on: {error}") from error
    bench = Workbench(private, build, folder / "bench", voice, stop, settings.out / "store")
    return Review(order, bench, head, base, stop=stop).run()
