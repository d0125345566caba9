"""Mutations of memory and of the interface: writes, aliases, what goes in and comes out.

Invariant: this literal and its fellows are all there is; each entry is one declaration.
"""

from __future__ import annotations

from fuzzers.flowmut.mutations import hazards, interface, writes
from fuzzers.flowmut.mutations import predicates as has
from fuzzers.flowmut.mutations.cells import (
    DELETE,
    INSERT,
    INTERFACE,
    OPERATOR,
    REWIRE,
    SUBGRAPH,
    TENSOR,
    UPDATE,
)
from fuzzers.flowmut.mutations.declaration import Mutation

MUTATIONS: tuple[Mutation, ...] = (
    # writes in place
    Mutation(
        "write through view",
        TENSOR,
        INSERT,
        writes.write_through_view,
        (has.shaped, has.writable, has.read),
        3,
    ),
    Mutation(
        "write through view, return both",
        SUBGRAPH,
        INSERT,
        writes.write_through_view_and_return,
        (has.shaped, has.writable),
        3,
    ),
    Mutation("write base, read view", SUBGRAPH, INSERT, writes.write_base_read_view, (has.writable,), 3),
    Mutation("write", TENSOR, INSERT, writes.write_it, (has.writable,), 2),
    Mutation("write input last", INTERFACE, INSERT, writes.write_last, (has.an_input, has.writable), 2),
    Mutation("write a copy of a view", SUBGRAPH, INSERT, writes.write_copy, (has.shaped, has.not_empty), 2),
    Mutation("write after read", SUBGRAPH, INSERT, writes.write_after_read, (has.writable,), 2),
    Mutation(
        "write from own view", SUBGRAPH, INSERT, writes.write_from_own_view, (has.shaped, has.writable), 2
    ),
    Mutation("write a clone", TENSOR, INSERT, writes.clone_first, (), 2),
    Mutation("write two", SUBGRAPH, INSERT, writes.write_two, (has.writable,), 2),
    Mutation("make in-place", OPERATOR, UPDATE, writes.make_in_place, (has.a_node, has.pure), 2),
    # interface
    Mutation("return it", INTERFACE, INSERT, interface.return_it, (has.not_returned,), 2),
    Mutation("return view too", INTERFACE, INSERT, interface.return_view, (), 2),
    Mutation("drop output", INTERFACE, DELETE, interface.drop_output, (has.returned,), 1),
    Mutation("swap output", INTERFACE, REWIRE, interface.swap_output, (has.not_returned,), 1),
    Mutation("toggle grad", INTERFACE, UPDATE, interface.toggle_grad, (has.an_input, has.floating), 1),
    Mutation("all grad", INTERFACE, UPDATE, interface.all_grad, (has.an_input, has.floating), 1),
    Mutation("toggle dynamic", INTERFACE, UPDATE, interface.toggle_dynamic, (), 1),
    Mutation("merge inputs", INTERFACE, REWIRE, interface.merge_inputs, (has.an_input,), 1),
    Mutation("split input", INTERFACE, REWIRE, interface.split_input, (has.an_input, has.read), 1),
    Mutation(
        "write from own reduction",
        SUBGRAPH,
        INSERT,
        hazards.from_own_reduction,
        (has.shaped, has.not_empty, has.numeric, has.writable),
        2,
    ),
    Mutation(
        "write from own transpose",
        SUBGRAPH,
        INSERT,
        hazards.from_own_transpose,
        (has.matrix, has.numeric, has.writable),
        2,
    ),
    Mutation("exchange halves", SUBGRAPH, INSERT, hazards.exchange_halves, (has.shaped, has.writable), 2),
    Mutation("mask by itself", SUBGRAPH, INSERT, hazards.mask_by_itself, (has.numeric, has.writable), 2),
    Mutation("indexed write", TENSOR, INSERT, hazards.indexed_write, (has.shaped, has.writable), 3),
    Mutation(
        "write one view, read another",
        SUBGRAPH,
        INSERT,
        hazards.overlapping_views,
        (has.shaped, has.writable),
        3,
    ),
    Mutation("accumulate", SUBGRAPH, INSERT, hazards.accumulate, (has.numeric,), 2),
    Mutation(
        "write view of view",
        SUBGRAPH,
        INSERT,
        hazards.view_of_view,
        (has.shaped, has.not_empty, has.writable),
        2,
    ),
    Mutation("make out-of-place", OPERATOR, UPDATE, hazards.make_out_of_place, (has.a_write,), 1),
    Mutation("drop write", OPERATOR, DELETE, hazards.drop_write, (has.a_write,), 1),
    Mutation("grad here only", INTERFACE, UPDATE, interface.grad_here_only, (has.an_input, has.floating), 1),
    Mutation("fixed sizes", INTERFACE, UPDATE, interface.fixed_sizes, (), 1),
    Mutation("return only it", INTERFACE, DELETE, interface.return_only, (has.returned,), 1),
    Mutation(
        "return input too", INTERFACE, INSERT, interface.return_input_and_result, (has.an_input, has.read), 1
    ),
)
