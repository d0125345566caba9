"""Records of a stranger made fit for the store: no secrets, no time that is yet to come, no shape that the
code which reads them later would fall over.

Invariant: pure. What is kept byte for byte is a reproducer and a program, since one that was changed is none;
every other text is redacted, keys too. `flaw` says why a record is not taken at all. The reason: what is
once in the store is read every night, so one broken record would end every night to come.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from bot import classify, commits, fingerprint, wire
from bot.defang import redact
from fuzzers.records import Finding, Json, Suspect, encode

T = TypeVar("T")

LONGEST_SCRIPT = 60_000
"""Characters of a reproducer: an issue takes 65,536."""

LONGEST_MESSAGE = 64_000
"""Characters of an exception's message, which names the bug."""

LONGEST_TITLE = 200

MOST_BETWEEN = 400
"""Builds that a search may have had no answer from."""

DEEPEST_TREE = 100
"""Levels of a script's syntax tree; what reads it calls itself."""

DEEPEST_JSON = 40
"""Levels of the JSON that records hold."""

SPARED = frozenset({"script", "program", "signature"})
"""What is kept byte for byte."""

TIME = re.compile(r"20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\dZ", re.ASCII)


@dataclass(frozen=True)
class _Difference:
    detail: Json | None = None


@dataclass(frozen=True)
class _Variant:
    suspect: str
    script: str = ""
    operators: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Actual:
    frames: tuple[str, ...] = ()


SHAPES: dict[str, TypeAdapter[Any]] = {
    "founder": TypeAdapter(str),
    "difference": TypeAdapter(_Difference | None),
    "reason": TypeAdapter(str),
    "near": TypeAdapter(dict[str, str]),
    "without": TypeAdapter(dict[str, bool]),
    "variants": TypeAdapter(list[_Variant]),
}
"""Keys of a finding's `detail` that somebody reads, with what they hold."""

ACTUAL: dict[str, TypeAdapter[Any]] = {"actual": TypeAdapter(_Actual | list[Any] | str | float | bool | None)}
"""The same of a suspect's: how the compiled side ended, or what it returned."""


def flaw(record: Suspect | Finding) -> str:
    """Why a suspect or a finding is not taken; empty when it may be."""
    suspect = record.suspect if isinstance(record, Finding) else record
    if isinstance(record, Finding) and (why := _unnamed(record)):
        return why
    details = (record.detail, suspect.detail, suspect.origin, suspect.program or {})
    if any(_is_deep(detail) for detail in details):
        return f"JSON of more than {DEEPEST_JSON} levels"
    shapes = [(ACTUAL, suspect.detail)]
    if isinstance(record, Finding):
        shapes.append((SHAPES, record.detail))
    for shape, detail in shapes:
        for key in shape.keys() & detail.keys():
            try:
                shape[key].validate_json(json.dumps(detail[key]), strict=True)
            except ValidationError:
                return f"its {key} is not what it should be"
    return next(filter(None, map(_unreadable, {record.script, suspect.script})), "")


def _unnamed(finding: Finding) -> str:
    """Why a finding cannot have its name. A name is made of what is found, the framework first, so that no
    shard can take that of another framework's bug."""
    if any(len(run.message) > LONGEST_MESSAGE for run in finding.runs[:1]):
        return f"its message has more than {LONGEST_MESSAGE} characters"
    if finding.signature != fingerprint.signature(fingerprint.traits_of(finding)):
        return "its name is not that of what it tells"
    return ""


def _unreadable(script: str) -> str:
    if len(script) > LONGEST_SCRIPT:
        return f"its script has more than {LONGEST_SCRIPT} characters"
    try:
        tree = ast.parse(script)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "its script is no Python"
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST_TREE):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return ""
    return f"its script is nested more than {DEEPEST_TREE} levels deep"


def _is_deep(plain: Any) -> bool:
    level = [plain]
    for _ in range(DEEPEST_JSON):
        level = [inner for one in level for inner in _inner(one)]
        if not level:
            return False
    return True


def _inner(plain: Any) -> Iterable[Any]:
    if isinstance(plain, dict):
        return plain.values()
    return plain if isinstance(plain, list | tuple) else ()


def redacted(record: T) -> T:
    """A record without the secrets and paths that its texts may hold; raises `UnreadableError`."""
    return wire.convert(type(record), _redacted(encode(record)))


def plain_redacted(plain: Json) -> Json:
    """JSON of no class, without secrets; empty when it is too deep to look at."""
    cleaned: Json = {} if _is_deep(plain) else _redacted(plain)
    return cleaned


def _redacted(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {redact(k): v if k in SPARED else _redacted(v) for k, v in plain.items()}
    if isinstance(plain, list):
        return [_redacted(item) for item in plain]
    return redact(plain) if isinstance(plain, str) else plain


def moment(at: object, now: str) -> str:
    """A time that has been; now, for one that is none or is yet to come: the later word counts, and one from
    the year 9999 would count for ever."""
    return at if isinstance(at, str) and TIME.fullmatch(at) and at <= now else now


def line(text: str, longest: int = LONGEST_TITLE) -> str:
    """A text on one line, without what steers a terminal or the log of a workflow."""
    shown = "".join(c if c.isprintable() else " " for c in redact(text[: 4 * longest]))
    return " ".join(shown.replace("::", ": :").split())[:longest]


def standing(finding: Finding) -> Json:
    """Where a finding stands, as far as it can be read, with a link only to its framework's own commits."""
    where = classify.standing(finding)
    if where.change is None:
        return encode(replace(where, reason=line(where.reason)))
    change, framework = where.change, finding.suspect.build.framework
    told = replace(
        change,
        before=line(change.before),
        after=line(change.after),
        between=tuple(map(line, change.between[:MOST_BETWEEN])),
        link=change.link if commits.is_compare_link(framework, change.link) else "",
    )
    return encode(replace(where, reason=line(where.reason), change=told))
