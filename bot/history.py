"""What the verdicts of many builds amount to: whether a finding is open or gone, and what changed on one.

Invariant: pure; the state follows from the verdicts and a person's decision, in whatever order the builds
were tested. Builds count by their age, not by when somebody ran them: that a bug is absent from builds older
than the one that shows it says nothing about its being gone. Variants of one build are one build, and the
worst word of them counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from packaging.version import InvalidVersion, Version

from fuzzers.records import Build, Finding, Json, Verdict

GONE_AFTER = 3
"""Builds in a row that must say `gone`: one is an accident, and a fix that is reverted lasts a day or two."""

MOST_CHANGES = 5
MOST_SHARE = 0.2
"""More changes of open findings on one build than both of these are the build's doing, or ours."""

_WORST_FIRST = (Verdict.REPRODUCES, Verdict.FLAKY, Verdict.GONE, Verdict.CANNOT_RUN)

Age: TypeAlias = tuple[Version, str]


@dataclass(frozen=True)
class Word:
    """What one build says: its age (version, then when it was tested), what its variants share, the worst
    of its verdicts, and the name of one of them for people."""

    age: Age
    build: str
    verdict: Verdict
    name: str = ""


def words(finding: Finding) -> list[Word]:
    """What the builds say, a word each, oldest first. The build on which it was found said `reproduces`,
    unless it has been asked again."""
    found_on = entry(finding.suspect.build, Verdict.REPRODUCES)
    by_build: dict[str, list[Json]] = {}
    for verdict in finding.verdicts:
        if verdict.get("verdict") in list(Verdict):
            by_build.setdefault(_same_build(verdict), []).append(verdict)
    by_build.setdefault(_same_build(found_on), [found_on])
    return sorted((_word(*said) for said in by_build.items()), key=lambda word: word.age)


def state(finding: Finding) -> str:
    """The state that the verdicts amount to, unless a person has decided: gone after GONE_AFTER builds in a
    row (one that cannot run is passed over, a flaky one ends the row), open when the newest word is that it
    reproduces, else as it was."""
    if (decided := decision(finding)) is not None:
        return decided
    said = [word.verdict for word in words(finding) if word.verdict is not Verdict.CANNOT_RUN]
    if said[-1:] == [Verdict.REPRODUCES]:
        return "open"
    if said[-GONE_AFTER:] == [Verdict.GONE] * GONE_AFTER:
        return "gone"
    return finding.state


def decision(finding: Finding) -> str | None:
    """The state that a person has decided on (`bot.merge`)."""
    decided = finding.detail.get("decision")
    return str(decided["state"]) if isinstance(decided, dict) and "state" in decided else None


def has_changed(finding: Finding, build: Build) -> bool:
    """Whether `build` says another thing than the last build before it that could run the script. A build
    older than all the others changes nothing."""
    said = words(finding)
    this = _same_build(entry(build, Verdict.REPRODUCES))
    place = next((i for i, word in enumerate(said) if word.build == this), 0)
    before = [word.verdict for word in said[:place] if word.verdict is not Verdict.CANNOT_RUN]
    return bool(before) and said[place].verdict is not before[-1]


def too_many(changed: int, of_open: int) -> str:
    """Why nothing may follow from so many changes on one build; empty when it may."""
    if changed <= MOST_CHANGES or changed <= MOST_SHARE * of_open:
        return ""
    return f"{changed} of {of_open} open findings changed their verdict: it is the build or us"


def entry(build: Build, verdict: Verdict, at: str = "", *, changed: bool = False, reason: str = "") -> Json:
    """One verdict as `Finding.verdicts` has it."""
    return {
        "build": build.name,
        "variant": build.variant,
        "git_sha": build.git_sha,
        "python": build.python,
        "verdict": str(verdict),
        "changed": changed,
        "reason": reason,
        "at": at,
    }


def noted(finding: Finding, one: Json) -> Finding:
    """The finding with one more `entry`, in place of an older one of the same build, variant and Python. One
    that says nothing replaces none that said something."""
    key = ("build", "variant", "git_sha", "python")
    before = [v for v in finding.verdicts if all(v.get(k) == one[k] for k in key)]
    says_nothing = one["verdict"] == Verdict.CANNOT_RUN
    if says_nothing and any(v.get("verdict") != Verdict.CANNOT_RUN for v in before):
        return finding
    others = [v for v in finding.verdicts if any(v.get(k) != one[k] for k in key)]
    failed = one["verdict"] == Verdict.REPRODUCES
    seen = max(finding.last_seen, one["at"]) if failed else finding.last_seen
    return replace(finding, verdicts=(*others, one), last_seen=seen)


def _same_build(verdict: Json) -> str:
    """What the variants of a build share: the commit, or else the version without its local label."""
    return str(verdict.get("git_sha") or _version(verdict).partition("+")[0])


def _word(build: str, verdicts: Sequence[Json]) -> Word:
    worst = min((Verdict(v["verdict"]) for v in verdicts), key=_WORST_FIRST.index)
    return Word(max(map(_age, verdicts)), build, worst, str(verdicts[0].get("build", "")))


def age(build: Build) -> Version:
    """The version of a build, as ages count."""
    return _age(entry(build, Verdict.REPRODUCES))[0]


def _age(verdict: Json) -> Age:
    """A version that is none is older than every other."""
    try:
        version = Version(_version(verdict))
    except InvalidVersion:
        version = Version("0.dev0")
    return version, str(verdict.get("at", ""))


def _version(verdict: Json) -> str:
    """Of `torch 2.13.0+cpu`, the name in a verdict, the part that is the version."""
    return str(verdict.get("build", "")).rpartition(" ")[2]
