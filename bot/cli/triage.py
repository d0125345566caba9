"""`nightfuzz triage`: a folder of suspects to findings and issues."""

from __future__ import annotations

from bot.cli import options, report
from bot.session import Session


def triage(
    triage_budget: options.TriageTime = None,
    workers: options.Workers = None,
    out: options.Out = None,
    build: options.Build = None,
    interpreter: options.Interpreter = None,
    publish_down_to: options.PublishDownTo = None,
    json: options.AsJson = False,
) -> int:
    """Take the suspects of an output folder on from where the last triage, or whatever killed it, left them.

    Ends with 1 when there are new findings, with 4 when suspects are left for another triage.
    """
    settings = options.settings(
        {
            "triage_budget": triage_budget,
            "workers": workers,
            "out": out,
            "build": build,
            "interpreter": interpreter,
            "publish_down_to": publish_down_to,
        }
    )
    with options.screen() as screen, options.interruptible(screen) as stop:
        session = Session(settings, screen, stop)
        outcome = session.triage()
    document = report.document(outcome, session.store, settings.out)
    session.record("triage", document)
    if json:
        options.print_json(document)
    else:
        report.show(options.results(), outcome, session.store, settings.out)
    return outcome.exit_code
