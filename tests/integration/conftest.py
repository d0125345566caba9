"""Fixtures that every test with a real torch shares: one build, and one pool of workers kept warm.

The pool is shared because its first compile takes twenty seconds; a test that kills a worker finds the
pool as good as new afterwards, which is itself what the pool promises.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.target import Pool, probe
from fuzzers.records import Build

TREE = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def build() -> Build:
    """The torch build of the interpreter that runs the tests."""
    return probe(sys.executable)


@pytest.fixture(scope="session")
def warm_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that all warm workers of the session share."""
    return tmp_path_factory.mktemp("warm")


@pytest.fixture(scope="session")
def pool(build: Build, warm_folder: Path) -> Iterator[Pool]:
    """Two warm workers that can import the engines kept in the tests (`tests.integration.toy:...`)."""
    path = f"{warm_folder.resolve() / 'tree'}:{TREE}"
    with Pool(build, 2, warm_folder, extra={"PYTHONPATH": path}) as started:
        yield started
