"""What the store keeps besides the records that cross the wire: how far triage is, and what was tested."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from fuzzers.records import SCHEMA, Json


class Status(StrEnum):
    """Where a suspect stands in triage. All but those in UNFINISHED are final."""

    PENDING = "pending"
    DEFERRED = "deferred"
    """Out of budget: the next triage goes on with it."""
    CONFIRMED = "confirmed"
    NOT_REPRODUCED = "not-reproduced"
    FLAKY = "flaky"
    CANNOT_RUN = "cannot-run"
    """The script says nothing about this build; the reason is kept."""
    DUPLICATE_OF = "duplicate-of"


UNFINISHED = frozenset({Status.PENDING, Status.DEFERRED})


@dataclass(frozen=True)
class TriageState:
    """A suspect's way through triage. `finding` is the signature it ended in (CONFIRMED, DUPLICATE_OF);
    `stages` maps a finished stage to its output, so that a killed triage goes on after the last one."""

    status: Status = Status.PENDING
    finding: str = ""
    reason: str = ""
    stages: dict[str, Json] = field(default_factory=dict)
    updated_at: str = ""
    schema: int = SCHEMA


class Tried(StrEnum):
    """What became of testing a build with an engine."""

    TESTED = "tested"
    NO_NEW_BUILD = "no-new-build"
    """The channel had nothing that was not tested; the build is the newest one it had."""
    INSTALL_FAILED = "install-failed"
    CAMPAIGN_FAILED = "campaign-failed"


@dataclass(frozen=True)
class Trial:
    """One engine's trial of one build. `reason` says why a failed one failed; `campaign` is its id."""

    framework: str
    version: str
    variant: str
    python: str
    git_sha: str
    engine: str
    revision: str
    outcome: Tried
    at: str
    campaign: str = ""
    reason: str = ""

    @property
    def key(self) -> str:
        """What makes it that trial: another engine revision tests a build anew."""
        parts = (self.framework, self.version, self.variant, self.python, self.git_sha[:12])
        return " ".join((*parts, self.engine, self.revision))


@dataclass(frozen=True)
class Ledger:
    """The builds that campaigns have run on, by `Trial.key`."""

    builds: dict[str, Trial] = field(default_factory=dict)
    schema: int = SCHEMA


@dataclass(frozen=True)
class Hold:
    """Why nothing is published that a build told: too much changed on it, so it is the build or us.
    `accepted_at` is when a person looked and let it go on; empty until then."""

    framework: str
    version: str
    variant: str
    python: str
    git_sha: str
    reason: str
    at: str
    accepted_at: str = ""
    schema: int = SCHEMA

    @property
    def key(self) -> str:
        """The build that it is about."""
        return " ".join((self.framework, self.version, self.variant, self.python, self.git_sha[:12]))


@dataclass(frozen=True)
class Holds:
    """The holds there have been, by `Hold.key`. One that was accepted stays, so that a merge with a store
    that has not heard of it does not bring it back."""

    holds: dict[str, Hold] = field(default_factory=dict)
    schema: int = SCHEMA


@dataclass(frozen=True)
class Published:
    """What a tracker has of a finding, as the last publisher left it. `signature` is the finding's name at
    that time, `tracker` that of `bot.trackers`; `number` is empty while nothing is filed there.

    `body` is the digest of our part of the body, `state` what we set (`open`, `closed`), `told` the
    transitions that have had their comment (`filed`, `bisected <build>`, `fixed <build>`...). `approved`
    is the hash of what a person approved for upstream, with who (login and number) and when, and in which
    words; `mirrored` what the upstream last said.
    """

    signature: str
    tracker: str
    number: str = ""
    url: str = ""
    title: str = ""
    body: str = ""
    state: str = ""
    told: tuple[str, ...] = ()
    filed_at: str = ""
    written_at: str = ""
    approved: str = ""
    approved_by: str = ""
    approved_id: str = ""
    approved_at: str = ""
    words: str = ""
    mirrored: str = ""
    schema: int = SCHEMA

    @property
    def key(self) -> str:
        """One record a finding and tracker."""
        return f"{self.tracker} {self.signature}"


@dataclass(frozen=True)
class Publications:
    """What has been published where, by `Published.key`."""

    records: dict[str, Published] = field(default_factory=dict)
    schema: int = SCHEMA
