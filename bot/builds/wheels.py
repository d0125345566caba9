"""Package indexes (PEP 503, PEP 691) and wheel names: which wheels of a project fit an interpreter.

Invariant: of several wheels of one version the one that the interpreter likes best is taken, as pip would;
a page without a single wheel of the project is no index of it and never an empty answer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version
from pypi_simple import DistributionPackage, ProjectPage, UnsupportedRepoVersionError

from bot.builds.pythons import Python
from bot.builds.web import Page, Web
from bot.errors import MachineryFailure


@dataclass(frozen=True)
class Wheel:
    """A wheel of an index. `digest` is `sha256=<hex>`, empty when the index does not tell it."""

    version: Version
    url: str
    filename: str
    digest: str = ""


def fitting(web: Web, index: str, project: str, python: Python) -> list[Wheel]:
    """The project's wheels for an interpreter, one a version, oldest version first."""
    address = f"{index.rstrip('/')}/{canonicalize_name(project)}/"
    best: dict[Version, tuple[int, Wheel]] = {}
    seen = False
    for package in links(web.page(address), project):
        try:
            name, version, _, _ = parse_wheel_filename(package.filename)
        except InvalidWheelFilename:
            continue
        if name != canonicalize_name(project):
            continue
        seen = True
        rank = rank_of(package.filename, python)
        if rank is None or package.is_yanked or not _takes(package.requires_python, python):
            continue
        if version not in best or rank < best[version][0]:
            sha256 = package.digests.get("sha256", "").lower()
            digest = f"sha256={sha256}" if sha256 else ""
            best[version] = rank, Wheel(version, package.url, package.filename, digest)
    if not seen:
        raise MachineryFailure(f"{address} is no index of {project}: it has no wheel of it")
    return [best[version][1] for version in sorted(best)]


def rank_of(filename: str, python: Python) -> int | None:
    """How much an interpreter likes a wheel of this name, 0 most; None when it does not take it."""
    ranks = [python.tags[str(tag)] for tag in parse_wheel_filename(filename)[3] if str(tag) in python.tags]
    return min(ranks, default=None)


def links(page: Page, project: str) -> list[DistributionPackage]:
    """All that a page of an index, or a plain listing of a folder, links to."""
    try:
        if page.kind.endswith("json"):
            return ProjectPage.from_json_data(json.loads(page.content), page.url).packages
        if page.kind.endswith("html"):
            return ProjectPage.from_html(project, page.content, page.url).packages
    except (ValueError, RecursionError, UnsupportedRepoVersionError) as error:
        said = " ".join(str(error).split())
        raise MachineryFailure(f"{page.url} is no package index: {said}") from error
    raise MachineryFailure(f"{page.url} is no package index: it is {page.kind or 'of no kind'}")


def _takes(requires: str | None, python: Python) -> bool:
    try:
        return SpecifierSet(requires or "").contains(python.version, prereleases=True)
    except InvalidSpecifier:
        return True  # as pip: what cannot be read forbids nothing
