"""`nightfuzz bisect`: since which build a script fails, or since which it does no longer."""

from __future__ import annotations

import ast
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from bot import classify
from bot.across import Question
from bot.builds.channels import channel, environments
from bot.cli import options
from bot.dating import Report, Search, remember
from bot.durations import seconds
from bot.ends import stretch
from bot.errors import UserMistake
from bot.files import check_writable, utc_now
from bot.retest import expected
from bot.session import fresh_runner
from bot.settings import Settings
from bot.store import Store
from fuzzers.records import Ending, Expect, Finding, Json

CHANNELS = ("release", "nightly")

SHORTEST_PREFIX = 8
"""Of a signature; `nightfuzz retest` and the tables show more."""


@dataclass(frozen=True)
class Subject:
    """What is looked for: a script, how it should fail, and the finding that it is of, if it is of one."""

    script: str
    expect: Expect
    finding: Finding | None = None


def bisect(
    subject: Annotated[str, typer.Argument(help="A script that fails, or the signature of a finding.")] = "",
    good: Annotated[
        str, typer.Option("--good", help="Version or day of a good build; default: the oldest.")
    ] = "",
    bad: Annotated[
        str, typer.Option("--bad", help="Version or day of a bad build; default: the newest.")
    ] = "",
    build: options.Build = None,
    framework: options.Framework = None,
    variant: options.Variant = None,
    nightly_index: options.NightlyIndex = None,
    mindspore_index: options.MindsporeIndex = None,
    cache: options.Cache = None,
    cache_gib: options.CacheGib = None,
    interpreter: options.Interpreter = None,
    workers: options.Workers = None,
    out: options.Out = None,
    undated: Annotated[
        bool, typer.Option("--undated", help="Every open finding that has not been bisected, newest first.")
    ] = False,
    within: Annotated[
        str,
        typer.Option("--within", help="With --undated: begin no search, and go on with none, after this."),
    ] = "30m",
    again: Annotated[bool, typer.Option("--again", help="Forget what an earlier search was told.")] = False,
    json: options.AsJson = False,
) -> int:
    """Search a channel's builds for the one that broke a script, or that put it right.

    The answer is one build, or the smallest range that can be had. A search that was stopped or killed goes
    on where it was.
    """
    flags = {name: value for name, value in locals().items() if name in Settings.model_fields}
    settings = options.settings(flags)
    if bool(subject) == undated:
        raise UserMistake("name a script or a finding, or give --undated: one of the two")
    if undated and (good or bad):
        raise UserMistake(
            "--undated looks between the oldest and the newest build: leave --good and --bad out"
        )
    if undated and settings.build not in CHANNELS:
        options.say(f"nothing to search: builds come from {settings.build}, not {' or '.join(CHANNELS)}")
        return 0
    if settings.build not in CHANNELS:
        raise UserMistake(f"--build {settings.build}: bisecting takes many builds: {' or '.join(CHANNELS)}")
    check_writable(settings.out)
    with options.screen() as screen, options.interruptible(screen) as stop:
        store = Store(settings.out / "store", screen.say)
        bench = _Bench(settings, store, flags, screen.say, stop.is_set)
        if undated:
            reports = _all_undated(bench, _deadline(within))
        else:
            looked_for = _subject(subject, store)
            reports = [bench.search(looked_for, subject, good, bad, again)]
    if json:
        documents = [report.document() for report in reports]
        options.print_json({"reports": documents} if undated else documents[0])
    else:
        for line in (line for report in reports for line in report.lines()):
            options.say(line)
    return 0


@dataclass(frozen=True)
class _Bench:
    """What searches share."""

    settings: Settings
    store: Store
    flags: Json
    say: Callable[[str], None]
    stopped: Callable[[], bool]

    def search(
        self, looked_for: Subject, name: str, good: str = "", bad: str = "", again: bool = False
    ) -> Report:
        """One search, its report written down and the finding dated."""
        settings, store = self.settings, self.store
        if looked_for.finding:
            its_framework = {"framework": looked_for.finding.suspect.build.framework}
            settings = settings.model_copy(update=its_framework)
        cached = environments(settings, self.say, self.stopped)
        between = stretch(channel(settings).offers(), good, bad)
        question = Question(
            looked_for.script,
            looked_for.expect,
            settings.framework,
            settings.variant,
            cached.python.version,
            f"{settings.build} {settings.nightly_index} {settings.mindspore_index}",
        )
        search = Search(
            store, cached, lambda one: fresh_runner(one, settings.workers, None), self.say, self.stopped
        )
        report = search.run(
            question, between, subject=name, options=_which_builds(settings, self.flags), forget=again
        )
        if looked_for.finding:
            remember(store, looked_for.finding.signature, report)
        store.record_run(f"{utc_now().replace(':', '')}-bisect-{os.getpid()}", report.document())
        return report


def _all_undated(bench: _Bench, deadline: float) -> list[Report]:
    """A search for each finding that had none, as far as the time goes."""

    def is_over() -> bool:
        return bench.stopped() or time.monotonic() >= deadline

    timed = replace(bench, stopped=is_over)
    framework = bench.settings.framework
    found = [
        finding
        for finding in bench.store.findings()
        if finding.state == "open"
        and finding.suspect.build.framework == framework
        and classify.standing(finding).change is None
    ]
    reports: list[Report] = []
    for finding in sorted(found, key=lambda one: one.first_seen, reverse=True):
        if is_over():
            break
        subject = Subject(bench.store.script(finding), expected(finding), finding)
        try:
            reports.append(timed.search(subject, finding.signature))
        except KeyboardInterrupt:  # how a search says that it was stopped; what it was told is kept
            break
    if left := len(found) - len(reports):
        bench.say(f"not bisected for want of time: {left}")
    return reports


def _deadline(within: str) -> float:
    try:
        return time.monotonic() + seconds(within)
    except ValueError:
        raise UserMistake(f"--within {within}: a duration, such as 90s or 30m") from None


def _which_builds(settings: Settings, flags: Json) -> tuple[str, ...]:
    """The flags that say which builds are meant, as a command line has them."""
    given = [(f"--{name}", flags[name]) for name in ("framework", "variant") if flags[name]]
    return ("--build", settings.build, *(part for pair in given for part in pair))


def _subject(name: str, store: Store) -> Subject:
    """The script or the finding that a person names. UserMistake when it is neither."""
    if os.path.isfile(name):  # noqa: PTH113 - pathlib's raises when the name is too long for a file
        return Subject(_script(Path(name)), Expect(Ending.ASSERTION))
    finding = store.finding(name) or _by_prefix(name, store)
    return Subject(store.script(finding), expected(finding), finding)


def _script(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError) as error:
        raise UserMistake(f"{path} is no Python script: {error}") from error
    except (
        RecursionError,
        MemoryError,
    ) as error:  # what the parser says of a program that is nested too deeply
        raise UserMistake(f"{path} is no Python script that can be read: it is nested too deeply") from error
    if not tree.body:
        raise UserMistake(f"{path} is empty")
    return text


def _by_prefix(name: str, store: Store) -> Finding:
    found = [f for f in store.findings() if len(name) >= SHORTEST_PREFIX and f.signature.startswith(name)]
    if len(found) > 1:
        raise UserMistake(f"{name!r} is the beginning of {len(found)} findings' signatures; write more of it")
    if not found:
        raise UserMistake(f"{name!r} is neither a script here nor the signature of a finding in {store.root}")
    return found[0]
