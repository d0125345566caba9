"""`nightfuzz doctor`: what is here, what is missing, how to get it."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from bot.cli import options
from bot.doctor import Standing, examine
from fuzzers.records import encode


def doctor(
    out: options.Out = None,
    interpreter: options.Interpreter = None,
    cache: options.Cache = None,
    json: options.AsJson = False,
) -> int:
    """Look at this machine and say what `run` would miss.

    Ends with 3 when something is missing.
    """
    settings = options.settings({"out": out, "interpreter": interpreter, "cache": cache})
    checks = examine(settings.interpreter or Path(sys.executable), settings.out, settings.cache)
    fit = all(check.standing is not Standing.MISSING for check in checks)
    if json:
        options.print_json({"fit": fit, "checks": [encode(check) for check in checks]})
    else:
        table = Table(show_edge=False, show_header=False)
        for check in checks:
            table.add_row(check.name, str(check.standing), escape(check.found), escape(check.remedy))
        options.results().print(table)
    return 0 if fit else 3
