"""One command's work, put together: the build, the workers, campaigns, triage, issues.

Invariant: what a command does is decided here and said through `Voice`; how it is asked for and shown is
the command line's. Each step leaves its result on disk before the next begins, so that a command that is
killed is picked up by the next one.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from bot import assisting, leftovers, trials
from bot import fresh as fresh_process
from bot.asking import Asker
from bot.builds.channels import environments, interpreter, newest
from bot.builds.offer import Offer
from bot.builds.untested import trial_that_tested
from bot.campaign import Campaign
from bot.confine import private_folder
from bot.confirm import Fresh
from bot.durations import short
from bot.errors import MachineryFailure, UserMistake
from bot.files import InUseError, check_writable, owned, utc_now
from bot.record import Over, Record, campaign_id, read_record
from bot.render import render
from bot.retest import Retested, retest
from bot.settings import Settings
from bot.steps import Spec
from bot.store import Store
from bot.target import Pool, Worker, probe
from bot.triage import Allowance, TriageResult, triage
from fuzzers.engines import BY_FRAMEWORK
from fuzzers.records import Budget, Build, Ending, Json, Limits, Run

SCRIPT_LIMITS = Limits(seconds=120.0)
"""For a reproducer in a warm worker: its compile takes seconds, on a loaded machine a minute."""

NIGHTLY = frozenset({"release", "nightly"})
"""The channels of which only a build that was not tested is tested; who names one build means that one."""


class Voice(Protocol):
    """Where a command says what it does."""

    def say(self, line: str) -> None:
        """One line for people."""

    def campaign(self, record: Record, budget: Budget) -> None:
        """How far a campaign is; called several times a second."""

    def triage(self, ident: str, stage: str, outcome: str) -> None:
        """What a stage of triage came to, for the suspect of this content hash."""


@dataclass(frozen=True)
class Outcome:
    """What a command came to: campaigns, triage (None when it was not run: `why_not`), suspects left
    `waiting` for another triage, issues written."""

    build: Build
    campaigns: tuple[Record, ...] = ()
    triaged: TriageResult | None = None
    why_not: str = ""
    waiting: int = 0
    issues: tuple[Path, ...] = ()

    @property
    def exit_code(self) -> int:
        """overview.md's order: the machinery failed, partial, new findings, neither."""
        failed = self.triaged is not None and self.triaged.failures
        if failed:
            return 3
        if self.waiting:
            return 4
        return 1 if self.triaged is not None and self.triaged.new else 0


