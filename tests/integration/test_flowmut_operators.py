"""Every declared operator against the framework: what its requirements let through runs, and the fake run
foresees what comes out."""

from __future__ import annotations

from random import Random

import pytest
from drawing import drawn_input, grown, legal_singles

from fuzzers.flowmut.edge import DTYPES, EdgeState
from fuzzers.flowmut.legality import Rejection, check_predicates, fake_run
from fuzzers.flowmut.operators.table import FAMILIES, OPERATORS
from fuzzers.flowmut.operators.views import END
from fuzzers.flowmut.program import Input, Node, Program, View
from fuzzers.flowmut.record import record
from fuzzers.flowmut.values import state_of

pytestmark = pytest.mark.filterwarnings("ignore")

EACH = 6


def fake_states(program: Program) -> dict[str, EdgeState]:
    found = fake_run(program)
    assert not isinstance(found, Rejection), found
    return found


def assert_foreseen(program: Program) -> None:
    real, fake = record(program), fake_states(program)
    for name, seen in real.items():
        want = (seen.shape, seen.dtype, seen.requires_grad, seen.storage, seen.relation)
        have = fake[name]
        assert (have.shape, have.dtype, have.requires_grad, have.storage, have.relation) == want, (
            program,
            name,
        )


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_an_operator_runs_on_what_its_requirements_let_through(name: str) -> None:
    programs = list(legal_singles(OPERATORS[name], seed=0, wanted=EACH))
    assert len(programs) == EACH, f"only {len(programs)} legal draws"
    for program in programs:
        assert_foreseen(program)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_an_operator_aliases_as_declared(name: str) -> None:
    operator = OPERATORS[name]
    for program in legal_singles(operator, seed=1, wanted=3):
        states = record(program)
        shares = states["n"].storage == states["x"].storage
        if operator.views or operator.writes == 0:
            assert shares, program
        elif not operator.may_view:
            assert not shares, program
        assert states["x"].later_mutated == (operator.writes == 0), program


def test_the_table_is_wide() -> None:
    assert len(OPERATORS) == sum(map(len, FAMILIES)), "two operators share a name"
    assert len(OPERATORS) >= 170
    drawn = {p.inputs[0].dtype for o in ("add", "sum", "to") for p in legal_singles(OPERATORS[o], 2, 40)}
    assert drawn == set(DTYPES)


def test_grown_programs_are_foreseen() -> None:
    rng = Random(3)
    for _ in range(40):
        assert_foreseen(grown(rng, rng.randint(2, 6)))


def test_an_input_is_in_the_state_that_was_predicted() -> None:
    rng = Random(4)
    for _ in range(150):
        given = drawn_input(rng)
        seen, predicted = record(Program((given,), (), (given.name,)))[given.name], state_of(given)
        for field in ("shape", "dtype", "strides", "offset", "requires_grad", "on_leaf", "overlaps"):
            assert getattr(seen, field) == getattr(predicted, field), (field, given)
        if predicted.profile is not None and seen.numel:
            assert predicted.profile.low <= seen.profile.low <= seen.profile.high <= predicted.profile.high


F32, I64, U8 = "float32", "int64", "uint8"
LEAF = Input("x", (4,), F32, requires_grad=True)

