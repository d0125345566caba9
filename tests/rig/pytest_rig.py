"""Fixtures: a GitHub for each test, in a repository that no other test has."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rig.host import Host, host
from tests.rig.service import BOT, emulated

REPOSITORIES = 400
"""As many tests may have one."""


@pytest.fixture(scope="session")
def emulate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Iterator[int]]]:
    """The service, and numbers of repositories that nobody uses yet."""
    with emulated(tmp_path_factory.mktemp("emulate"), REPOSITORIES) as url:
        yield url, iter(itertools.count())


@pytest.fixture
def github_host(emulate: tuple[str, Iterator[int]], tmp_path: Path) -> Iterator[Host]:
    """A GitHub whose every request must be one that GitHub's own description allows; a test that sends
    another on purpose empties `invalid`."""
    url, numbers = emulate
    with host(url, f"{BOT}/triage-{next(numbers)}", tmp_path / "rig") as one:
        yield one
        assert one.invalid == []
