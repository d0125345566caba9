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


@dataclass(frozen=True)
class Ledger:
    """The builds that campaigns have run on: `<build name> <git sha>` to what is known of the last one."""

    builds: dict[str, Json] = field(default_factory=dict)
    schema: int = SCHEMA
