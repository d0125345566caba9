"""`nightfuzz propose`: programs from a language model ahead of a campaign; executes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bot import wire
from bot.cli import options
from bot.endpoints import endpoint
from bot.errors import UserMistake
from bot.files import check_writable, write_atomically
from bot.proposing import propose as make
from bot.proposing import read_seeds
from fuzzers.alignguard.llm.cache import Cache
from fuzzers.alignguard.llm.client import Client
from fuzzers.alignguard.llm.writer import Writer

FILE = "proposals.json"


def propose(
    seeds: Annotated[
        Path | None,
        typer.Option(
            "--seeds", help="A program in the form, or a folder of them; default: AlignGuard's own."
        ),
    ] = None,
    out: options.Out = None,
    seed: options.Seed = None,
    llm_url: Annotated[str | None, options.flag("llm_url")] = None,
    llm_model: Annotated[str | None, options.flag("llm_model")] = None,
    llm_calls: Annotated[int | None, options.flag("llm_calls", "--calls")] = None,
    llm_tokens: Annotated[int | None, options.flag("llm_tokens")] = None,
    llm_seconds: Annotated[str | None, options.flag("llm_seconds")] = None,
    json: options.AsJson = False,
) -> int:
    """Ask a language model for mutants of seeds, for `nightfuzz run --engine alignguard --proposals FILE`.

    Writes proposals.json into --out. An endpoint that fails costs programs, not the command: what was made
    until then is written, one line says why there is no more, and the exit code is 0.
    """
    settings = options.settings(
        {
            "out": out,
            "seed": seed,
            "llm_url": llm_url,
            "llm_model": llm_model,
            "llm_calls": llm_calls,
            "llm_tokens": llm_tokens,
            "llm_seconds": llm_seconds,
        }
    )
    where = endpoint(settings)
    if where is None:
        raise UserMistake("no language model is set: give llm_url and llm_model")
    check_writable(settings.out)
    with options.screen() as screen, options.interruptible(screen) as stop:
        texts = read_seeds(seeds, screen.say)
        client = Client(where, Cache(settings.cache / "llm"), stopped=stop)
        writer = Writer(client)
        made = make(writer, texts, settings.seed, screen.say, stop)
        if made.ended:
            screen.say(made.ended)
    path = settings.out / FILE
    write_atomically(path, wire.text(made.proposals))
    document = {
        "file": str(path),
        "programs": len(made.proposals.programs),
        "ended": made.ended,
        **writer.document(),
    }
    if json:
        options.print_json(document)
    else:
        options.say(f"{len(made.proposals.programs)} programs in {path}")
    return 0
