"""`nightfuzz publish`: bring the tracker in line with the store."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from bot import claims as claiming
from bot import retest
from bot.cli import options
from bot.errors import UserMistake
from bot.files import check_writable, utc_now
from bot.planning import read_matrix
from bot.publishing.act import Done
from bot.publishing.plan import Plan, Step, Waiting
from bot.publishing.publisher import Publisher
from bot.settings import Settings
from bot.store import Store
from bot.trackers.opening import tracker
from fuzzers.records import Json


def publish(
    out: options.Out = None,
    tracker_: Annotated[str | None, options.flag("tracker")] = None,
    repository: Annotated[str | None, options.flag("repository")] = None,
    api: Annotated[str | None, options.flag("api")] = None,
    upstream: Annotated[str | None, options.flag("upstream")] = None,
    publish_down_to: options.PublishDownTo = None,
    claims: Annotated[
        Path | None, typer.Option("--claims", help="Folder with the shards' artifacts, taken in first.")
    ] = None,
    matrix: Annotated[
        Path | None, typer.Option("--matrix", help="What `nightfuzz plan` planned; needed for --claims.")
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Make the writes. Without it they are only shown.")
    ] = False,
    json: options.AsJson = False,
) -> int:
    """Bring the tracker in line with the store: file, update, close, reopen; the smallest set of writes.

    Shows the plan, and makes it with --apply. Run twice it does nothing the second time. Ends with 4 when
    another publisher is at work, or the host asks for patience.
    """
    flags = {
        "out": out,
        "tracker": tracker_,
        "repository": repository,
        "api": api,
        "upstream": upstream,
        "publish_down_to": publish_down_to,
    }
    settings = options.settings(flags)
    check_writable(settings.out)
    with options.screen() as screen:
        store = Store(settings.out / "store", screen.say)
        if claims is not None:
            _take(store, claims, matrix, screen.say)
        publisher = opened(settings, store)
        publisher.tell = lambda step: screen.say(line(step))
        if not apply:
            plan, done = publisher.plan(), None
            further = publisher.upstream_plan()
            plan = Plan(plan.steps + further.steps, plan.waiting + further.waiting)
        else:
            plan, done = _applied(publisher)
    document = _document(publisher, plan, done)
    if apply:
        store.record_run(f"{utc_now().replace(':', '')}-publish-{os.getpid()}", document)
    if json:
        options.print_json(document)
    else:
        _show(plan, done, settings.out)
    return _exit_code(done)


def _take(store: Store, claims: Path, matrix: Path | None, say: Callable[[str], None]) -> None:
    """Take the artifacts into the store, and settle the states of the findings that they speak of."""
    if matrix is None or not matrix.is_file():
        raise UserMistake(
            "--claims needs --matrix, the file with what was planned: artifacts are checked by it"
        )
    taken = claiming.take(store, claims, read_matrix(matrix.read_text(encoding="utf-8")))
    for line in taken.refused:
        say(f"refused: {line}")
    for build in taken.builds:
        retest.hold(store, build)
        retest.settle(store, build.framework, build.name)
    say(f"taken: {taken.findings} findings, {taken.verdicts} verdicts, {taken.suspects} suspects")


def opened(settings: Settings, store: Store) -> Publisher:
    """A publisher of a store as the settings mean it."""
    here = tracker(settings, settings.out)
    there = tracker(settings, settings.out, upstream=True) if settings.upstream else None
    return Publisher(store, here, settings, there)


def line(step: Step) -> str:
    """What a step does, for people."""
    number = step.number or step.record.number
    about = f"{step.what} {number}".strip()
    return f"{about}: {step.finding.title} ({step.why})"


def _applied(publisher: Publisher) -> tuple[Plan, Done]:
    """The triage tracker, then the upstream's, then what the first has to be told of it."""
    steps: list[Step] = []
    waiting: list[Waiting] = []
    whole = Done()
    for part in (publisher.publish, publisher.outward, publisher.homeward):
        plan, done = part()
        steps += plan.steps
        waiting += plan.waiting
        whole.made += done.made
        whole.refused += done.refused
        whole.left += done.left
        whole.stopped = done.stopped
        whole.throttled = done.throttled
        if done.stopped:
            break
    return Plan(tuple(steps), tuple(waiting)), whole


def _exit_code(done: Done | None) -> int:
    if done is None:
        return 0
    if done.refused and not done.throttled:
        return 3
    return 4 if done.left or done.throttled else 0


def _document(publisher: Publisher, plan: Plan, done: Done | None) -> Json:
    made = {id(step) for step in done.made} if done else set()
    return {
        "tracker": publisher.tracker.name,
        "applied": done is not None,
        "steps": [
            {
                "what": str(step.what),
                "signature": step.finding.signature,
                "number": step.number or step.record.number,
                "title": step.finding.title,
                "why": step.why,
                "made": id(step) in made,
            }
            for step in plan.steps
        ],
        "waiting": [{"signature": one.signature, "title": one.title, "why": one.why} for one in plan.waiting],
        "refused": list(done.refused) if done else [],
        "left": done.left if done else 0,
        "stopped": done.stopped if done else "",
        "calls": publisher.calls(),
    }


def _show(plan: Plan, done: Done | None, out: Path) -> None:
    if done is None and plan.steps:
        table = Table(show_edge=False)
        for heading in ("what", "issue", "finding", "why"):
            table.add_column(heading, overflow="fold")
        for step in plan.steps:
            cells = (str(step.what), step.number or step.record.number, step.finding.title, step.why)
            table.add_row(*map(escape, cells))
        options.results().print(table)
        options.say(f"that is the plan; `nightfuzz publish --apply --out {out}` makes it")
    elif not plan.steps:
        options.say("nothing to do: the tracker is in line with the store")
    if done is not None:
        options.say(
            f"steps made: {len(done.made)}" + (f", left for the next run: {done.left}" if done.left else "")
        )
        for refusal in done.refused:
            options.say(f"refused: {refusal}")
        if done.stopped:
            options.say(f"stopped: {done.stopped}")
    for one in plan.waiting:
        options.say(f"waits: {one.title}: {one.why}")
