"""Findings that were named by an older recipe of signatures, under the current one.

Invariant: a finding keeps the name under which it was filed, because its folder and its issue's marker
have it; the name that the current recipe gives it is added as an alias, so that the same bug met again is
the same finding. Done on reading, and written when the finding is next written.
"""

from __future__ import annotations

import re
from dataclasses import replace

from bot import fingerprint
from fuzzers.records import Finding

_TAG = re.compile(r"v(\d+)-")


def is_older(signature: str) -> bool:
    """Whether an older recipe than the current one made this name."""
    version, current = _version(signature), _version(f"{fingerprint.VERSION}-")
    return version is not None and current is not None and version < current


def named_now(finding: Finding) -> Finding:
    """The finding, with the current recipe's name among its aliases when an older one named it."""
    if not is_older(finding.signature) or any(
        a.startswith(f"{fingerprint.VERSION}-") for a in finding.aliases
    ):
        return finding
    now = fingerprint.signature(fingerprint.traits_of(finding))
    return replace(finding, aliases=tuple(sorted({*finding.aliases, now})))


def _version(signature: str) -> int | None:
    tag = _TAG.match(signature)
    return int(tag[1]) if tag else None
