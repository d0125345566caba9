"""Cutting a small program out of a large one, fed with the states that were recorded on the cut edges.

Invariant: an edge that becomes an input keeps its recorded dtype, shape, strides (as views of fresh
storage, as far as permute, expand and slice can make them) and a fill that fits its value profile; every
other node is kept as it is, in order. The reason for windows: compiling costs 0.8 s a kernel, so only a
program of a few nodes is worth compiling, while what matters about its surroundings are the states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.edge import FLOATING, INTEGER_RANGE, EdgeState
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Input, Node, Program, View
from fuzzers.flowmut.values import state_of, suits

WIDEST = 6
"""Nodes of a window: about one kernel or two."""

WHOLE_BOUND = 256
"""Whole numbers up to this are exact in every floating dtype."""


def writes(node: Node) -> bool:
    """Whether the node writes an argument in place."""
    return OPERATORS[node.op].writes is not None


def window(program: Program, site: str, states: Mapping[str, EdgeState], widest: int = WIDEST) -> Program:
    """The sub-program of at most `widest` nodes around `site`: the node that makes it, one producer hop
    and one consumer hop, then further consumers while there is room. What is used outside, or by nobody,
    is returned."""
    chosen = around(program, site, widest)
    nodes = tuple(n for n in program.nodes if n.name in chosen)
    needed = {a for n in nodes for a in n.args} - chosen
    if not nodes:
        return program
    inputs = tuple(
        next((i for i in program.inputs if i.name == name), None) or input_like(name, states[name])
        for name in program.names()
        if name in needed
    )
    inside = {a for n in nodes for a in n.args}
    outside = {a for n in program.nodes if n.name not in chosen for a in n.args} | set(program.outputs)
    outputs = tuple(n.name for n in nodes if n.name in outside or n.name not in inside)
    return rewrite.canonical(replace(program, inputs=inputs, nodes=nodes, outputs=outputs))


def around(program: Program, site: str, widest: int = WIDEST) -> set[str]:
    """Names of the chosen nodes, nearest first until `widest` are taken."""
    by_name = {n.name: n for n in program.nodes}
    chosen: dict[str, None] = {}

    def take(name: str) -> None:
        if name in by_name and len(chosen) < widest:
            chosen.setdefault(name)

    take(site)
    consumers = [n.name for n in program.users(site)]
    for name in consumers:
        take(name)
    for producer in by_name[site].args if site in by_name else ():
        take(producer)
    for name in consumers:
        for a in by_name[name].args:
            take(a)
    for name in [n.name for n in program.nodes]:
        if set(by_name[name].args) & set(chosen):
            take(name)
    return set(chosen)


def input_like(name: str, state: EdgeState) -> Input:
    """An input of the recorded dtype, shape, strides and value profile."""
    for shape, views in (layout(state), (state.shape, ())):
        made = fill_like(Input(name, shape, state.dtype, views=views), state)
        if state_of(made).shape == state.shape:
            return replace(made, requires_grad=state.requires_grad)
    raise AssertionError(f"a fresh input of shape {state.shape} has another shape")


def fill_like(given: Input, state: EdgeState) -> Input:
    """The input with the first fill that suits its dtype and the recorded values."""
    p = state.profile
    ordinary = _ordinary(given.dtype)
    if p is None or state.numel == 0:
        return replace(given, **ordinary)  # type: ignore[arg-type]
    low, high = int(p.low), int(p.high)
    floating = given.dtype in FLOATING
    rules = (
        (bool(p.nans or p.infs), {"fill": "special"}),
        (p.constant and (p.whole or not floating), {"fill": "full", "low": low}),
        (p.distinct and p.whole and low == 0 and high == state.numel - 1, {"fill": "arange"}),
        (
            not floating or (p.whole and p.magnitude <= WHOLE_BOUND),
            {"fill": "randint", "low": low, "high": min(high + 1, INTEGER_RANGE["int64"][1])},
        ),
        (floating and p.low >= 0 and p.high <= 1, {"fill": "rand"}),
        (floating and p.low > 0, {"fill": "positive"}),
    )
    for applies, change in rules:
        made = replace(given, **change)
        if applies and suits(made):
            return made
    return replace(given, **ordinary)  # type: ignore[arg-type]


def _ordinary(dtype: str) -> dict[str, object]:
    if dtype in FLOATING:
        return {"fill": "randn"}
    if dtype == "bool":
        return {"fill": "bool"}
    low, high = INTEGER_RANGE[dtype]
    return {"fill": "randint", "low": max(low, -128), "high": min(high + 1, 128)}


def layout(state: EdgeState) -> tuple[tuple[int, ...], tuple[View, ...]]:
    """(shape of fresh storage, views) that make a tensor of the state's shape and strides. Exact where
    the strides are those of a permuted, expanded and sliced dense tensor; else plain dense."""
    rank = state.rank
    if (state.contiguous and not state.offset) or state.numel == 0:
        return state.shape, ()
    stretched = [d for d in range(rank) if state.strides[d] == 0 and state.shape[d] > 1]
    moving = [d for d in range(rank) if state.shape[d] > 1 and d not in stretched]
    moving.sort(key=lambda d: -state.strides[d])
    single = [d for d in range(rank) if state.shape[d] <= 1 or d in stretched]
    sizes = _storage_sizes([state.strides[d] for d in moving], [state.shape[d] for d in moving])
    if sizes is None:
        return state.shape, ()
    start = 1 if state.offset and moving else 0
    views: list[View] = []
    for k, d in enumerate(moving):
        step = state.strides[d] if k == len(moving) - 1 else 1
        first = start if k == 0 else 0
        stop = first + (state.shape[d] - 1) * step + 1
        if k == 0:
            sizes[0] = max(sizes[0] + first, stop)
        if first or stop < sizes[k] or step > 1:
            views.append(View("slice", (k, first, stop, step)))
    order = [*moving, *single]
    if stretched:
        views.append(View("expand", tuple(state.shape[d] for d in order)))
    if order != sorted(order):
        views.append(View("permute", tuple(order.index(d) for d in range(rank))))
    return (*sizes, *(1 for _ in single)), tuple(views)


def _storage_sizes(strides: list[int], shape: list[int]) -> list[int] | None:
    """Sizes of a dense tensor in which dimensions of these sizes have these (falling) strides; the last
    one may step. None when there is none."""
    sizes: list[int] = []
    for k, size in enumerate(shape):
        last = k == len(shape) - 1
        inner = 1 if last else strides[k]
        span = (size - 1) * strides[k] + 1 if last else size
        width = strides[k - 1] // inner if k else span
        if (k and strides[k - 1] % inner) or width < span:
            return None
        sizes.append(width)
    return sizes
