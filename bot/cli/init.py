"""`nightfuzz init`: the settings file and the workflow with which a repository adopts the bot."""

from __future__ import annotations

import re
import subprocess
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bot.cli import options
from bot.errors import UserMistake
from bot.files import write_atomically
from bot.templating import filled

WORKFLOWS = "nightfuzz/nightfuzz"
"""The repository of the workflows that a caller uses."""

WRITES = {
    "nightfuzz.toml": "init/nightfuzz.toml.j2",
    ".github/workflows/nightfuzz.yml": "init/workflow.yml.j2",
}


class Kind(StrEnum):
    """What a repository is."""

    USER = "user"
    FRAMEWORK = "framework"


def init(
    kind: Annotated[
        Kind, typer.Option("--kind", help="`user`: models, kernels, tests; `framework`: builds wheels.")
    ] = Kind.USER,
    repository: Annotated[
        str | None, typer.Option("--repository", help="Where issues go; default: this one.")
    ] = None,
    runner: Annotated[
        str, typer.Option("--runner", help="Labels of the machines, separated by commas.")
    ] = "self-hosted",
    ref: Annotated[
        str, typer.Option("--ref", help="Commit of nightfuzz's workflows to pin, 40 digits.")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
) -> int:
    """Write nightfuzz.toml and .github/workflows/nightfuzz.yml into this folder. Replaces nothing."""
    if not re.fullmatch(r"[0-9a-f]{40}", ref):
        raise UserMistake(
            "say with --ref which commit of nightfuzz to use: 40 digits, so that nobody can change what runs"
        )
    labels = [label.strip() for label in runner.split(",")]
    if not all(re.fullmatch(r"[\w.-]+", label) for label in labels):
        raise UserMistake(f"--runner {runner}: labels are letters, digits, dots and dashes")
    where = repository or _origin()
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", where):
        raise UserMistake("say with --repository where issues go: owner/name")
    for name in WRITES:
        if Path(name).exists() and not force:
            raise UserMistake(f"{name} is there already; --force replaces it")
    values = {
        "workflows": WORKFLOWS,
        "ref": ref,
        "minute": 7 + 2 * (sum(where.encode()) % 20),
        "runner": "[" + ", ".join(f'"{label}"' for label in labels) + "]",
        "package": "nightfuzz",
        "build": "nightly",
        "repository": where,
        "kind": str(kind),
    }
    for name, template in WRITES.items():
        write_atomically(Path(name), filled(template, **values))
        options.results().print(f"written: {name}", highlight=False)
    return 0


def _origin() -> str:
    """`owner/name` of this folder's origin; empty when it has none."""
    try:
        told = subprocess.run(
            ["git", "remote", "get-url", "origin"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
    found = re.search(r"[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?\s*$", told)
    return found[1] if found else ""
