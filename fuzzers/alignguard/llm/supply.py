"""Mutants from a model beside a running campaign: a thread that asks, so that no step waits for an answer.

Invariant: the thread only asks and reads; what it makes is taken by the campaign's own thread. It ends when
the endpoint cannot be used, and says so in one line, once; and soon after `close`, whatever the endpoint
does.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence

from fuzzers.alignguard.llm.client import Unusable
from fuzzers.alignguard.llm.orders import Order, Seed, orders
from fuzzers.alignguard.llm.writer import Mutant, Writer

READY = 4
"""Mutants made ahead: those made long ago know nothing of the newest seeds."""

TICK_SECONDS = 0.2
MOST_SEEDS = 200


class Supply:
    """Mutants of the seeds that were given last. `say` gets the one line."""

    def __init__(self, writer: Writer, seed: int, say: Callable[[str], None]) -> None:
        self.writer = writer
        self._seed, self._say = seed, say
        self._seeds: tuple[Seed, ...] = ()
        self._round = 0
        self._ready: queue.Queue[Mutant] = queue.Queue(READY)
        self._failed: deque[tuple[Mutant, str]] = deque(maxlen=READY)
        self._thread = threading.Thread(target=self._work, name="model", daemon=True)

    def start(self) -> None:
        """Begin to ask, as soon as there are seeds."""
        self._thread.start()

    def close(self) -> None:
        """Ask nothing more. A request that is under way is left to end by itself."""
        self.writer.client.stopped.set()

    def give(self, seeds: Sequence[Seed]) -> None:
        """What to make mutants of from now on."""
        self._seeds = tuple(seeds[-MOST_SEEDS:])

    def take(self) -> Mutant | None:
        """The next mutant, if one is ready."""
        try:
            return self._ready.get_nowait()
        except queue.Empty:
            return None

    def failed(self, mutant: Mutant, problem: str) -> None:
        """A mutant that was run and failed, to be repaired."""
        self._failed.append((mutant, problem))

    @property
    def is_over(self) -> bool:
        """Whether no more mutants come."""
        return not self._thread.is_alive() and self._ready.empty()

    def _work(self) -> None:
        stopped = self.writer.client.stopped
        while not stopped.is_set():
            try:
                mutant = self._next()
            except Unusable as failure:
                if not stopped.is_set():
                    self._say(f"{failure}; rules go on")
                return
            if mutant is None:
                stopped.wait(TICK_SECONDS)
            elif mutant.source:
                self._put(mutant)

    def _next(self) -> Mutant | None:
        if self._failed:
            return self.writer.again(*self._failed.popleft())
        seeds = self._seeds
        if not seeds:
            return None
        self._round += 1
        drawn = next(orders(seeds, self._seed * 1_000_003 + self._round))
        return self.writer.mutant(Order(drawn.seed, drawn.characteristics, self._round))

    def _put(self, mutant: Mutant) -> None:
        while not self.writer.client.stopped.is_set():
            try:
                self._ready.put(mutant, timeout=TICK_SECONDS)
            except queue.Full:
                continue
            return
