"""Making one environment: the wheel first, then what it needs, then a look whether its framework imports.

Invariant: no install ever has an index of ours beside the user's. The wheel comes from where its offer says
and goes in alone, with its hash checked. What it pins to a build of the same night (a dated or labelled
version, as torch's nightlies pin triton) comes from the offer's index in the same way. All the rest comes
from the user's own pip configuration. The reason: with two indexes pip takes whichever has the higher
version, and so whoever can publish under a name in one of them decides what is run here.
"""

from __future__ import annotations

import os
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import file_digest
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.metadata import RawMetadata, parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from bot.builds.offer import Offer
from bot.builds.pip import Pip, Told
from bot.builds.pythons import Python
from bot.builds.web import NotThereError, Web
from bot.builds.wheels import fitting
from bot.confine import FLAGS, environment
from bot.errors import MachineryFailure, UserMistake
from bot.target import PROBE_SECONDS, probe
from fuzzers.records import Build

EXTRAS: Mapping[str, tuple[str, ...]] = {"torch": ("expecttest>=0.3", "numpy"), "mindspore": ("numpy<2",)}
"""What a worker needs beside the framework: op_db needs expecttest. With a later numpy MindSpore's PyNative
mode fails on its first call."""

VENV_SECONDS = 120.0

METADATA_BYTES = 4 * 2**20
"""What a wheel says of itself; torch's has 64 kibibytes."""

UNCONSTRAINED = {"PIP_CONSTRAINT": os.devnull}
"""A constraint that the user has on the framework is meant for their own environments. An empty value would
leave the one of their configuration file."""


class CannotError(Exception):
    """The build's fault; the message says what. Never leaves this package: it becomes `CannotInstall`."""


