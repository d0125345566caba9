"""The flags that several subcommands share, and how they become settings.

Invariant: a flag is one of `bot.settings.Settings`, checked there, whichever way it was given; its help
text is the setting's description.
"""

from __future__ import annotations

import json as json_text
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console

from bot.progress import Screen
from bot.settings import Settings, load
from fuzzers.records import Json


def flag(name: str, *also: str) -> Any:
    """The flag of a setting."""
    written = f"--{name.replace('_', '-')}"
    return typer.Option(written, *also, help=Settings.model_fields[name].description, show_default=False)


Engine: TypeAlias = Annotated[str | None, flag("engine")]
Seed: TypeAlias = Annotated[int | None, flag("seed")]
Time: TypeAlias = Annotated[str | None, flag("budget")]
TriageTime: TypeAlias = Annotated[str | None, flag("triage_budget")]
Workers: TypeAlias = Annotated[int | None, flag("workers")]
Out: TypeAlias = Annotated[str | None, flag("out")]
Build: TypeAlias = Annotated[str | None, flag("build")]
Framework: TypeAlias = Annotated[str | None, flag("framework")]
Variant: TypeAlias = Annotated[str | None, flag("variant")]
NightlyIndex: TypeAlias = Annotated[str | None, flag("nightly_index")]
MindsporeIndex: TypeAlias = Annotated[str | None, flag("mindspore_index")]
Cache: TypeAlias = Annotated[str | None, flag("cache")]
CacheGib: TypeAlias = Annotated[float | None, flag("cache_gib")]
Interpreter: TypeAlias = Annotated[str | None, flag("interpreter")]
Aspects: TypeAlias = Annotated[str | None, flag("aspects")]
Candidates: TypeAlias = Annotated[int | None, flag("candidates")]
PublishDownTo: TypeAlias = Annotated[str | None, flag("publish_down_to")]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="One JSON document on standard output, the rest on standard error.")
]

settings = load
"""Flags, as they were given or None, to settings."""


def screen() -> Screen:
    """Where progress goes: standard error."""
    return Screen(Console(stderr=True))


def results() -> Console:
    """Where a result for people goes: standard output, wide enough for paths when it is not a terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=max(console.width, 160))


def say(line: str) -> None:
    """One line of a result for people, as it is: no markup, no colours, no line breaks of ours."""
    results().print(line, highlight=False, soft_wrap=True, markup=False)


def print_json(document: Json) -> None:
    """The one document on standard output."""
    json_text.dump(document, sys.stdout, indent=1)
    sys.stdout.write("\n")


@contextmanager
def interruptible(shown: Screen) -> Iterator[threading.Event]:
    """An event that the first Ctrl-C (or SIGTERM) sets; the second one raises KeyboardInterrupt."""
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        shown.say("stopping with what there is; once more stops at once")

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
