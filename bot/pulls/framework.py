"""A pull request of the framework itself: the wheel of its head against the wheel of its base.

Invariant: head and base are what the settings' pattern gives for these two commits, and nothing else: where
a wheel is missing the answer is "no wheel for SHA". A finding on the head is new when its script, run three
times in fresh processes, is right on the base.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from bot.builds.web import NotThereError
from bot.commands.order import Order
from bot.confirm import FRESH_RUNS
from bot.errors import MachineryFailure, UserMistake
from bot.pulls.result import MOST_FINDINGS, Figures, Result, as_told, short
from bot.session import Session, Voice, fresh_runner
from bot.settings import Settings
from bot.verdict import verdict
from fuzzers.records import Build, Finding, Verdict

CAMPAIGN_SHARE = 0.5
"""Of the order's time; the rest is for triage."""


class NoWheelError(Exception):
    """A commit has no wheel; the message names the commit."""


def compare_wheels(
    order: Order, settings: Settings, folder: Path, voice: Voice, stop: threading.Event
) -> Result:
    """The engines on the head's wheel; what they find, on the base's."""
    bare = Result(head_sha=order.head_sha, base_sha=order.base_sha, build="")
    try:
        sides = {
            sha: _session(sha, order, settings, folder, voice, stop)
            for sha in (order.head_sha, order.base_sha)
        }
    except NoWheelError as error:
        return bare.model_copy(update={"notes": (short(str(error)),)})
    head, base = sides[order.head_sha], sides[order.base_sha]
    outcome = head.run(fresh=True)
    findings = [f for f in head.store.findings() if f.state == "open"]
    verdicts = on_base(findings, base.build, folder, settings.workers)
    new = [f for f in findings if verdicts[f.signature] is not Verdict.REPRODUCES]
    new.sort(key=lambda f: (f.suspect.kind.severity, f.signature))
    notes = [
        f"{f.signature}: what the base does is not known ({verdicts[f.signature]})"
        for f in new
        if verdicts[f.signature] is not Verdict.GONE
    ]
    if outcome.waiting:
        notes.append(f"{outcome.waiting} suspects were not looked into; a larger --budget helps")
    return Result(
        waiting=outcome.waiting,
        head_sha=order.head_sha,
        base_sha=order.base_sha,
        build=head.build.name,
        findings=tuple(map(as_told, new[:MOST_FINDINGS])),
        figures=tuple(
            Figures(
                path="",
                engine=record.spec.engine,
                base="compared",
                checked=record.tally.checked,
                suspects=record.suspects,
                seconds=record.seconds,
            )
            for record in outcome.campaigns
        ),
        notes=tuple(map(short, notes[:MOST_FINDINGS])),
    )


def _session(
    sha: str, order: Order, settings: Settings, folder: Path, voice: Voice, stop: threading.Event
) -> Session:
    """A session on the wheel of a commit. NoWheelError."""
    if not settings.wheel_url:
        raise NoWheelError(f"no wheel for {sha}: the settings have no `wheel_url`")
    where = settings.wheel_url.replace("{sha}", sha)
    changes = {
        "build": where,
        "out": folder / sha,
        "engine": order.engines or settings.engine,
        "budget": order.budget * CAMPAIGN_SHARE,
        "triage_budget": order.budget * (1 - CAMPAIGN_SHARE),
    }
    try:
        if urlsplit(where).scheme in ("", "file") and not Path(urlsplit(where).path).is_file():
            raise NoWheelError(f"no wheel for {sha}")
        return Session(settings.model_copy(update=changes), voice, stop, startup_counts=False)
    except NotThereError as error:
        raise NoWheelError(f"no wheel for {sha}") from error
    except (UserMistake, MachineryFailure) as error:
        raise NoWheelError(f"no wheel for {sha} that can be used: {error}") from error


def on_base(findings: Sequence[Finding], base: Build, folder: Path, workers: int) -> dict[str, Verdict]:
    """What each finding's script says on the base."""
    runner = fresh_runner(base, workers, None)
    told = {}
    for finding in findings:
        found, _, _ = verdict(finding.suspect.expect, runner([finding.script] * FRESH_RUNS))
        told[finding.signature] = found
    return told
