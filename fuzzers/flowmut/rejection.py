"""Why a program does not run: the two answers that are not states.

Invariant: plain data about a node, whichever framework said it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rejection:
    """A run without data stopped: at this node, for this reason."""

    node: str
    op: str
    reason: str


class Refused(Exception):
    """A node was not run, because the guard said no or the framework did (whose error is chained). `reason`
    says why."""

    def __init__(self, node: str, op: str, reason: str) -> None:
        super().__init__(f"{node} ({op}): {reason}")
        self.node, self.op, self.reason = node, op, reason
