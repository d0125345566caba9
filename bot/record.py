"""A campaign's own record, `campaign.json`, and the name of its folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from bot import wire
from bot.errors import UserMistake
from bot.steps import Spec
from bot.tally import Tally
from fuzzers.records import SCHEMA, Budget


class Over(StrEnum):
    """Why a campaign is not running."""

    RUNNING = "running"
    """It is, or it was killed."""
    BUDGET = "budget"
    CANDIDATES = "candidates"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True)
class Record:
    """What campaign.json holds. `seconds` (with workers running), `startup` (seconds until they were),
    `restarts` and `suspects` (those new to the store) are of all runs of this campaign together; `tally`
    is the sum over its chains."""

    id: str
    spec: Spec
    over: Over
    started_at: str
    updated_at: str
    seconds: float
    tally: Tally
    startup: float = 0.0
    suspects: int = 0
    restarts: int = 0
    peak_mib: float = 0.0
    workers: int = 0
    schema: int = SCHEMA

    @property
    def programs_per_second(self) -> float:
        """Executed and checked programs a second of campaign."""
        return self.tally.checked / self.seconds if self.seconds else 0.0

    def is_finished(self, budget: Budget) -> bool:
        """Whether this budget leaves nothing to do. A campaign that a person stopped is not finished, nor
        is one whose budget went into starting its workers."""
        most = budget.candidates
        if most is not None and self.tally.steps >= most:
            return True
        return (
            self.over is Over.BUDGET
            and self.tally.steps > 0
            and self.seconds + self.startup >= budget.seconds
        )


def campaign_id(spec: Spec) -> str:
    """Name of the folder: readable, and different for whatever makes other candidates."""
    build = spec.build
    parts = [
        spec.engine,
        spec.revision,
        build.framework,
        build.version,
        build.git_sha,
        spec.seed,
        spec.aspects,
        *spec.seeds,
    ]
    short = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]
    engine = "".join(c if c.isalnum() else "-" for c in spec.engine)
    return f"{engine}-{spec.aspects}-seed{spec.seed}-{short}"


def read_record(path: Path, warn: Callable[[str], None]) -> Record | None:
    """The record in `path`; None when there is none. One that cannot be read is set aside: the times in
    it are lost, the campaign's chains are not."""
    try:
        return wire.read(Record, path.read_bytes())
    except FileNotFoundError:
        return None
    except wire.TooNewError as error:
        raise UserMistake(f"{path}: {error}") from error
    except wire.UnreadableError as error:
        target = path.with_name(f"{path.name}.set-aside")
        path.replace(target)
        warn(f"set aside {path}: {error}; it is now {target.name}, the campaign goes on from its chains")
        return None
