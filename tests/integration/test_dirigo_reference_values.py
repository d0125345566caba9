"""The laws of what the reference evaluator's formulas are written in: values, trees, scans, networks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzers.dirigo.reference.folding import extreme, fold, scan, total
from fuzzers.dirigo.reference.operators.ordering import network
from fuzzers.dirigo.reference.values import Pen, Values, merged
from fuzzers.dirigo.simt.tape import Full, Op, Tape


def inputs(numbers: list[float], limit: int = 10_000) -> tuple[Tape, Values]:
    """Float32 inputs on a tape of their own."""
    tape = Tape()
    array = np.array(numbers, np.float32)
    start = tape.add_input("f32", array.view(np.uint32))
    nodes = (-1 - start - np.arange(len(numbers))).astype(np.int32)
    return tape, Values(Pen(tape, limit), "f32", array, nodes)


WHOLE = st.integers(-9, 9).map(float)
ROWS = st.tuples(st.integers(1, 4), st.integers(1, 9)).flatmap(
    lambda size: st.lists(WHOLE, min_size=size[0] * size[1], max_size=size[0] * size[1]).map(
        lambda numbers: (size[0], numbers)
    )
)


@given(ROWS)
def test_a_tree_sums_each_row_of_what_it_depends_on(drawn: tuple[int, list[float]]) -> None:
    rows, numbers = drawn
    tape, values = inputs(numbers)
    summed = total(values, rows)
    width = len(numbers) // rows
    assert summed.number.tolist() == np.array(numbers).reshape(rows, width).sum(axis=1).tolist()
    for row, node in enumerate(summed.ids().tolist()):
        assert tape.slice(node).leaves() == set(range(row * width, row * width + width))


@given(ROWS)
def test_the_first_of_equals_is_the_extreme(drawn: tuple[int, list[float]]) -> None:
    rows, numbers = drawn
    _, values = inputs(numbers)
    most, index = extreme(values, rows, "ge")
    grid = np.array(numbers).reshape(rows, -1)
    assert most.number.tolist() == grid.max(axis=1).tolist()
    assert index.number.tolist() == grid.argmax(axis=1).tolist()


@given(ROWS)
def test_a_scan_holds_every_prefix(drawn: tuple[int, list[float]]) -> None:
    rows, numbers = drawn
    _, values = inputs(numbers)
    scanned = scan(values, rows, lambda a, b: a + b)
    assert scanned.number.tolist() == np.cumsum(np.array(numbers).reshape(rows, -1), axis=1).ravel().tolist()


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_a_network_sorts_whatever_there_is(width: int) -> None:
    """What sorts every sequence of zeros and ones sorts every sequence."""
    for number in range(1 << width):
        lanes = np.array([number >> at & 1 for at in range(width)])
        for pairs in network(width):
            low, high = pairs[:, 0], pairs[:, 1]
            assert np.unique(pairs).size == pairs.size
            lanes[low], lanes[high] = (
                np.minimum(lanes[low], lanes[high]),
                np.maximum(lanes[low], lanes[high]),
            )
        assert (np.diff(lanes) >= 0).all()


def test_padding_leaves_no_trace() -> None:
    tape, values = inputs([2.0, 3.0])
    where = np.array([True, False, True, False])
    assert total(values.scattered(where, 0.0), 1).number.tolist() == [5.0]
    assert [chunk.op for chunk in tape.chunks] == [Op.ADD]
    assert fold(values.scattered(where, -np.inf), 1, Values.most).number.tolist() == [3.0]
    assert [chunk.op for chunk in tape.chunks] == [Op.ADD, Op.MAX]
    nothing = values * values.constant(0.0)
    assert nothing.nodes is None and nothing.number.tolist() == [0.0, 0.0]


def test_a_concrete_condition_picks_and_one_of_data_is_recorded() -> None:
    tape, values = inputs([2.0, -3.0])
    sure = values.pen.concrete("pred", np.array([True, False]))
    picked = sure.choose(values, 7.0)
    assert picked.number.tolist() == [2.0, 7.0] and picked.live().tolist() == [True, False]
    assert not tape.chunks
    chosen = values.compare("gt", 0.0).choose(values, values * 0.5)
    assert chosen.number.tolist() == [2.0, -1.5]
    assert [c.op for c in tape.chunks if c.op is not Op.CONSTANT] == [Op.COMPARE, Op.MUL, Op.SELECT]


@given(st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=9))
def test_parts_are_merged_to_the_lanes_they_name(owners: list[int]) -> None:
    _, values = inputs([float(at) for at in range(len(owners))])
    lanes = [np.flatnonzero(np.array(owners) == owner) for owner in (0, 1, 2)]
    whole = merged([(lane, values.take(lane)) for lane in lanes])
    assert whole.number.tolist() == values.number.tolist()
    assert whole.ids().tolist() == values.ids().tolist()


def test_a_pen_stops_at_its_limit() -> None:
    _, values = inputs([1.0] * 8, limit=6)
    assert total(values.take(np.arange(4)), 1).number.tolist() == [4.0]
    with pytest.raises(Full):
        total(values, 1)
