"""A reference's source as a module. It is foreign code: who runs it takes what it raises."""

from __future__ import annotations

import linecache
import sys
import types
from typing import Any

from fuzzers.dirigo.simt.events import Unknown

MODULE = "dirigo_reference"
REAL_BYTES = 1 << 31
"""Inputs above this are not made for real."""


def first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else "without a message"


def loaded(source: str) -> Any:
    """The source as a module, such that `inspect` finds its lines."""
    module = types.ModuleType(MODULE)
    filename = f"<{MODULE}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    sys.modules[MODULE] = module
    exec(compile(source, filename, "exec"), module.__dict__)
    for name in ("Model", "get_inputs"):
        if not hasattr(module, name):
            raise Unknown(f"reference: no {name}")
    return module
