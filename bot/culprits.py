"""Which parts of the compiler a failure needs: those without which its script is right.

Invariant: a part is a culprit only if the script was seen to end normally with that part, alone, switched
off. A run that says nothing (cannot-run, killed from outside) never counts as "not a culprit": it is told in
`reason`; a failure of the machinery is no answer and is raised. The answer depends on how runs end, never on
how long they take.

Whole subsystems go first, because most of them change nothing: of the thirty parts that a small program
uses, only the members of a subsystem that matters are tried one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bot.asking import Asker
from bot.localise import Place, failed, unknown
from bot.outside import outside
from fuzzers.records import Ending, Run

SUBSYSTEMS: dict[str, tuple[str, ...]] = {
    "decomp": ("decomposition", "partition"),
    "inductor": (
        "pre_grad_passes", "joint_graph_passes", "post_grad_passes", "passes", "lowerings",
        "codegen", "cudagraphs", "config",
    ),
}  # fmt: skip
"""What can be switched off in a stage, in the order in which the compiler uses it. Decompositions and the
partitioner are not asked about for a failure of inductor: the rung below runs the same ones and is right."""

SWITCHED = frozenset({"partition", "passes", "codegen", "config"})
"""Subsystems whose parts have a switch each and are not switched off together: some would undo others."""

GRAPH = "graph"
"""The subsystem of operators that are right outside of the graph: asked about in the stages that make the
graph, which have no parts to switch off."""

CAPTURING = frozenset({"dynamo", "aot"})

ORDER = (GRAPH, *(subsystem for stage in SUBSYSTEMS.values() for subsystem in stage))

NOTHING = ""
"""What is off in the run that must fail."""

MOST_MEMBERS = 40
"""How many parts are tried one by one. A reduced program has fewer."""

MOST_TOLD = 5
"""How many parts that could not be judged are named in a reason."""


@dataclass(frozen=True)
class Culprits:
    """The parts (`<subsystem>/<name>`) each of which, switched off alone, makes the script right, in the
    order in which the compiler uses them. A subsystem without a name: only all of its parts together do.

    `without` says of each part that was switched off alone whether the script was right; `tried` counts the
    runs; `reason` says why there are no parts, or what is not known about others.
    """

    parts: tuple[str, ...] = ()
    tried: int = 0
    reason: str = ""
    without: dict[str, bool] = field(default_factory=dict)

    def named(self, operators: Sequence[str] = ()) -> tuple[str, str]:
        """(subsystem, debug name) for the fingerprint: of the earliest subsystem, the first part that is
        named after one of the program's `operators`, else the first. Both empty when nothing was found.

        What the compiler puts into a program by itself (a constant, a cast) changes more easily between two
        programs with one bug than the operators do.
        """
        if not self.parts:
            return "", ""
        earliest = subsystem(self.parts[0])
        names = [part.partition("/")[2] for part in self.parts if subsystem(part) == earliest]
        known = set(operators)
        return earliest, next((name for name in names if name.rpartition(".")[2] in known), names[0])


def culprits_of(script: str, place: Place, asker: Asker) -> Culprits:
    """The culprits of a script that fails at `place`. MachineryFailure as `bot.asking` has it: an answer that
    was not had must not name a bug."""
    if place.stage in CAPTURING:
        return _outside_the_graph(script, place, asker)
    if place.stage not in SUBSYSTEMS:
        return Culprits(reason=f"nothing can be switched off in the stage {place.stage!r}")
    return Search(script, place, asker).culprits()


def _outside_the_graph(script: str, place: Place, asker: Asker) -> Culprits:
    """The operators each of which, run between two graphs, makes the script right."""
    variants = outside(script)
    runs = asker.runs([(text, place.rung) for text in variants.values()])
    told = {f"{GRAPH}/{name}": run for name, run in zip(variants, runs, strict=True)}
    without = {part: run.ending is Ending.OK for part, run in told.items() if not unknown(run)}
    parts = tuple(part for part, right in without.items() if right)
    return Culprits(parts, len(runs), "" if parts else "no operator is right outside of the graph", without)


class Search:
    """One script's ablations. `runs` maps what was off, a part or a subsystem, to how the script ended."""

    def __init__(self, script: str, place: Place, asker: Asker) -> None:
        self.runs: dict[str, Run] = {}
        self.tried = 0
        self._script, self._place, self._asker = script, place, asker
        self._used: dict[str, None] = {}

    def culprits(self) -> Culprits:
        """Subsystems and switches first, then the members of each subsystem that matters."""
        subsystems = SUBSYSTEMS[self._place.stage]
        groups = [one for one in subsystems if one not in SWITCHED]
        switches = [part for part in self._asker.switches() if subsystem(part) in subsystems]
        self._try([NOTHING, *groups, *switches])
        stock = self.runs[NOTHING]
        if not failed(stock):
            why = stock.reason or stock.signal or stock.message or "it ends normally"
            return Culprits(tried=self.tried, reason=f"does not fail with everything on: {why}")
        if stock.ending is Ending.TIMEOUT:
            return Culprits(tried=self.tried, reason="a hang is not taken apart: each run takes all its time")
        matter = {group: self._members(group) for group in groups if self._right_without(group)}
        waiting = self._alone_or_waiting(matter)
        self._try(waiting[:MOST_MEMBERS])
        used = [*self._used, *switches]
        right = [part for part in used if self._right_without(part)]
        whole = [group for group in matter if not any(subsystem(part) == group for part in right)]
        parts = in_order([*right, *whole], used)
        doubts = self._doubts(len(waiting), found=bool(parts))
        without = {part: self._right_without(part) for part in used if self._says_something(part)}
        return Culprits(parts, self.tried, "; ".join(doubts), without)

    def _try(self, off: Sequence[str]) -> None:
        answers = self._asker.ablations(
            self._script, self._place.rung, [[part] if part else [] for part in off]
        )
        for part, answer in zip(off, answers, strict=True):
            self.tried += 1
            self.runs[part] = answer.run
            self._used.update({used: None for used in answer.parts if "/" in used})

    def _members(self, group: str) -> list[str]:
        return [part for part in self._used if subsystem(part) == group]

    def _alone_or_waiting(self, matter: dict[str, list[str]]) -> list[str]:
        """The members to try; one that is the only one of its subsystem was tried as the subsystem."""
        waiting = []
        for group, members in matter.items():
            if len(members) == 1:
                self.runs[members[0]] = self.runs[group]
            else:
                waiting += members
        return waiting

    def _right_without(self, part: str) -> bool:
        return part in self.runs and self.runs[part].ending is Ending.OK

    def _says_something(self, part: str) -> bool:
        return part in self.runs and not unknown(self.runs[part])

    def _doubts(self, members: int, found: bool) -> list[str]:
        """What the answer does not say: parts that were not tried, and those whose run says nothing."""
        silent = [part for part, run in self.runs.items() if unknown(run)]
        told = ", ".join(silent[:MOST_TOLD]) + (" and others" if len(silent) > MOST_TOLD else "")
        doubts = {
            f"only the first {MOST_MEMBERS} of {members} parts were tried one by one": members > MOST_MEMBERS,
            f"cannot run without {told}": bool(silent),
            "it fails whatever is switched off": not found and not silent,
        }
        return [doubt for doubt, holds in doubts.items() if holds]


def subsystem(part: str) -> str:
    """The subsystem of a part; of a subsystem itself, it."""
    return part.partition("/")[0]


def in_order(parts: Iterable[str], used: Sequence[str]) -> tuple[str, ...]:
    """Parts in the compiler's order: by subsystem, in one subsystem by first use, a whole subsystem last."""
    first = {part: index for index, part in enumerate(used)}
    return tuple(sorted(set(parts), key=lambda p: (ORDER.index(subsystem(p)), first.get(p, len(first)), p)))
