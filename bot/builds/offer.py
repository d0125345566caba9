"""What a channel offers: builds that can be had, whether or not they are installed.

Invariant: an offer says everything that installing it needs, so that it can be kept, sent to another process
and installed there without asking the channel again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Offer:
    """One build that a channel has. What the channel does not tell is an empty string."""

    framework: str
    version: str
    """With its local label, `2.15.0.dev20261101+cpu`; of a dated folder with its time as label."""
    variant: str = ""
    """`cpu`, `cu130`."""
    date: str = ""
    """`2026-11-01`."""
    url: str = ""
    """Address or path of the wheel; empty when pip finds it by name and version."""
    digest: str = ""
    """`sha256=<hex>`, as the index tells it."""
    git_sha: str = ""
    index: str = ""
    """The index of the channel, which also has what this build pins to builds of the same night."""
    interpreter: str = ""
    """The interpreter that has the build already: there is nothing to install."""

    @property
    def name(self) -> str:
        """As `fuzzers.records.Build.name`."""
        return f"{self.framework} {self.version}"


class Channel(Protocol):
    """Where builds come from."""

    name: str

    def offers(self) -> list[Offer]:
        """What there is for the interpreter that will make the environments, oldest first.
        MachineryFailure when whoever has the list does not tell."""
