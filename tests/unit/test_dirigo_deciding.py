"""The stages of deciding, on hand-made slices: what agrees, what does not, and what stays unknown."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzers.dirigo import solver
from fuzzers.dirigo.deciding.compare import Agree, Basis, Gap, Location, Undecided, compare, compare_at
from fuzzers.dirigo.deciding.constants import canonical
from fuzzers.dirigo.deciding.levels import Sums, levelled
from fuzzers.dirigo.deciding.locations import UNWRITTEN, choose
from fuzzers.dirigo.deciding.primes import GENERATOR, P, Q, exponentials, field, logarithms
from fuzzers.dirigo.deciding.sample import Sample
from fuzzers.dirigo.deciding.shadows import shadows
from fuzzers.dirigo.deciding.tidy import Tidy, tidied
from fuzzers.dirigo.simt.tape import Op, Tape


class Sheet:
    """A tape of single operations in float32; every method gives a node."""

    def __init__(self, count: int = 16) -> None:
        self.tape = Tape()
        self.tape.add_input("f32", np.ones(count, np.float32).view(np.uint32))
        self.x = [-1 - at for at in range(count)]

    def node(self, op: Op, *args: int, detail: str = "", type_: str = "f32") -> int:
        bits = np.zeros(1, np.uint32)
        operands = tuple(np.array([arg], np.int32) for arg in args)
        return int(self.tape.append(op, type_, 1, operands, bits, detail)[0])

    def constant(self, value: float) -> int:
        return int(self.tape.constants(np.array([value], np.float32).view(np.uint32))[0])

    def call(self, name: str, *args: int) -> int:
        return self.node(Op.CALL, *args, detail=name)

    def fold(self, op: Op, nodes: list[int]) -> int:
        total = nodes[0]
        for node in nodes[1:]:
            total = self.node(op, total, node)
        return total

    def compared(self, name: str, one: int, other: int) -> int:
        return self.node(Op.COMPARE, one, other, detail=f"{name}.f32", type_="pred")

    def tidy(self, root: int) -> Tidy:
        return tidied(self.tape.slice(root))

    def against(self, kernel: int, reference: int) -> Location:
        return Location.of(self.tidy(kernel), self.tidy(reference))


def softmax(s: Sheet, shift: bool, skip: int = 0) -> int:
    """The third element of a softmax over eight."""
    values = s.x[:8]
    if shift:
        top = s.fold(Op.MAX, values)
        values = [s.node(Op.SUB, value, top) for value in values]
    powers = [s.call("exp", value) for value in values]
    return s.node(Op.DIV, powers[2], s.fold(Op.ADD, powers[: 8 - skip]))


def assert_agrees(location: Location, basis: Basis) -> None:
    found = compare(location, Sample())
    assert isinstance(found, Agree), found
    assert found.basis is basis
    assert not found.open_sides


# The fields


def test_the_moduli_are_what_their_laws_need() -> None:
    for number in (Q, P):
        assert all(number % d for d in range(2, math.isqrt(number) + 1))
        assert number % 8 == 7
    assert P == 2 * Q + 1
    assert pow(GENERATOR, Q, P) == 1


@given(st.integers(0, Q - 1), st.integers(0, Q - 1))
def test_exponentials_turn_sums_into_products_and_logarithms_undo_them(a: int, b: int) -> None:
    e = exponentials()
    assert int(e[(a + b) % Q]) == int(e[a]) * int(e[b]) % P
    assert int(logarithms()[e[a]]) == a


@given(st.integers(1, P - 1), st.integers(1, P - 1))
def test_roots_of_squares_keep_products(a: int, b: int) -> None:
    held = field(P)
    one, other = int(held.root[a * a % P]), int(held.root[b * b % P])
    assert one * other % P == int(held.root[a * a * b * b % P])
    assert bool(held.is_square(np.array(one)))


# Constants


@pytest.mark.parametrize(
    ("value", "name", "exact"),
    [
        (0.7978845608, "sqrt(2/pi)", Fraction(1)),
        (0.70710678118, "sqrt(2)", Fraction(1, 2)),
        (1e-5, "", Fraction(1, 100_000)),
        (0.044715, "", Fraction(44715, 1_000_000)),
        (1 / 3, "", Fraction(1, 3)),
        (1 / 16384, "", Fraction(1, 16384)),
        (1.4426950408889634, "1/ln(2)", Fraction(1)),
        (0.5, "", Fraction(1, 2)),
        (1 / math.sqrt(96), "root 96", Fraction(1, 96)),
    ],
)
def test_a_literal_stands_for_the_number_that_its_author_meant(
    value: float, name: str, exact: Fraction
) -> None:
    bits = int(np.float32(value).view(np.uint32))
    found = canonical(bits, "f32")
    assert (found.name, found.exact) == (name, exact)
    assert found.error == 0


@given(st.floats(-1e6, 1e6, width=32).filter(lambda v: abs(v) > 1e-30))
def test_a_canonical_number_lies_within_a_unit_of_the_literal(value: float) -> None:
    number = np.float32(value)
    found = canonical(int(number.view(np.uint32)), "f32")
    assert abs(found.value - float(number)) <= abs(float(np.spacing(number)))


# Levels and shadows


def test_a_chain_of_fused_products_is_one_sum() -> None:
    s = Sheet()
    total = s.constant(0.0)
    for at in range(0, 16, 2):
        total = s.node(Op.FMA, s.x[at], s.x[at + 1], total)
    program = levelled(s.tidy(total).slice)
    (step,) = program.steps
    assert isinstance(step, Sums)
    assert step.first.shape == (9,)


Build = Callable[[Sheet, list[int]], int]
OPERATIONS = ("add", "sub", "mul", "fma", "neg", "max", "min", "abs")


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(OPERATIONS), *[st.integers(0, 30)] * 3), min_size=1, max_size=25))
def test_levels_compute_what_the_slice_computes(operations: list[tuple[str, int, int, int]]) -> None:
    s = Sheet(6)
    nodes = list(s.x)
    inputs = Sample().values(np.arange(6))
    values = list(inputs)
    meaning: dict[str, Callable[..., np.ndarray]] = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "fma": lambda a, b, c: a * b + c,
        "neg": np.negative,
        "max": np.maximum,
        "min": np.minimum,
        "abs": np.abs,
    }
    for name, *picks in operations:
        function = meaning[name]
        arity = 3 if name == "fma" else getattr(function, "nin", 2)
        chosen = [pick % len(nodes) for pick in picks[:arity]]
        nodes.append(s.node(Op(name), *(nodes[at] for at in chosen)))
        values.append(function(*(values[at] for at in chosen)))
    tidy = s.tidy(nodes[-1])
    numbers = levelled(tidy.slice).leaf_numbers()
    value, bound = shadows(tidy, inputs[numbers]).root()
    with np.errstate(all="ignore"):
        assert np.all((np.abs(value - values[-1]) <= bound) | (value == values[-1]) | ~np.isfinite(bound))


def test_the_bound_of_the_programs_own_roundings_holds_for_a_run_in_float32() -> None:
    s = Sheet()
    total = s.fold(Op.ADD, [s.node(Op.MUL, a, a) for a in s.x])
    tidy = s.tidy(total)
    inputs = Sample().values(np.arange(16))
    program = levelled(tidy.slice)
    found = shadows(tidy, inputs[program.leaf_numbers()], own=True)
    value, bound = found.root()
    single = inputs.astype(np.float32)
    run = np.zeros(inputs.shape[1], np.float32)
    for row in single:
        run = run + row * row
    assert np.all(np.abs(run - value) <= bound)


# Comparing


def test_a_softmax_is_the_same_with_its_maximum_taken_off() -> None:
    s = Sheet()
    assert_agrees(s.against(softmax(s, True), softmax(s, False)), Basis.ANY_ORDER)


def test_a_sum_that_leaves_an_element_out_is_a_gap() -> None:
    s = Sheet()
    location = s.against(softmax(s, True, skip=1), softmax(s, True))
    assert isinstance(compare(location, Sample()), Gap)


def test_an_ignored_input_is_in_the_dependency_sets() -> None:
    s = Sheet()
    location = s.against(s.fold(Op.ADD, s.x[:5]), s.fold(Op.ADD, s.x[:6]))
    assert location.ignored() == {5}
    assert location.foreign() == frozenset()


def test_two_formulas_of_the_variance_agree() -> None:
    s = Sheet()
    count = s.constant(8.0)
    mean = s.node(Op.DIV, s.fold(Op.ADD, s.x[:8]), count)
    squares = [s.node(Op.MUL, x, x) for x in s.x[:8]]
    one = s.node(Op.SUB, s.node(Op.DIV, s.fold(Op.ADD, squares), count), s.node(Op.MUL, mean, mean))
    moved = [s.node(Op.SUB, x, mean) for x in s.x[:8]]
    other = s.node(Op.DIV, s.fold(Op.ADD, [s.node(Op.MUL, m, m) for m in moved]), count)
    assert_agrees(s.against(one, other), Basis.ANY_ORDER)


def test_a_maximum_and_a_selection_agree_under_any_order() -> None:
    s = Sheet()
    zero = s.constant(0.0)
    chosen = s.node(Op.SELECT, s.compared("gt", s.x[0], zero), s.x[0], zero)
    assert_agrees(s.against(s.node(Op.MAX, s.x[0], zero), chosen), Basis.ANY_ORDER)


def test_a_leaky_relu_in_two_forms_agrees_in_the_cells_on_both_sides() -> None:
    s = Sheet()
    zero, slope = s.constant(0.0), s.constant(0.25)
    small = s.node(Op.MUL, slope, s.x[0])
    one = s.node(Op.SELECT, s.compared("gt", s.x[0], zero), s.x[0], small)
    other = s.node(Op.ADD, s.node(Op.MAX, s.x[0], zero), s.node(Op.MIN, zero, small))
    assert_agrees(s.against(one, other), Basis.CELLS)


def test_a_side_that_no_point_takes_and_nothing_rules_out_stays_open() -> None:
    s = Sheet()
    far = s.constant(123456.0)
    product = s.fold(Op.MUL, [s.call("exp", s.node(Op.NEG, s.node(Op.ABS, x))) for x in s.x[:2]])
    small = s.node(Op.MUL, s.call("erf", product), s.call("log", s.node(Op.MUL, far, far)))
    twice = s.node(Op.ADD, s.x[0], s.x[0])
    one = s.node(Op.SELECT, s.compared("gt", small, far), s.x[1], twice)
    found = compare(s.against(one, s.node(Op.MUL, s.constant(2.0), s.x[0])), Sample())
    assert isinstance(found, Agree)
    assert [side.holds for side in found.open_sides] == [True]


def test_a_side_that_cannot_be_is_ruled_out() -> None:
    s = Sheet()
    square = s.node(Op.MUL, s.x[0], s.x[0])
    below = s.compared("lt", square, s.constant(-1.0))
    one = s.node(Op.SELECT, below, s.x[1], s.node(Op.ADD, s.x[0], s.x[0]))
    found = compare(s.against(one, s.node(Op.MUL, s.constant(2.0), s.x[0])), Sample())
    assert isinstance(found, Agree)
    assert found.open_sides == ()


def test_a_gelu_by_tanh_is_an_approximation_of_the_one_by_erf() -> None:
    s = Sheet()
    x, half, one = s.x[0], s.constant(0.5), s.constant(1.0)
    cube = s.node(Op.MUL, s.node(Op.MUL, x, x), x)
    inner = s.node(Op.FMA, s.constant(0.044715), cube, x)
    bent = s.call("tanh", s.node(Op.MUL, s.constant(0.7978845608), inner))
    kernel = s.node(Op.MUL, s.node(Op.MUL, half, x), s.node(Op.ADD, one, bent))
    erf = s.call("erf", s.node(Op.MUL, x, s.constant(0.70710678)))
    reference = s.node(Op.MUL, s.node(Op.MUL, half, x), s.node(Op.ADD, one, erf))
    found = compare(s.against(kernel, reference), Sample())
    assert isinstance(found, Gap)
    assert found.approximates


def test_an_eps_in_the_wrong_place_is_a_gap_and_no_approximation() -> None:
    s = Sheet()
    eps = s.constant(1e-5)
    square = s.node(Op.MUL, s.x[0], s.x[0])
    one = s.node(Op.ADD, s.node(Op.SQRT, square), eps)
    found = compare(s.against(one, s.node(Op.SQRT, s.node(Op.ADD, square, eps))), Sample())
    assert isinstance(found, Gap)
    assert not found.approximates


def test_a_literal_of_float32_is_no_difference() -> None:
    s = Sheet()
    one = s.node(Op.MUL, s.x[0], s.constant(2 / 3))
    other = s.node(Op.DIV, s.node(Op.MUL, s.constant(2.0), s.x[0]), s.constant(3.0))
    found = compare(s.against(one, other), Sample())
    assert isinstance(found, Agree)
    assert found.basis is Basis.NUMBERS


def test_the_bits_of_a_float_as_an_integer_are_undecided_with_a_reason() -> None:
    s = Sheet()
    odd = s.node(Op.INTEGER, s.x[0], s.constant(1.0), detail="xor.b32", type_="b32")
    found = compare(s.against(odd, s.x[0]), Sample())
    assert isinstance(found, Undecided)
    assert "integer" in found.reason


def test_one_run_decides_its_own_cell() -> None:
    s = Sheet()
    location = s.against(s.node(Op.ADD, s.x[0], s.x[0]), s.node(Op.MUL, s.constant(2.0), s.x[0]))
    assert isinstance(compare_at(location, {0: 1.5}).outcome, Agree)
    wrong = s.against(s.node(Op.MUL, s.x[0], s.x[0]), s.node(Op.MUL, s.constant(2.0), s.x[0]))
    assert isinstance(compare_at(wrong, {0: 1.5}).outcome, Gap)


# The solver


def test_the_solver_proves_that_a_square_is_not_negative() -> None:
    s = Sheet()
    tidy = s.tidy(s.compared("lt", s.node(Op.MUL, s.x[0], s.x[0]), s.constant(0.0)))
    assert isinstance(solver.feasible(tidy, len(tidy.slice) - 1, True), solver.Never)
    assert isinstance(solver.feasible(tidy, len(tidy.slice) - 1, False), solver.Perhaps)


def test_the_solver_gives_a_point_on_the_side() -> None:
    s = Sheet()
    tidy = s.tidy(s.compared("gt", s.x[3], s.constant(500.0)))
    found = solver.feasible(tidy, len(tidy.slice) - 1, True)
    assert isinstance(found, solver.Perhaps)
    assert found.values[3] > 500


def test_what_the_solver_does_not_know_is_unknown_by_name() -> None:
    s = Sheet()
    tidy = s.tidy(s.compared("gt", s.call("lgamma", s.x[3]), s.constant(500.0)))
    found = solver.feasible(tidy, len(tidy.slice) - 1, True)
    assert isinstance(found, solver.Unknown)
    assert "lgamma" in found.reason


# Locations


def test_every_class_gets_a_location_and_the_share_counts_the_examined_ones() -> None:
    classes = np.repeat([7, 9, 11, UNWRITTEN], [50, 30, 15, 5])
    found = choose(classes, 4)
    assert {int(classes[at]) for at in found.elements} == {7, 9, 11, UNWRITTEN}
    assert found.share == 1.0
    assert choose(np.repeat([1, 2, 3], 10), 2).share == pytest.approx(2 / 3)


def test_elements_that_look_wrong_come_first() -> None:
    assert choose(np.zeros(100, np.int64), 4, suspicious=np.array([40, 41])).elements[:2] == (40, 41)
