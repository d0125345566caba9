"""Records from files and pipes: exactly what was written, or one line that says why not."""

import json
import math

import pytest

from bot import wire
from fuzzers.engine import StepOutcome, StepStatus
from fuzzers.records import SCHEMA, Suspect, encode
from tests.unit.made import a_finding, a_sighting, a_suspect


def assert_refused(data: object, reason: str) -> None:
    with pytest.raises(wire.UnreadableError, match=reason) as told:
        wire.read(Suspect, json.dumps(data))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("record", [a_suspect(), a_finding(), a_sighting()], ids=lambda r: type(r).__name__)
def test_what_is_written_is_read_back(record: object) -> None:
    assert wire.read(type(record), wire.text(record)) == record


def test_a_step_outcome_comes_back_with_its_sightings() -> None:
    outcome = StepOutcome(StepStatus.CHECKED, {"x": 1}, (a_sighting(),), {"executed": 1}, "n", "d")
    assert wire.convert(StepOutcome, encode(outcome)) == outcome


def test_evidence_may_hold_what_is_not_finite() -> None:
    read = wire.read(Suspect, wire.text(a_suspect(detail={"actual": [math.nan, math.inf]})))
    assert math.isnan(read.detail["actual"][0])
    assert read.detail["actual"][1] == math.inf


def test_a_missing_field_is_named() -> None:
    plain = encode(a_suspect())
    del plain["script"]
    assert_refused(plain, "script")


def test_an_unknown_field_is_refused_also_inside() -> None:
    plain = encode(a_suspect())
    plain["build"]["colour"] = "red"
    assert_refused(plain, r"build\.colour")


def test_types_are_not_bent() -> None:
    assert_refused({**encode(a_suspect()), "revision": 1}, "revision")


def test_an_enum_value_that_does_not_exist_is_refused() -> None:
    assert_refused({**encode(a_suspect()), "kind": "ugly"}, "kind")


def test_a_newer_schema_says_so() -> None:
    plain = {**encode(a_suspect()), "schema": SCHEMA + 1}
    with pytest.raises(wire.TooNewError, match="newer"):
        wire.convert(Suspect, plain)


def test_an_older_schema_is_migrated(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = {**encode(a_suspect()), "schema": 0}
    plain["source"] = plain.pop("script")
    assert_refused(plain, "no way to read schema")
    rename = {("Suspect", 0): lambda p: {**{k: p[k] for k in p if k != "source"}, "script": p["source"]}}
    monkeypatch.setattr(wire, "MIGRATIONS", {**wire.MIGRATIONS, **rename})
    assert wire.convert(Suspect, plain) == a_suspect()


@pytest.mark.parametrize("data", ['{"engine": "to', "[1]", "", "null"])
def test_what_is_no_record_is_refused(data: str) -> None:
    with pytest.raises(wire.UnreadableError):
        wire.read(Suspect, data)


def test_half_a_surrogate_pair_in_a_reply_of_a_target_becomes_a_question_mark() -> None:
    plain = {**encode(a_suspect()), "script": "\ud800\n"}
    assert wire.convert(Suspect, plain).script == "?\n"


def test_half_a_surrogate_pair_does_not_make_a_record_unreadable() -> None:
    read = wire.read(Suspect, wire.text(a_suspect(detail={"log": "cut \ud83d here"})))
    assert read.detail["log"] == "cut ? here"
