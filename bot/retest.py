"""Every finding on a build: reproduces, gone, flaky or cannot-run, with the reason, and what follows.

Invariant: what is run is the script as the finding's folder holds it, in fresh processes, and the verdict is
added to the finding's history, once a build (a second retest of a build replaces the first). States are
settled from the histories when all verdicts of a build are written down, so a retest that is killed is
simply run again; and while a hold stands no state changes, because a build on which half of everything
changed is broken, or we are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from bot import classify, history
from bot.confirm import FRESH_RUNS, Fresh
from bot.errors import MachineryFailure
from bot.files import utc_now
from bot.states import Hold
from bot.store import Store
from bot.verdict import verdict
from fuzzers.records import Build, Expect, Finding, Verdict

LITTLE = "tested again, it changes little"
"""The reason of a hold that was lifted by a second retest, not by a person."""


class Moved(StrEnum):
    """How a retest changed a finding's state."""

    NOT = ""
    GONE = "gone"
    REGRESSED = "regressed"
    """It was gone and is open again."""


@dataclass(frozen=True)
class Retested:
    """One finding's verdict on a build. `changed` tells that it fails in another way than recorded;
    `state` is the finding's afterwards, `moved` how it got there."""

    signature: str
    title: str
    verdict: Verdict
    changed: bool
    reason: str
    state: str = "open"
    moved: Moved = Moved.NOT


def retest(
    store: Store,
    build: Build,
    fresh: Fresh,
    tell: Callable[[Retested], None] = lambda one: None,
    only: str = "",
) -> list[Retested]:
    """Retest the findings of `build`'s framework, open and gone, in order of their signatures (or the one
    that goes by the name `only`), then settle their states. A failure of the machinery is `cannot-run` with
    its reason, and the rest goes on."""
    done = []
    for finding in list(_of(store, build.framework)):
        if only and only not in finding.names:
            continue
        found = one(finding, store.script(finding), fresh)
        _remember(store, build, found)
        tell(found)
        done.append(found)
    if done:
        hold(store, build)
    moved = settle(store, build.framework, build.name)
    now = store.catalogue.now()
    return [
        replace(found, state=after.state, moved=moved.get(after.signature, Moved.NOT))
        if (after := now.named(found.signature))
        else found
        for found in done
    ]


def one(finding: Finding, script: str, fresh: Fresh) -> Retested:
    """The verdict of FRESH_RUNS fresh runs of one script."""
    try:
        judged, changed, reason = verdict(expected(finding), fresh([script] * FRESH_RUNS))
    except MachineryFailure as failure:
        judged, changed, reason = Verdict.CANNOT_RUN, False, f"the machinery failed: {failure}"
    return Retested(finding.signature, finding.title, judged, changed, reason, finding.state)


def _remember(store: Store, build: Build, found: Retested) -> None:
    """Write a verdict into its finding as the store has it now: running took a while, in which a person may
    have decided on it, or a triage joined it with another."""
    with store.shelf.held():
        if (finding := store.finding(found.signature)) is not None:
            store.put_finding(recorded(finding, build, found, utc_now()))


def expected(finding: Finding) -> Expect:
    """How the finding's reproducer ends on a bad build."""
    return finding.suspect.expect


def recorded(finding: Finding, build: Build, found: Retested, at: str) -> Finding:
    """The finding with one more verdict, which replaces an older one on the same build."""
    one = history.entry(build, found.verdict, at, changed=found.changed, reason=found.reason)
    return classify.heard(history.noted(finding, one))


def settle(store: Store, framework: str, build: str) -> dict[str, Moved]:
    """Give every finding of a framework the state that its history amounts to, unless a hold stands; what
    moved, by signature. `build` is named as the one that it was seen on."""
    if held(store, framework):
        return {}
    moved = {}
    with store.shelf.held():
        for finding in list(_of(store, framework)):
            after, how = settled(finding, build, utc_now())
            if after != finding:
                store.put_finding(after)
                moved[finding.signature] = how
    return moved


def settled(finding: Finding, build: str, at: str) -> tuple[Finding, Moved]:
    """The finding in the state that its history amounts to, and how it moved there."""
    state = history.state(finding)
    if state == finding.state:
        return finding, Moved.NOT
    if history.decision(finding) is not None:
        return replace(finding, state=state), Moved.NOT
    if state == "open":
        return classify.reopened(finding, build, at), Moved.REGRESSED
    gone = {"build": build, "at": at}
    return replace(finding, state=state, detail={**finding.detail, "gone": gone}), Moved.GONE


def held(store: Store, framework: str = "") -> str:
    """Why no state may change and nothing may be published, the oldest reason first; empty when it may."""
    return "; ".join(
        f"{hold.framework} {hold.version}: {hold.reason}" for hold in _standing(store.holds(), framework)
    )


def accept(store: Store) -> tuple[list[Hold], dict[str, Moved]]:
    """A person has looked: lift every hold that stands and let what it held back follow. The holds lifted,
    and what moved."""
    lifted = _standing(store.holds())
    moved: dict[str, Moved] = {}
    for hold in lifted:
        store.put_hold(replace(hold, accepted_at=utc_now()))
        moved |= settle(store, hold.framework, f"{hold.framework} {hold.version}")
    return lifted, moved


def hold(store: Store, build: Build) -> None:
    """Note a hold when too much changed on `build`. One that a person has accepted stays so; one whose
    verdicts have been replaced by better ones is lifted."""
    findings = [finding for finding in _of(store, build.framework) if finding.state == "open"]
    changed = sum(history.has_changed(finding, build) for finding in findings)
    reason = history.too_many(changed, len(findings))
    now = utc_now()
    parts = (build.framework, build.version, build.variant, build.python, build.git_sha)
    new = Hold(*parts, reason=reason or LITTLE, at=now)
    before = next((hold for hold in store.holds() if hold.key == new.key), None)
    if reason and (before is None or before.reason == LITTLE):
        store.put_hold(new)
    elif not reason and before is not None and not before.accepted_at:
        store.put_hold(replace(new, accepted_at=now))


def _standing(holds: Sequence[Hold], framework: str = "") -> list[Hold]:
    mine = [hold for hold in holds if not hold.accepted_at and framework in ("", hold.framework)]
    return sorted(mine, key=lambda hold: (hold.at, hold.key))


def _of(store: Store, framework: str) -> Iterator[Finding]:
    return (finding for finding in store.findings() if finding.suspect.build.framework == framework)
