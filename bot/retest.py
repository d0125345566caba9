"""Every open finding on a build: reproduces, gone, flaky or cannot-run, with the reason.

Invariant: what is run is the script as the finding's folder holds it, in fresh processes, and the verdict is
added to the finding's history, once a build (a second retest of a build replaces the first).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bot.confirm import FRESH_RUNS, Fresh
from bot.errors import MachineryFailure
from bot.files import utc_now
from bot.store import Store
from bot.verdict import verdict
from fuzzers.records import Build, Expect, Finding, Json, Verdict


@dataclass(frozen=True)
class Retested:
    """One finding's verdict on a build. `changed` tells that it fails in another way than recorded."""

    signature: str
    title: str
    verdict: Verdict
    changed: bool
    reason: str


def retest(
    store: Store,
    build: Build,
    fresh: Fresh,
    tell: Callable[[Retested], None] = lambda one: None,
) -> list[Retested]:
    """Retest the open findings of `build`'s framework, in order of their signatures. A failure of the
    machinery is `cannot-run` with its reason, and the rest goes on."""
    done = []
    for finding in list(store.findings()):
        if finding.state != "open" or finding.suspect.build.framework != build.framework:
            continue
        found = one(finding, store.script(finding), fresh)
        store.put_finding(recorded(finding, build, found, utc_now()))
        tell(found)
        done.append(found)
    return done


def one(finding: Finding, script: str, fresh: Fresh) -> Retested:
    """The verdict of FRESH_RUNS fresh runs of one script."""
    try:
        judged, changed, reason = verdict(expected(finding), fresh([script] * FRESH_RUNS))
    except MachineryFailure as failure:
        judged, changed, reason = Verdict.CANNOT_RUN, False, f"the machinery failed: {failure}"
    return Retested(finding.signature, finding.title, judged, changed, reason)


def expected(finding: Finding) -> Expect:
    """How the finding's reproducer ends on a bad build."""
    return finding.suspect.expect


def recorded(finding: Finding, build: Build, found: Retested, at: str) -> Finding:
    """The finding with one more verdict, which replaces an older one on the same build."""
    entry: Json = {
        "build": build.name,
        "variant": build.variant,
        "git_sha": build.git_sha,
        "python": build.python,
        "verdict": str(found.verdict),
        "changed": found.changed,
        "reason": found.reason,
        "at": at,
    }
    key = ("build", "variant", "git_sha", "python")
    others = [v for v in finding.verdicts if any(v.get(k) != entry[k] for k in key)]
    return replace(finding, verdicts=(*others, entry))
