"""A campaign: the chains of one engine on one build, run over the workers until the budget is used.

Invariant: after each step, first its suspects are stored, then its chain's file is replaced, then its
journal goes. So whatever is killed, at any moment, a step is either done or is done again (the same step,
for it is a pure function of the seed), a suspect is never lost, and the store takes it only once.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bot import wire
from bot.chains import Chain, Progress
from bot.errors import MachineryFailure
from bot.files import owned, utc_now, write_atomically
from bot.memory import tree_mib
from bot.record import Over, Record, read_record
from bot.steps import Done, Fate, Reply, Spec, interrupted, read_reply
from bot.store import Store
from bot.tally import tally
from fuzzers.engine import Sighting
from fuzzers.records import Budget, Json, Limits

CUT_SECONDS = 6.0
"""How long running steps may still take when the budget is used: most end by then (a step takes a second
or two), and the rest of the 15 s that a campaign may overrun is for ending the workers."""
STOP_SECONDS = 2.0
"""The same when a person is waiting for Ctrl-C."""
TICK_SECONDS = 0.2
MEMORY_SECONDS = 2.0
"""Reading the proportional sizes of a dozen processes takes tens of milliseconds of a core."""
RECORD_SECONDS = 5.0
"""How old campaign.json may get; a campaign that is killed forgets this much of the time it has used."""
ATTEMPTS = 2
"""How often a candidate that is killed from outside is begun before it is given up as a suspect."""
ATTEMPTS_UNANNOUNCED = 10
"""The same while there is no candidate yet: then the killing cannot be its fault."""
FAILURES_AT_LEAST = 5
FAILURES_SHARE = 0.2
"""More failures than both, and it is the machinery and not one odd candidate: the campaign is given up."""


class Worker(Protocol):
    """One worker (`bot.target`)."""

    def call(
        self, job: str, args: Json, limits: Limits | None = None, journal: Path | None = None
    ) -> Reply: ...


class Pool(Protocol):
    """The workers (`bot.target`). `close` may be called while calls are running: they end by SIGKILL."""

    size: int

    @property
    def restarts(self) -> int: ...
    @property
    def pids(self) -> list[int]: ...
    def borrow(self) -> AbstractContextManager[Worker]: ...
    def close(self) -> None: ...


@dataclass
class Campaign:
    """One campaign in its folder. `stop`, once set, ends it soon; `watch` is called with the record so far,
    about five times a second."""

    spec: Spec
    folder: Path
    store: Store
    stop: threading.Event = field(default_factory=threading.Event)
    watch: Callable[[Record], None] = lambda _: None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        self.progress = Progress(self.folder, self.store.warn)
        self.record_path = self.folder / "campaign.json"
        self._lock = threading.Lock()
        self._halt = threading.Event()
        self._cut = threading.Event()

    def run(self, pool: Pool, budget: Budget, startup: float = 0.0) -> Record:
        """Go on until the budget is used. The budget counts what earlier runs used, and the `startup`
        seconds that this one took until its workers were ready. MachineryFailure when the workers or the
        engine keep failing; what was found until then is stored."""
        with owned(self.folder / "lock", f"the campaign {self.folder.name}"):
            self._resume(pool, budget, startup)
            outcome = Over.FAILED
            try:
                outcome = self._drive(pool)
            finally:
                self._write(outcome)
                self.progress.write_trace(list(self._chains.values()))
            return self._record(outcome)

    # Beginning

    def _resume(self, pool: Pool, budget: Budget, startup: float) -> None:
        before = read_record(self.record_path, self.store.warn)
        self._pool, self._budget = pool, budget
        self._began = time.monotonic()
        self._used = before.seconds if before else 0.0
        self._startup = startup + (before.startup if before and before.tally.steps else 0.0)
        self._started_at = before.started_at if before else utc_now()
        self._new = before.suspects if before else 0
        self._restarts = before.restarts if before else 0
        self._peak = before.peak_mib if before else 0.0
        self._measured = 0.0
        self._chains = {chain.chain: chain for chain in self.progress.load()}
        self._tally = tally(list(self._chains.values()))
        self._count_interruptions()
        # A number without a file is a chain that was killed in its first step, or whose file was cut.
        self._next_chain = max(self._chains, default=-1) + 1
        begun = [self._chains.setdefault(number, Chain(number)) for number in range(self._next_chain)]
        # What a killed controller had begun comes first and is counted already, so that a budget of
        # candidates cannot run out before it: it would stay without an end.
        owed = [chain for chain in begun if not chain.done]
        self._waiting = [chain.chain for chain in sorted(owed, key=lambda chain: not chain.interrupted)]
        self._owed = {chain.chain for chain in owed if chain.interrupted}
        self._steps = self._tally.steps + len(self._owed)
        self._write(Over.RUNNING)

    def _count_interruptions(self) -> None:
        """What the journals left by a killed controller say: an outcome that is stored (forget it), or a
        step that is done again, unless it was this step the last time too."""
        for number, step, path in self.progress.left_journals():
            chain = self._chains.get(number, Chain(number))
            if step < chain.step or chain.done:
                path.unlink()
            elif chain.interrupted + 1 >= ATTEMPTS:
                self._finish(interrupted(self.spec, chain, self._announced(path), utc_now()), path)
            else:
                again = chain.again()
                self.progress.save(again)
                self._chains[number] = again

    # The threads' side

    def _drive(self, pool: Pool) -> Over:
        with ThreadPoolExecutor(pool.size, thread_name_prefix="chain") as threads:
            running = [threads.submit(self._take_chains) for _ in range(pool.size)]
            try:
                over = self._wait(running)
            finally:
                self._halt.set()
                if any(not future.done() for future in running):
                    self._cut.set()
                    pool.close()
        for future in running:
            future.result()
        return over

    def _take_chains(self) -> None:
        with self._pool.borrow() as worker:
            while not self._halt.is_set():
                with self._lock:
                    if self._spent(self._waiting[0] if self._waiting else None):
                        return
                    chain = self._chains[self._waiting.pop(0)] if self._waiting else self._new_chain()
                self._run_chain(worker, chain)

    def _new_chain(self) -> Chain:
        chain = Chain(self._next_chain)
        self._next_chain += 1
        self._chains[chain.chain] = chain
        return chain

    def _run_chain(self, worker: Worker, chain: Chain) -> None:
        while not chain.done:
            with self._lock:
                if self._halt.is_set() or self._spent(chain.chain):
                    return
                if chain.chain in self._owed:
                    self._owed.remove(chain.chain)
                else:
                    self._steps += 1
            journal = self.progress.journal(chain.chain, chain.step)
            done = self._take_step(worker, chain, journal)
            if done is None:
                journal.unlink(missing_ok=True)
                return
            chain = self._finish(done, journal)

    def _take_step(self, worker: Worker, chain: Chain, journal: Path) -> Done | None:
        """Run the chain's next step; None when the campaign was cut during it."""
        args: Json = {
            "engine": self.spec.engine,
            "seed": self.spec.seed,
            "chain": chain.chain,
            "step": chain.step,
            "aspects": self.spec.aspects,
            "state": chain.state,
            "seeds": self.spec.seeds,
        }
        attempts = 0
        while True:
            attempts += 1
            try:
                reply = worker.call("engine.step", args, self.limits, journal)
            except MachineryFailure:
                if self._cut.is_set():  # the worker was closed under the call
                    return None
                raise
            announced = self._announced(journal)
            done = read_reply(self.spec, chain, reply, announced, utc_now())
            if done is not None:
                return done
            if self._cut.is_set():
                return None
            if attempts >= (ATTEMPTS if announced else ATTEMPTS_UNANNOUNCED):
                return interrupted(self.spec, chain, announced, utc_now())

    def _finish(self, done: Done, journal: Path) -> Chain:
        """Store what a step came to, in the order that the invariant asks for."""
        new = sum(self.store.add(suspect) for suspect in done.suspects)
        if done.failure is not None:
            text = json.dumps(done.failure, indent=1) + "\n"
            write_atomically(self.folder / "failures" / journal.name, text)
        self.progress.save(done.chain)
        journal.unlink(missing_ok=True)
        with self._lock:
            before = self._chains.get(done.chain.chain, Chain(done.chain.chain))
            self._chains[done.chain.chain] = done.chain
            self._tally = self._tally.with_step(before, done.chain)
            self._new += new
        return done.chain

    def _announced(self, journal: Path) -> Sighting | None:
        try:
            return wire.read(Sighting, journal.read_bytes())
        except FileNotFoundError:
            return None
        except wire.UnreadableError as error:
            self.store.warn(f"{journal} cannot be read, so what it announced is not known: {error}")
            return None

    # The main thread's side

    def _wait(self, running: list[Future[None]]) -> Over:
        """Until the threads are through, or may not take longer; raises what a thread raised."""
        patience: float | None = None
        recorded = 0.0
        while True:
            finished, rest = wait(running, TICK_SECONDS, FIRST_EXCEPTION)
            for future in finished:
                future.result()
            record = self._observe()
            if time.monotonic() - recorded > RECORD_SECONDS:
                recorded = time.monotonic()
                self._write(Over.RUNNING)
            self._check_failures(record)
            if not rest:
                break
            if patience is None and (self.stop.is_set() or self._out_of_time()):
                self._halt.set()
                patience = time.monotonic() + (STOP_SECONDS if self.stop.is_set() else CUT_SECONDS)
            if patience is not None and time.monotonic() > patience:
                break
        if self.stop.is_set():
            return Over.STOPPED
        return Over.BUDGET if self._out_of_time() else Over.CANDIDATES

    def _observe(self) -> Record:
        if time.monotonic() - self._measured > MEMORY_SECONDS:
            self._measured = time.monotonic()
            self._peak = max(self._peak, tree_mib(self._pool.pids))
        record = self._record(Over.RUNNING)
        self.watch(record)
        return record

    def _check_failures(self, record: Record) -> None:
        failed = record.tally.fates.get(Fate.FAILED, 0)
        if failed >= FAILURES_AT_LEAST and failed > FAILURES_SHARE * record.tally.steps:
            raise MachineryFailure(
                f"{failed} of {record.tally.steps} steps failed in the machinery; what they said is in "
                f"{self.folder / 'failures'}"
            )

    def _elapsed(self) -> float:
        return self._used + time.monotonic() - self._began

    def _out_of_time(self) -> bool:
        return self._elapsed() + self._startup >= self._budget.seconds

    def _spent(self, chain: int | None) -> bool:
        """Whether the budget has no room for the next step of this chain (None: of a new one)."""
        most = self._budget.candidates
        return self._out_of_time() or (most is not None and self._steps >= most and chain not in self._owed)

    def _record(self, over: Over) -> Record:
        return Record(
            id=self.folder.name,
            spec=self.spec,
            over=over,
            started_at=self._started_at,
            updated_at=utc_now(),
            seconds=round(self._elapsed(), 2),
            startup=round(self._startup, 2),
            tally=self._tally,
            suspects=self._new,
            restarts=self._restarts + self._pool.restarts,
            peak_mib=round(self._peak, 1),
            workers=self._pool.size,
        )

    def _write(self, over: Over) -> None:
        write_atomically(self.record_path, wire.text(self._record(over)))