@dataclass
class Session:
    """One command's work on one build. `stop`, once set, ends what runs soon; `startup_counts` says whether
    a campaign's budget is used up by starting its workers, too."""

    settings: Settings
    voice: Voice
    stop: threading.Event = field(default_factory=threading.Event)
    startup_counts: bool = True
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        assisting.check(self.settings)
        self.out = self.settings.out
        check_writable(self.out)
        self.store = Store(self.out / "store", self.voice.say)
        self.revisions: dict[str, str] = {}
        self.build = self._chosen()

    def run(self, *, fresh: bool = False, triaging: bool = True) -> Outcome:
        """A campaign of every engine, then triage and issues."""
        engines = self._engines()
        if self.settings.build in NIGHTLY and not fresh:
            engines = self._untested()
        if not engines:
            said = f"no new build: {self.build.name} is the newest one and has been tested"
            self.voice.say(f"{said}; --fresh tests it again")
            return Outcome(self.build, why_not=said)
        records = tuple(self._tried(engine, fresh) for engine in engines)
        if not triaging:
            return self._untriaged(records, "--no-triage was given")
        if self.stop.is_set():
            return self._untriaged(records, "the campaign was stopped")
        return self.triage(records)

    def triage(self, records: tuple[Record, ...] = ()) -> Outcome:
        """Suspects to findings, findings to issues."""
        new = leftovers.adopt(self.out, self.store)
        if new:
            self.voice.say(f"suspects made of candidates that ran when a campaign was killed: {new}")
        result = TriageResult()
        if waiting := len(self.store.pending()):
            self.voice.say(f"triage; suspects: {waiting}")
            result = self._triage()
        issues = tuple(render(self.store.findings(), self.out / "issues", self.settings.publish_down_to))
        left = len(self.store.pending())
        return Outcome(self.build, records, result, waiting=left, issues=issues)

    def retest(self, only: str = "") -> list[Retested]:
        """Every finding on the build, or the one that goes by this name."""
        if not any(True for _ in self.store.findings()):
            return []
        with self.workshop() as folder:
            try:
                with Worker(self.build, folder) as worker:
                    worker.start()  # leaves the precompiled header, which each fresh process would else build
            except MachineryFailure as failure:
                self.voice.say(f"nothing compiles on {self.build.name}: {failure}")
            runner = fresh_runner(self.build, self.settings.workers, folder)
            return retest(self.store, self.build, runner, self._tell_retested, only)

    def record(self, command: str, document: Json) -> None:
        """Keep what a command came to: one file a run."""
        self.store.record_run(f"{utc_now().replace(':', '')}-{command}-{os.getpid()}", document)

    def _tell_retested(self, one: Retested) -> None:
        self.voice.say(f"{one.signature}: {one.verdict}" + (f" ({one.reason})" if one.reason else ""))

    def _triage(self) -> TriageResult:
        allowance = Allowance(self.settings.triage_budget, stopped=self.stop.is_set)
        with self.workshop() as folder, self._pool(folder) as pool:
            asker = Asker(pool, SCRIPT_LIMITS)
            runner = fresh_runner(self.build, self.settings.workers, pool.folder)
            return triage(self.store, asker, runner, allowance, self.voice.triage)

    def _pool(self, folder: Path) -> Pool:
        extra = search_path(self.settings, folder)
        return Pool(self.build, self.settings.workers, folder, extra=extra)

    @contextmanager
    def workshop(self) -> Iterator[Path]:
        """The folder that workers share: it keeps the precompiled header from command to command, and the
        kernels to the end of this one. Another running command has it: then a temporary one."""
        build = self.build
        folder = self.out / "cache" / f"{build.framework}-{build.version}-{build.git_sha[:8]}"
        with ExitStack() as held:
            try:
                held.enter_context(owned(folder / "lock", str(folder)))
            except InUseError:
                yield held.enter_context(private_folder())
                return
            held.callback(shutil.rmtree, folder / "inductor", ignore_errors=True)
            yield folder

    def _untriaged(self, records: tuple[Record, ...], why: str) -> Outcome:
        left = len(self.store.pending())
        return Outcome(self.build, records, None, why, waiting=left if self.stop.is_set() else 0)

    def _chosen(self) -> Build:
        """The build that the settings name, installed if need be."""
        if self.settings.build == "installed":
            return probe(interpreter(self.settings), self.settings.framework)
        offer = newest(self.settings)
        cache = environments(self.settings, self.voice.say, self.stop.is_set)
        held = ExitStack()
        # Until then no other nightfuzz takes the environment away.
        weakref.finalize(self, held.close)
        got = held.enter_context(cache.using(offer))
        if isinstance(got, Build):
            self.began = time.monotonic()  # an install takes minutes, which are not the campaign's
            return got
        for engine in self.settings.engine:
            self.store.record_trial(trials.of_install(got, cache.python.version, engine))
        raise MachineryFailure(f"{offer.name} cannot be installed: {got.reason}")

    def _engines(self) -> tuple[str, ...]:
        """Those of the settings that the framework has; one that is kept elsewhere has to know."""
        there = BY_FRAMEWORK[self.build.framework]
        found = tuple(name for name in self.settings.engine if name in there or ":" in name)
        if not found:
            named = ", ".join(self.settings.engine)
            raise UserMistake(f"{named}: not on {self.build.framework}, which has {', '.join(there)}")
        return found

    def _untested(self) -> tuple[str, ...]:
        """The engines that have not tested the build; that the others have is noted."""
        build, ledger, left = self.build, self.store.ledger(), []
        offer = Offer(build.framework, build.version, build.variant, git_sha=build.git_sha)
        with self.workshop() as folder:
            extra = search_path(self.settings, folder)
            with Worker(build, folder, cold=True, extra=extra) as worker:
                for engine in self._engines():
                    self.revisions[engine] = about(build, engine, self.settings, worker).revision
        for engine, revision in self.revisions.items():
            if before := trial_that_tested(offer, ledger, engine, revision, build.python):
                self.store.record_trial(trials.of_known(before))
            else:
                left.append(engine)
        return tuple(left)

    def _tried(self, engine: str, fresh: bool) -> Record:
        """A campaign, and what the ledger keeps of it, also when it could not be run."""
        try:
            record = self._campaign(engine, fresh)
        except MachineryFailure as failure:
            revision = self.revisions.get(engine, "")
            self.store.record_trial(trials.of_failure(self.build, engine, revision, failure))
            raise
        if record.over is not Over.STOPPED:
            self.store.record_trial(trials.of_campaign(record))
        return record

    def _campaign(self, engine: str, fresh: bool) -> Record:
        self.voice.say(f"starting {self.settings.workers} workers on {self.build.name}")
        with self.workshop() as cache, self._pool(cache) as pool:
            spec = about(self.build, engine, self.settings, pool)
            self.revisions[engine] = spec.revision
            folder = self.out / "campaigns" / campaign_id(spec)
            if fresh:
                leftovers.forget(folder, self.store)
            share = self.settings.budget / len(self._engines())
            budget = Budget(share, self.settings.candidates)
            before = read_record(folder / "campaign.json", self.voice.say)
            if before is not None and before.is_finished(budget):
                self.voice.say(
                    f"campaign {before.id} has used this budget; another --seed finds other things, "
                    "a larger --budget goes on, --fresh starts over"
                )
                return before
            self.voice.say(f"{'starting' if before is None else 'going on with'} campaign {folder.name}")
            with assisting.guide(engine, self.settings, self.voice.say) as guide:
                campaign = Campaign(
                    spec,
                    folder,
                    self.store,
                    self.stop,
                    lambda record: self.voice.campaign(record, budget),
                    guide=guide,
                )
                startup = time.monotonic() - self.began if self.startup_counts else 0.0
                record = campaign.run(pool, budget, startup)
        self.began = time.monotonic()
        self.voice.say(f"campaign {record.id} is over: {trials.REASONS[record.over]}")
        if record.startup >= share:
            self.voice.say(
                f"starting the workers took {short(record.startup)}, all of the budget: use a larger one"
            )
        return record


