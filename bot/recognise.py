"""Which finding of the store a new failure is, and which ones it may be.

Invariant: pure; findings are looked at in the order in which they were first seen, so that what is joined
does not depend on names, and the oldest of several that fit is the one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from bot.fingerprint import traits_of
from bot.near import Seen, likeness, same
from fuzzers.records import Finding

WITHOUT = "without"
"""Key of a finding's detail: part of the compiler -> whether the reproducer is right without it."""
MOST_NEAR = 5
"""Findings that are offered as possible duplicates: more than a few help nobody."""


@dataclass(frozen=True)
class Recognised:
    """`known` is the signature of the finding that the failure is ("" for none), `why` what showed it;
    `near` are those that it may be, with the reason."""

    known: str = ""
    why: str = ""
    near: tuple[tuple[str, str], ...] = ()


def recognise(findings: Iterable[Finding], seen: Seen, script: str) -> Recognised:
    """Hold a failure against findings of its framework. The same script is the same bug; otherwise an
    experiment must have shown it (`bot.near`)."""
    near = []
    for finding in sorted(findings, key=lambda f: (f.first_seen, f.signature)):
        if finding.suspect.build.framework != seen.traits.framework:
            continue
        if script in scripts(finding):
            return Recognised(finding.signature, "the same reproducer")
        theirs = seen_of(finding)
        if part := same(theirs, seen):
            return Recognised(finding.signature, f"both are right without {part}")
        if why := likeness(theirs.traits, seen.traits):
            near.append((finding.signature, why))
    return Recognised(near=tuple(near[:MOST_NEAR]))


def scripts(finding: Finding) -> set[str]:
    """The reproducers that lead to a finding, as far as they are kept."""
    return {finding.script, *(str(v.get("script", "")) for v in finding.detail.get("variants", []))}


def seen_of(finding: Finding) -> Seen:
    """A finding as it is compared."""
    without = finding.detail.get(WITHOUT)
    return Seen(traits_of(finding), dict(without) if isinstance(without, dict) else {})


def with_alias(finding: Finding, signature: str) -> Finding:
    """The finding with one more name."""
    if signature == finding.signature or signature in finding.aliases:
        return finding
    return replace(finding, aliases=tuple(sorted({*finding.aliases, signature})))
