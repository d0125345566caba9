"""Which mutation is tried next, and where: drawn by weight, and with guidance the best of several draws.

Invariant: what is chosen follows from the program, the `random.Random` and the guidance. The guidance is
asked about a sample of candidates and not about all, because many steps begin with the same guidance (a
batch, several workers): the best of all would be the same for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.choosing import Choice, Guidance, Pick
from fuzzers.flowmut.classes import state_class
from fuzzers.flowmut.mutations.declaration import Mutation, Site
from fuzzers.flowmut.mutations.table import MUTATIONS
from fuzzers.flowmut.program import Program
from fuzzers.flowmut.runtime import States, runtime

SAMPLE = 12
"""Candidates that are scored for one choice."""

DRAWS = 4
"""Mutations drawn for one candidate before it is given up: at many sites few apply."""


@dataclass(frozen=True)
class Drawn:
    """One candidate, and how it is told of."""

    mutation: Mutation
    site: Site
    pick: Pick


@dataclass
class Chooser:
    """Chooses for one step, and keeps what it chose. Without guidance every candidate is as good."""

    guidance: Guidance | None = None
    choice: Choice = field(default_factory=Choice)

    def draw(self, base: Program, states: States, rng: Random) -> Drawn | None:
        """A mutation by weight at one of the sites that it allows; with guidance, the best of SAMPLE."""
        if self.guidance is None:
            return _drawn(base, states, rng, None, {})
        moved = runtime().sensitivities(base)
        sample = [_drawn(base, states, rng, self.guidance, moved) for _ in range(SAMPLE)]
        found = [drawn for drawn in sample if drawn is not None]
        return found[self.guidance.best([drawn.pick for drawn in found])] if found else None

    def note(self, drawn: Drawn, *, legal: bool) -> None:
        """What became of a candidate."""
        (self.choice.taken if legal else self.choice.refused).append(drawn.pick)


def _drawn(
    base: Program, states: States, rng: Random, guidance: Guidance | None, moved: dict[str, float]
) -> Drawn | None:
    for _ in range(DRAWS):
        mutation = rng.choices(MUTATIONS, _WEIGHTS)[0]
        sites = [site for name in base.names() if mutation.allowed(site := Site(base, name, states))]
        if sites:
            site = rng.choice(sites)
            return Drawn(mutation, site, pick_of(mutation, site, guidance, moved))
    return None


_WEIGHTS = [m.weight for m in MUTATIONS]


def pick_of(mutation: Mutation, site: Site, guidance: Guidance | None, moved: dict[str, float]) -> Pick:
    """How a candidate is told of: its cell, its context, and the keys of what it covers."""
    keys = (f"site {_place(site)}", f"state {state_class(site.state)}", f"mutation {mutation.name}")
    arm = f"{mutation.object}/{mutation.primitive}"
    if guidance is None:
        return Pick(arm, (), keys)
    return Pick(arm, guidance.context(keys, downstream(site), moved[site.name]), keys)


def downstream(site: Site) -> float:
    """The share of the program's nodes that are computed from the edge."""
    reached = rewrite.descendants(site.program, [site.name]) - {site.name}
    return len(reached) / len(site.program.nodes)


def _place(site: Site) -> str:
    """What makes the edge, and what takes it."""
    maker = site.node.op if site.node else "input"
    users = sorted({node.op for node in site.program.users(site.name)})
    return f"{maker}>{','.join(users)}"
