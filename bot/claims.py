"""What a shard's artifact may do to the store: everything in it is a claim of a machine that ran foreign
code.

Invariant: an artifact adds what its own shard can have found, and what its own build says of findings that
are known; it decides nothing, publishes nothing, renames nothing, and changes no script that is there. It
speaks of one build, and the shards of one build speak of the same one: three builds in a row close a
finding, so whoever could name builds freely could close all of them in a night. States follow from the
verdicts here, never from what a shard says they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from bot import artifact, classify, history, scrubbed, wire
from bot.artifact import Artifact
from bot.confine import private_folder
from bot.files import utc_now
from bot.merge import EDITS, JOINED
from bot.planning import Shard
from bot.states import UNFINISHED, TriageState, Trial
from bot.store import Store
from fuzzers.records import Build, Finding, Json, Suspect, Verdict

MOST_FINDINGS = 200
"""New findings of one shard: more is a broken build, or us."""

MOST_SUSPECTS = 2_000
"""New suspects of one shard."""

MOST_TAKEN = 32 * 2**20
"""Characters of new records of one shard: the branch holds `bot.branch.LARGEST_STORE`, for good."""

LARGEST_RECORD = 2**20
"""Characters of one record: well below `bot.branch.LARGEST_FILE`, above which nothing can be pushed."""

MOST_REFUSALS = 100
"""Lines about one shard; of more there is only a last one that says so."""

WORD = re.compile(r"[\w.+-]{0,80}", re.ASCII)
"""A version, a variant, a commit."""

OURS = ("decision", "gone", "regressed")
"""Keys of a finding's detail that people or we write."""


@dataclass
class Taken:
    """What became of the artifacts: counts, and a line for each thing refused."""

    suspects: int = 0
    findings: int = 0
    verdicts: int = 0
    trials: int = 0
    refused: list[str] = field(default_factory=list)
    builds: list[Build] = field(default_factory=list)
    """The builds that the shards' verdicts are about: their findings' states are to be settled."""
    pinned: dict[tuple[str, str, str], Build] = field(default_factory=dict)
    """(framework, variant, what was planned) -> the build that the first shard of it ran on."""
    said: dict[str, int] = field(default_factory=dict)
    """Lines about a shard so far."""

    def refuse(self, shard: str, line: str) -> None:
        """Note what is not taken from a shard."""
        self.said[shard] = self.said.get(shard, 0) + 1
        if self.said[shard] <= MOST_REFUSALS:
            self.refused.append(f"{shard}: {scrubbed.line(line, 300)}")
        elif self.said[shard] == MOST_REFUSALS + 1:
            self.refused.append(f"{shard}: and more")


def take(store: Store, folder: Path, shards: Sequence[Shard]) -> Taken:
    """Take the artifacts `folder/<shard's name>/` into a store. A shard without one has said nothing."""
    taken = Taken()
    for shard in shards:
        place = folder / shard.name
        if not place.is_dir() or place.is_symlink():
            taken.refuse(shard.name, "there is no artifact of it")
            continue
        with private_folder() as aside:
            found = artifact.read(place, aside / "store", partial(taken.refuse, shard.name))
        if found is not None:
            Claim(store, found, shard, taken).take()
    return taken


