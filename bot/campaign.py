"""A campaign: the chains of one engine on one build, run over the workers until the budget is used.

Invariant: after each step, first its suspects are stored, then its chain's file is replaced, then its
journal goes. So whatever is killed, at any moment, a step is either done or is done again (the same step,
for it is a pure function of the seed), a suspect is never lost, and the store takes it only once.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bot import wire
from bot.chains import Chain, Progress
from bot.errors import MachineryFailure
from bot.files import owned, utc_now, write_atomically
from bot.guiding import Guiding
from bot.memory import tree_mib
from bot.record import Over, Record, read_record
from bot.stepping import ATTEMPTS, BATCH_SECONDS, Step, Stepping, Worker
from bot.steps import Done, Fate, Spec, interrupted
from bot.store import Store
from bot.tally import tally
from fuzzers.engine import Guide, Sighting, StepTask
from fuzzers.records import Budget, Limits

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
FAILURES_AT_LEAST = 5
FAILURES_SHARE = 0.2
"""More failures than both, and it is the machinery and not one odd candidate: the campaign is given up."""


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
    about five times a second. `guide` chooses for the engine, if it has one."""

    spec: Spec
    folder: Path
    store: Store
    stop: threading.Event = field(default_factory=threading.Event)
    watch: Callable[[Record], None] = lambda _: None
    limits: Limits = field(default_factory=Limits)
    guide: Guide | None = None

    def __post_init__(self) -> None:
        self.progress = Progress(self.folder, self.store.warn)
        self.record_path = self.folder / "campaign.json"
        self._lock = threading.Lock()
        self._halt = threading.Event()
        self._cut = threading.Event()
        self._stepping = Stepping(self.spec, self.limits, self._cut, self._announced)
        self._guiding = Guiding(self.guide, self.folder / "guide.json")

    def run(self, pool: Pool, budget: Budget, startup: float = 0.0) -> Record:
        """Go on until the budget is used. The budget counts what earlier runs used, and the `startup`
        seconds that this one took until its workers were ready. MachineryFailure when the workers or the
        engine keep failing; what was found until then is stored."""
        with owned(self.folder / "lock", f"the campaign {self.folder.name}"):
            self._resume(pool, budget, startup)
            with pool.borrow() as worker:
                self._guiding.prepare(worker, self.limits, self.store.warn)
            outcome = Over.FAILED
            try:
                outcome = self._drive(pool)
            finally:
                self._write(outcome)
                self._guiding.save()
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
                self._keep(interrupted(self.spec, chain, self._announced(path), utc_now()), path)
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
        """Chains to their ends, as many side by side as their steps go into one batch."""
        with self._pool.borrow() as worker:
            held: list[Chain] = []
            while not self._halt.is_set():
                with self._lock:
                    steps = self._next_steps(held)
                if not steps:
                    return
                together = self._take_together(worker, steps) if len(steps) > 1 else []
                taken = together or self._take_singly(worker, steps)
                held = [chain for chain in taken if not chain.done]

    def _next_steps(self, held: list[Chain]) -> list[Step]:
        """The next step of these chains, and of others up to a batch, as far as the budget goes. Near its end
        a batch is one step, so that little is cut off; chains that have no room go on later."""
        room = self.spec.batch if self._time_left() > BATCH_SECONDS else 1
        self._waiting[:0] = [chain.chain for chain in held]
        steps: list[Step] = []
        while len(steps) < room and not self._spent(self._waiting[0] if self._waiting else None):
            chain = self._chains[self._waiting.pop(0)] if self._waiting else self._new_chain()
            if chain.chain in self._owed:
                self._owed.remove(chain.chain)
            else:
                self._steps += 1
            spec = self.spec
            task = StepTask(spec.seed, chain.chain, chain.step, spec.aspects, chain.state, spec.seeds)
            steps.append(Step(chain, self._guiding.before(task)))
        return steps

    def _new_chain(self) -> Chain:
        chain = Chain(self._next_chain)
        self._next_chain += 1
        self._chains[chain.chain] = chain
        return chain

    def _take_together(self, worker: Worker, steps: list[Step]) -> list[Chain]:
        """The chains after their steps in one child; none when that did not end well."""
        began = time.monotonic()
        done = self._stepping.together(worker, steps) or []
        seconds = (time.monotonic() - began) / len(steps)
        return [self._finish(one, step, seconds) for one, step in zip(done, steps, strict=False)]

    def _take_singly(self, worker: Worker, steps: list[Step]) -> Iterator[Chain]:
        """The chains after their steps, one after the other; fewer when the campaign is cut."""
        for step in steps:
            if self._cut.is_set():
                return
            began = time.monotonic()
            journal = self.progress.journal(step.chain.chain, step.chain.step)
            done = self._stepping.alone(worker, step, journal)
            if done is None:
                journal.unlink(missing_ok=True)
                return
            yield self._finish(done, step, time.monotonic() - began)

    def _finish(self, done: Done, step: Step, seconds: float) -> Chain:
        """Store what a step came to, and let the guide learn from it."""
        chain = self._keep(done, self.progress.journal(step.chain.chain, step.chain.step))
        self._guiding.after(step, done.outcome, seconds)
        return chain

    def _keep(self, done: Done, journal: Path) -> Chain:
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
                self._guiding.save()
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
        return self._time_left() <= 0

    def _time_left(self) -> float:
        return self._budget.seconds - self._elapsed() - self._startup

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
