"""Which changed file goes to which engine.

Invariant: pure; a file goes to the engine of the first pattern that fits its path, or to none. A Python file
that is no model is nobody's, without a word: most files are not.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from bot.trackers.pulls import ChangedFile


@dataclass(frozen=True)
class Route:
    """Files whose path fits `pattern` (as a shell has it, but `*` takes slashes too) go to `engine`."""

    pattern: str
    engine: str


ROUTES = (
    Route("*.cu", "dirigo"),
    Route("*.cuh", "dirigo"),
    Route("test_*.py", "alignguard"),
    Route("*/test_*.py", "alignguard"),
    Route("*_test.py", "alignguard"),
    Route("*.py", "flowmut"),
)
"""Where files go that the settings say nothing else about."""

FORMS = (frozenset({"model", "inputs"}), frozenset({"Model", "get_inputs"}))
"""What a model file defines: this, or that."""

TAKES_MODELS = frozenset({"flowmut"})

LOOKING = ("flowmut",)
"""The engines that look at changed files (`fuzzers.engine.FromFile`)."""


@dataclass(frozen=True)
class Routed:
    """A changed file and the engine that looks at it."""

    file: ChangedFile
    engine: str


def routed(
    files: Sequence[ChangedFile],
    routes: Sequence[Route],
    *,
    engines: Sequence[str],
    paths: Sequence[str],
    text: Callable[[str], str | None],
) -> tuple[list[Routed], list[str]]:
    """(files with their engines, why others are not looked at). Empty `engines` or `paths` means all; `text`
    gives a changed file's text, None when it has none."""
    found: list[Routed] = []
    left: list[str] = []
    for file in files:
        if paths and file.path not in paths:
            continue
        engine = next((r.engine for r in routes if fnmatchcase(file.path, r.pattern)), "")
        if not engine or (engines and engine not in engines and engine in LOOKING):
            continue
        if engine in TAKES_MODELS and not is_model(text(file.path) or ""):
            if file.path in paths:
                left.append(f"{file.path} defines neither `model` and `inputs` nor `Model` and `get_inputs`")
        elif engine not in LOOKING:
            left.append(f"{file.path} is for {engine}, which is not in this version")
        else:
            found.append(Routed(file, engine))
    return found, left


def is_model(text: str) -> bool:
    """Whether a Python file defines a model and its inputs."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return False
    named = {n.name for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    return any(form <= named for form in FORMS)
