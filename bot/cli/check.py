"""`nightfuzz check`: Dirigo on one kernel and its reference."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from bot.cli import options
from bot.files import write_atomically
from bot.kernels import LOCATIONS, SECONDS, Pair, checkers, readable
from bot.kernels import check as ask
from bot.kernels_sarif import sarif
from fuzzers.dirigo.verdict import Answer, Report
from fuzzers.records import encode


def check(
    kernel: Annotated[
        Path, typer.Argument(help="A .cu file with a host function, or a Python file with ModelNew.")
    ],
    reference: Annotated[
        Path, typer.Option("--reference", help="A file with Model, get_inputs and get_init_inputs.")
    ],
    sarif_file: Annotated[
        Path | None, typer.Option("--sarif", help="Write differences there as SARIF.")
    ] = None,
    locations: Annotated[
        int, typer.Option("--locations", min=1, help="Output locations to look at.")
    ] = LOCATIONS,
    seconds: Annotated[float, typer.Option("--seconds", min=1, help="Time limit.")] = SECONDS,
    interpreter: options.Interpreter = None,
    json: options.AsJson = False,
) -> int:
    """Check a CUDA kernel against its PyTorch reference, without a GPU.

    For each chosen output location: no difference for all inputs of the ordering cells that were covered; or
    a difference, with an input that was run; or unknown, with the reason. Exit code 1 means a difference.
    """
    settings = options.settings({"interpreter": interpreter})
    pair = Pair(kernel.name, readable(kernel, "kernel"), readable(reference, "reference"))
    with checkers(settings.interpreter, 1, cold=True) as pool:
        report = ask(pool, pair, locations, seconds)
    if sarif_file is not None:
        write_atomically(sarif_file, json_text.dumps(sarif(report, str(kernel)), indent=1) + "\n")
    if json:
        options.print_json({"kernel": str(kernel), "reference": str(reference), **encode(report)})
    else:
        tell(kernel, report)
    return 1 if report.answer is Answer.DIFFERENT else 0


def tell(kernel: Path, report: Report) -> None:
    """A line for each difference, one for the whole, and the notes."""
    for difference in report.differences:
        options.say(f"{kernel}: {difference.words()}")
    if report.answer is not Answer.DIFFERENT:
        options.say(f"{kernel}: {report.words()}")
    for note in report.notes:
        options.say(f"  note: {note}")
