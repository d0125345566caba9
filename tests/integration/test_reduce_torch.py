"""A large program with a small bug, reduced by real compiles on two warm workers.

The limit is on the processor time of the workers, which is what 60 s on two idle cores are, so that the
test says the same on a machine that has other things to do.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from large_programs import BUGS, around

from bot.asking import Asker
from bot.confirm import SlipKey, way
from bot.localise import LADDER
from bot.shorten import Shortened, holding, shorten
from bot.target import Pool
from fuzzers.flowmut.candidate import payload
from fuzzers.flowmut.claim import Claim
from fuzzers.flowmut.program import from_json
from fuzzers.records import Aspect, Ending, Expect, Json, Kind, Limits, Suspect

SECONDS = 60.0
NODES = 60
MOST_LINES = 15

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200), pytest.mark.filterwarnings("ignore")]


def spent(pids: list[int]) -> float:
    """Processor seconds of processes and of the children that they have waited for."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


class Reduction:
    """A 60-node program around `abs().amin()` of int8, which does not compile, and its descent."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.asker = Asker(pool, Limits(240.0))
        program = around(next(b for b in BUGS if b.name == "abs amin"), seed=0, size=NODES)
        assert len(program.nodes) == NODES
        self.program = payload(program, Claim("exception", "outcome"))
        (script,) = self.asker.scripts("flowmut", [self.program])
        self.suspect = Suspect(
            engine="flowmut",
            revision="1",
            build=pool.build,
            kind=Kind.EXCEPTION,
            aspect=Aspect.OUTCOME,
            script=script,
            expect=Expect(Ending.EXCEPTION),
            program=self.program,
            found_at="2026-01-02T03:04:05Z",
        )
        (judged,) = self.asker.judge([script], LADDER[-2], examine=False)
        self.slip = SlipKey(Kind.EXCEPTION, Aspect.OUTCOME, way(judged.run), LADDER[-1], LADDER[-2])
        assert self.slip.holds(judged), judged
        self.seconds = 0.0

    def run(self, hints: tuple[tuple[str, ...], ...] = ()) -> Shortened:
        before = spent(self.pool.pids)
        found = shorten(self.suspect, self.slip, self.asker, lambda: False, hints)
        self.seconds = (spent(self.pool.pids) - before) / self.pool.size
        return found

    def holds(self, program: Json) -> bool | None:
        (answer,) = holding(self.slip, self.asker)(self.asker.scripts("flowmut", [program]))
        return answer


@pytest.fixture(scope="module")
def reduction(pool: Pool) -> Reduction:
    return Reduction(pool)


def operators(found: Shortened) -> list[str]:
    assert found.program is not None
    return [n.op for n in from_json(found.program["program"]).nodes]


def assert_no_node_can_go(reduction: Reduction, found: Shortened) -> None:
    assert found.program is not None
    left = len(operators(found))
    offered = reduction.asker.page("flowmut", found.program, 0, 1000, ()).programs
    fewer = [c for c in offered if len(from_json(c["program"]).nodes) < left]
    assert fewer, "nothing was tried"
    assert not any(reduction.holds(c) for c in fewer)


def test_sixty_nodes_become_two_in_a_minute_of_two_cores(reduction: Reduction) -> None:
    found = reduction.run()
    assert operators(found) == ["abs", "amin"], found.script
    assert len(found.script.splitlines()) <= MOST_LINES, found.script
    assert_no_node_can_go(reduction, found)
    assert reduction.seconds <= SECONDS, (reduction.seconds, found.tried)


def test_a_known_finding_is_met_at_once(reduction: Reduction) -> None:
    found = reduction.run(hints=(("matmul",), ("abs", "amin")))
    assert operators(found) == ["abs", "amin"], found.script
    assert reduction.seconds <= SECONDS / 2, (reduction.seconds, found.tried)