ILLEGAL: list[tuple[str, tuple[Input, ...], dict[str, object]]] = [
    ("not bool", (Input("x", (4,), "bool", "bool"),), {"op": "neg"}),
    ("integer or bool", (Input("x", (4,), F32),), {"op": "bitwise_not"}),
    ("floating", (Input("x", (4,), I64, "randint", 0, 4),), {"op": "mean"}),
    ("same dtype", (Input("x", (4, 4), F32), Input("y", (4, 4), "float64")), {"op": "mm"}),
    ("contracted sizes agree", (Input("x", (4, 3), F32), Input("y", (4, 3), F32)), {"op": "mm"}),
    ("broadcastable", (Input("x", (4,), F32), Input("y", (3,), F32)), {"op": "add"}),
    ("rank at least 2", (Input("x", (4,), F32),), {"op": "tril"}),
    ("dim in range", (Input("x", (4,), F32),), {"op": "softmax", "dim": 1}),
    ("reduced dims not empty", (Input("x", (0, 4), F32),), {"op": "amax", "dim": 0}),
    (
        "argument 1 not zero",
        (Input("x", (4,), I64, "ones"), Input("y", (4,), I64, "zeros")),
        {"op": "remainder"},
    ),
    (
        "shift within width",
        (Input("x", (4,), U8, "ones"), Input("y", (4,), U8, "full", 8)),
        {"op": "shift_left"},
    ),
    ("no signed overflow", (Input("x", (4,), "int8", "full", -128),), {"op": "neg"}),
    ("no signed overflow", (Input("x", (4,), "int8", "full", 100),), {"op": "add_scalar", "value": 30}),
    ("cast in range", (Input("x", (4,), F32, "full", -1),), {"op": "to", "dtype": U8}),
    ("cast in range", (Input("x", (4,), F32, "special"),), {"op": "to", "dtype": "int32"}),
    (
        "indices in range",
        (Input("x", (4,), F32), Input("i", (2,), I64, "full", 4)),
        {"op": "index_select", "dim": 0},
    ),
    (
        "distinct indices",
        (Input("x", (4,), F32), Input("i", (2,), I64, "zeros"), Input("y", (2,), F32)),
        {"op": "index_copy", "dim": 0},
    ),
    (
        "divisible by groups, channels agree",
        (Input("x", (1, 3, 4, 4), F32), Input("w", (2, 1, 1, 1), F32), Input("b", (2,), F32)),
        {"op": "conv2d", "groups": 2},
    ),
    ("no grad leaf in place", (LEAF,), {"op": "relu_"}),
    (
        "writable: no internal overlap",
        (Input("x", (1,), F32, views=(View("expand", (4,)),)),),
        {"op": "zero_"},
    ),
    (
        "result castable to what is written",
        (Input("x", (4,), I64, "ones"), Input("y", (4,), F32)),
        {"op": "add_"},
    ),
    ("broadcasts to what is written", (Input("x", (1,), F32), Input("y", (4,), F32)), {"op": "add_"}),
]


@pytest.mark.parametrize(
    ("requirement", "inputs", "call"), ILLEGAL, ids=lambda v: v if isinstance(v, str) else ""
)
def test_the_requirements_refuse(
    requirement: str, inputs: tuple[Input, ...], call: dict[str, object]
) -> None:
    attrs = tuple((k, v) for k, v in call.items() if k != "op")
    node = Node("n", str(call["op"]), tuple(i.name for i in inputs), attrs)  # type: ignore[arg-type]
    program = Program(inputs, (node,), ("n",))
    states = record(Program(inputs, (), (inputs[0].name,)))
    assert [v.requirement for v in check_predicates(program, states)] == [requirement]


def test_a_partial_overlap_with_what_is_written_is_refused() -> None:
    tail = Node("a", "slice", ("x",), (("span", (0, 1, END, 1)),))
    head = Node("b", "narrow", ("x",), (("dim", 0), ("start", 0), ("length", 3)))
    program = Program((Input("x", (4,), F32),), (tail, head, Node("c", "add_", ("a", "b"))), ("c",))
    states = record(Program(program.inputs, (tail, head), ("a",)))
    assert [v.requirement for v in check_predicates(program, states)] == [
        "argument apart from what is written"
    ]


def test_a_write_through_a_view_is_seen_on_every_alias() -> None:
    nodes = (
        Node("a", "mul_scalar", ("x",), (("value", 2),)),
        Node("b", "select", ("a",), (("dim", 0), ("index", 0))),
        Node("c", "zero_", ("b",)),
        Node("d", "sum", ("a",)),
    )
    states = record(Program((Input("x", (2, 2), F32, "ones"),), nodes, ("d",)))
    assert [states[n].later_mutated for n in "xabcd"] == [False, True, True, False, False]
    assert (states["b"].relation, states["b"].alias_of) == ("view", "a")
    assert (states["c"].relation, states["c"].alias_of) == ("same", "b")
    assert states["d"].profile.high == 4


def test_a_fake_run_rejects_what_the_framework_would() -> None:
    program = Program((Input("x", (3,), F32), Input("y", (4,), F32)), (Node("n", "add", ("x", "y")),), ("n",))
    refusal = fake_run(program)
    assert isinstance(refusal, Rejection)
    assert (refusal.node, refusal.op) == ("n", "add")
    odd = fake_run(Program((Input("x", (3,), I64, "randn"),), (), ("x",)))
    assert isinstance(odd, Rejection) and "randn" in odd.reason
