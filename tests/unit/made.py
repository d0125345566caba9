"""Records for tests: each call gives a valid one, and arguments say what matters to the test."""

from __future__ import annotations

from typing import Any

from fuzzers.engine import Sighting
from fuzzers.records import Aspect, Build, Ending, Expect, Finding, Kind, Suspect

BUILD = Build("torch", "2.13.0+cpu", "cpu", "cf30153c", "python3", "3.11.7")


def a_suspect(script: str = "assert False\n", **fields: Any) -> Suspect:
    """A wrong result of the toy engine."""
    given = {
        "engine": "toy",
        "revision": "1",
        "build": BUILD,
        "kind": Kind.WRONG,
        "aspect": Aspect.VALUES,
        "script": script,
        "expect": Expect(Ending.ASSERTION),
        **fields,
    }
    return Suspect(**given)


def a_sighting(script: str = "assert False\n", kind: Kind = Kind.WRONG) -> Sighting:
    """What an engine reports or announces."""
    return Sighting(kind, Aspect.VALUES, script, Expect(Ending.ASSERTION), {"nodes": [1, 2]}, {"max": 1.5})


def a_finding(signature: str = "nf1-0123456789abcdef", **fields: Any) -> Finding:
    """A confirmed finding."""
    suspect = a_suspect()
    given = {
        "signature": signature,
        "suspect": suspect,
        "script": suspect.script,
        "operators": ("abs",),
        "dtypes": ("uint8",),
        "stage": "inductor",
        "label": "module: inductor",
        "confirmed": "3 of 3",
        "runs": (),
        "rungs": {"eager": "ok", "inductor": "assertion"},
        "suspects": (suspect.id,),
        "title": "[inductor] wrong result",
        **fields,
    }
    return Finding(**given)
