"""The line from a suspect to a finding: confirm, reduce, localise, find culprits, fingerprint, store.

Invariant: killed at any moment and started again, triage goes on after the last stage written down; a
suspect ends in exactly one finding or with a reason why not, and a finding is written before its suspect
is marked as done, which is harmless to do twice because joining is idempotent. A failure of the machinery
leaves a suspect pending: it decides nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from bot import classify, fingerprint, wire
from bot.asking import Asker
from bot.confirm import Confirmed, Fresh, Refused, confirm
from bot.culprits import Culprits, culprits_of
from bot.errors import MachineryFailure
from bot.files import utc_now
from bot.findings import join, title, traits
from bot.near import Seen
from bot.order import ordered, twins
from bot.recognise import WITHOUT, recognise, with_alias
from bot.shorten import Shortened, shorten
from bot.states import Status, TriageState
from bot.store import Store
from bot.written import Written, write_up
from fuzzers.records import Expect, Finding, Json, Suspect, Verdict, encode

T = TypeVar("T")

REFUSED: dict[Verdict, Status] = {
    Verdict.FLAKY: Status.FLAKY,
    Verdict.GONE: Status.NOT_REPRODUCED,
    Verdict.CANNOT_RUN: Status.CANNOT_RUN,
}
"""Verdict of a refused suspect -> where it ends."""

FAILURES_IN_A_ROW = 3
"""Then it is not the suspect that breaks the machinery, and going on would only burn the budget."""


MOST_HINTS = 12
"""Findings whose operators a reduction tries first. Each costs a run or two where it does not fit."""


@dataclass(frozen=True)
class Allowance:
    """What triage may use: seconds in all, seconds of reducing a suspect, and a question that says
    whether a person wants it to end."""

    seconds: float
    reduce_seconds: float = 60.0
    stopped: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class TriageResult:
    """What became of the suspects: signatures of findings (`new`: first seen here; `known`: met again),
    content hashes of the others, and machinery failures as (content hash, message)."""

    new: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    not_reproduced: tuple[str, ...] = ()
    cannot_run: tuple[str, ...] = ()
    deferred: tuple[str, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()


Tell = Callable[[str, str, str], None]
"""Gets (content hash, stage, what came out) as triage goes along."""


def triage(
    store: Store,
    asker: Asker,
    fresh: Fresh,
    allowance: Allowance,
    tell: Tell = lambda ident, stage, outcome: None,
    clock: Callable[[], float] = time.monotonic,
) -> TriageResult:
    """Take every pending suspect of `store` down the line, worst first, until the allowance is used up;
    the rest is marked as deferred and the next triage goes on with it."""
    end = clock() + allowance.seconds

    def over() -> bool:
        return allowance.stopped() or clock() >= end

    return _Line(store, asker, fresh, allowance, tell, clock, over).run(ordered(store.pending()))


@dataclass
class _Line:
    """One run of triage over a store."""

    store: Store
    asker: Asker
    fresh: Fresh
    allowance: Allowance
    tell: Tell
    clock: Callable[[], float]
    over: Callable[[], bool]
    named: dict[tuple[str, ...], str] = field(default_factory=dict)
    """Exceptions that have their finding already (`bot.order.twins`)."""

    def run(self, suspects: Sequence[Suspect]) -> TriageResult:
        failures: list[tuple[str, str]] = []
        in_a_row = 0
        for suspect in suspects:
            if self.over():
                self._keep(suspect, status=Status.DEFERRED, reason="out of budget")
                continue
            try:
                self._take(suspect)
                in_a_row = 0
            except MachineryFailure as failure:
                failures.append((suspect.id, str(failure)))
                self._keep(suspect, reason=f"the machinery failed: {failure}")
                self.tell(suspect.id, "machinery", str(failure))
                in_a_row += 1
                if in_a_row == FAILURES_IN_A_ROW:
                    raise MachineryFailure(
                        f"{in_a_row} suspects in a row failed in triage: {failure}"
                    ) from failure
        return self._result(suspects, failures)

    def _take(self, suspect: Suspect) -> None:
        twin = twins(suspect)
        if twin in self.named:
            return self._join(suspect, self.named[twin], {"script": suspect.script})
        confirmed = self._confirm(suspect)
        if isinstance(confirmed, Refused):
            return self._refuse(suspect, confirmed)
        early = early_name(suspect, confirmed)
        if early and (known := self.store.finding(early)) is not None:
            return self._done(suspect, known.signature, {"script": suspect.script})
        if self.over():
            return self._keep(suspect, status=Status.DEFERRED, reason="confirmed; out of budget to reduce it")
        seen = replace(suspect, kind=confirmed.slip.kind, aspect=confirmed.slip.aspect)
        shortened = self._stage(
            suspect,
            "reduce",
            Shortened,
            lambda: shorten(seen, confirmed.slip, self.asker, self._reducing_over(), self._hints(confirmed)),
        )
        written = self._stage(
            suspect, "write-up", Written, lambda: write_up(seen, confirmed, shortened, self.fresh, self.asker)
        )
        culprits = self._stage(
            suspect, "culprits", Culprits, lambda: culprits_of(written.script, written.place, self.asker)
        )
        return self._name(suspect, seen, Stages(confirmed, shortened, written, culprits), early)

    def _name(self, suspect: Suspect, seen: Suspect, stages: Stages, early: str) -> None:
        """Join the finding that this failure is; where there is none, it is one. The name that it had before
        it was reduced, if it had one, is an alias: the next one with it need not be reduced."""
        named = stages.traits(suspect.build.framework)
        signature = fingerprint.signature(named)
        written = stages.written
        known = self.store.finding(signature)
        if known is None:
            looked = recognise(self.store.findings(), Seen(named, stages.culprits.without), written.script)
            if looked.known:
                self.tell(suspect.id, "same bug", looked.why)
                known = self._alias(looked.known, signature)
            else:
                where = classify.first_seen(self.store.ledger(), suspect.build)
                known = classify.stand(found(signature, suspect, seen, stages, looked.near), where)
                self.store.put_finding(known, evidence(stages))
        if early:
            self._alias(known.signature, early)
        variant = {"script": written.script, "operators": list(written.operators)}
        self._done(suspect, known.signature, variant)

    def _hints(self, confirmed: Confirmed) -> list[tuple[str, ...]]:
        """Operators of the findings that a failure at this place may be: most of what is found was found
        before, and then the reduction is short."""
        alike = [f for f in self.store.findings() if f.stage == confirmed.place.stage and f.operators]
        kind = confirmed.slip.kind
        likely = sorted(alike, key=lambda f: (f.suspect.kind is not kind, -len(f.suspects), f.signature))
        return list(dict.fromkeys(f.operators for f in likely))[:MOST_HINTS]

    def _alias(self, known: str, signature: str) -> Finding:
        """The finding `known`, which has one more name now."""
        with self.store.shelf.held():
            finding = self._finding(known)
            named = with_alias(finding, signature)
            if named != finding:
                self.store.put_finding(named)
        return named

    def _finding(self, signature: str) -> Finding:
        known = self.store.finding(signature)
        if known is None:
            raise MachineryFailure(f"finding {signature} has gone from the store")
        return known

    def _confirm(self, suspect: Suspect) -> Confirmed | Refused:
        before = self.store.state(suspect.id).stages.get("confirm")
        if before is not None:
            return wire.convert(Confirmed, before)
        answer = confirm(suspect, self.fresh, self.asker)
        return (
            answer
            if isinstance(answer, Refused)
            else self._stage(suspect, "confirm", Confirmed, lambda: answer)
        )

    def _reducing_over(self) -> Callable[[], bool]:
        """A reduction that has begun gets its own time, whatever is left of the whole: what it would be
        cut to is a finding that nobody wants to read."""
        end = self.clock() + self.allowance.reduce_seconds
        return lambda: self.allowance.stopped() or self.clock() >= end

    def _stage(self, suspect: Suspect, name: str, kind: type[T], work: Callable[[], T]) -> T:
        """The result of a stage: what a triage before wrote down, or by doing it now and writing it down."""
        before = self.store.state(suspect.id)
        if name in before.stages:
            return wire.convert(kind, before.stages[name])
        result = work()
        self._keep(suspect, stages={**before.stages, name: encode(result)})
        self.tell(suspect.id, name, "done")
        return result

    def _done(self, suspect: Suspect, signature: str, variant: Json) -> None:
        """The suspect's finding is `signature`, and so is that of its twins."""
        if (twin := twins(suspect)) is not None:
            self.named[twin] = signature
        self._join(suspect, signature, variant)

    def _join(self, suspect: Suspect, signature: str, variant: Json) -> None:
        """Add the suspect to its finding, then mark it as done."""
        seen_at = suspect.found_at or utc_now()
        with self.store.shelf.held():
            known = self._finding(signature)
            joined = join(known, suspect, variant, seen_at)
            if known.detail.get("founder") != suspect.id and suspect.id not in known.suspects:
                held = any(not hold.accepted_at for hold in self.store.holds())
                joined = classify.seen_again(joined, suspect.build, seen_at, may_reopen=not held)
            if joined != known:
                self.store.put_finding(joined)
        founder = known.detail.get("founder") == suspect.id
        self._keep(
            suspect, status=Status.CONFIRMED if founder else Status.DUPLICATE_OF, finding=signature, reason=""
        )
        self.tell(suspect.id, "finding" if founder else "duplicate", signature)

    def _refuse(self, suspect: Suspect, refused: Refused) -> None:
        self._keep(suspect, status=REFUSED[refused.verdict], reason=refused.reason)
        self.tell(suspect.id, str(REFUSED[refused.verdict]), refused.reason)

    def _keep(self, suspect: Suspect, **changes: object) -> None:
        state: TriageState = replace(self.store.state(suspect.id), **changes)  # type: ignore[arg-type]
        self.store.set_state(suspect.id, state)

    def _result(self, suspects: Sequence[Suspect], failures: list[tuple[str, str]]) -> TriageResult:
        states = {s.id: self.store.state(s.id) for s in suspects}

        def ending(status: Status) -> tuple[str, ...]:
            return tuple(i for i, state in states.items() if state.status is status)

        new = tuple(dict.fromkeys(states[i].finding for i in ending(Status.CONFIRMED)))
        met = dict.fromkeys(states[i].finding for i in ending(Status.DUPLICATE_OF))
        return TriageResult(
            new=new,
            known=tuple(s for s in met if s not in new),
            flaky=ending(Status.FLAKY),
            not_reproduced=ending(Status.NOT_REPRODUCED),
            cannot_run=ending(Status.CANNOT_RUN),
            deferred=ending(Status.DEFERRED),
            failures=tuple(failures),
        )


