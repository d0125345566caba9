"""The newest build that has not been tested yet.

Invariant: what was tested is told by the ledger alone, an engine at a time. A failed install and a failed
campaign tested nothing, so the build comes up again; and nothing older than what was tested comes up, because
the newest build says most about the state of main, and bisecting dates what it shows.
"""

from __future__ import annotations

from collections.abc import Sequence

from packaging.version import InvalidVersion, Version

from bot.builds.offer import Offer
from bot.states import Ledger, Trial, Tried

TESTED = frozenset({Tried.TESTED, Tried.NO_NEW_BUILD})
"""A build that a later night found to be still the newest one was tested before."""


def untested(
    offers: Sequence[Offer], ledger: Ledger, engine: str, revision: str, python: str
) -> Offer | None:
    """The last of `offers` (oldest first), unless that engine, of that revision, has tested it under that
    Python version; None also when there are no offers."""
    if not offers or trial_that_tested(offers[-1], ledger, engine, revision, python) is not None:
        return None
    return offers[-1]


def trial_that_tested(offer: Offer, ledger: Ledger, engine: str, revision: str, python: str) -> Trial | None:
    """The trial that tested an offer; `revision` may be empty: any."""
    for trial in ledger.builds.values():
        if (
            trial.outcome in TESTED
            and (trial.framework, trial.python) == (offer.framework, python)
            and _same_version(trial.version, offer.version)
            and (trial.engine == engine and revision in ("", trial.revision))
            and _agree(trial.variant, offer.variant)
            and _agree(trial.git_sha[:12], offer.git_sha[:12])
        ):
            return trial
    return None


def _same_version(ours: str, theirs: str) -> bool:
    """A wheel says `2.14.1` where the framework in it says `2.14.1+cu130`; what is none equals itself."""
    try:
        one, other = Version(ours), Version(theirs)
    except InvalidVersion:
        return ours == theirs
    return one.public == other.public and _agree(one.local or "", other.local or "")


def _agree(ours: str, theirs: str) -> bool:
    """What one of them does not tell does not keep them apart."""
    return not ours or not theirs or ours == theirs
