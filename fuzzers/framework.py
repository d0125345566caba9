"""Which framework this worker is for: one process imports one.

Invariant: it is known before anything is imported, from the environment that the controller made, and never
changes in a process or in its children.
"""

from __future__ import annotations

import os

VARIABLE = "NIGHTFUZZ_FRAMEWORK"
NAMES = ("torch", "mindspore")


def name() -> str:
    """`torch` unless the controller said otherwise. ValueError for a framework that is none of ours."""
    said = os.environ.get(VARIABLE, NAMES[0])
    if said not in NAMES:
        raise ValueError(f"{VARIABLE} is {said!r}, and there are {', '.join(NAMES)}")
    return said