def early_name(suspect: Suspect, confirmed: Confirmed) -> str:
    """The signature of a failure that its message names, from its unreduced script; empty for others."""
    named = traits(suspect.build.framework, confirmed.slip, confirmed.runs[0], confirmed.place)
    by_message = fingerprint.is_named_by_message(named.kind, named.frames)
    return fingerprint.signature(named) if by_message else ""


@dataclass(frozen=True)
class Stages:
    """What the stages before naming came to."""

    confirmed: Confirmed
    shortened: Shortened
    written: Written
    culprits: Culprits

    def traits(self, framework: str) -> fingerprint.Traits:
        """What the bug is named by."""
        written = self.written
        return traits(
            framework,
            self.confirmed.slip,
            written.runs[0],
            written.place,
            written.operators,
            written.dtypes,
            self.culprits.named(written.operators),
        )


def found(
    signature: str, suspect: Suspect, seen: Suspect, stages: Stages, near: Sequence[tuple[str, str]]
) -> Finding:
    """The finding that a suspect founds. `seen` is the suspect with the kind and aspect it really has."""
    written = stages.written
    run = written.runs[0]
    expect = Expect(run.ending, run.exception, run.message, run.signal)
    subsystem, debug_name = stages.culprits.named(written.operators)
    return Finding(
        signature=signature,
        suspect=replace(seen, expect=expect),
        script=written.script,
        operators=written.operators,
        dtypes=written.dtypes,
        stage=written.place.stage,
        label=written.place.label,
        confirmed=f"{len(written.runs)} of {len(written.runs)}",
        runs=written.runs,
        rungs={rung: str(run.ending) for rung, run in written.rungs.items()},
        suspects=(suspect.id,),
        title=title(written.place.stage, seen.kind, seen.aspect, written.script, run.exception),
        first_seen=suspect.found_at or utc_now(),
        last_seen=suspect.found_at or utc_now(),
        subsystem=subsystem,
        debug_name=debug_name,
        culprits=stages.culprits.parts,
        near=tuple(signature for signature, _ in near),
        detail={
            "founder": suspect.id,
            "difference": written.evidence,
            "reason": written.place.reason,
            "near": dict(near),
            WITHOUT: dict(stages.culprits.without),
        },
    )


def evidence(stages: Stages) -> Json:
    """What is kept beside a finding: how it was confirmed, reduced and placed, with the logs."""
    return {
        "confirmed": encode(stages.confirmed),
        "reduced": encode(stages.shortened),
        "written": encode(stages.written),
        "culprits": encode(stages.culprits),
    }
