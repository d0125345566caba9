"""The project's own figures: how many programs a second are executed and checked, and what that yields.

Invariant: what is measured is a campaign as `run` makes it, in a folder of its own; the time counts from
when the workers are ready, and the confirming afterwards is no part of it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.asking import Asker
from bot.confirm import Confirmed, confirm
from bot.errors import MachineryFailure
from bot.order import ordered
from bot.record import Record
from bot.session import SCRIPT_LIMITS, Session, fresh_runner
from bot.target import Pool
from fuzzers.records import Ending, Json, Limits

OWN_FIGURES = {"flowmut": "flowmut.figures"}
"""Engine -> the job that measures what is the engine's own business."""

OWN_PROGRAMS = 150
"""Programs that such a job looks at; they are made and run, not compiled."""

OWN_LIMITS = Limits(seconds=300)


@dataclass(frozen=True)
class Figures:
    """One measurement. `examined` is how many of the suspects there was time to confirm or refuse; `own` are
    the engine's own figures, which say more exactly what the campaign's counts say too."""

    record: Record
    suspects: int
    examined: int
    confirmed: int
    own: Json = field(default_factory=dict)

    def document(self) -> Json:
        """As JSON: the figures that are compared from commit to commit, then what they come from."""
        record = self.record
        return {
            "engine": record.spec.engine,
            "aspects": record.spec.aspects,
            "programs_per_second": round(record.programs_per_second, 3),
            "legal_rate": round(record.tally.legal_rate, 4),
            **valid_rates(record.tally.counts),
            **self.own,
            "suspects": self.suspects,
            "examined": self.examined,
            "confirmed": self.confirmed,
            "peak_mib": record.peak_mib,
            "seconds": record.seconds,
            "startup_seconds": record.startup,
            "workers": record.workers,
            "restarts": record.restarts,
            "seed": record.spec.seed,
            "build": record.spec.build.name,
            "counts": dict(sorted(record.tally.counts.items())),
            "fates": dict(sorted(record.tally.fates.items())),
        }


def valid_rates(counts: Mapping[str, int]) -> Json:
    """For each maker of programs that the engine tells apart, the share of its programs that eager ran; and
    how many kinds of mutation (characteristics) such programs had."""
    makers = sorted(name.removeprefix("made:") for name in counts if name.startswith("made:"))
    rates: Json = {
        f"valid_rate_{m}": round(counts.get(f"ran:{m}", 0) / counts[f"made:{m}"], 4) for m in makers
    }
    used = sum(name.startswith("used:") for name in counts)
    return {**rates, "characteristics_exercised": used} if makers else {}


def measure(session: Session) -> Figures:
    """Run one campaign and confirm what it found, worst first, for as long as the triage budget lasts."""
    outcome = session.run(triaging=False)
    (record,) = outcome.campaigns
    suspects = list(session.store.suspects())
    end = time.monotonic() + session.settings.triage_budget
    examined = confirmed = 0
    if suspects and not session.stop.is_set():
        workers = session.settings.workers
        with session.workshop() as folder, Pool(session.build, workers, folder) as pool:
            asker, fresh = Asker(pool, SCRIPT_LIMITS), fresh_runner(session.build, workers, folder)
            for suspect in ordered(suspects):
                if time.monotonic() >= end or session.stop.is_set():
                    break
                examined += 1
                confirmed += isinstance(confirm(suspect, fresh, asker), Confirmed)
    return Figures(record, len(suspects), examined, confirmed, _own(session, record.spec.engine))


def _own(session: Session, engine: str) -> Json:
    job = OWN_FIGURES.get(engine)
    if job is None or session.stop.is_set():
        return {}
    with session.workshop() as folder, Pool(session.build, 1, folder) as pool:
        (reply,) = pool.map([(job, {"seed": session.settings.seed, "programs": OWN_PROGRAMS})], OWN_LIMITS)
    if reply.ended is not Ending.OK:
        raise MachineryFailure(f"the job {job} failed: {(reply.error or {}).get('message') or reply.ended}")
    value: Json = reply.value
    return value
