"""The records that cross a process or a file boundary, with their JSON form.

Invariant: every record is frozen, holds only JSON-able values, and `encode` / `decode` are inverse.
The reason for plain dataclasses: a worker runs in an interpreter that has nothing but the standard
library, numpy and the framework. The controller validates the same classes through pydantic
(`bot.wire`) wherever they come from a file or a pipe.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from enum import StrEnum
from typing import Any, TypeVar

SCHEMA = 2
"""Version of the JSON form of every record below; a reader refuses a newer one."""

Json = dict[str, Any]
R = TypeVar("R")


class Kind(StrEnum):
    """What went wrong, most severe first (oracle.md's severity order is the order of declaration)."""

    WRONG = "wrong"
    NONDETERMINISTIC = "nondeterministic"
    CRASH = "crash"
    HANG = "hang"
    EXCEPTION = "exception"
    GRADIENT = "gradient"
    METADATA = "metadata"
    EAGER = "eager"
    ALIASING = "aliasing"
    EXTREME = "extreme"
    NONFINITE = "nonfinite"
    ACCEPTS_INVALID = "accepts-invalid"
    LAYOUT = "layout"

    @property
    def severity(self) -> int:
        """0 is the most severe."""
        return list(Kind).index(self)


class Aspect(StrEnum):
    """Which observable of the two executions differed."""

    OUTCOME = "outcome"
    STRUCTURE = "structure"
    DTYPE = "dtype"
    SHAPE = "shape"
    DEVICE = "device"
    REQUIRES_GRAD = "requires_grad"
    STRIDE = "stride"
    VALUES = "values"
    NONFINITE = "nonfinite"
    INDICES = "indices"
    MUTATION = "mutation"
    ALIASING = "aliasing"
    GRADIENT = "gradient"


class Ending(StrEnum):
    """How a script, or a job in a worker, ended."""

    OK = "ok"
    ASSERTION = "assertion"
    EXCEPTION = "exception"
    SIGNAL = "signal"
    TIMEOUT = "timeout"
    CANNOT_RUN = "cannot-run"


class Verdict(StrEnum):
    """What a reproducer says about a build."""

    REPRODUCES = "reproduces"
    GONE = "gone"
    FLAKY = "flaky"
    CANNOT_RUN = "cannot-run"


@dataclass(frozen=True)
class Build:
    """One framework build and the interpreter that has it."""

    framework: str
    version: str
    variant: str
    git_sha: str
    interpreter: str
    python: str

    @property
    def name(self) -> str:
        """Short form for people: `torch 2.13.0+cpu`."""
        return f"{self.framework} {self.version}"


@dataclass(frozen=True)
class Limits:
    """What one forked child may use. Times in seconds, memory in MiB of address space beyond the
    worker's own, output in KiB."""

    seconds: float = 60.0
    memory_mib: int = 6144
    output_kib: int = 4096


@dataclass(frozen=True)
class Budget:
    """What one campaign may use: wall-clock seconds and, optionally, a number of candidates."""

    seconds: float
    candidates: int | None = None


@dataclass(frozen=True)
class Expect:
    """How a reproducer ends on a bad build.

    `exception` is a class name and `message` a normalised message (see `bot.normalise`) when `ending`
    is EXCEPTION; `signal` is a name such as `SIGSEGV` when it is SIGNAL.
    """

    ending: Ending
    exception: str = ""
    message: str = ""
    signal: str = ""


@dataclass(frozen=True)
class Run:
    """One execution of a script and how it ended.

    `compiled_side` tells whether an exception passed through the compiler's own frames; `frames` are the
    innermost framework frames as `module:function`, innermost last; `log` is the tail of the output.
    """

    ending: Ending
    exception: str = ""
    message: str = ""
    signal: str = ""
    compiled_side: bool = False
    frames: tuple[str, ...] = ()
    log: str = ""
    seconds: float = 0.0
    reason: str = ""


@dataclass(frozen=True)
class Suspect:
    """What an engine hands over: a script that fails, and how.

    `program` is opaque to everything but the engine named (its `candidates` and `emit` take it);
    `detail` is the oracle's evidence; `origin` says where in the campaign it came from.
    """

    engine: str
    revision: str
    build: Build
    kind: Kind
    aspect: Aspect
    script: str
    expect: Expect
    program: Json | None = None
    detail: Json = field(default_factory=dict)
    origin: Json = field(default_factory=dict)
    found_at: str = ""
    schema: int = SCHEMA

    @property
    def id(self) -> str:
        """Content hash: what fails and how, not when or where it was found."""
        body = json.dumps([self.build.framework, self.kind, self.aspect, self.script], sort_keys=True)
        return hashlib.sha256(body.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Finding:
    """A suspect that survived triage. `signature` names the bug; `state` is `open` or `gone`.

    `rungs` maps each backend of the ladder to how the script ended under it; `operators` are those of
    the reduced program; `suspects` are the content hashes of all suspects that led here. `culprits` are
    the parts of the compiler without which the script is right, as `<subsystem>/<name>`. `aliases` are
    other signatures that mean this finding (of an older version, or of findings joined to it); `near` are
    signatures of findings that may be the same bug. `since` says what bisecting and older builds told.
    """

    signature: str
    suspect: Suspect
    script: str
    operators: tuple[str, ...]
    dtypes: tuple[str, ...]
    stage: str
    label: str
    confirmed: str
    runs: tuple[Run, ...]
    rungs: dict[str, str]
    suspects: tuple[str, ...]
    title: str
    state: str = "open"
    verdicts: tuple[Json, ...] = ()
    first_seen: str = ""
    last_seen: str = ""
    subsystem: str = ""
    debug_name: str = ""
    culprits: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    since: Json = field(default_factory=dict)
    detail: Json = field(default_factory=dict)
    schema: int = SCHEMA

    @property
    def names(self) -> tuple[str, ...]:
        """All that it goes by, its signature first."""
        return (self.signature, *self.aliases)


def encode(record: Any) -> Json:
    """The JSON form of a record: a dict of plain values."""
    if not is_dataclass(record) or isinstance(record, type):
        raise TypeError(f"not a record: {record!r}")
    plain: Json = json.loads(json.dumps(asdict(record)))
    return plain


def decode_flat(kind: type[R], data: Json) -> R:
    """A record without nested records (Limits, Expect, Build) from its JSON form, unknown keys refused."""
    if not is_dataclass(kind):
        raise TypeError(f"not a record class: {kind!r}")
    known = {f.name for f in fields(kind)}
    if extra := set(data) - known:
        raise ValueError(f"{kind.__name__} has no field {sorted(extra)[0]!r}")
    return kind(**data)
