"""Which engines there are: the one list that campaigns, workers and the conformance suite read.

Invariant: naming an engine imports nothing; only `load` does, and only the engine asked for, because an
engine may import a framework and the controller asks for names.
"""

from __future__ import annotations

from importlib import import_module

from fuzzers import framework
from fuzzers.engine import Engine

ENGINES: dict[str, str] = {
    "flowmut": "fuzzers.flowmut.engine:ENGINE",
    "alignguard": "fuzzers.alignguard.engine:ENGINE",
}
"""Engine name -> where it is, as `module:attribute`, in a worker for torch."""

ON_MINDSPORE: dict[str, str] = {
    "flowmut": "fuzzers.flowmut.on_mindspore.engine:ENGINE",
}
"""The same, in a worker for MindSpore."""

BY_FRAMEWORK = {"torch": ENGINES, "mindspore": ON_MINDSPORE}


def load(name: str) -> Engine:
    """The engine of that name. A `module:attribute` that is not in the list is accepted as it stands, so
    that an engine kept elsewhere (a test's, a user's) runs in a worker without being listed here.

    KeyError for an unknown plain name, or one that this worker's framework has not; ImportError or
    AttributeError when it cannot be loaded.
    """
    where = BY_FRAMEWORK[framework.name()][name] if ":" not in name else name
    module, _, attribute = where.partition(":")
    engine: Engine = getattr(import_module(module), attribute)
    return engine
