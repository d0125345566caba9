"""`nightfuzz run`: a campaign of each engine, triage, issues."""

from __future__ import annotations

from typing import Annotated

import typer

from bot.cli import options, report
from bot.session import Session


def run(
    engine: options.Engine = None,
    seed: options.Seed = None,
    budget: options.Time = None,
    triage_budget: options.TriageTime = None,
    workers: options.Workers = None,
    out: options.Out = None,
    build: options.Build = None,
    framework: options.Framework = None,
    variant: options.Variant = None,
    nightly_index: options.NightlyIndex = None,
    mindspore_index: options.MindsporeIndex = None,
    cache: options.Cache = None,
    cache_gib: options.CacheGib = None,
    interpreter: options.Interpreter = None,
    aspects: options.Aspects = None,
    candidates: options.Candidates = None,
    publish_down_to: options.PublishDownTo = None,
    proposals: Annotated[str | None, options.flag("proposals")] = None,
    llm_url: Annotated[str | None, options.flag("llm_url")] = None,
    llm_model: Annotated[str | None, options.flag("llm_model")] = None,
    no_triage: Annotated[bool, typer.Option("--no-triage", help="Only the campaigns.")] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start the campaign over instead of going on.")
    ] = False,
    json: options.AsJson = False,
) -> int:
    """Fuzz a build, then confirm, reduce and write up what was found. Contacts nobody.

    Ends with 1 when there are new findings, with 4 when suspects are left for another triage.
    """
    settings = options.settings(
        {
            "engine": engine,
            "seed": seed,
            "budget": budget,
            "triage_budget": triage_budget,
            "workers": workers,
            "out": out,
            "build": build,
            "framework": framework,
            "variant": variant,
            "nightly_index": nightly_index,
            "mindspore_index": mindspore_index,
            "cache": cache,
            "cache_gib": cache_gib,
            "interpreter": interpreter,
            "aspects": aspects,
            "candidates": candidates,
            "publish_down_to": publish_down_to,
            "proposals": proposals,
            "llm_url": llm_url,
            "llm_model": llm_model,
        }
    )
    with options.screen() as screen, options.interruptible(screen) as stop:
        session = Session(settings, screen, stop)
        outcome = session.run(fresh=fresh, triaging=not no_triage)
    document = report.document(outcome, session.store, settings.out)
    session.record("run", document)
    if json:
        options.print_json(document)
    else:
        report.show(options.results(), outcome, session.store, settings.out)
    return outcome.exit_code
