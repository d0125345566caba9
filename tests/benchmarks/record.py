"""Runs the stages of triage on each suspect of a campaign and keeps what they came to, for `bench triage`.

    python -m tests.benchmarks.record OUT --interpreter PYTHON --into FILE.jsonl [--most N]

OUT is the output folder of `nightfuzz run --no-triage`. Each suspect goes through every stage, also when it
is known; what was found before is there as hints only. Runs are warm instead of fresh, because what is
measured later is how suspects are put together. Killed and started again it goes on after the last line.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bot.asking import Asker
from bot.order import ordered
from bot.session import SCRIPT_LIMITS
from bot.store import Store
from bot.target import Pool, probe
from bot.triage import Allowance, triage
from fuzzers.records import Finding, Kind, Run, Suspect, encode

LOG_CHARS = 300
"""Logs are for people; what is replayed needs messages and frames only."""


def record(suspect: Suspect, asker: Asker, hints: dict[tuple[str, ...], Finding]) -> dict[str, object]:
    """The suspect with its stages, or the fact that it is not confirmed here. A suspect that is named by its
    message would be joined before it is reduced, so it gets no hints."""

    def warm(scripts: Sequence[str]) -> list[Run]:
        first, *rest = scripts
        (run,) = asker.runs([(first, None)])
        return [run, *([run] * len(rest))]

    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder), print)
        if suspect.kind is not Kind.EXCEPTION:
            for finding in hints.values():
                store.put_finding(finding)
        store.add(suspect)
        began = time.monotonic()
        marks: dict[str, float] = {}
        triage(
            store,
            asker,
            warm,
            Allowance(1e9, reduce_seconds=300.0),
            lambda _, stage, __: marks.setdefault(stage, time.monotonic()),
        )
        state = store.state(suspect.id)
        ended = store.finding(state.finding) if state.finding else None
        if ended is None or "culprits" not in state.stages:
            print(suspect.id, state.status, state.reason, flush=True)
            return {"refused": suspect.id, "why": f"{state.status}: {state.reason}"}
        hints.setdefault(ended.operators, ended)
        seconds = marks["reduce"] - marks.get("confirm", began)
    return {
        "suspect": encode(suspect),
        "stages": shortened(state.stages),
        "reduce_seconds": round(seconds, 2),
    }


def shortened(plain: object) -> object:
    """JSON without long logs; what a dying process said is kept, because its frames are read from it."""
    if isinstance(plain, dict):
        cut = "log" in plain and not plain.get("signal")
        return {
            k: v[-LOG_CHARS:] if k == "log" and cut and isinstance(v, str) else shortened(v)
            for k, v in plain.items()
        }
    return [shortened(v) for v in plain] if isinstance(plain, list) else plain


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--interpreter", required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--most", type=int, default=10**9)
    given = parser.parse_args()
    done = set()
    hints: dict[tuple[str, ...], Finding] = {}
    if given.into.exists():
        for line in given.into.read_text().splitlines():
            one = json.loads(line)
            done.add(one.get("refused") or one["key"])
    suspects = [s for s in ordered(list(Store(given.out / "store", print).suspects())) if s.id not in done]
    with tempfile.TemporaryDirectory() as folder, Pool(probe(given.interpreter), 2, Path(folder)) as pool:
        asker = Asker(pool, SCRIPT_LIMITS)
        for number, suspect in enumerate(suspects[: given.most]):
            made = record(suspect, asker, hints)
            with given.into.open("a") as file:
                file.write(json.dumps({**made, "key": suspect.id}) + "\n")
            print(number, suspect.id, suspect.kind, made.get("reduce_seconds"), flush=True)


if __name__ == "__main__":
    main()
