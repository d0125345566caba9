"""Which of a channel's builds lie between two that a person names, by version or by date.

Invariant: pure; a name means exactly one build, or is the user's mistake, with the names that would do.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.builds.offer import Offer
from bot.errors import UserMistake

_DATE = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")


@dataclass(frozen=True)
class Stretch:
    """The builds from one end to the other, oldest first, and which end should be the good one."""

    offers: tuple[Offer, ...]
    good_is_older: bool

    @property
    def good(self) -> Offer:
        """The end that should be good."""
        return self.offers[0 if self.good_is_older else -1]

    @property
    def bad(self) -> Offer:
        """The end that should be bad."""
        return self.offers[-1 if self.good_is_older else 0]


def stretch(offers: Sequence[Offer], good: str, bad: str) -> Stretch:
    """The builds between the two that are named; an empty `good` is the oldest of all, an empty `bad` the
    newest. UserMistake when a name means no build, or both mean the same."""
    if len(offers) < 2:
        raise UserMistake(f"bisecting takes at least two builds, and the channel has {len(offers)}")
    a = place(offers, good) if good else 0
    b = place(offers, bad) if bad else len(offers) - 1
    if a == b:
        raise UserMistake(f"both ends are {offers[a].name}; name two builds with --good and --bad")
    return Stretch(tuple(offers[min(a, b) : max(a, b) + 1]), good_is_older=a < b)


def place(offers: Sequence[Offer], name: str) -> int:
    """Which of the offers a version or a date means: a whole version, one without its local label, or a
    day. UserMistake, with what is close, when none or several."""
    for spelling in (_versions, _public_versions, _dates):
        wanted = _day(name) if spelling is _dates else name
        found = [i for i, said in enumerate(spelling(offers)) if said and said == wanted]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(offers[i].version for i in found)
            raise UserMistake(f"{name!r} means several builds: {names}")
    raise UserMistake(f"no build {name!r}; there is {_close(offers, name)}")


def _versions(offers: Sequence[Offer]) -> list[str]:
    return [offer.version for offer in offers]


def _public_versions(offers: Sequence[Offer]) -> list[str]:
    return [offer.version.partition("+")[0] for offer in offers]


def _dates(offers: Sequence[Offer]) -> list[str]:
    return [offer.date for offer in offers]


def _day(name: str) -> str:
    found = _DATE.fullmatch(name)
    return "-".join(found.groups()) if found else ""


def _close(offers: Sequence[Offer], name: str) -> str:
    """For a day the builds before and after it, else the versions that look most like the name."""
    if day := _day(name):
        dated = sorted((offer.date, offer.version) for offer in offers if offer.date)
        before = [version for date, version in dated if date < day][-1:]
        after = [version for date, version in dated if date > day][:1]
        if before or after:
            return " and ".join([*before, *after])
    close = difflib.get_close_matches(name, _versions(offers), n=3, cutoff=0.0)
    return ", ".join(close)
