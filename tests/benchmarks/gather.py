"""Puts recorded suspects and their labels together into the corpus that `bench triage` replays.

    python -m tests.benchmarks.gather RECORDED.jsonl LABELS.json --into suspects.jsonl.gz

Programs are left out: what is replayed has been reduced, and its script is there. A suspect without a label
is left out too, and named.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

from bot import wire
from bot.replay import Recorded
from fuzzers.records import Json, encode


def without_programs(plain: Json) -> Json:
    """A record without the engine's form of its programs."""
    bare = {**plain["suspect"], "program": None}
    stages = {**plain["stages"], "reduce": {**plain["stages"]["reduce"], "program": None}}
    return {"suspect": bare, "stages": stages, "reduce_seconds": plain["reduce_seconds"]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("recorded", type=Path, nargs="+")
    parser.add_argument("labels", type=Path)
    parser.add_argument("--into", type=Path, required=True)
    given = parser.parse_args()
    labels = json.loads(given.labels.read_text())
    made: dict[str, str] = {}
    for line in (line for path in given.recorded for line in path.read_text().splitlines()):
        one = json.loads(line)
        label = labels.get(one["key"], {}).get("label", "?")
        if "stages" not in one:
            continue
        if label == "?":
            print(f"without a label: {one['key']}")
            continue
        record = wire.convert(Recorded, {**without_programs(one), "label": label})
        made[one["key"]] = json.dumps(encode(record))
    given.into.parent.mkdir(parents=True, exist_ok=True)
    with given.into.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        file.write("".join(made[key] + "\n" for key in sorted(made)).encode())
    print(f"{len(made)} suspects in {given.into}")


if __name__ == "__main__":
    main()
