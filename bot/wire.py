"""The edge where JSON from a file or a pipe becomes typed records.

Invariant: what `read` and `convert` return has exactly the fields and types that its class declares;
anything else is `UnreadableError`, in one line. The reason: the records of `fuzzers.records` are plain
dataclasses, so that a bare interpreter can write them, and plain dataclasses believe whatever they get.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from bot.errors import UserMistake
from fuzzers.records import SCHEMA, Json, encode

T = TypeVar("T")


def _as_it_is(plain: Json) -> Json:
    """A record whose next schema only added fields that have defaults."""
    return plain


def _with_its_suspect(plain: Json) -> Json:
    """A record that holds a suspect of its own schema."""
    suspect = plain.get("suspect")
    return {**plain, "suspect": _migrated("Suspect", suspect)} if isinstance(suspect, dict) else plain


MIGRATIONS: dict[tuple[str, int], Callable[[Json], Json]] = {
    ("Chain", 1): _as_it_is,
    ("Finding", 1): _with_its_suspect,
    ("Ledger", 1): lambda plain: {**plain, "builds": {}},
    ("Record", 1): _as_it_is,
    ("Spec", 1): _as_it_is,
    ("Suspect", 1): _as_it_is,
    ("TriageState", 1): _as_it_is,
}
"""(class name, schema) -> what turns that record's JSON into the next schema's. A ledger of schema 1 said
nothing of engines, so it cannot say what was tested; the campaigns are run once more."""


_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}
"""Made once a class: making one compiles a validator."""


class UnreadableError(ValueError):
    """Data that is not the record it should be; the message says why in one line."""


class TooNewError(UnreadableError):
    """A record written by a newer nightfuzz than this one."""


def read(kind: type[T], data: str | bytes) -> T:
    """The record of class `kind` in the JSON text `data`; raises `UnreadableError`."""
    try:
        record: T = _adapter(kind).validate_json(data, strict=True, extra="forbid")
    except ValidationError:
        pass  # of an older schema, or broken: the longer way tells which
    else:
        if getattr(record, "schema", SCHEMA) == SCHEMA:
            return record
    return convert(kind, parsed(data))


def parsed(data: str | bytes) -> object:
    """What a JSON text says; `UnreadableError` when it is none."""
    try:
        return json.loads(data)
    except ValueError as error:
        raise UnreadableError(f"not JSON ({error})") from error
    except RecursionError as error:
        raise UnreadableError("not JSON of ours (nested too deeply)") from error


def read_file(kind: type[T], path: Path, largest: int, what: str) -> T:
    """The record in a file that somebody else wrote, of at most `largest` bytes; `what` it should be. Raises
    `UserMistake` in one line."""
    try:
        return read(kind, bounded(path, largest, what))
    except UnreadableError as error:
        raise UserMistake(f"{path} is no {what}: {error}") from error


def bounded(path: Path, largest: int, what: str) -> bytes:
    """A file's bytes, unless there are more than `largest`. Raises `UserMistake` in one line."""
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except OSError as error:
        raise UserMistake(f"{path}: {error.strerror}") from error
    if len(data) > largest:
        raise UserMistake(f"{path}: more than {largest / 2**20:g} MiB, which no {what} has")
    return data


def convert(kind: type[T], plain: object) -> T:
    """The record of class `kind` in parsed JSON; raises `UnreadableError`."""
    if not isinstance(plain, dict):
        raise UnreadableError(f"not a {kind.__name__}: a JSON {type(plain).__name__}")
    plain = _migrated(kind.__name__, plain)
    try:
        record: T = _adapter(kind).validate_json(_whole(plain), strict=True, extra="forbid")
    except ValidationError as error:
        raise UnreadableError(f"not a {kind.__name__}: {_first_problem(error)}") from error
    return record


def text(record: Any) -> str:
    """The JSON text of a record, or of plain JSON, as files hold it: indented, keys in order of declaration.

    Half of a surrogate pair, which broken output of a target may hold, becomes a question mark: no reader
    would take it.
    """
    try:
        return to_json(record, indent=1, inf_nan_mode="constants").decode() + "\n"
    except PydanticSerializationError:
        plain = record if isinstance(record, dict) else encode(record)
        return _whole(plain, indent=1).decode() + "\n"


def _whole(plain: Json, indent: int | None = None) -> bytes:
    return json.dumps(plain, indent=indent, ensure_ascii=False).encode("utf-8", "replace")


def _migrated(name: str, plain: Json) -> Json:
    schema = plain.get("schema", SCHEMA)
    if not isinstance(schema, int):
        raise UnreadableError(f"not a {name}: its schema is {schema!r}")
    if schema > SCHEMA:
        raise TooNewError(
            f"schema {schema}, and this nightfuzz reads up to {SCHEMA}: a newer one wrote it, so upgrade"
        )
    for version in range(schema, SCHEMA):
        step = MIGRATIONS.get((name, version))
        if step is None:
            raise UnreadableError(f"not a {name}: no way to read schema {version}")
        plain = {**step(plain), "schema": version + 1}
    return plain


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the whole"
    return f"{place}: {first['msg']}"
