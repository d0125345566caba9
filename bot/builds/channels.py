"""The channels, by the name that a person gives: `installed`, `release`, `nightly`, or a wheel.

Invariant: no address is written here; the index of releases is whatever the user's pip is configured for, and
those of nightlies are settings.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from bot.builds.environments import Environments
from bot.builds.nightly import DatedFolders, DatedVersions
from bot.builds.offer import Channel, Offer
from bot.builds.pip import Pip
from bot.builds.pythons import Python, examine
from bot.builds.web import Web
from bot.builds.wheels import rank_of
from bot.confine import private_folder
from bot.errors import MachineryFailure, UserMistake
from bot.settings import Settings
from bot.target import probe

LIST_SECONDS = 300.0
"""pip reads a wheel that it is only asked about when its index does not tell the wheel's metadata."""


@dataclass(frozen=True)
class Installed:
    """The one build that an interpreter has."""

    interpreter: str
    framework: str = "torch"
    name = "installed"

    def offers(self) -> list[Offer]:
        """That build."""
        build = probe(self.interpreter, self.framework)
        return [
            Offer(
                build.framework,
                build.version,
                build.variant,
                git_sha=build.git_sha,
                interpreter=build.interpreter,
            )
        ]


@dataclass(frozen=True)
class Release:
    """What the user's pip finds, pre-releases left out, up to what it would install."""

    framework: str
    variant: str
    python: Python
    name = "release"

    def offers(self) -> list[Offer]:
        """One offer a release; of its local labels the wanted variant, else none."""
        with private_folder() as folder:
            pip = Pip(self.python.path, folder, LIST_SECONDS)
            newest = self._newest(pip)
            listed = pip("index", "versions", self.framework)
        if listed.reason:
            raise MachineryFailure(f"pip does not list {self.framework}: {listed.reason}")
        return [self._newest_or(newest, version) for version in self._versions(listed.output, newest)]

    def _newest(self, pip: Pip) -> Offer:
        """What pip would install: the user's constraints may keep it below the newest that there is."""
        only = ("--no-deps", "--ignore-installed", "--only-binary", ":all:", "--quiet")
        told = pip("install", "--dry-run", *only, "--report", "report.json", self.framework)
        if told.reason:
            raise MachineryFailure(f"pip finds no {self.framework}: {told.reason}")
        found = json.loads((pip.folder / "report.json").read_text())["install"][0]
        sha256 = found["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256", "")
        return Offer(
            self.framework,
            found["metadata"]["version"],
            Version(found["metadata"]["version"]).local or "",
            digest=f"sha256={sha256}" if sha256 else "",
        )

    def _versions(self, listed: str, newest: Offer) -> list[Version]:
        line = re.search(r"^Available versions: (.+)$", listed, re.MULTILINE)
        if line is None:
            raise MachineryFailure(f"pip's list of {self.framework}'s versions cannot be read")
        try:
            versions = {Version(part.strip()) for part in line[1].split(",")}
        except InvalidVersion as error:
            raise MachineryFailure(f"pip's list of {self.framework}'s versions: {error}") from error
        chosen: dict[str, Version] = {}
        for version in sorted(versions | {Version(newest.version)}):
            wanted = version.local in (None, self.variant)
            if wanted and not version.is_prerelease and version <= Version(newest.version):
                chosen[version.public] = version  # a labelled one sorts after the one without
        return list(chosen.values())

    def _newest_or(self, newest: Offer, version: Version) -> Offer:
        if str(version) == newest.version:
            return newest
        return Offer(self.framework, str(version), version.local or "")


@dataclass(frozen=True)
class OneWheel:
    """A wheel, by its path or its address."""

    where: str
    python: Python
    name = "wheel"

    def offers(self) -> list[Offer]:
        """That wheel. UserMistake when it is not there or is not for this interpreter."""
        address = urlsplit(self.where)
        filename = unquote(address.path).rpartition("/")[2]
        try:
            framework, version, _, _ = parse_wheel_filename(filename)
        except InvalidWheelFilename as error:
            raise UserMistake(f"--build {self.where}: {error}") from error
        if rank_of(filename, self.python) is None:
            said = f"it is not for Python {self.python.version} on {self.python.platform}"
            raise UserMistake(f"--build {self.where}: {said}")
        if address.scheme not in ("", "file"):
            told = re.search(r"\bsha256=([0-9a-f]{64})\b", address.fragment.lower())
            if told is None and "sha256=" in address.fragment.lower():
                raise UserMistake(f"--build {self.where}: what is after sha256= is no hash")
            url, digest = self.where.partition("#")[0], told[1] if told else ""
        else:
            path = Path(unquote(address.path)).absolute()
            if not path.is_file():
                raise UserMistake(f"--build {self.where}: there is no such file")
            with path.open("rb") as file:
                url, digest = str(path), hashlib.file_digest(file, "sha256").hexdigest()
        return [
            Offer(
                framework,
                str(version),
                version.local or "",
                url=url,
                digest=f"sha256={digest}" if digest else "",
            )
        ]


def _nightly(settings: Settings, python: Python) -> Channel:
    web = Web(page_seconds=settings.index_timeout)
    if settings.framework == "mindspore":
        return DatedFolders(settings.framework, settings.mindspore_index, python, web)
    return DatedVersions(settings.framework, settings.variant, settings.nightly_index, python, web)


_CHANNELS: dict[str, Callable[[Settings, Python], Channel]] = {
    "installed": lambda settings, python: Installed(python.path, settings.framework),
    "release": lambda settings, python: Release(settings.framework, settings.variant, python),
    "nightly": _nightly,
}


def interpreter(settings: Settings) -> str:
    """The interpreter that has the installed build, and that the others' environments are made with."""
    return str(settings.interpreter or sys.executable)


def channel(settings: Settings) -> Channel:
    """The channel that the settings name."""
    if settings.build == "installed":
        return Installed(interpreter(settings), settings.framework)
    python = examine(interpreter(settings))
    make = _CHANNELS.get(settings.build)
    return make(settings, python) if make else OneWheel(settings.build, python)


def newest(settings: Settings) -> Offer:
    """The last build of the channel that the settings name. MachineryFailure when it has none."""
    offers = channel(settings).offers()
    if not offers:
        where = f"the {settings.build} channel has no build of {settings.framework} {settings.variant}"
        raise MachineryFailure(f"{where} for {interpreter(settings)}")
    return offers[-1]


def environments(
    settings: Settings, warn: Callable[[str], None], stopped: Callable[[], bool] = lambda: False
) -> Environments:
    """The environments in the settings' cache folder."""
    return Environments(
        settings.cache,
        bound_gib=settings.cache_gib,
        warn=warn,
        python=interpreter(settings),
        stopped=stopped,
    )
