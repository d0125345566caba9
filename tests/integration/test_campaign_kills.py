"""kill -9 at random moments of a running campaign: of children, of workers, of the controller.

The campaign's outcome is known beforehand (tests.integration.toy_campaign), so what must be in the store
afterwards is too. A candidate whose process was killed from outside again and again is the one thing that
may be in it besides.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from bot.leftovers import adopt
from fuzzers.records import Kind
from tests.integration import toy_campaign
from tests.integration.toy_campaign import TREE, expected_suspects

SEED, STEPS = 11, 50
LONGEST = 100.0


def start(out: Path) -> subprocess.Popen[str]:
    """A controller that goes on with the campaign in `out`."""
    command = [sys.executable, "-m", "tests.integration.toy_campaign", str(out), str(SEED), str(STEPS)]
    return subprocess.Popen(
        command, cwd=TREE, env={**os.environ, "PYTHONPATH": str(TREE)}, stdout=subprocess.PIPE, text=True
    )


def kill(process: psutil.Process) -> None:
    """As `kill -9`; it may have ended by itself in the meantime."""
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return


def workers(controller: int) -> list[psutil.Process]:
    """The workers of a controller."""
    try:
        return psutil.Process(controller).children()
    except psutil.NoSuchProcess:
        return []


def children(controller: int) -> list[psutil.Process]:
    """The children in which the candidates run."""
    found = []
    for worker in workers(controller):
        try:
            found += worker.children()
        except psutil.NoSuchProcess:
            continue
    return found


def assert_nothing_lost_and_nothing_twice(out: Path) -> None:
    """Each step that ended by itself left what it had to, each of the others a suspect of its own."""
    campaign = toy_campaign.campaign(out, SEED)
    fates = {(chain.chain, t.step): t.status for chain in campaign.progress.load() for t in chain.trace}
    assert len(fates) == STEPS
    assert "failed" not in fates.values()
    unseen = {place for place, fate in fates.items() if fate == "interrupted"}
    expected = expected_suspects(SEED, [place for place in fates if place not in unseen])
    kept = {s.id: s for s in campaign.store.suspects()}
    places = [(s.origin["chain"], s.origin["step"]) for s in kept.values()]
    assert len(places) == len(set(places))
    assert expected.items() <= {s.id: (s.origin["chain"], s.origin["step"]) for s in kept.values()}.items()
    besides = {ident: s for ident, s in kept.items() if ident not in expected}
    assert all(s.kind is Kind.CRASH and s.detail["interrupted"] for s in besides.values())
    assert {(s.origin["chain"], s.origin["step"]) for s in besides.values()} == unseen
    assert list(campaign.progress.left_journals()) == []


@pytest.mark.parametrize(("victims", "every"), [(children, 0.3), (workers, 1.5)])
def test_children_and_workers_may_be_killed(
    tmp_path: Path, victims: Callable[[int], list[psutil.Process]], every: float
) -> None:
    chance = random.Random(victims.__name__)
    killed = 0
    controller = start(tmp_path)
    deadline = time.monotonic() + LONGEST
    while controller.poll() is None and time.monotonic() < deadline:
        time.sleep(chance.uniform(0.7, 1.3) * every)
        if found := victims(controller.pid):
            kill(chance.choice(found))
            killed += 1
    assert controller.communicate(timeout=LONGEST)[0] == "finished\n"
    assert killed > 2
    assert_nothing_lost_and_nothing_twice(tmp_path)


def test_the_controller_may_be_killed(tmp_path: Path) -> None:
    chance = random.Random("controller")
    killed = 0
    deadline = time.monotonic() + LONGEST
    while time.monotonic() < deadline:
        controller = start(tmp_path)
        try:
            assert controller.communicate(timeout=chance.uniform(2.0, 4.0))[0] == "finished\n"
            break
        except subprocess.TimeoutExpired:
            controller.kill()
            controller.communicate()
            killed += 1
    assert killed > 1
    assert_nothing_lost_and_nothing_twice(tmp_path)


def test_triage_takes_up_what_a_killed_controller_leaves(tmp_path: Path) -> None:
    controller = start(tmp_path)
    campaign = toy_campaign.campaign(tmp_path, SEED)
    while not (campaign.progress.load() and list(campaign.progress.left_journals())):
        time.sleep(0.01)
    controller.kill()
    controller.communicate()
    adopt(tmp_path, campaign.store)
    finished = [(chain.chain, t.step) for chain in campaign.progress.load() for t in chain.trace]
    kept = {s.id for s in campaign.store.suspects()}
    assert set(expected_suspects(SEED, finished)) <= kept
    assert list(campaign.progress.left_journals()) == []
