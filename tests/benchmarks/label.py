"""Finds the root cause of each recorded suspect by causation, for a person to read and correct.

    python -m tests.benchmarks.label FILE.jsonl --interpreter PYTHON --into LABELS.json

A reduced script that fails with all plants, and is right once one of them is taken out, is labelled by that
plant; one that fails without any plant is torch's own and is labelled by the first fix of `known_fixes` that
makes it right. What neither explains is left as "?", for reading. A label that a person has written stays.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from bot.asking import Asker
from bot.session import SCRIPT_LIMITS
from bot.target import Pool, probe
from fuzzers.records import Ending
from tests.benchmarks.planted.planted_bugs import PLANTS

FIXES = (
    "torch-integer-promotion", "torch-any-uint8-dtype", "torch-bool-compare", "torch-bool-minmax",
    "torch-8bit-minmax",
)  # fmt: skip


def causes(script: str, asker: Asker) -> list[str]:
    """The plants, or the fixes, each of which decides whether the script fails; empty when none does."""

    def right(*prefixes: str) -> list[bool]:
        return [run.ending is Ending.OK for run in asker.runs([(p + script, None) for p in prefixes])]

    (unplanted,) = right("import planted_bugs; planted_bugs.ON.clear()\n")
    if unplanted:
        likely = [p for p in PLANTS if any(word in script for word in p.split("-")[1:])]
        for some in (likely, [p for p in PLANTS if p not in likely]):
            answers = right(*(f"import planted_bugs; planted_bugs.ON.discard({p!r})\n" for p in some))
            if found := [p for p, answer in zip(some, answers, strict=True) if answer]:
                return found
        return []
    off = "import planted_bugs; planted_bugs.ON.clear(); import known_fixes; "
    answers = right(*(f"{off}known_fixes.apply({name!r})\n" for name in FIXES))
    return [name for name, answer in zip(FIXES, answers, strict=True) if answer]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("recorded", type=Path)
    parser.add_argument("--interpreter", required=True)
    parser.add_argument("--into", type=Path, required=True)
    given = parser.parse_args()
    labels = json.loads(given.into.read_text()) if given.into.exists() else {}
    with tempfile.TemporaryDirectory() as folder, Pool(probe(given.interpreter), 2, Path(folder)) as pool:
        asker = Asker(pool, SCRIPT_LIMITS)
        for line in given.recorded.read_text().splitlines():
            one = json.loads(line)
            if "stages" not in one or labels.get(one["key"], {}).get("label", "?") != "?":
                continue
            script = one["stages"]["write-up"]["script"]
            found = causes(script, asker)
            labels[one["key"]] = {"label": found[0] if found else "?", "all": found, "script": script}
            print(one["key"], found, flush=True)
            given.into.write_text(json.dumps(labels, indent=1) + "\n")


if __name__ == "__main__":
    main()
