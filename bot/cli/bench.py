"""`nightfuzz bench`: the project's own benchmarks."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from bot import kernel_bench, replay
from bot.bench import measure
from bot.cli import options
from bot.confine import private_folder
from bot.publish_bench import figures as publishing
from bot.session import Session
from fuzzers.records import Json

CORPUS = Path("tests/benchmarks/triage/suspects.jsonl.gz")
REPLAYS = 5
"""Orders in which the suspects arrive; the worst counts."""


def bench(
    what: Annotated[str, typer.Argument(help="A bug finder, `dirigo`, `triage` or `publish`.")] = "flowmut",
    minutes: Annotated[float, typer.Option("--minutes", min=0.1, help="Length of the campaign.")] = 3.0,
    seed: options.Seed = None,
    workers: options.Workers = None,
    out: options.Out = None,
    interpreter: options.Interpreter = None,
    aspects: options.Aspects = None,
    triage_budget: options.TriageTime = None,
    corpus: Annotated[
        Path, typer.Option("--corpus", help="Recorded suspects, for `triage`; kernel pairs.")
    ] = CORPUS,
    publishes: Annotated[
        int, typer.Option("--publishes", min=1, help="Runs with a fault, for `publish`.")
    ] = publishing.PUBLISHES,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Pairs at a time.")] = kernel_bench.JOBS,
    json: options.AsJson = False,
) -> int:
    """The project's own figures.

    A bug finder: programs a second, executed and checked, with stock compiling; without --out in a temporary
    folder. `triage`: recorded suspects with known causes are triaged again, and pairs are counted. `publish`:
    a store that keeps changing is published with a fault at every request in turn; duplicates and losses.
    """
    if what == "triage":
        document = replayed(corpus)
    elif what == "dirigo":
        document = kernel_bench.measure(
            corpus, jobs, options.settings({"interpreter": interpreter}).interpreter
        )
    elif what == "publish":
        document = publishing.measure(publishes)
    else:
        document = measured(what, minutes, seed, workers, out, interpreter, aspects, triage_budget)
    if json:
        options.print_json(document)
    else:
        for name, value in document.items():
            options.results().print(f"{name}: {value}", highlight=False, markup=False)
    return 0


def replayed(path: Path) -> Json:
    """The figures of triage, over several orders."""
    corpus = replay.load(path)
    scores = []
    for seed in range(REPLAYS):
        with private_folder() as folder:
            scores.append(replay.replay(corpus, folder, seed))
    return replay.document(corpus, scores)


def measured(
    engine: str,
    minutes: float,
    seed: int | None,
    workers: int | None,
    out: str | None,
    interpreter: str | None,
    aspects: str | None,
    triage_budget: str | None,
) -> Json:
    """The figures of a bug finder."""
    with ExitStack() as held:
        folder = out or str(held.enter_context(private_folder()))
        settings = options.settings(
            {
                "engine": engine,
                "budget": f"{minutes * 60:.0f}s",
                "seed": seed,
                "workers": workers,
                "out": folder,
                "interpreter": interpreter,
                "aspects": aspects or "forward",
                "triage_budget": triage_budget or "2m",
            }
        )
        screen = held.enter_context(options.screen())
        stop = held.enter_context(options.interruptible(screen))
        return measure(Session(settings, screen, stop, startup_counts=False)).document()
