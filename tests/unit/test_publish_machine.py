"""Whatever happens to the store, the host and the publishers, in whatever order: no duplicate, no loss, and
nothing to do in the end."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from bot.publish_bench.faults import Fault, Faulty
from bot.publish_bench.world import CHANGES, World, publisher
from bot.trackers.client import TRIES
from bot.trackers.protocol import BusyError


class Publishing(RuleBasedStateMachine):
    """A world in which anything may happen next."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="nightfuzz-"))

    @initialize(seed=strategies.integers(0, 1_000))
    def begin(self, seed: int) -> None:
        self.world = World(self.folder, seed)
        for _ in range(4):
            self.world.new()

    @rule(change=strategies.sampled_from(CHANGES))
    def something_happens(self, change: Any) -> None:
        change(self.world)

    @rule(hours=strategies.sampled_from([1, 60]))
    def time_goes_by(self, hours: int) -> None:
        self.world.host.wait(hours)

    @rule(
        fault=strategies.sampled_from(Fault),
        at=strategies.integers(1, 40),
        tries=strategies.sampled_from([1, TRIES]),
    )
    def a_publish_meets_a_fault(self, fault: Fault, at: int, tries: int) -> None:
        self.world.publish(fault, at, tries)

    @rule(at=strategies.integers(1, 40))
    def a_second_publisher_begins_in_the_middle_of_the_first(self, at: int) -> None:
        """Whichever comes too late is told so."""

        def send(
            method: str, path: str, parameters: Mapping[str, Any], body: Mapping[str, Any] | None
        ) -> tuple[int, Mapping[str, str], str]:
            if first.made == at:
                with suppress(BusyError):
                    publisher(self.world.store, Faulty(self.world.host.send), self.world.given).publish()
            return self.world.host.send(method, path, parameters, body)

        first = Faulty(send)
        publisher(self.world.store, first, self.world.given).publish()
        self.world.publish()

    def teardown(self) -> None:
        try:
            assert self.world.settle(), "a third publish had something to do"
            assert self.world.duplicates == 0
            assert self.world.twice_told() == 0
            assert self.world.lost() == []
        finally:
            shutil.rmtree(self.folder)


TestPublishing = Publishing.TestCase
TestPublishing.settings = settings(max_examples=25, stateful_step_count=15)
