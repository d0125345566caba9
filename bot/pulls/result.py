"""What the job without a token hands to the job with one.

Invariant: a result is a claim by a machine that ran foreign code. Reading one bounds its size, its counts and
every text in it, and gives exactly the fields below or an error in one line; nothing in it is believed to be
harmless.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bot import wire
from bot.errors import UserMistake
from bot.evidence import rows
from bot.files import write_atomically
from fuzzers.records import Finding, Kind

LARGEST = 4 * 2**20
"""Bytes of a result: MOST_FINDINGS with the longest scripts."""

MOST_FINDINGS = 50
MOST_NOTES = 100
LONGEST_SCRIPT = 40_000

Line = Annotated[str, Field(max_length=600)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PullFinding(_Strict):
    """A difference that is new against the base. `line` is of the head's file; 0, or no path, when it belongs
    to none. A `mutant` is not the file as it stands but a small change of it; `known` that the night has
    seen it."""

    signature: str = Field(pattern=r"^[\w.-]{1,80}$")
    title: Line
    kind: Kind
    path: str = Field(max_length=400)
    line: int = Field(ge=0, le=10_000_000)
    script: str = Field(max_length=LONGEST_SCRIPT)
    said: Line = ""
    mutant: bool = False
    known: bool = False


class Figures(_Strict):
    """What was done with one file: candidates executed, suspects, seconds; whether its base was there."""

    path: str = Field(max_length=400)
    engine: str = Field(pattern=r"^[a-z-]{1,40}$")
    base: Literal["compared", "new file", "not run"]
    checked: int = Field(ge=0)
    suspects: int = Field(ge=0)
    seconds: float = Field(ge=0, allow_inf_nan=False)


class Result(_Strict):
    """The whole. `notes` say what was not run, and why; `waiting` suspects were not looked into."""

    head_sha: str = Field(pattern=r"^[0-9a-f]{40}$")
    base_sha: str = Field(pattern=r"^[0-9a-f]{40}$")
    build: str = Field(max_length=200)
    findings: tuple[PullFinding, ...] = Field(default=(), max_length=MOST_FINDINGS)
    figures: tuple[Figures, ...] = Field(default=(), max_length=MOST_NOTES)
    notes: tuple[Line, ...] = Field(default=(), max_length=MOST_NOTES)
    waiting: int = Field(default=0, ge=0)
    schema_version: Literal[1] = 1


def write_result(path: Path, result: Result) -> None:
    """Write it down."""
    write_atomically(path, result.model_dump_json(indent=1) + "\n")


def read_result(path: Path) -> Result:
    """The result in a file. UserMistake in one line."""
    if path.is_symlink() or not path.is_file():
        raise UserMistake(f"{path}: there is no such file")
    data = wire.bounded(path, LARGEST, "result")
    try:
        return Result.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise UserMistake(f"{path} is no result: {where}: {first['msg']}") from None


def as_told(
    finding: Finding, path: str = "", line: int = 0, *, mutant: bool = False, known: bool = False
) -> PullFinding:
    """A finding as a result has it."""
    row = next(iter(rows(finding.detail.get("difference") or {})), None)
    example = f"; eager gives {row.expected}, compiled {row.actual}" if row and row.expected else ""
    return PullFinding(
        signature=finding.signature,
        title=short(finding.title),
        kind=finding.suspect.kind,
        path=path,
        line=line,
        script=finding.script[:LONGEST_SCRIPT],
        said=short(f"{finding.confirmed} runs{example}"),
        mutant=mutant,
        known=known,
    )


def short(text: str, longest: int = 600) -> str:
    """A text as a result may hold it."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
