"""AlignGuard's guide: it makes the programs, by rule from what ran before, and learns what brings something.

Invariant: what is proposed depends on the campaign's seed and on the outcomes in their order, never on the
clock; nothing is proposed twice. Only the worker touches a framework: seeds come from there in blocks, texts
go there to be run, and what comes back is what the compiler was seen to do.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from fuzzers.alignguard import rules
from fuzzers.alignguard.characteristics.table import CHARACTERISTICS
from fuzzers.alignguard.corpus import Corpus, Entry
from fuzzers.alignguard.known import Seen
from fuzzers.alignguard.written import WRITTEN
from fuzzers.alignguard.yields import Yields
from fuzzers.engine import Ask, StepOutcome, StepStatus, StepTask
from fuzzers.records import Json

FIRST_BLOCK, BLOCK = 60, 150
"""Operators in a block of seeds. The first one is waited for, so it is small."""

LOW = 10
"""Waiting seeds below which another block is asked for."""

TRIES = 30
"""Mutations tried before a seed is run instead."""

RULE_COUNTS = {1: 5, 2: 3, 3: 2}
"""How often a mutant gets so many rules: the known bugs need no more than three."""

MODES: tuple[tuple[int, Json], ...] = (
    (60, {}),
    (18, {"dynamic": True}),
    (4, {"fullgraph": True}),
    (3, {"dynamic": False}),
    (2, {"options": {"permute_fusion": True}}),
    (2, {"options": {"max_fusion_size": 2}}),
    (2, {"options": {"split_reductions": False}}),
    (2, {"options": {"pattern_matcher": False}}),
    (2, {"options": {"cpp.simdlen": 0}}),
    (2, {"options": {"realize_reads_threshold": 1}}),
    (1, {"options": {"epilogue_fusion": False}}),
    (1, {"options": {"loop_ordering_after_fusion": False}}),
    (1, {"options": {"aggressive_fusion": True}}),
)
"""How programs are compiled, and how often so. The settings change what is generated, not what is
computed."""

SEED, PAIR, RULES, GIVEN = "seed", "pair", "rules", "given"
MAKERS = (SEED, PAIR, RULES)


@dataclass(frozen=True)
class Made:
    """A proposal: its text, who made it, and the ways that it took there, each of which learns from it."""

    entry: Entry
    by: str
    ways: tuple[str, ...]


@dataclass
class AlignGuardGuide:
    """The guide of one campaign. `offered` are programs of a language model; those are taken as seeds are."""

    seed: int
    corpus: Corpus = field(default_factory=Corpus)
    yields: Yields = field(default_factory=Yields)
    seen: Seen = field(default_factory=Seen)
    operators: int = 0
    """How many operators' seeds were asked for; they start over after the last."""
    bare: bool = False
    """Whether the build has no test cases of its own."""
    asked: bool = False
    proposed: int = 0

    def prepare(self, ask: Ask) -> None:
        """The first block of the build's own test cases, behind the seeds written here."""
        self._queue(ask("alignguard.seeds", {"seed": self.seed, "start": 0, "size": FIRST_BLOCK}))
        self.operators += FIRST_BLOCK
        self.corpus.await_all(Entry(text, f"written {name}") for name, text in WRITTEN.items())

    def before(self, task: StepTask) -> StepTask:
        """The task with a program, or with the wish for more seeds."""
        self.proposed += 1
        rng = Random(f"{self.seed}/{self.proposed}")
        self.corpus.await_all(
            Entry(str(s["source"]), str(s.get("origin", GIVEN))) for s in task.seeds if "source" in s
        )
        if len(self.corpus.waiting) < LOW and not self.asked and not self.bare:
            self.asked = True
            wish = {"seed": self.seed, "start": self.operators, "size": BLOCK}
            self.operators += BLOCK
            return replace(task, given={"block": wish}, guidance=None)
        made = self._made(rng)
        mode = rng.choices([m for _, m in MODES], [w for w, _ in MODES])[0]
        program = {"source": made.entry.source, "mode": mode, "origin": made.entry.origin}
        given: Json = {"program": program, "by": made.by, "ways": list(made.ways)}
        return replace(task, given=given, guidance={"seen": self.seen.to_json()})

    def _made(self, rng: Random) -> Made:
        """A program that was not proposed before."""
        for _ in range(TRIES):
            maker = self.yields.draw(MAKERS, rng) if self.corpus.entries else SEED
            made = {SEED: self._next_seed, PAIR: self._pair, RULES: self._mutant}[maker](rng)
            if made is not None:
                return made
        return self._reseeded(rng)

    def _next_seed(self, rng: Random) -> Made | None:
        if not self.corpus.waiting:
            return None
        return Made(self.corpus.waiting.popleft(), SEED, (SEED,))

    def _pair(self, rng: Random) -> Made | None:
        entry = self.corpus.pair(rng)
        return Made(entry, PAIR, (PAIR,)) if entry is not None and self.corpus.is_new(entry.source) else None

    def _mutant(self, rng: Random) -> Made | None:
        """A program of the corpus with one to three characteristics more."""
        parent = rng.choice(self.corpus.entries)
        wanted = rng.choices(list(RULE_COUNTS), list(RULE_COUNTS.values()))[0]
        source, taken = parent.source, list[str]()
        names = [c.name for c in CHARACTERISTICS]
        for _ in range(TRIES):
            if len(taken) == wanted:
                break
            name = self.yields.draw(names, rng)
            text = rules.mutate(source, name, rng)
            if text is not None and name not in taken:
                source = text
                taken.append(name)
        if not taken or not self.corpus.is_new(source):
            return None
        return Made(Entry(source, f"{parent.origin} + {' + '.join(taken)}"), RULES, (RULES, *taken))

    def _reseeded(self, rng: Random) -> Made:
        """Where nothing new can be made: something known with other numbers in it."""
        known = self.corpus.entries or [Entry(text, f"written {n}") for n, text in WRITTEN.items()]
        entry = rng.choice(known)
        source = entry.source.replace("torch.manual_seed(", f"torch.manual_seed({rng.randrange(1000)} + ")
        return Made(replace(entry, source=source), SEED, (SEED,))

    def after(self, task: StepTask, outcome: StepOutcome | None, seconds: float) -> None:
        """Learn from a step, and keep its program if it ran."""
        given = task.given or {}
        if "block" in given:
            self.asked = False
            if outcome is not None and outcome.choice is not None:
                self._queue(outcome.choice)
            return
        if outcome is None:
            return
        useful = outcome.status is StepStatus.CHECKED
        for way in given.get("ways", ()):
            self.yields.learn(way, len(outcome.events), bool(outcome.sightings), useful)
        for event in outcome.events:
            self.seen.add(event)
        choice = outcome.choice or {}
        if "outputs" in choice and not outcome.sightings and self._is_kept(given, outcome):
            program = given["program"]
            entry = Entry(
                program["source"], program["origin"], tuple(choice["outputs"]), tuple(choice["inputs"])
            )
            self.corpus.keep(entry, Random(f"{self.seed}/{self.proposed}/keep"))

    def _is_kept(self, given: Json, outcome: StepOutcome) -> bool:
        """Seeds, and mutants that made the compiler do something new. Not what showed a difference: all its
        children would show it again."""
        return given.get("by") == SEED or bool(outcome.events)

    def _queue(self, block: Json) -> None:
        self.corpus.await_all(Entry(str(s["source"]), str(s["where"])) for s in block.get("seeds", ()))
        self.bare = not block.get("operators")

    def state(self) -> Json:
        """All that was learned."""
        return {
            "corpus": self.corpus.to_json(),
            "yields": self.yields.to_json(),
            "seen": self.seen.to_json(),
            "operators": self.operators,
            "proposed": self.proposed,
        }

    def restore(self, state: Json) -> None:
        """What `state` gave. ValueError when it is not that; then nothing is changed."""
        try:
            corpus, yields = Corpus.from_json(state["corpus"]), Yields.from_json(state["yields"])
            seen = Seen.from_json(state["seen"])
            operators, proposed = int(state["operators"]), int(state["proposed"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"no state of this guide: {error!r}") from error
        self.corpus, self.yields, self.seen = corpus, yields, seen
        self.operators, self.proposed, self.asked = operators, proposed, False


def make(seed: int) -> AlignGuardGuide:
    """A guide that knows nothing yet."""
    return AlignGuardGuide(seed)
