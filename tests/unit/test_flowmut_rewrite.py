"""Rewriting, resizing and re-inputting programs, without any framework."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.edge import EdgeState, Profile, dense_strides
from fuzzers.flowmut.program import Input, Node, Program, View, check
from fuzzers.flowmut.resize import resize
from fuzzers.flowmut.values import STEPS, state_of, suits
from fuzzers.flowmut.window import input_like, window, writes


def a_chain(count: int) -> Program:
    """x0 -> neg -> neg -> ..., the last returned."""
    nodes = tuple(Node(f"t{k}", "neg", (f"t{k - 1}" if k else "x0",)) for k in range(count))
    return Program((Input("x0", (4, 6), "float32"),), nodes, (nodes[-1].name,))


def states_of(program: Program) -> dict[str, EdgeState]:
    """Every edge of a chain is like its input."""
    return {name: state_of(program.inputs[0]) for name in program.names()}


def test_a_dropped_node_is_replaced_by_its_stand_in_everywhere() -> None:
    program = rewrite.drop_node(a_chain(3), "t1", "t0")
    assert [n.name for n in program.nodes] == ["t0", "t2"]
    assert program.node("t2").args == ("t0",)


def test_dropping_the_returned_node_returns_its_stand_in() -> None:
    assert rewrite.drop_node(a_chain(2), "t1", "t0").outputs == ("t0",)


def test_dropping_what_is_no_node_is_refused() -> None:
    with pytest.raises(ValueError, match="not a node"):
        rewrite.drop_node(a_chain(2), "x0", "t0")


def test_redirecting_to_a_later_node_is_refused() -> None:
    with pytest.raises(ValueError, match="before it is defined"):
        rewrite.redirect_one(a_chain(3), "t0", 0, "t2")


def test_pruning_keeps_writes_and_what_they_need() -> None:
    chain = a_chain(2)
    write = Node("t9", "zero_", ("t0",))
    dead = Node("t8", "abs", ("x0",))
    program = rewrite.insert(chain, 1, [write, dead])
    assert [n.name for n in rewrite.prune(program, writes).nodes] == ["t0", "t9", "t1"]


def test_pruning_drops_unused_inputs() -> None:
    spare = rewrite.insert(a_chain(1), 0, [], [Input("x1", (2,), "int64", "arange")])
    assert [i.name for i in rewrite.prune(spare, writes).inputs] == ["x0"]


def test_fresh_names_are_not_taken() -> None:
    assert rewrite.fresh(a_chain(3), 2, taken=["t3"]) == ["t4", "t5"]


def test_canonical_names_do_not_depend_on_history() -> None:
    chain = a_chain(3)
    renamed = rewrite.canonical(rewrite.insert(rewrite.drop_node(chain, "t0", "x0"), 0, []))
    assert renamed == a_chain(2)


@given(st.integers(1, 14), st.data())
def test_a_window_is_a_small_legal_program_around_its_site(count: int, data: st.DataObject) -> None:
    chain = a_chain(count)
    site = data.draw(st.sampled_from([n.name for n in chain.nodes]))
    cut = window(chain, site, states_of(chain))
    check(cut)
    assert 1 <= len(cut.nodes) <= 6
    assert cut.outputs
    assert [i.shape for i in cut.inputs] == [(4, 6)]


def test_a_window_returns_what_is_used_outside() -> None:
    program = Program(
        (Input("x0", (3,), "float32"),),
        (
            *(Node(f"t{k}", "neg", ("x0",)) for k in range(8)),
            Node("t8", "cat", tuple(f"t{k}" for k in range(8))),
        ),
        ("t8",),
    )
    states = {name: state_of(program.inputs[0]) for name in program.names()}
    cut = window(program, "t0", states, widest=3)
    assert len(cut.nodes) == 3
    assert "t8" in program.outputs
    assert all(o in cut.names() for o in cut.outputs)


shapes = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


@st.composite
def viewed_inputs(draw: st.DrawFn) -> Input:
    """An input seen through up to three views."""
    given_ = Input("x0", draw(shapes), "float32")
    for _ in range(draw(st.integers(0, 3))):
        shape = state_of(given_).shape
        kind = draw(st.sampled_from(("permute", "expand", "slice")))
        if kind == "permute":
            view = View(kind, tuple(draw(st.permutations(range(len(shape))))))
        elif kind == "expand":
            view = View(kind, tuple(draw(st.integers(1, 4)) if n == 1 else n for n in shape))
        else:
            dim = draw(st.integers(0, len(shape) - 1))
            start = draw(st.integers(0, shape[dim] - 1))
            view = View(kind, (dim, start, shape[dim], draw(st.integers(1, 3))))
        given_ = Input("x0", given_.shape, "float32", views=(*given_.views, view))
    return given_


@given(viewed_inputs())
def test_an_input_made_from_a_state_has_its_shape_and_dtype(tensor: Input) -> None:
    state = state_of(tensor)
    made = state_of(input_like("x9", state))
    assert (made.shape, made.dtype) == (state.shape, state.dtype)


@given(shapes, st.data())
def test_a_permuted_state_comes_back_with_its_strides(shape: tuple[int, ...], data: st.DataObject) -> None:
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    dense = EdgeState(shape, "float32", dense_strides(shape))
    new, strides, _ = STEPS["permute"](dense, order)
    made = state_of(input_like("x0", EdgeState(new, "float32", strides)))
    assert [s for s, n in zip(made.strides, new, strict=True) if n > 1] == [
        s for s, n in zip(strides, new, strict=True) if n > 1
    ]


@pytest.mark.parametrize(
    ("strides", "shape"),
    [((0, 1), (3, 4)), ((8, 2), (3, 4)), ((16, 1), (2, 4)), ((1, 0, 4), (4, 2, 3))],
)
def test_expanded_stepped_and_padded_strides_come_back(
    strides: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    assert state_of(input_like("x0", EdgeState(shape, "float32", strides))).strides == strides


@pytest.mark.parametrize(
    ("dtype", "profile", "fill"),
    [
        ("float32", Profile(low=0.1, high=0.9), "rand"),
        ("float32", Profile(low=0.1, high=7.0), "positive"),
        ("float32", Profile(low=-3, high=3), "randn"),
        ("float32", Profile(low=-3, high=3, whole=True), "randint"),
        ("float32", Profile(low=0, high=1, nans=1), "special"),
        ("int64", Profile(low=0, high=3, whole=True, distinct=True), "arange"),
        ("int64", Profile(low=0, high=9, whole=True), "randint"),
        ("uint8", Profile(low=7, high=7, whole=True, constant=True), "full"),
        ("bool", Profile(low=0, high=1, whole=True), "bool"),
    ],
)
def test_a_fill_fits_the_recorded_values(dtype: str, profile: Profile, fill: str) -> None:
    made = input_like("x0", EdgeState((2, 2), dtype, (2, 1), profile=profile))
    assert made.fill == fill
    assert suits(made)
    if fill == "randint":
        assert (made.low, made.high) == (profile.low, profile.high + 1)


SLICED_TWICE = Input("x0", (3,), "float32", views=(View("slice", (0, 0, 3, 1)), View("slice", (0, 0, 3, 2))))


@example(SLICED_TWICE, 2, 8)
@given(viewed_inputs(), st.integers(2, 5), st.sampled_from((0, 1, 2, 8, 17)))
def test_renaming_a_size_renames_it_in_what_the_program_sees(tensor: Input, old: int, new: int) -> None:
    program = Program((tensor,), (Node("t0", "neg", ("x0",)),), ("t0",))
    before, after = state_of(tensor).shape, state_of(resize(program, old, new).inputs[0]).shape
    assert after == tuple(new if n == old else n for n in before)


def test_an_index_input_stays_below_the_size_it_indexes() -> None:
    table = Input("x0", (16, 4), "float32")
    ids = Input("x1", (3,), "int64", "randint", 0, 16)
    program = Program((table, ids), (Node("t0", "embedding", ("x0", "x1")),), ("t0",))
    smaller = resize(program, 16, 2)
    assert smaller.inputs[0].shape == (2, 4)
    assert smaller.inputs[1].high == 2


def test_literal_values_are_cut_with_their_shape() -> None:
    tensor = Input("x0", (2, 3), "int64", "literal", values=(1, 2, 3, 4, 5, 6))
    program = Program((tensor,), (Node("t0", "neg", ("x0",)),), ("t0",))
    assert resize(program, 3, 2).inputs[0].values == (1, 2, 4, 5)
