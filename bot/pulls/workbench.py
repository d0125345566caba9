"""Where the files of a pull request are run: one build, a store of its own, workers a phase at a time.

Invariant: nothing here writes a store, a ledger or a cache that anybody else reads; all of it is in one
folder that goes away. What the night knows is copied in, so that a bug keeps its name. Foreign code runs in
children of workers alone, and whatever it does to them is an answer about the file.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot import wire
from bot.asking import Asker
from bot.campaign import Campaign
from bot.chains import Chain
from bot.errors import MachineryFailure
from bot.files import utc_now
from bot.record import Record
from bot.session import SCRIPT_LIMITS, Voice, about, fresh_runner, search_path
from bot.settings import Settings
from bot.steps import Done, Reply, Spec, read_reply
from bot.store import Store
from bot.target import Pool
from bot.triage import Allowance, triage
from fuzzers.engine import Piece, Reading, Sighting, StepStatus
from fuzzers.records import Budget, Build, Ending, Finding, Json, Limits, Suspect

READ_LIMITS = Limits(seconds=120.0)
"""Making a model and running it uncompiled three times."""

CHECK_LIMITS = Limits(seconds=240.0)
"""Compiling a whole model on a loaded machine."""

MOST_PIECES = 24
"""Pieces that are checked as they stand when the whole differs: a second each."""

MOST_KEPT = 4
"""Differing pieces of one file that become suspects; they are on different lines."""

ATTEMPTS = 2
"""For a child that was killed from outside."""


@dataclass(frozen=True)
class Looked:
    """A file as it stands: what it calls, the suspects (content hashes), and why it was not compared, empty
    when it was."""

    reading: Reading = field(default_factory=Reading)
    suspects: frozenset[str] = frozenset()
    why_not: str = ""


@dataclass
class Workbench:
    """Runs files on `build`, in `folder`. `known` is the night's store, `cache` where workers keep what they
    build."""

    settings: Settings
    build: Build
    folder: Path
    voice: Voice
    stop: threading.Event
    known: Path | None = None
    cache: Path | None = None
    campaigns: list[Record] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.known is not None and (self.known / "findings").is_dir():
            shutil.copytree(self.known / "findings", self.folder / "store" / "findings")
        self.store = Store(self.folder / "store", self.voice.say)
        self.seen: dict[str, Suspect] = {}
        self.before = frozenset(self.store.catalogue.now().owner)

    @contextmanager
    def pool(self) -> Iterator[Pool]:
        """Workers; a campaign that runs out of time takes them with it."""
        cache = self.cache or self.folder / "cache"
        extra = search_path(self.settings, cache)
        with Pool(self.build, self.settings.workers, cache, extra=extra) as pool:
            yield pool

    def look(self, pool: Pool, engine: str, path: Path, lines: Sequence[int], *, check: bool) -> Looked:
        """Read a file, and with `check` compare it as it stands. Its suspects are not triaged until they are
        taken."""
        reply = pool.call(
            "engine.read", {"engine": engine, "path": str(path), "lines": list(lines)}, READ_LIMITS
        )
        reading = reading_of(reply)
        if reading.refused or not check:
            return Looked(reading, why_not=reading.refused)
        spec = about(self.build, engine, self.settings, pool)
        args: Json = {"engine": engine, "aspects": "full"}
        whole, why = self._checked(pool, spec, "engine.check_file", {**args, "path": str(path)})
        found = list(whole)
        if whole:
            found = self._narrowed(pool, spec, whole, reading.pieces, args)
        self.seen |= {suspect.id: suspect for suspect in found}
        return Looked(reading, frozenset(s.id for s in found), why)

    def take(self, suspects: frozenset[str]) -> None:
        """Have triage look into these."""
        for ident in sorted(suspects):
            self.store.add(self.seen[ident])

    def _narrowed(
        self, pool: Pool, spec: Spec, whole: tuple[Suspect, ...], pieces: Sequence[Piece], args: Json
    ) -> list[Suspect]:
        """The pieces that differ by themselves, on different lines; of the whole what none of them shows.
        Pieces are programs, which reduce better, and two bugs in one model are two pieces."""

        def one(piece: Piece) -> tuple[Suspect, ...]:
            asked = {**args, "aspects": aspects, "program": piece.program}
            return self._checked(pool, spec, "engine.check_piece", asked)[0]

        aspects = "full" if any(s.detail.get("phase") == "gradient" for s in whole) else "forward"
        with ThreadPoolExecutor(pool.size) as threads:
            seen = list(threads.map(one, pieces[:MOST_PIECES]))
        kept: list[Suspect] = []
        taken: set[int] = set()
        for piece, suspects in sorted(zip(pieces, seen, strict=False), key=lambda p: len(p[0].lines)):
            if suspects and not taken & set(piece.lines) and len(kept) < MOST_KEPT:
                kept += suspects
                taken |= set(piece.lines)
        shown = {(s.kind, s.aspect) for s in kept}
        return kept + [s for s in whole if (s.kind, s.aspect) not in shown]

    def _checked(self, pool: Pool, spec: Spec, job: str, args: Json) -> tuple[tuple[Suspect, ...], str]:
        """(suspects, why nothing was compared)."""
        journal = self.folder / "journal" / f"{threading.get_ident()}.json"
        journal.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(ATTEMPTS):
            journal.unlink(missing_ok=True)
            reply = pool.call(job, args, CHECK_LIMITS, journal)
            announced = wire.read(Sighting, journal.read_bytes()) if journal.exists() else None
            done = read_reply(spec, Chain(0), reply, announced, utc_now())
            if done is not None:
                return done.suspects, why_not(done)
        return (), "its process was killed from outside, twice"

    def mutate(self, engine: str, pieces: Sequence[Piece], name: str, seconds: float) -> frozenset[str]:
        """A campaign that starts from these pieces; the suspects that are new by it."""
        before = {suspect.id for suspect in self.store.suspects()}
        with self.pool() as pool:
            spec = about(self.build, engine, self.settings, pool)
            spec = replace(spec, seeds=tuple(piece.program for piece in pieces))
            budget = Budget(seconds)
            campaign = Campaign(
                spec,
                self.folder / "campaigns" / name,
                self.store,
                self.stop,
                lambda record: self.voice.campaign(record, budget),
            )
            self.campaigns.append(campaign.run(pool, budget))
        return frozenset(suspect.id for suspect in self.store.suspects()) - before

    def triage(self, pool: Pool, seconds: float) -> int:
        """Suspects to findings, for that long; how many are left."""
        allowance = Allowance(seconds, stopped=self.stop.is_set)
        asker = Asker(pool, SCRIPT_LIMITS)
        runner = fresh_runner(self.build, self.settings.workers, pool.folder)
        triage(self.store, asker, runner, allowance, self.voice.triage)
        return len(self.store.pending())

    def findings(self, suspects: frozenset[str]) -> dict[str, tuple[Finding, list[Suspect]]]:
        """By signature, the findings that these suspects led to."""
        found: dict[str, tuple[Finding, list[Suspect]]] = {}
        for ident in sorted(suspects):
            finding = self.store.finding(self.store.state(ident).finding)
            suspect = self.store.suspect(ident)
            if finding is not None and suspect is not None:
                found.setdefault(finding.signature, (finding, []))[1].append(suspect)
        return found

    def waiting(self, suspects: frozenset[str]) -> list[Suspect]:
        """Those of the suspects that triage has not come to."""
        return [suspect for suspect in self.store.pending() if suspect.id in suspects]

    def is_known(self, finding: Finding) -> bool:
        """Whether the night knew it."""
        return not self.before.isdisjoint(finding.names)


def reading_of(reply: Reply) -> Reading:
    """What came of reading a file. What the file's code did to its process is why it is refused."""
    if reply.ended is Ending.OK:
        try:
            return wire.convert(Reading, reply.value)
        except wire.UnreadableError as error:
            return Reading(refused=f"what it gave cannot be read: {error}")
    if reply.ended is Ending.EXCEPTION:
        said = (reply.error or {}).get("message", "")
        if (reply.error or {}).get("type") == "MemoryError":
            return Reading(refused="it needs more memory than a run has")
        raise MachineryFailure(f"a file could not be read: {(reply.error or {}).get('type')}: {said}")
    ended = {Ending.TIMEOUT: "it does not end", Ending.SIGNAL: f"its process ends by {reply.signal}"}
    return Reading(refused=ended.get(reply.ended, "its process could not run"))


def why_not(done: Done) -> str:
    """Why a check compared nothing, empty when it did."""
    if done.failure is not None:
        error = done.failure.get("error") or {}
        return f"checking it failed: {error.get('type') or done.failure.get('why')}"
    taken = done.chain.trace[-1]
    uncompared = (StepStatus.DROPPED, StepStatus.REJECTED)
    return taken.name if taken.status in uncompared else ""
