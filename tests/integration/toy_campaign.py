"""An engine without a framework whose campaign is known beforehand, and a controller that runs it.

A step's fate is a function of its place, so what must be in the store at the end is `expected_suspects`,
whatever was killed on the way. The workers are cold: none of this needs torch, and they start at once.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from bot.campaign import Campaign
from bot.record import Record, campaign_id
from bot.steps import Spec, suspect
from bot.store import Store
from bot.target import Pool
from fuzzers.engine import Announce, Sighting, StepOutcome, StepStatus, StepTask
from fuzzers.records import Aspect, Budget, Build, Ending, Expect, Json, Kind, Limits

TREE = Path(__file__).parents[2]
NAME = "tests.integration.toy_campaign:ENGINE"
CHAIN_LENGTH = 5
LIMITS = Limits(seconds=2.0)


def fate(seed: int, chain: int, step: int) -> str:
    """What the step at this place does: mostly nothing, sometimes a difference, a crash or a hang."""
    fates = ("fine", "differs", "segfaults", "hangs")
    return random.Random(f"{seed}/{chain}/{step}").choices(fates, (60, 25, 13, 2))[0]


def sighting(seed: int, chain: int, step: int, deed: str) -> Sighting:
    """What the step at this place announces (a crash) or reports (a difference)."""
    script = f"# {seed} {chain} {step}\n"
    if deed == "differs":
        return Sighting(Kind.WRONG, Aspect.VALUES, script, Expect(Ending.ASSERTION), None)
    return Sighting(Kind.CRASH, Aspect.OUTCOME, script, Expect(Ending.SIGNAL), None)


class ToyCampaignEngine:
    """Steps that take 20 to 60 ms, and end as `fate` says."""

    name = "toy-campaign"
    revision = "1"
    chain_length = CHAIN_LENGTH

    def step(self, task: StepTask, announce: Announce) -> StepOutcome:
        place = (task.seed, task.chain, task.step)
        deed = fate(*place)
        assert (task.state or {"steps": 0})["steps"] <= task.step
        announce(sighting(*place, "died"))
        time.sleep(random.Random(f"{place}").uniform(0.02, 0.06))
        if deed == "segfaults":
            os.kill(os.getpid(), signal.SIGSEGV)
        if deed == "hangs":
            time.sleep(1000)
        seen = (sighting(*place, deed),) if deed == "differs" else ()
        state = {"steps": task.step + 1}
        counts = {"proposed": 1, "executed": 1}
        return StepOutcome(
            StepStatus.CHECKED, state, seen, counts, name=deed, digest="/".join(map(str, place))
        )

    def candidates(self, program: Json) -> list[Json]:
        return []

    def emit(self, program: Json) -> str:
        return ""

    def operators(self, program: Json) -> tuple[list[str], list[str]]:
        return [], []


ENGINE = ToyCampaignEngine()


def this_build() -> Build:
    """Enough of a build for cold workers in the interpreter that runs the tests."""
    return Build("torch", "0", "cpu", "", sys.executable, "")


def spec(seed: int) -> Spec:
    """The toy campaign of this seed."""
    return Spec(NAME, "1", CHAIN_LENGTH, this_build(), seed, "forward")


def campaign(out: Path, seed: int) -> Campaign:
    """The toy campaign of this seed in an output folder; complaints go to standard error."""
    store = Store(out / "store", lambda line: print(line, file=sys.stderr, flush=True))
    told = spec(seed)
    return Campaign(told, out / "campaigns" / campaign_id(told), store, limits=LIMITS)


def run(out: Path, seed: int, candidates: int, size: int = 2) -> Record:
    """Run, or go on with, that campaign until it has taken so many steps."""
    cache = out / "cache"
    path = {"PYTHONPATH": f"{cache.resolve() / 'tree'}:{TREE}"}
    with Pool(this_build(), size, cache, cold=True, extra=path) as pool:
        return campaign(out, seed).run(pool, Budget(600.0, candidates))


def expected_suspects(seed: int, steps: list[tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Content hash -> place, of every suspect that these steps (chain, step) must have left."""
    kinds = {"segfaults": Kind.CRASH, "hangs": Kind.HANG}
    found = {}
    for chain, step in steps:
        deed = fate(seed, chain, step)
        if deed == "fine":
            continue
        seen = sighting(seed, chain, step, deed)
        kind = kinds.get(deed, seen.kind)
        aspect = seen.aspect if deed == "differs" else Aspect.OUTCOME
        left = suspect(spec(seed), Sighting(kind, aspect, seen.script, seen.expect, None), chain, step, "")
        found[left.id] = (chain, step)
    return found


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    print("finished", flush=True)
