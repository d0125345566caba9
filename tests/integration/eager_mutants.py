"""Runs mutants of the build's own test cases uncompiled, and prints what became of them as JSON. A program of
its own, so that a mutant that kills its process is seen and kills nothing else."""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from random import Random

import torch

from fuzzers.alignguard import opinfo
from fuzzers.alignguard.characteristics.table import CHARACTERISTICS
from fuzzers.alignguard.program import load
from fuzzers.alignguard.rules import mutate

NAMES = [c.name for c in CHARACTERISTICS]


def run(source: str) -> str:
    """What eager raises; empty when it runs."""
    program = load(source, "mutant")
    try:
        if program.setup is not None:
            program.setup()
        program.f(*program.inputs())
        if program.again is not None:
            program.f(*program.again())
    except Exception as error:  # noqa: BLE001 - whatever eager says is the answer
        return f"{type(error).__name__}: {error}"
    return ""


def mutant(source: str, depth: int, rng: Random) -> tuple[str, list[str]]:
    """A seed with up to `depth` characteristics more, and their names."""
    taken = list[str]()
    for name in rng.sample(NAMES, 4 * depth):
        made = mutate(source, name, rng)
        if made is not None and len(taken) < depth:
            source, taken = made, [*taken, name]
    return source, taken


def main(count: int, seed: int) -> None:
    """`count` mutants, a third each with one, two and three characteristics."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    seeds = [s["source"] for s in opinfo.block(seed, 0, 100)["seeds"]]
    rng, bad, exercised = Random(seed), [], Counter[str]()
    for number in range(count):
        source, taken = mutant(rng.choice(seeds), 1 + number % 3, rng)
        exercised.update(taken)
        error = run(source)
        if error:
            bad.append({"error": error, "taken": taken, "source": source})
    print(json.dumps({"count": count, "bad": bad, "exercised": len(exercised)}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
