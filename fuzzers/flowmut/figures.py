"""The engine's own figures: how legal its mutants are, with and without what makes them so, and how diverse.

Invariant: nothing is compiled, and the three rates are about mutants drawn from the same bases by the same
weights. `unconstrained` is without any predicate: mutations anywhere, operators on whatever there is; that is
what the predicates are measured against.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from fuzzers.flowmut.candidate import find, start
from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.legality import Rejection, check_predicates, fake_run, guard
from fuzzers.flowmut.mutations.declaration import Mutation, Site
from fuzzers.flowmut.mutations.table import MUTATIONS
from fuzzers.flowmut.operators.declaration import Operator
from fuzzers.flowmut.program import Program
from fuzzers.flowmut.proposal import tidy
from fuzzers.flowmut.record import Refused, record
from fuzzers.flowmut.runtime import States
from fuzzers.flowmut.source import build
from fuzzers.flowmut.tap import Flow
from fuzzers.flowmut.values import state_of, suits
from fuzzers.records import Json

CHAIN = 8
"""Steps of a chain whose programs are counted."""

_CANNOT_BE_MADE = (
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    ArithmeticError,
    Refused,
)
"""What a mutation runs into where its predicates do not hold: it makes nothing there."""


def figures(seed: int, programs: int) -> Json:
    """Rates over `programs` mutants of each sort, and the data flow in `programs` of a chain's programs."""
    counts = _legality(seed, programs)
    flow = diversity(seed, programs)
    return {
        "legal_rate": _rate(counts, "both"),
        "legal_rate_predicates": _rate(counts, "predicates"),
        "legal_rate_unconstrained": _rate(counts, "unconstrained"),
        "fake_rejects_what_runs": counts["fake rejects what runs"],
        "diversity": len(flow.kinds),
        "diversity_with_values": len(flow.valued),
        "diversity_programs": flow.programs,
        "diversity_operators": flow.calls,
    }


def diversity(seed: int, programs: int) -> Flow:
    """The data flow of programs as chains make them."""
    flow = Flow()
    for chain in range(-(-programs // CHAIN)):
        rng = Random(f"{seed}/{chain}/diversity")
        program = start(rng, "forward")
        for _ in range(min(CHAIN, programs - chain * CHAIN)):
            mutant = find(program, rng, Counter())
            if mutant is None:
                break
            program = mutant.program
            function, inputs = build(program)
            flow.run(function, inputs())
    return flow


def _rate(counts: Counter[str], sort: str) -> float:
    tried = counts[f"{sort} legal"] + counts[f"{sort} illegal"]
    return round(counts[f"{sort} legal"] / tried, 4) if tried else 0.0


def _legality(seed: int, programs: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    for number in range(programs):
        rng = Random(f"{seed}/{number}/legality")
        base = start(rng, "forward")
        states = record(base)
        mutant = _constrained(base, states, rng)
        if mutant is not None:
            _count_constrained(mutant, counts)
        with unconstrained():
            mutant = _anything(base, states, rng)
        if mutant is not None:
            counts["unconstrained legal" if _runs(mutant) else "unconstrained illegal"] += 1
    return counts


def _count_constrained(mutant: Program, counts: Counter[str]) -> None:
    predicted: States | Rejection = fake_run(mutant)
    foreseen = not isinstance(predicted, Rejection)
    try:
        record(mutant, guard)
    except Refused as refusal:
        if refusal.__cause__ is None:
            return  # a predicate said no
        counts["predicates illegal"] += 1
        counts["both illegal"] += foreseen
        return
    counts["predicates legal"] += 1
    counts["both legal"] += foreseen
    counts["fake rejects what runs"] += not foreseen


def _constrained(base: Program, states: States, rng: Random) -> Program | None:
    """A mutant that the predicates on its site and its inputs let through."""
    mutation = _drawn(rng)
    sites = [site for name in base.names() if mutation.allowed(site := Site(base, name, states))]
    made = mutation.apply(rng.choice(sites), rng) if sites else None
    if made is None or tidy(made) == base or not tidy(made).nodes:
        return None
    made = tidy(made)
    known: dict[str, EdgeState] = {i.name: state_of(i) for i in made.inputs if suits(i)}
    legal = len(known) == len(made.inputs) and not check_predicates(made, known)
    return made if legal else None


def _anything(base: Program, states: States, rng: Random) -> Program | None:
    """A mutant that nothing has been asked about."""
    site = Site(base, rng.choice(base.names()), states)
    try:
        made = _drawn(rng).apply(site, rng)
        made = tidy(made) if made is not None else None
    except _CANNOT_BE_MADE:
        return None
    return made if made is not None and made != base and made.nodes else None


def _drawn(rng: Random) -> Mutation:
    return rng.choices(MUTATIONS, [m.weight for m in MUTATIONS])[0]


def _runs(program: Program) -> bool:
    try:
        function, inputs = build(program)
        function(*inputs())
    # The framework refuses by whatever class it likes.
    except Exception:  # noqa: BLE001
        return False
    return True


@contextmanager
def unconstrained() -> Iterator[None]:
    """Within, every operator accepts everything and every mutation is allowed everywhere."""
    unmet, allowed = Operator.unmet, Mutation.allowed
    Operator.unmet = lambda self, states, attrs, *, soft=False: []  # type: ignore[method-assign]
    Mutation.allowed = lambda self, site: True  # type: ignore[method-assign]
    try:
        yield
    finally:
        Operator.unmet, Mutation.allowed = unmet, allowed  # type: ignore[method-assign]
