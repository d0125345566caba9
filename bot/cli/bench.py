"""`nightfuzz bench`: the project's own benchmarks."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer

from bot.bench import measure
from bot.cli import options
from bot.confine import private_folder
from bot.session import Session


def bench(
    engine: Annotated[str, typer.Argument(help="Which bug finder.")] = "flowmut",
    minutes: Annotated[float, typer.Option("--minutes", min=0.1, help="Length of the campaign.")] = 3.0,
    seed: options.Seed = None,
    workers: options.Workers = None,
    out: options.Out = None,
    interpreter: options.Interpreter = None,
    aspects: options.Aspects = None,
    triage_budget: options.TriageTime = None,
    json: options.AsJson = False,
) -> int:
    """Programs a second, executed and checked, with stock compiling; without --out in a temporary folder."""
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
        document = measure(Session(settings, screen, stop, startup_counts=False)).document()
    if json:
        options.print_json(document)
    else:
        for name, value in document.items():
            options.results().print(f"{name}: {value}", highlight=False, markup=False)
    return 0
