"""The nightly channels: torch's index of dated versions, MindSpore's dated folders.

Invariant: every offer has a date, and the offers are in the order in which the builds were made. The two
differ in where the date is: in the version (`2.15.0.dev20261101+cpu`), or in the folder, whose wheels carry
the same version for months, so that the folder's time becomes the version's label.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import unquote, urljoin, urlsplit

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from bot.builds.offer import Offer
from bot.builds.pythons import Python
from bot.builds.web import NotThereError, Web
from bot.builds.wheels import fitting, links, rank_of
from bot.errors import MachineryFailure

VARIANT = "{variant}"
"""Stands in an index's address for the variant that is asked for."""
MONTHS = 2
"""How many of MindSpore's monthly folders are looked at: as far back as torch keeps its nightlies."""
AT_ONCE = 8
"""Listings that are asked for side by side; there are two or three for each day."""

_FOLDER = re.compile(r"master_(?P<time>\d{14})_(?P<sha>[0-9a-f]{7,40})_newest")


@dataclass(frozen=True)
class DatedVersions:
    """A package index whose versions carry their date; a wheel's variant is its local label."""

    framework: str
    variant: str
    index: str
    python: Python
    web: Web
    name = "nightly"

    def offers(self) -> list[Offer]:
        """All dated versions of the variant, oldest first."""
        index = self.index.replace(VARIANT, self.variant)
        found = []
        for wheel in fitting(self.web, index, self.framework, self.python):
            date, label = _date(str(wheel.version.dev or "")), wheel.version.local or ""
            if not date or label not in ("", self.variant):
                continue
            found.append(
                Offer(self.framework, str(wheel.version), label, date, wheel.url, wheel.digest, index=index)
            )
        return sorted(found, key=lambda offer: offer.date)


@dataclass(frozen=True)
class DatedFolders:
    """Folders `YYYYMM/YYYYMMDD/master_<time>_<sha>_newest/unified/<machine>/` of plain HTML listings."""

    framework: str
    index: str
    python: Python
    web: Web
    name = "nightly"

    def offers(self) -> list[Offer]:
        """The builds of the last MONTHS months, oldest first. A folder without a wheel that fits is passed
        over: it is the place of a build that failed, or was not made for this machine."""
        months = self._folders([self.index.rstrip("/") + "/"], r"\d{6}")[-MONTHS:]
        if not months:
            raise MachineryFailure(f"{self.index} is no index of dated folders")
        builds = self._folders(self._folders(months, r"\d{8}"), _FOLDER.pattern)
        with ThreadPoolExecutor(AT_ONCE) as threads:
            offers = [offer for offer in threads.map(self._offer, builds) if offer is not None]
        return sorted(offers, key=lambda offer: (offer.date, offer.version.rpartition("+")[2]))

    def _offer(self, folder: str) -> Offer | None:
        named = _FOLDER.fullmatch(_last(folder))
        assert named is not None
        machine = self.python.platform.partition("-")[2]
        try:
            page = self.web.page(f"{folder}unified/{machine}/")
        except NotThereError:
            return None
        for link in links(page, self.framework):
            try:
                project, version, _, _ = parse_wheel_filename(_last(link.url))
            except InvalidWheelFilename:
                continue
            if project == self.framework and rank_of(_last(link.url), self.python) is not None:
                label = f"{version}+{named['time']}"
                date = _date(named["time"][:8])
                return Offer(self.framework, label, "cpu", date, link.url, "", named["sha"])
        return None

    def _folders(self, parents: list[str], pattern: str) -> list[str]:
        """The folders below those ones whose names match, in order."""
        with ThreadPoolExecutor(AT_ONCE) as threads:
            return [
                found for below in threads.map(lambda p: self._below(p, pattern), parents) for found in below
            ]

    def _below(self, parent: str, pattern: str) -> list[str]:
        page = self.web.page(parent)
        named = {_last(link.url) for link in links(page, self.framework)}
        return [urljoin(page.url, f"{name}/") for name in sorted(named) if re.fullmatch(pattern, name)]


def _last(url: str) -> str:
    return unquote(urlsplit(url).path.rstrip("/").rpartition("/")[2])


def _date(digits: str) -> str:
    """`20261101` as `2026-11-01`; empty for what is no date."""
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}" if re.fullmatch(r"20\d{6}", digits) else ""
