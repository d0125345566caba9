"""Shrinking: every candidate is smaller, legal and about the same observable; greedy descent ends small."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given as given_that
from hypothesis import strategies as st

from fuzzers.flowmut import cuts, passes
from fuzzers.flowmut.candidate import find, payload, start
from fuzzers.flowmut.emit import Claim, claim_from_json, script
from fuzzers.flowmut.engine import ENGINE
from fuzzers.flowmut.legality import Rejection, fake_run
from fuzzers.flowmut.program import Input, Node, Program, View, check, from_json
from fuzzers.flowmut.record import record
from fuzzers.flowmut.rewrite import is_input
from fuzzers.flowmut.shrink import PASSES, candidates, measure, page
from fuzzers.records import Json

pytestmark = pytest.mark.filterwarnings("ignore")


def program_of(given: Json) -> Program:
    return from_json(given["program"])


def assert_smaller_and_legal(before: Json, after: Json) -> None:
    program = program_of(after)
    assert measure(program) < measure(program_of(before))
    check(program)
    assert not isinstance(fake_run(program), Rejection)
    assert isinstance(ast.parse(ENGINE.emit(after)).body[-1], ast.Assert)


def descend(given: Json, fails: Callable[[Program], bool]) -> Json:
    """Greedy descent as triage does it: the first candidate that still fails, until none does."""
    while (smaller := next((c for c in candidates(given) if fails(program_of(c))), None)) is not None:
        assert_smaller_and_legal(given, smaller)
        given = smaller
    return given


def uses(*ops: str) -> Callable[[Program], bool]:
    """Fails while all of these operators are in the program."""
    return lambda program: set(ops) <= {n.op for n in program.nodes}


def drawn_mutant(number: int) -> Program:
    rng = Random(f"shrink/{number}")
    mutant = find(start(rng, "full" if number % 2 else "forward"), rng, Counter())
    assert mutant is not None
    return mutant.program


VALUES = Claim("wrong", "values", rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("number", range(3))
def test_every_candidate_is_smaller_and_legal(number: int) -> None:
    given = payload(drawn_mutant(number), VALUES)
    offered = candidates(given)
    assert offered
    for candidate in offered:
        assert_smaller_and_legal(given, candidate)
    programs = [program_of(c) for c in offered]
    assert len(set(programs)) == len(programs)


@pytest.mark.parametrize("number", range(2))
def test_random_descent_ends(number: int) -> None:
    rng = Random(number)
    given = payload(drawn_mutant(number), VALUES)
    for _ in range(200):
        offered = candidates(given)
        if not offered:
            break
        given = rng.choice(offered[-5:])
    else:
        pytest.fail("two hundred steps did not end the descent")


@pytest.mark.parametrize("number", range(2))
def test_one_guilty_operator_is_all_that_is_left(number: int) -> None:
    program = drawn_mutant(number)
    index = next(k for k, o in enumerate(program.outputs) if not is_input(program, o))
    guilty = program.node(program.outputs[index]).op
    small = program_of(descend(payload(program, replace(VALUES, index=index)), uses(guilty)))
    assert [n.op for n in small.nodes] == [guilty]
    assert len(small.outputs) == 1
    assert not any(i.requires_grad or i.views for i in small.inputs)
    assert small.dynamic is None


def a_wide_program() -> Program:
    """Two guilty nodes among others, a strided input, a large size, an odd dtype."""
    return Program(
        (
            Input("x0", (40, 12), "int16", "randint", -9, 9, views=(View("slice", (1, 0, 12, 2)),)),
            Input("x1", (40, 6), "int16", "randint", 0, 5),
        ),
        (
            Node("t0", "add", ("x0", "x1")),
            Node("t1", "abs", ("t0",)),
            Node("t2", "neg", ("t1",)),
            Node("t3", "sum", ("t2",), (("dim", 1), ("keepdim", True))),
            Node("t4", "mul_scalar", ("x1",), (("value", 3),)),
        ),
        ("t4", "t3"),
        dynamic=True,
    )


def test_two_guilty_operators_are_left_with_plain_surroundings() -> None:
    given = payload(a_wide_program(), Claim("wrong", "values", index=1))
    small = descend(given, uses("neg", "sum"))
    program = program_of(small)
    assert [n.op for n in program.nodes] == ["neg", "sum"]
    assert program.nodes[1].attrs == ()
    assert claim_from_json(small["claim"]).index == 0
    (tensor,) = program.inputs
    assert tensor.shape in ((), (1,))
    assert tensor.dtype == "float32"
    assert tensor.fill == "ones"


def test_what_needs_a_size_keeps_the_smallest_that_does() -> None:
    def fails(program: Program) -> bool:
        return uses("abs")(program) and any(n >= 17 for i in program.inputs for n in i.shape)

    small = program_of(descend(payload(a_wide_program(), Claim("wrong", "values", index=1)), fails))
    assert [n.op for n in small.nodes] == ["abs"]
    assert [i.shape for i in small.inputs] == [(17,)]


def test_what_needs_a_dtype_keeps_it() -> None:
    def fails(program: Program) -> bool:
        return uses("neg")(program) and all(i.dtype == "int16" for i in program.inputs)

    small = program_of(descend(payload(a_wide_program(), Claim("wrong", "values", index=1)), fails))
    assert {i.dtype for i in small.inputs} == {"int16"}
    assert len(small.nodes) == 1


def test_a_claim_on_an_input_follows_it() -> None:
    program = Program(
        (Input("x0", (4,), "float32"), Input("x1", (4,), "float32")),
        (Node("t0", "neg", ("x0",)), Node("t1", "add_", ("x1", "t0"))),
        ("t0",),
    )
    small = descend(payload(program, Claim("wrong", "mutation", index=1, where="input")), uses("add_"))
    left = program_of(small)
    assert [n.op for n in left.nodes] == ["add_"]
    assert left.nodes[0].args[0] == left.inputs[claim_from_json(small["claim"]).index].name


def test_a_claim_on_a_gradient_follows_its_leaf() -> None:
    inputs = (
        Input("x0", (3,), "float32"),
        Input("x1", (3,), "float32", requires_grad=True),
        Input("x2", (3,), "float32", requires_grad=True),
    )
    program = Program(inputs, (Node("t0", "add", ("x0", "x1")), Node("t1", "mul", ("t0", "x2"))), ("t1",))
    claim = Claim("gradient", "gradient", index=1, where="grad", rtol=1e-5, atol=1e-5)
    for candidate in candidates(payload(program, claim)):
        left, moved = program_of(candidate), claim_from_json(candidate["claim"])
        leaves = [i.name for i in left.inputs if i.requires_grad]
        assert leaves[moved.index] == "x2"


def test_a_cut_node_is_fed_with_its_recorded_values() -> None:
    program = Program(
        (Input("x0", (2, 2), "uint8", "full", low=7),),
        (Node("t0", "neg", ("x0",)), Node("t1", "neg", ("t0",))),
        ("t1",),
    )
    cut = [program_of(c) for c in candidates(payload(program, VALUES))]
    literal = [p for p in cut if p.inputs[0].fill == "literal" and len(p.nodes) == 1]
    assert literal[0].inputs[0].values == (249.0,) * 4
    assert record(literal[0])[literal[0].outputs[0]].profile == record(program)["t1"].profile


def a_long_program() -> Program:
    """Two guilty nodes in the middle of a chain of twenty."""
    inner = ["relu", "sin", "abs", "neg", "exp", "tanh"] * 3
    ops = [*inner[:9], "sigmoid", "sum", *inner[9:]]
    nodes = tuple(Node(f"t{k}", op, (f"t{k - 1}" if k else "x0",)) for k, op in enumerate(ops))
    return Program((Input("x0", (4, 5), "float32"),), nodes, (f"t{len(nodes) - 1}",))


def test_small_windows_are_tried_before_anything_large() -> None:
    given = payload(a_long_program(), VALUES)
    widths = [len(program_of(c).nodes) for c in candidates(given)]
    small = next(k for k, width in enumerate(widths) if width > max(cuts.WIDTHS[:2]))
    assert small >= len(a_long_program().nodes)
    guilty = [c for c in candidates(given)[:small] if uses("sigmoid", "sum")(program_of(c))]
    assert guilty
    assert all(len(program_of(c).outputs) == 1 for c in guilty)


def test_every_two_neighbours_are_in_a_first_window() -> None:
    program = a_long_program()
    pairs = set(pairwise(n.op for n in program.nodes))
    first = [program_of(c) for c in candidates(payload(program, VALUES))]
    narrow = [p for p in first if len(p.nodes) <= cuts.WIDTHS[0]]
    assert pairs <= {pair for p in narrow for pair in pairwise(n.op for n in p.nodes)}


def test_a_hint_is_tried_first() -> None:
    given = payload(a_long_program(), VALUES)
    offered = page(given, 0, 3, [("matmul",), ("sigmoid", "sum")])
    first = program_of(offered.programs[0])
    assert [n.op for n in first.nodes] == ["sigmoid", "sum"]
    assert offered.scripts[0] == ENGINE.emit(offered.programs[0])


def test_a_place_goes_on_where_the_last_page_ended() -> None:
    given = payload(a_wide_program(), Claim("wrong", "values", index=1))
    whole = page(given, 0, 1000, ())
    assert whole.after is None
    one = page(given, whole.places[3], 1, ())
    assert one.programs == whole.programs[3:4]
    assert one.after == whole.places[4]


@given_that(st.integers(0, 80))
def test_halving_comes_to_every_place_once_and_to_the_middle_first(count: int) -> None:
    order = list(passes.halving(count))
    assert sorted(order) == list(range(count))
    assert order[:1] == ([count // 2] if count else [])


def test_the_passes_that_remove_nodes_come_first() -> None:
    assert [p.__name__ for p in PASSES[:3]] == ["hinted", "only_claimed", "windows"]
    assert len({p.__name__ for p in PASSES}) == len(PASSES)


def test_scripts_of_candidates_run_the_candidate() -> None:
    given = payload(a_wide_program(), Claim("wrong", "values", index=1))
    for candidate in candidates(given)[:5]:
        assert ENGINE.emit(candidate) == script(program_of(candidate), claim_from_json(candidate["claim"]))
