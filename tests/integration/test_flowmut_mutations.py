"""Every mutation finds something to do in the seeds, and what it makes is legal when the judge says so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from random import Random

import pytest

from fuzzers.flowmut.emit import build
from fuzzers.flowmut.legality import Rejection, check_predicates, fake_run, guard
from fuzzers.flowmut.mutations.declaration import Mutation, Object, Primitive, Site
from fuzzers.flowmut.mutations.table import MUTATIONS
from fuzzers.flowmut.program import Program, check, from_json, to_json
from fuzzers.flowmut.proposal import judge, tidy
from fuzzers.flowmut.record import States, record
from fuzzers.flowmut.seeds.table import SEEDS
from fuzzers.flowmut.window import window

pytestmark = pytest.mark.filterwarnings("ignore")

WANTED = 3
"""Legal programs that each mutation must make."""

DRAWS = 250
"""Windows tried for them."""


@pytest.fixture(scope="module")
def recorded() -> list[tuple[Program, States]]:
    """Windows of every seed, and the states of their edges."""
    rng, found = Random(0), []
    for seed in SEEDS:
        states = record(seed)
        for node in rng.sample(seed.nodes, 6):
            cut = tidy(window(seed, node.name, states))
            found.append((cut, record(cut)))
    return found


def assert_runs(program: Program) -> None:
    check(program)
    assert from_json(to_json(program)) == program
    states = fake_run(program)
    assert not isinstance(states, Rejection), states
    assert not check_predicates(program, states)
    record(program, guard)
    function, inputs = build(program)
    function(*inputs())


def legal_mutants(
    mutation: Mutation, recorded: list[tuple[Program, States]]
) -> tuple[list[Program], Counter[str]]:
    """What the mutation makes at drawn sites, and what became of the attempts."""
    rng, found, counts = Random(mutation.name), list[Program](), Counter[str]()
    for _ in range(DRAWS):
        program, states = rng.choice(recorded)
        sites = [s for n in program.names() if mutation.allowed(s := Site(program, n, states))]
        made = mutation.apply(rng.choice(sites), rng) if sites else None
        if made is None or made == program:
            continue
        check(made)
        counts["made"] += 1
        if judge(tidy(made), counts) is not None:
            found.append(tidy(made))
        if len(found) == WANTED:
            break
    return found, counts


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name.replace(" ", "-"))
def test_a_mutation_makes_legal_programs(mutation: Mutation, recorded: list[tuple[Program, States]]) -> None:
    found, counts = legal_mutants(mutation, recorded)
    assert len(found) == WANTED, counts
    for program in found:
        assert_runs(program)


def test_names_are_unique_and_cells_are_filled() -> None:
    assert len({m.name for m in MUTATIONS}) == len(MUTATIONS) >= 120
    assert {m.object for m in MUTATIONS} == set(Object)
    assert {m.primitive for m in MUTATIONS} == set(Primitive)


@pytest.mark.parametrize("seed", SEEDS, ids=lambda s: s.origin)
def test_a_seed_is_legal_as_it_stands(seed: Program) -> None:
    assert 8 <= len(seed.nodes) <= 25
    assert_runs(seed)


def test_windows_of_all_over_a_seed_run(recorded: list[tuple[Program, States]]) -> None:
    for seed in SEEDS:
        states = record(seed)
        for name in seed.names()[::3]:
            assert_runs(tidy(window(seed, name, states)))


def test_most_proposals_are_legal() -> None:
    """The predicates on sites and the drawing of operators leave the filters little to do."""
    counts: Counter[str] = Counter()
    from fuzzers.flowmut.candidate import find, start

    for k in range(40):
        rng = Random(f"legal/{k}")
        find(start(rng, "forward"), rng, counts)
    rejected = counts["predicate_rejects"] + counts["fake_rejects"] + counts["eager_rejects"]
    assert counts["eager_rejects"] == 0, counts
    assert rejected < 0.4 * counts["proposed"], counts


PRINT_DIGESTS = """
from collections import Counter
from random import Random
from fuzzers.flowmut.candidate import digest, find, start
for k in range(4):
    rng = Random(f"9/{k}/0")
    mutant = find(start(rng, "full"), rng, Counter())
    print(digest(mutant.program) if mutant else "rejected")
"""


def test_candidates_are_the_same_in_every_process() -> None:
    def printed(hash_seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-W", "ignore", "-c", PRINT_DIGESTS]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    first, second = printed("1"), printed("2")
    assert first == second
    assert len(set(first.split())) > 2
