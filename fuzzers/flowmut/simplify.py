"""The shrinking passes that keep the graph and make what is left plain: settings, views, sizes, dtypes,
values, attributes.

Invariant: as in `passes`, a pass only proposes. None of these adds or removes a node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import isfinite

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.edge import FLOATING
from fuzzers.flowmut.operators.declaration import REQUIRED
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.passes import Case
from fuzzers.flowmut.program import Input, Node
from fuzzers.flowmut.resize import resize
from fuzzers.flowmut.values import state_of, suits

SIZES = (1, 2, 4, 8, 17)
"""Sizes that are tried, smallest first: one vector of bytes is 16 or 32 wide, hence 17."""

PLAIN_DTYPES = ("float32", "int64", "int32", "float64", "uint8", "int8")
"""Dtypes that are tried in place of others, plainest first."""


def plain_setting(case: Case) -> Iterator[Case]:
    """No gradients, no dynamic shapes, seed 0."""
    program = case.program
    plain = tuple(replace(i, requires_grad=False) for i in program.inputs)
    yield case.but(replace(program, inputs=plain, dynamic=None))
    yield case.but(replace(program, dynamic=None))
    for given in program.inputs:
        if given.requires_grad:
            yield case.but(rewrite.put_input(program, replace(given, requires_grad=False)))


def drop_views(case: Case) -> Iterator[Case]:
    """Dense inputs: all of them, each, and each without one of its views."""
    program = case.program
    dense = tuple(replace(i, shape=state_of(i).shape, views=()) for i in program.inputs)
    yield case.but(replace(program, inputs=dense))
    for given in program.inputs:
        yield case.but(rewrite.put_input(program, replace(given, shape=state_of(given).shape, views=())))
        for k in range(len(given.views)):
            views = given.views[:k] + given.views[k + 1 :]
            yield case.but(rewrite.put_input(program, replace(given, views=views)))


def merge_inputs(case: Case) -> Iterator[Case]:
    """One input in place of another."""
    for gone in case.program.inputs:
        for kept in case.program.inputs:
            if kept.name != gone.name:
                yield case.but(rewrite.redirect(case.program, gone.name, kept.name))


def _sizes(case: Case) -> list[int]:
    found = {n for i in case.program.inputs for n in (*i.shape, *state_of(i).shape)}
    return sorted(found - {0, 1}, reverse=True)


def small_everywhere(case: Case) -> Iterator[Case]:
    """Every size above a bound becomes the bound."""
    for bound in SIZES:
        program = case.program
        for size in _sizes(case):
            program = resize(program, size, bound) if size > bound else program
        yield case.but(program)


def small_sizes(case: Case) -> Iterator[Case]:
    """One size becomes a smaller one, throughout."""
    for size in _sizes(case):
        for new in (*SIZES, size - 1):
            if new < size:
                yield case.but(resize(case.program, size, new))


def drop_ranks(case: Case) -> Iterator[Case]:
    """Inputs lose their first, or last, dimension: all together, then each."""
    for cut in (slice(1, None), slice(0, -1)):
        program = case.program
        for given in case.program.inputs:
            shorter = replace(given, shape=given.shape[cut])
            if given.shape and not given.views and given.fill != "literal":
                program = rewrite.put_input(program, shorter)
                yield case.but(rewrite.put_input(case.program, shorter))
        yield case.but(program)


def _retyped(given: Input, dtype: str) -> Iterator[Input]:
    """The input in another dtype: as it is drawn, else as that dtype is drawn simply."""
    grad = given.requires_grad and dtype in FLOATING
    for change in ({}, {"fill": "randn"}, {"fill": "randint", "low": 0, "high": 2}):
        made = replace(given, dtype=dtype, requires_grad=grad, **change)
        if suits(made):
            yield made
            return


def simple_dtypes(case: Case) -> Iterator[Case]:
    """A plainer dtype: for all inputs of one dtype, then for each input."""
    program = case.program
    for old in dict.fromkeys(i.dtype for i in program.inputs):
        for dtype in PLAIN_DTYPES:
            if dtype != old:
                inputs = tuple(next(_retyped(i, dtype), i) if i.dtype == old else i for i in program.inputs)
                yield case.but(replace(program, inputs=inputs))
    for given in program.inputs:
        for dtype in PLAIN_DTYPES:
            for made in _retyped(given, dtype):
                yield case.but(rewrite.put_input(program, made))


def _refilled(given: Input) -> Iterator[Input]:
    bare = replace(given, low=0, high=0, values=())
    for change in (
        {"fill": "ones"},
        {"fill": "zeros"},
        {"fill": "full", "low": 2},
        {"fill": "full", "low": -1},
        {"fill": "arange"},
        {"fill": "randint", "low": 0, "high": 2},
        {"fill": "randint", "low": -1, "high": 2},
        {"fill": "randint", "low": 0, "high": 10},
        {"fill": "rand"},
        {"fill": "randn"},
    ):
        made = replace(bare, **change)
        if suits(made):
            yield made


def simple_fills(case: Case) -> Iterator[Case]:
    """Plainer values, for each input."""
    for given in case.program.inputs:
        for made in _refilled(given):
            yield case.but(rewrite.put_input(case.program, made))


def literal_values(case: Case) -> Iterator[Case]:
    """Random values become the ones that were drawn, rounded if that does, where they are few."""
    for given in case.program.inputs:
        if given.views or given.fill == "literal" or given.name not in case.values:
            continue
        drawn = case.values[given.name]
        if not all(map(isfinite, drawn)):
            continue
        for digits in (0, 1, 3, 17):
            values = tuple(round(v, digits) for v in drawn)
            made = replace(given, fill="literal", low=0, high=0, values=values)
            yield case.but(rewrite.put_input(case.program, made))


def simple_values(case: Case) -> Iterator[Case]:
    """One literal value becomes 0, 1, half of itself, or shorter."""
    for given in case.program.inputs:
        for k, value in enumerate(given.values if given.fill == "literal" else ()):
            if not isfinite(value):
                continue
            for plain in dict.fromkeys(
                (0.0, 1.0, -1.0, float(int(value / 2)), round(value), round(value, 1))
            ):
                values = (*given.values[:k], float(plain), *given.values[k + 1 :])
                yield case.but(rewrite.put_input(case.program, replace(given, values=values)))


def simple_attributes(case: Case) -> Iterator[Case]:
    """Each attribute at its default, or at a plainer value."""
    for node in case.program.nodes:
        known = OPERATORS[node.op].attributes
        for name, value in node.attrs:
            if known[name].default is not REQUIRED:
                yield case.but(rewrite.put_node(case.program, _without(node, name)))
            for plain in known[name].plain:
                if plain != value:
                    attrs = tuple((k, plain if k == name else v) for k, v in node.attrs)
                    yield case.but(rewrite.put_node(case.program, replace(node, attrs=attrs)))


def _without(node: Node, name: str) -> Node:
    return replace(node, attrs=tuple(kv for kv in node.attrs if kv[0] != name))
