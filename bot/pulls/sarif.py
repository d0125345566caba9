"""Findings on a pull request as SARIF 2.1.0, for code scanning.

Invariant: pure; one rule a kind of difference, one result a finding that has a line. A finding keeps its
fingerprint from run to run, so that code scanning shows it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from bot.defang import inline
from bot.findings import SYMPTOMS
from bot.pulls.result import PullFinding
from fuzzers.records import Json, Kind

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

NAME = "nightfuzz"


def sarif(findings: Sequence[PullFinding]) -> Json:
    """The log of one run."""
    placed = [one for one in findings if one.path and one.line]
    kinds = sorted({one.kind for one in placed}, key=lambda kind: kind.severity)
    driver: Json = {
        "name": NAME,
        "rules": [_rule(kind) for kind in kinds],
    }
    results = [_result(one, kinds.index(one.kind)) for one in placed]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _rule(kind: Kind) -> Json:
    return {
        "id": str(kind),
        "shortDescription": {"text": f"Compiled code against uncompiled: {SYMPTOMS[kind]}"},
        "defaultConfiguration": {"level": "error"},
    }


def _result(one: PullFinding, rule: int) -> Json:
    return {
        "ruleId": str(one.kind),
        "ruleIndex": rule,
        "level": "warning" if one.mutant else "error",
        "message": {"text": inline(f"{one.title}. {one.said}", longest=1_000)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(one.path), "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": one.line},
                }
            }
        ],
        "partialFingerprints": {"nightfuzzSignature/v1": one.signature},
    }
