"""Differences of a kernel as SARIF 2.1.0, for code scanning.

Invariant: pure; one rule a kind of fault, one result a difference with a line.
"""

from __future__ import annotations

import hashlib
from urllib.parse import quote

from bot.defang import inline
from bot.pulls.sarif import NAME, SCHEMA
from fuzzers.dirigo.verdict import Difference, Report, Severity
from fuzzers.records import Json

LEVELS = {Severity.ORDINARY: "error", Severity.EXTREME: "warning"}


def sarif(report: Report, path: str) -> Json:
    """The log of one kernel's check."""
    placed = [difference for difference in report.differences if difference.line]
    faults = sorted({difference.fault for difference in placed})
    rules: list[Json] = [
        {
            "id": fault.name.lower().replace("_", "-"),
            "shortDescription": {"text": f"Kernel against its reference: {fault}"},
            "defaultConfiguration": {"level": "error"},
        }
        for fault in faults
    ]
    results = [_result(difference, faults.index(difference.fault), path) for difference in placed]
    driver: Json = {"name": NAME, "rules": rules}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _result(difference: Difference, rule: int, path: str) -> Json:
    told = f"{path} {difference.fault} {difference.line}"
    return {
        "ruleId": difference.fault.name.lower().replace("_", "-"),
        "ruleIndex": rule,
        "level": LEVELS.get(difference.severity, "note"),
        "message": {"text": inline(difference.words(), longest=1_000)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(path), "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": difference.line},
                }
            }
        ],
        "partialFingerprints": {"nightfuzzKernel/v1": hashlib.sha256(told.encode()).hexdigest()[:16]},
    }
