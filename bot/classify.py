"""What a finding is beside what was known and what other builds say: new, known, regressed; and since when.

Invariant: pure, and three-valued about builds: a regression was right on an older build, what is
pre-existing was wrong there, and for everything else it is unknown, with a reason. What the very first build
of an installation shows is pre-existing: there was no night before it, and nobody wants a new bot's first
report to be a hundred regressions. A bisect knows better than any of that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from bot import history, wire
from bot.bisect import Bisected, Outcome
from bot.builds.untested import TESTED
from bot.states import Ledger
from fuzzers.records import SCHEMA, Build, Finding, Json, Verdict, encode


class InStore(StrEnum):
    """What the store knew of a bug when it was seen."""

    NEW = "new"
    KNOWN = "known"
    REGRESSED = "regressed"
    """It was gone, and is back."""


class OnBuilds(StrEnum):
    """What older builds say about a bug."""

    REGRESSION = "regression"
    PRE_EXISTING = "pre-existing"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Change:
    """What bisecting told: as `bot.bisect.Bisected`, with the builds' names, and a compare link."""

    outcome: Outcome
    before: str
    after: str
    between: tuple[str, ...] = ()
    link: str = ""

    @classmethod
    def of(cls, found: Bisected, link: str) -> Change:
        """What is kept of a search."""
        return cls(found.outcome, found.before, found.after, found.between, link)


@dataclass(frozen=True)
class Standing:
    """Where a finding stands; `reason` tells what `on_builds` rests on, `change` what bisecting told."""

    in_store: InStore
    on_builds: OnBuilds = OnBuilds.UNKNOWN
    reason: str = "no other build was asked"
    change: Change | None = None
    schema: int = SCHEMA


@dataclass(frozen=True)
class Elsewhere:
    """The verdict of another build, named for people: `torch 2.13.0+cpu`."""

    build: str
    verdict: Verdict


def on_builds(stable: Elsewhere | None, nightly: Elsewhere | None, *, is_first: bool) -> tuple[OnBuilds, str]:
    """What the last stable release and the previous nightly say (None: not asked), and why. `is_first`:
    the build that shows the bug is the first one of the installation."""
    if is_first:
        return OnBuilds.PRE_EXISTING, "the first build that was tested here shows it"
    for older in (nightly, stable):
        if older is not None and older.verdict is Verdict.GONE:
            return OnBuilds.REGRESSION, f"{older.build} is right"
    if stable is not None and stable.verdict is Verdict.REPRODUCES:
        return OnBuilds.PRE_EXISTING, f"{stable.build} is wrong, too"
    told = [f"{older.build}: {older.verdict}" for older in (stable, nightly) if older is not None]
    return OnBuilds.UNKNOWN, "; ".join(told) or "no other build was asked"


def is_first_build(ledger: Ledger, build: Build) -> bool:
    """Whether the ledger has no other tested build of this framework."""
    same = (build.version, build.git_sha[:12])
    tested = [t for t in ledger.builds.values() if t.framework == build.framework and t.outcome in TESTED]
    return all((trial.version, trial.git_sha[:12]) == same for trial in tested)


def first_seen(ledger: Ledger, build: Build) -> Standing:
    """Where a bug stands that `build` has just shown for the first time."""
    return Standing(InStore.NEW, *on_builds(None, None, is_first=is_first_build(ledger, build)))


def heard(finding: Finding) -> Finding:
    """The finding with its standing as the verdicts of older builds make it, unless it was bisected, which
    tells more, or they tell nothing."""
    before = standing(finding)
    told, reason = on_builds(*older_builds(finding), is_first=False)
    if before.change is not None or told is OnBuilds.UNKNOWN:
        return finding
    return stand(finding, replace(before, on_builds=told, reason=reason))


def older_builds(finding: Finding) -> tuple[Elsewhere | None, Elsewhere | None]:
    """The last stable release and the last nightly, of the builds older than the one that showed the bug
    first, with what they say."""
    said = history.words(finding)
    own = history.age(finding.suspect.build)
    older = [word for word in said if word.age[0] < own]
    stable = [word for word in older if not word.age[0].is_prerelease]
    nightly = [word for word in older if word.age[0].is_devrelease]
    return _elsewhere(stable[-1:]), _elsewhere(nightly[-1:])


def _elsewhere(said: list[history.Word]) -> Elsewhere | None:
    return Elsewhere(said[0].name, said[0].verdict) if said else None


def bisected(standing: Standing, change: Change) -> Standing:
    """The standing once a search has ended."""
    told = _TOLD[change.outcome]
    if told is None:
        return replace(standing, change=change)
    verdict, words = told
    return replace(standing, on_builds=verdict, reason=words.format(change), change=change)


_TOLD: dict[Outcome, tuple[OnBuilds, str] | None] = {
    Outcome.FIRST_BAD: (OnBuilds.REGRESSION, "{0.before} is right and {0.after} is wrong"),
    Outcome.BAD_THROUGHOUT: (OnBuilds.PRE_EXISTING, "{0.before} is wrong, and so is {0.after}"),
    Outcome.FIRST_GOOD: (OnBuilds.PRE_EXISTING, "{0.before} is wrong; {0.after} is right again"),
    Outcome.GOOD_THROUGHOUT: None,
    Outcome.NOTHING_RUNS: None,
}
"""What a search says about older builds; None when it says nothing."""


def standing(finding: Finding) -> Standing:
    """Where a finding stands, as `Finding.since` has it; a plain `known` when nothing (readable) is there."""
    try:
        return wire.convert(Standing, finding.since) if finding.since else Standing(InStore.KNOWN)
    except wire.UnreadableError:
        return Standing(InStore.KNOWN)


def stand(finding: Finding, where: Standing) -> Finding:
    """The finding with its standing written into `Finding.since`."""
    return replace(finding, since=encode(where))


def reopened(finding: Finding, build: str, at: str) -> Finding:
    """A finding that was gone and has been seen again on `build`: open, and noted as regressed."""
    back: Json = {"build": build, "at": at}
    noted = replace(finding, state="open", detail={**finding.detail, "regressed": back})
    return stand(noted, replace(standing(finding), in_store=InStore.REGRESSED))


def seen_again(finding: Finding, build: Build, at: str, *, may_reopen: bool = True) -> Finding:
    """A known finding that a campaign has met on `build`: it reproduces there, and if it was gone it is
    back, unless a person has decided otherwise, or no state may change now (a hold stands)."""
    noted = history.noted(finding, history.entry(build, Verdict.REPRODUCES, at, reason="a campaign met it"))
    back = finding.state == "gone" and history.state(noted) == "open"
    may = may_reopen and history.decision(finding) is None
    return reopened(noted, build.name, at) if back and may else noted