def search_path(settings: Settings, folder: Path) -> dict[str, str]:
    """What lets a worker in `folder` import engines that are kept elsewhere: our tree, then theirs."""
    if settings.engine_path is None:
        return {}
    return {"PYTHONPATH": f"{folder.resolve() / 'tree'}:{settings.engine_path.resolve()}"}


def about(build: Build, engine: str, settings: Settings, pool: Pool | Worker) -> Spec:
    """The campaign that these settings mean, once the engine has told its revision."""
    reply = pool.call("engine.about", {"engine": engine})
    if reply.ended is not Ending.OK:
        said = (reply.error or {}).get("message") or reply.signal or reply.ended
        failure = f"the engine {engine!r} cannot be loaded in {build.interpreter}: {said}"
        raise UserMistake(failure) if ":" in engine else MachineryFailure(failure)
    about = reply.value
    return Spec(
        engine=engine,
        revision=about["revision"],
        chain_length=about["chain_length"],
        build=build,
        seed=settings.seed,
        aspects=settings.aspects,
        batch=about["batch"],
    )


def fresh_runner(build: Build, at_once: int, headers: Path | None) -> Fresh:
    """Runs scripts in fresh processes, `at_once` side by side."""

    def run(scripts: Sequence[str]) -> list[Run]:
        running = fresh_process.Running()
        one = partial(fresh_process.run, build, headers=headers, running=running)
        with ThreadPoolExecutor(at_once) as threads:
            try:
                return list(threads.map(one, scripts))
            except BaseException:
                # Leaving the pool waits for its threads, and they would wait for the scripts that they run.
                running.close()
                raise

    return run
