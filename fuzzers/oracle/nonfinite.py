"""What the documentation promises about NaN and infinity.

Invariant: only a sentence that can be quoted makes a non-finite difference `wrong`; without one, and with
anything non-finite among inputs or reference, it stays in its own class.
"""

from __future__ import annotations

from typing import Any

import torch

DOCUMENTED = "documented: "

_BETA_ZERO = (
    "If beta is 0, then the content of input will be ignored, and nan and inf in it will not be propagated."
)
SENTENCES: dict[str, str] = dict.fromkeys(
    ("addmm", "addmv", "addbmm", "baddbmm", "addr", "_addmm_activation", "sspaddmm"), _BETA_ZERO
)
"""Operator -> the sentence, checked by `documented` where it applies."""


def documented(name: str, given: dict[str, Any]) -> set[str]:
    """Labels of promises about non-finite values that this very call puts to the test."""
    ignored = given.get("self")
    if name not in SENTENCES or given.get("beta") != 0 or not isinstance(ignored, torch.Tensor):
        return set()
    if not ignored.is_floating_point() or bool(torch.isfinite(ignored).all()):
        return set()
    return {DOCUMENTED + name}


def quoted(labels: frozenset[str]) -> str:
    """The sentence that a label stands for, empty when there is none among them."""
    names = sorted(label.removeprefix(DOCUMENTED) for label in labels if label.startswith(DOCUMENTED))
    return SENTENCES[names[0]] if names else ""
