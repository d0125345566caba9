"""The command `nightfuzz`: a file a subcommand, errors and exit codes here.

Invariant: exceptions become a line on standard error and an exit code in `main` and nowhere else; standard
output carries the result, and with `--json` that is exactly one document.
"""

from __future__ import annotations

import os
import sys
import traceback
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, cast

import typer

from bot.cli import (
    bench,
    bisect,
    builds,
    check,
    comment,
    doctor,
    init,
    merge,
    plan,
    propose,
    publish,
    pull,
    report_pull,
    retest,
    run,
    state,
    triage,
    work,
)
from bot.errors import NightfuzzError

_USAGE_ERRORS = cast("type[Exception]", typer.BadParameter.__mro__[2])
"""The base of everything that typer raises for a wrong command line; it has no public name."""

STOPPED = 130
"""What a shell says of a command that was ended by Ctrl-C; here: by the second one."""

app = typer.Typer(
    name="nightfuzz",
    help="A regression bot for deep-learning compilers: from a build to small scripts that fail on it.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("triage")(triage.triage)
app.command("retest")(retest.retest)
app.command("bisect")(bisect.bisect)
app.command("check")(check.check)
app.command("merge")(merge.merge)
app.command("plan")(plan.plan)
app.command("propose")(propose.propose)
app.command("comment")(comment.comment)
app.command("publish")(publish.publish)
app.command("pull")(pull.pull)
app.command("report")(report_pull.report)
app.command("work")(work.work)
app.command("init")(init.init)
app.command("doctor")(doctor.doctor)
app.command("bench")(bench.bench)
app.add_typer(builds.app, name="builds")
app.add_typer(state.app, name="state")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nightfuzz {installed_version()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The options before a subcommand."""


def installed_version() -> str:
    """The version of the distribution; `0+source` for a tree that was never installed."""
    try:
        return version("nightfuzz")
    except PackageNotFoundError:
        return "0+source"


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code."""
    sys.exit(exit_code(sys.argv[1:] if arguments is None else arguments))


def exit_code(arguments: list[str]) -> int:
    """Run the command line: overview.md's exit codes, one line for what a person did wrong."""
    try:
        if not arguments:
            app(["--help"], standalone_mode=False)
            return 2
        code = int(app(arguments, standalone_mode=False) or 0)
        # typer takes a Ctrl-C for itself, and says nothing.
        return _fail("stopped", STOPPED) if code == STOPPED else code
    except NightfuzzError as error:
        return _fail(str(error), error.exit_code)
    except _USAGE_ERRORS as error:
        return _fail(_usage_line(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("stopped", STOPPED)
    except (BrokenPipeError, SystemExit):  # the second is what typer makes of the first
        # Whoever read our output has gone, which is their choice; nothing more can be said to them.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:  # noqa: BLE001 - a fault of ours that nobody foresaw: shown whole, and exit 3, not 1
        traceback.print_exc()
        return _fail("this is a fault in nightfuzz itself; what is above tells where", 3)


def _usage_line(error: Exception) -> str:
    """typer's message as one line."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    return " ".join(message.split())


def _fail(message: str, code: int) -> int:
    print(f"nightfuzz: {message}", file=sys.stderr)
    return code