@dataclass
class Claim:
    """One artifact against our store. `left` is how much it may still add."""

    store: Store
    claimed: Artifact
    shard: Shard
    taken: Taken
    left: int = MOST_TAKEN
    now: str = field(default_factory=utc_now)
    build: Build | None = None

    def take(self) -> None:
        """Take what it may. States of suspects come last: they name findings."""
        self.build = self._its_build()
        self._suspects()
        self._findings()
        self._states()
        self._trials()

    def _refuse(self, line: str) -> None:
        self.taken.refuse(self.shard.name, line)

    # The build

    def _its_build(self) -> Build | None:
        """The one build that all that is new in it is about; None when it tells none, or several."""
        told = self._told()
        if len(told) != 1:
            if told:
                self._refuse(f"it speaks of {len(told)} builds: nothing about a build is taken")
            return None
        (build,) = told
        if not all(
            WORD.fullmatch(part) for part in (build.version, build.variant, build.git_sha, build.python)
        ):
            self._refuse("what it calls its build is no name of one")
            return None
        planned = (self.shard.framework, self.shard.variant, self.shard.build)
        first = self.taken.pinned.setdefault(planned, build)
        if first != build:
            self._refuse(f"it ran on {build.name} {build.git_sha[:12]}, and another shard on {first.name}")
            return None
        return build

    def _told(self) -> set[Build]:
        """The builds that new trials are about; without one the new verdicts, and then the new suspects."""
        known = self.store.ledger().builds
        by_trial = {_of_trial(trial) for trial in self._own_trials() if trial != known.get(trial.key)}
        if by_trial:
            return by_trial
        by_verdict = set()
        for finding in self.claimed.findings:
            before = self.store.finding(finding.signature)
            heard = before.verdicts if before is not None else ()
            by_verdict |= {self._named(v) for v in finding.verdicts if v not in heard}
        by_suspect = (s for s in self.claimed.suspects if self._is_own(s) and not self.store.suspect(s.id))
        found = {build for build in by_verdict if build is not None}
        return found or {_bare(s.build) for s in by_suspect if self._is_planned(s.build.name)}

    def _own_trials(self) -> Iterable[Trial]:
        own = (self.shard.framework, self.shard.engine)
        for trial in self.claimed.trials:
            if (trial.framework, trial.engine) == own and self._is_planned(_of_trial(trial).name):
                yield trial

    def _is_planned(self, name: str) -> bool:
        """Whether a build's name is the shard's; the label of a variant may be missing in one of them."""
        said = name.removeprefix(f"{self.shard.framework} ").partition("+")[0]
        return self.shard.version in ("", said) or said == self.shard.version.partition("+")[0]

    def _named(self, verdict: Json) -> Build | None:
        """The build of the shard's framework that a verdict is about."""
        framework, _, version = str(verdict.get("build", "")).partition(" ")
        if framework != self.shard.framework or not self._is_planned(f"{framework} {version}"):
            return None
        variant, git_sha, python = (str(verdict.get(key, "")) for key in ("variant", "git_sha", "python"))
        return Build(framework, version, variant, git_sha, "", python)

    # Suspects

    def _is_own(self, suspect: Suspect) -> bool:
        return (suspect.engine, suspect.build.framework) == (self.shard.engine, self.shard.framework)

    def _is_foreign(self, suspect: Suspect) -> str:
        """Why a suspect cannot be of this shard; empty when it can."""
        if not self._is_own(suspect):
            return f"of {suspect.engine} on {suspect.build.framework}"
        if _bare(suspect.build) != self.build:
            return f"of {suspect.build.name}"
        return ""

    def _fits(self, record: object) -> bool:
        """Whether there is room for a record; takes the room."""
        size = len(wire.text(record))
        self.left -= size
        return size <= LARGEST_RECORD and self.left >= 0

    def _suspects(self) -> None:
        new = 0
        for suspect in self.claimed.suspects:
            if self.store.suspect(suspect.id) is not None:
                continue
            if why := self._is_foreign(suspect) or scrubbed.flaw(suspect):
                self._refuse(f"suspect {suspect.id}: {why}")
            elif new == MOST_SUSPECTS or not self._fits(suspect):
                self._refuse(f"suspect {suspect.id}: there is no room for it")
            else:
                new += 1
                found = replace(suspect, found_at=scrubbed.moment(suspect.found_at, self.now))
                self.taken.suspects += self.store.add(scrubbed.redacted(found))

    def _states(self) -> None:
        """How far the shard's triage came. What its stages told stays there: a later triage would believe
        it."""
        for suspect in self.claimed.suspects:
            said, ours = self.claimed.states[suspect.id], self.store.suspect(suspect.id)
            if ours is None or not self._is_own(ours) or said.status in UNFINISHED:
                continue
            if self.store.state(suspect.id).status not in UNFINISHED:
                continue
            finding = self.store.finding(said.finding)
            if said.finding and not (finding and finding.suspect.build.framework == self.shard.framework):
                continue
            told = TriageState(said.status, said.finding, scrubbed.line(said.reason, 500))
            self.store.set_state(suspect.id, told)

    # Findings

    def _findings(self) -> None:
        new = 0
        for claimed in self.claimed.findings:
            known = self.store.finding(claimed.signature)
            if known is not None:
                self._heard(known, claimed)
            elif why := self._is_unfounded(claimed) or scrubbed.flaw(claimed):
                self._refuse(f"finding {claimed.signature}: {why}")
            elif new == MOST_FINDINGS or not self._fits(claimed):
                self._refuse(f"finding {claimed.signature}: there is no room for it")
            else:
                new += 1
                self._found(claimed)

    def _is_unfounded(self, claimed: Finding) -> str:
        """Why a finding cannot be of this shard. One of an earlier build's suspect can, if that suspect has
        been waiting with us."""
        founder = self.store.suspect(str(claimed.detail.get("founder", "")))
        waited = founder is not None and self._is_own(founder) and founder.build == claimed.suspect.build
        return "" if waited and self._is_own(claimed.suspect) else self._is_foreign(claimed.suspect)

    def _found(self, claimed: Finding) -> None:
        """A new finding, without what a shard may not say. It has no names but its own: who takes a name that
        is not made of what was found takes another's bug."""
        plain = replace(
            claimed,
            title=scrubbed.line(claimed.title),
            state="open",
            aliases=(),
            near=tuple(name for name in claimed.near if self.store.finding(name))[:20],
            suspects=self._led_there(claimed),
            verdicts=self._verdicts(claimed),
            first_seen=scrubbed.moment(claimed.first_seen, self.now),
            last_seen=scrubbed.moment(claimed.last_seen, self.now),
            since=scrubbed.standing(claimed),
            detail={key: value for key, value in claimed.detail.items() if key not in OURS},
        )
        told = scrubbed.plain_redacted(self.claimed.evidence.get(claimed.signature, {}))
        evidence = {key: value for key, value in told.items() if key not in (EDITS, JOINED)}
        self.store.put_finding(scrubbed.redacted(plain), evidence if self._fits(evidence) else {})
        self.taken.findings += 1

    def _heard(self, known: Finding, claimed: Finding) -> None:
        """What the shard's build says of a finding that we have, and the suspects that led there."""
        if known.suspect.build.framework != self.shard.framework:
            if claimed != known:
                self._refuse(f"finding {claimed.signature}: it is of {known.suspect.build.framework}")
            return
        verdicts = [v for v in self._verdicts(claimed) if v not in known.verdicts]
        after = known
        for verdict in verdicts:
            after = classify.heard(history.noted(after, verdict))
        suspects = tuple(sorted({*after.suspects, *self._led_there(claimed)}))
        after = replace(after, suspects=suspects)
        dated = replace(known, since=claimed.since)
        if classify.standing(known).change is None and classify.standing(dated).change is not None:
            after = replace(after, since=scrubbed.standing(dated))
        if after != known:
            self.store.put_finding(after)
            self.taken.verdicts += len(verdicts)

    def _led_there(self, claimed: Finding) -> tuple[str, ...]:
        """Those of its suspects that we have, of this framework."""
        ours = {s.id for s in self.claimed.suspects if s.build.framework == self.shard.framework}
        return tuple(sorted(s for s in ours & {*claimed.suspects} if self.store.suspect(s)))

    def _verdicts(self, claimed: Finding) -> tuple[Json, ...]:
        """The verdicts that are about the shard's build, with nothing in them but what a verdict has."""
        found = []
        for verdict in claimed.verdicts:
            build = self._named(verdict)
            if build is None or build != self.build or verdict.get("verdict") not in list(Verdict):
                continue
            found.append(
                history.entry(
                    build,
                    Verdict(verdict["verdict"]),
                    scrubbed.moment(verdict.get("at"), self.now),
                    changed=bool(verdict.get("changed")),
                    reason=scrubbed.line(str(verdict.get("reason", "")), 500),
                )
            )
            if build not in self.taken.builds:
                self.taken.builds.append(build)
        return tuple(found)

    # Trials

    def _trials(self) -> None:
        """What became of testing the build: one engine's revision, so one trial."""
        known = self.store.ledger().builds
        new = [trial for trial in self._own_trials() if trial != known.get(trial.key)]
        if self.build is None:
            return
        if len(new) > 1:
            self._refuse(f"{len(new)} new trials of one build: none is taken")
            return
        for trial in new:
            told = replace(
                trial,
                at=scrubbed.moment(trial.at, self.now),
                revision=scrubbed.line(trial.revision, 60),
                campaign=scrubbed.line(trial.campaign, 120),
                reason=scrubbed.line(trial.reason, 500),
            )
            self.store.record_trial(told)
            self.taken.trials += 1


def _of_trial(trial: Trial) -> Build:
    return Build(trial.framework, trial.version, trial.variant, trial.git_sha, "", trial.python)


def _bare(build: Build) -> Build:
    """A build without the interpreter, which is a path of one machine."""
    return replace(build, interpreter="")
