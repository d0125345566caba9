"""Workers in this process whose steps end as a table says, for what a campaign does with them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.files import write_atomically
from bot.steps import Spec
from bot.wire import text
from fuzzers.engine import StepOutcome, StepStatus
from fuzzers.records import Ending, Json, Kind, Limits, encode
from fuzzers.worker.protocol import Reply, failure
from tests.unit.made import BUILD, a_sighting

SPEC = Spec("toy", "1", chain_length=4, build=BUILD, seed=7, aspects="forward")


class KilledError(BaseException):
    """The controller is dead."""


Deed = Callable[[int, int], str]
"""(chain, step) to what happens there: one of the names in ToyPool.reply."""


class ToyPool:
    """`deeds` says how each step ends; `began` records every step taken alone as (chain, step), `batches`
    those taken together."""

    restarts = 0

    def __init__(self, deeds: Deed, size: int = 1) -> None:
        self.deeds = deeds
        self.size = size
        self.pids: list[int] = []
        self.began: list[tuple[int, int]] = []
        self.batches: list[list[tuple[int, int]]] = []
        self.closed = threading.Event()

    @contextmanager
    def borrow(self) -> Iterator[ToyPool]:
        yield self

    def close(self) -> None:
        self.closed.set()

    def call(self, job: str, args: Json, limits: Limits | None = None, journal: Path | None = None) -> Reply:
        if job == "engine.steps":
            return self._together(args["tasks"])
        if job == "toy.names":
            return Reply(1, Ending.OK, {"names": ["a", "b"]})
        assert job == "engine.step"
        place = (args["chain"], args["step"])
        self.began.append(place)
        deed = self.deeds(*place)
        if journal is not None and deed != "dies unannounced":
            write_atomically(journal, text(a_sighting(f"{place}\n", Kind.CRASH)))
        return self.reply(deed, args)

    def _together(self, tasks: list[Json]) -> Reply:
        """One child for all: what any of the steps does to its process, it does to the batch."""
        self.batches.append([(task["chain"], task["step"]) for task in tasks])
        replies = [self.reply(self.deeds(task["chain"], task["step"]), task) for task in tasks]
        dead = [reply for reply in replies if reply.ended is not Ending.OK]
        return dead[0] if dead else Reply(1, Ending.OK, {"outcomes": [reply.value for reply in replies]})

    def reply(self, deed: str, args: Json) -> Reply:
        """The reply of a worker whose child did that."""
        if deed == "takes the controller along":
            raise KilledError
        if deed == "waits":
            self.closed.wait(30)
            deed = "is killed"
        script = f"{(args['chain'], args['step'])}\n"
        outcome = StepOutcome(
            StepStatus.EXHAUSTED if deed == "is exhausted" else StepStatus.CHECKED,
            {"sum": (args["state"] or {"sum": 0})["sum"] + args["chain"] + args["step"]},
            (a_sighting(script),) if deed == "differs" else (),
            {"proposed": 2, "executed": 1},
            deed,
            f"{args['chain']}/{args['step']}",
        )
        replies = {
            "segfaults": Reply(1, Ending.SIGNAL, signal="SIGSEGV", log="boom"),
            "dies unannounced": Reply(1, Ending.SIGNAL, signal="SIGABRT"),
            "is killed": Reply(1, Ending.SIGNAL, signal="SIGKILL"),
            "hangs": Reply(1, Ending.TIMEOUT),
            "raises": Reply(1, Ending.EXCEPTION, error=failure("ValueError", "the engine is broken")),
            "babbles": Reply(1, Ending.OK, {"status": "pleased"}),
        }
        return replies.get(deed) or Reply(1, Ending.OK, encode(outcome))