@dataclass(frozen=True)
class Installer:
    """Makes environments with one interpreter. `stopped` is asked while it waits."""

    python: Python
    web: Web
    extras: Mapping[str, tuple[str, ...]]
    pip_seconds: float
    stopped: Callable[[], bool]

    def fetch(self, offer: Offer, folder: Path) -> tuple[Path, str]:
        """(the offer's wheel below `folder`, its sha256), checked against what the offer tells."""
        folder.mkdir(parents=True)
        if not offer.url:
            wheel = self._by_pip(offer, folder)
        elif urlsplit(offer.url).scheme:
            wheel = folder / unquote(urlsplit(offer.url).path).rpartition("/")[2]
            try:
                self.web.download(offer.url, wheel)
            except NotThereError as error:
                raise CannotError(f"it is listed, but not there: {error}") from error
        else:
            wheel = Path(offer.url)
        try:
            with wheel.open("rb") as file:
                sha256 = file_digest(file, "sha256").hexdigest()
        except FileNotFoundError as error:
            raise CannotError(f"there is no {wheel}") from error
        check(offer, offer.digest, sha256, "its index says")
        return wheel, sha256

    def make(self, offer: Offer, wheel: Path, aside: Path) -> Build:
        """An environment in `aside / "env"`. CannotError when none can be, by the build's fault."""
        home = aside / "env"
        self._venv(home)
        python = str(home / "bin" / "python")
        (aside / "tmp").mkdir(exist_ok=True)
        pip = Pip(python, aside, self.pip_seconds, self.stopped)
        needed = self._install_alone(offer, wheel, pip)
        needed += self.extras.get(offer.framework, ())
        if needed:
            _accept(pip("install", "--no-compile", "--only-binary", ":all:", *needed))
        return _PROBES.get(offer.framework, _import_only)(offer, python, self.python)

    def _by_pip(self, offer: Offer, folder: Path) -> Path:
        """The wheel that the user's pip finds, hash checked by pip where its index tells one."""
        (folder / "tmp").mkdir()
        pip = Pip(self.python.path, folder, self.pip_seconds, self.stopped)
        to = folder / "found"
        flags = ("--no-deps", "--no-cache-dir", "--only-binary", ":all:", "--dest", str(to))
        _accept(pip("download", *flags, f"{offer.framework}=={offer.version}", **UNCONSTRAINED))
        found = sorted(to.glob("*.whl"))
        if not found:
            raise MachineryFailure(f"pip downloaded no wheel of {offer.name}")
        return found[0]

    def _venv(self, home: Path) -> None:
        """Without pip: nightfuzz's own is used, one and the same for all."""
        try:
            made = subprocess.run(
                [self.python.path, "-I", "-m", "venv", "--without-pip", str(home)],
                capture_output=True, text=True, check=False, timeout=VENV_SECONDS, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            said = f"did not make a virtual environment within {VENV_SECONDS:g} s"
            raise MachineryFailure(f"{self.python.path} {said}") from error
        if made.returncode:
            said = ((made.stderr or made.stdout).strip().splitlines() or ["it does not say why"])[-1]
            raise MachineryFailure(f"{self.python.path} cannot make a virtual environment: {said}")

    def _install_alone(self, offer: Offer, wheel: Path, pip: Pip) -> list[str]:
        """Install the wheel, and those it pins to the same night, each alone; what else all of them need."""
        wheels, needed, seen = [wheel], [], {offer.framework}
        while wheels:
            one = wheels.pop()
            _accept(pip("install", "--no-compile", "--no-deps", "--no-index", str(one), **UNCONSTRAINED))
            for requirement in _requirements(one, self.python):
                if not (offer.index and _is_of_the_night(requirement)):
                    needed.append(str(requirement))
                elif requirement.name not in seen:
                    seen.add(requirement.name)
                    wheels.append(self._companion(offer, requirement, pip.folder / "companions"))
        return needed

    def _companion(self, offer: Offer, requirement: Requirement, folder: Path) -> Path:
        try:
            known = fitting(self.web, offer.index, requirement.name, self.python)
        except NotThereError as error:
            raise CannotError(f"it needs {requirement}, which its index does not have") from error
        for found in reversed(known):
            if requirement.specifier.contains(found.version, prereleases=True):
                version, url = str(found.version), found.url
                part = replace(
                    offer, framework=requirement.name, version=version, url=url, digest=found.digest
                )
                return self.fetch(part, folder / requirement.name)[0]
        raise CannotError(f"it needs {requirement}, which its index does not have for this interpreter")


def check(offer: Offer, expected: str, sha256: str, who: str) -> None:
    """MachineryFailure when a wheel's hash is not the expected one (`sha256=<hex>`, or empty)."""
    if expected and expected != f"sha256={sha256}":
        raise MachineryFailure(f"the wheel of {offer.name} has sha256={sha256}, but {who} {expected}")


def unpacked_bytes(wheel: Path) -> int:
    """How much room the files of a wheel take."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            return sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile as error:
        raise CannotError(f"{wheel.name} is no wheel: {error}") from error


def _accept(told: Told) -> None:
    if told.reason:
        raise CannotError(told.reason)


def _requirements(wheel: Path, python: Python) -> list[Requirement]:
    """What a wheel needs in an environment of this interpreter. CannotError for a need with an address: pip
    would fetch and build whatever is there, past every index."""
    environment_of = {**python.markers, "extra": ""}
    try:
        all_of_it = [Requirement(text) for text in _metadata(wheel).get("requires_dist", [])]
        needed = [r for r in all_of_it if r.marker is None or r.marker.evaluate(environment_of)]
    except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName) as error:
        raise CannotError(f"{wheel.name}: {' '.join(str(error).split())}") from error
    for requirement in needed:
        if requirement.url:
            raise CannotError(f"{wheel.name} needs {requirement}, which no index has a say in")
    return needed


def _metadata(wheel: Path) -> RawMetadata:
    with zipfile.ZipFile(wheel) as archive:
        found = [one for one in archive.infolist() if one.filename.endswith(".dist-info/METADATA")]
        if not found:
            return {}
        if found[0].file_size > METADATA_BYTES:
            raise CannotError(f"{wheel.name}: its metadata has {found[0].file_size} bytes")
        return parse_email(archive.read(found[0]))[0]


def _is_of_the_night(requirement: Requirement) -> bool:
    """Whether it pins a version that no release has: a dated one, or one with a local label."""
    for one in requirement.specifier:
        try:
            version = Version(one.version)
        except InvalidVersion:
            continue  # a wildcard
        if one.operator in ("==", "===") and (version.local or version.is_devrelease):
            return True
    return False


def _by_worker(offer: Offer, python: str, _: Python) -> Build:
    """What the workers' own module says of it."""
    try:
        return probe(python)
    except UserMistake as error:
        said = str(error).rpartition("imported: ")[2]
        raise CannotError(f"it does not import: {said}") from error


def _import_only(offer: Offer, python: str, made_with: Python) -> Build:
    """For a framework that no worker serves: it imports, and what it is the offer knows best."""
    folder = Path(python).parents[2]
    try:
        told = subprocess.run(
            [python, *FLAGS, "-c", f"import {offer.framework}"], env=environment(folder), cwd=folder,
            capture_output=True, text=True, errors="replace", check=False, timeout=PROBE_SECONDS,
        stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        said = f"did not import {offer.framework} within {PROBE_SECONDS:g} s"
        raise MachineryFailure(f"{python} {said}") from error
    if told.returncode:
        said = (told.stderr.strip().splitlines() or [f"exit status {told.returncode}"])[-1]
        raise CannotError(f"it does not import: {said}")
    return Build(offer.framework, offer.version, offer.variant, offer.git_sha, python, made_with.version)


_PROBES: Mapping[str, Callable[[Offer, str, Python], Build]] = {"torch": _by_worker}
