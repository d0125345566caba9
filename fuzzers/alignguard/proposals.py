"""Programs that a model made ahead of a campaign, as they go from one machine to another.

Invariant: a file of them is a stranger's text. Whoever reads it bounds its size, and `admitted` lets
through only programs that are in the form and pass the gate, whatever the file says of how they were made.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from fuzzers.alignguard import form, gate
from fuzzers.records import SCHEMA

LARGEST_FILE = 16 * 2**20
MOST_PROGRAMS = 2_000
LONGEST_LABEL = 80


@dataclass(frozen=True)
class Proposal:
    """One program. `seed` names what it was made of, `characteristics` what was asked for."""

    source: str
    seed: str = ""
    characteristics: tuple[str, ...] = ()
    repairs: int = 0


@dataclass(frozen=True)
class Proposals:
    """What `nightfuzz propose` writes."""

    programs: tuple[Proposal, ...] = ()
    model: str = ""
    schema: int = SCHEMA


@dataclass(frozen=True)
class Admitted:
    """The programs of a file that may run, each once, and how many may not, by reason."""

    programs: tuple[Proposal, ...]
    refused: dict[str, int]


def admitted(proposals: Proposals) -> Admitted:
    """What of a file may run."""
    kept: dict[str, Proposal] = {}
    refused: Counter[str] = Counter()
    refused["beyond the largest number"] = max(0, len(proposals.programs) - MOST_PROGRAMS)
    for proposal in proposals.programs[:MOST_PROGRAMS]:
        try:
            form.read(proposal.source)
            name = form.digest(proposal.source)
        except form.NotNormal:
            refused["not in the form"] += 1
            continue
        if gate.refusals(proposal.source):
            refused["not through the gate"] += 1
        elif not _is_labelled(proposal):
            refused["odd labels"] += 1
        elif name in kept:
            refused["there already"] += 1
        else:
            kept[name] = proposal
    return Admitted(tuple(kept.values()), {why: count for why, count in refused.items() if count})


def _is_labelled(proposal: Proposal) -> bool:
    labels = (proposal.seed, *proposal.characteristics)
    return len(labels) < 8 and all(len(one) <= LONGEST_LABEL and one.isprintable() for one in labels)
