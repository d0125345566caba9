"""An engine whose steps do to their process what the test asks for, in place of a candidate."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from fuzzers.engine import Announce, Sighting, StepOutcome, StepStatus, StepTask
from fuzzers.records import Aspect, Ending, Expect, Json, Kind


def _hoard() -> None:
    hoard = []
    while True:
        hoard.append(bytearray(64 * 1024**2))


def _flood() -> None:
    while True:
        print("x" * 1023)


def _hang_with_offspring() -> None:
    """Hang, with one process in the child's group and one that left both group and session."""
    for apart in (False, True):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=apart)
    print("ready", flush=True)
    time.sleep(1000)


def _raise() -> None:
    raise ValueError("the engine is broken")


DEEDS: dict[str, Callable[[], object]] = {
    "nothing": lambda: None,
    "null": lambda: ctypes.string_at(0),
    "SIGSEGV": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "abort": os.abort,
    "SIGFPE": lambda: os.kill(os.getpid(), signal.SIGFPE),
    "SIGKILL": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "hang": lambda: time.sleep(1000),
    "hang-with-offspring": _hang_with_offspring,
    "hoard": _hoard,
    "flood": _flood,
    "raise": _raise,
    "exit": lambda: os._exit(0),
}


class ToyEngine:
    """Takes the deed to do from `state`; announces it first, as every engine does."""

    name = "toy"
    revision = "1"
    chain_length = 3

    def step(self, task: StepTask, announce: Announce) -> StepOutcome:
        deed = (task.state or {}).get("deed", "nothing")
        announce(Sighting(Kind.CRASH, Aspect.OUTCOME, f"# {deed}\n", Expect(Ending.SIGNAL), {"deed": deed}))
        DEEDS[deed]()
        big = "x" * int((task.state or {}).get("size", 0))
        return StepOutcome(StepStatus.CHECKED, {"deed": deed, "big": big}, name=deed, digest=f"{task.step}")

    def candidates(self, program: Json) -> list[Json]:
        return [{"deed": "nothing"}]

    def emit(self, program: Json) -> str:
        return f"# {program['deed']}\n"

    def operators(self, program: Json) -> tuple[list[str], list[str]]:
        return [str(program["deed"])], ["float32"]


ENGINE = ToyEngine()
