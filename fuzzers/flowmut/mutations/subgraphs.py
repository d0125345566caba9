"""Mutations of operators and of the graph that they make.

Invariant: this literal and its fellows are all there is; each entry is one declaration.
"""

from __future__ import annotations

from fuzzers.flowmut.mutations import fans, graphs, layouts, structures, swaps
from fuzzers.flowmut.mutations import predicates as has
from fuzzers.flowmut.mutations.cells import DELETE, INSERT, OPERATOR, REWIRE, SUBGRAPH, TENSOR, UPDATE
from fuzzers.flowmut.mutations.declaration import Mutation

_JOINS = ("cat", "stack", "add", "sub", "mul", "maximum", "minimum", "bitwise_xor")

MUTATIONS: tuple[Mutation, ...] = (
    # operators
    Mutation("swap within family", OPERATOR, UPDATE, swaps.swap(True), (has.a_node, has.pure), 3),
    Mutation("swap", OPERATOR, UPDATE, swaps.swap(False), (has.a_node, has.pure), 2),
    Mutation("swap, fresh partners", OPERATOR, UPDATE, swaps.swap_arity, (has.a_node, has.pure), 2),
    Mutation("change attribute", OPERATOR, UPDATE, swaps.change_attribute, (has.has_attributes,), 3),
    Mutation("insert elementwise", OPERATOR, INSERT, swaps.insert_one(swaps.family("elementwise")), (), 4),
    Mutation("insert any", OPERATOR, INSERT, swaps.insert_one(swaps.anything), (), 3),
    Mutation("return any", SUBGRAPH, INSERT, swaps.grow_one(swaps.anything), (), 3),
    Mutation(
        "return reduction", SUBGRAPH, INSERT, swaps.grow_one(swaps.family("reduction")), (has.not_empty,), 3
    ),
    Mutation(
        "compute then reduce",
        SUBGRAPH,
        INSERT,
        swaps.then(swaps.family("elementwise"), swaps.family("reduction")),
        (has.not_empty,),
        3,
    ),
    Mutation(
        "insert normalisation",
        SUBGRAPH,
        INSERT,
        swaps.insert_one(swaps.family("normalisation")),
        (has.floating,),
        2,
    ),
    Mutation(
        "insert integer arithmetic",
        OPERATOR,
        INSERT,
        swaps.insert_one(swaps.named(*swaps.INTEGER)),
        (has.integral,),
        8,
    ),
    Mutation(
        "integer arithmetic twice",
        SUBGRAPH,
        INSERT,
        swaps.then(swaps.named(*swaps.INTEGER), swaps.named(*swaps.INTEGER)),
        (has.integral,),
        5,
    ),
    Mutation(
        "integer arithmetic then widen",
        SUBGRAPH,
        INSERT,
        swaps.then(swaps.named(*swaps.INTEGER), swaps.named(*swaps.WIDENING)),
        (has.integral, has.not_empty),
        8,
    ),
    Mutation(
        "integer arithmetic then reduce",
        SUBGRAPH,
        INSERT,
        swaps.then(swaps.named(*swaps.INTEGER), swaps.family("reduction")),
        (has.integral, has.not_empty),
        6,
    ),
    Mutation(
        "join with integer arithmetic",
        SUBGRAPH,
        INSERT,
        graphs.join_with_changed(_JOINS, swaps.named(*swaps.INTEGER)),
        (has.integral,),
        5,
    ),
    Mutation(
        "insert index operator", SUBGRAPH, INSERT, swaps.grow_one(swaps.family("indexing")), (has.shaped,), 3
    ),
    Mutation(
        "return positions", SUBGRAPH, INSERT, swaps.grow_one(lambda op: op.index_result), (has.not_empty,), 2
    ),
    Mutation("compare and select", SUBGRAPH, INSERT, swaps.compare_and_select, (), 2),
    Mutation("repeat operator", OPERATOR, INSERT, swaps.repeat_operator, (has.a_node, has.pure), 2),
    Mutation("delete operator", OPERATOR, DELETE, swaps.delete_operator, (has.a_node,), 2),
    Mutation("reverse arguments", OPERATOR, REWIRE, swaps.reverse_arguments, (has.arity(2),), 2),
    # many operators at once
    Mutation("fan out", SUBGRAPH, INSERT, fans.fan_out(swaps.anything), (has.not_empty,), 12),
    Mutation(
        "narrow and fan out",
        SUBGRAPH,
        INSERT,
        fans.fan_out(swaps.anything, narrow=True),
        (has.not_empty,),
        12,
    ),
    Mutation(
        "narrow, compute and reduce",
        SUBGRAPH,
        INSERT,
        fans.fan_out(swaps.family("elementwise"), swaps.family("reduction"), narrow=True),
        (has.not_empty,),
        10,
    ),
    # edges and subgraphs
    Mutation("rewire", TENSOR, REWIRE, graphs.rewire, (has.read,), 2),
    Mutation("rewire loosely", TENSOR, REWIRE, graphs.rewire_loosely, (has.read,), 2),
    Mutation("same argument", OPERATOR, REWIRE, graphs.same_argument, (has.arity(2),), 2),
    Mutation(
        "duplicate and combine", SUBGRAPH, INSERT, graphs.duplicate_and(_JOINS), (has.a_node, has.pure), 2
    ),
    Mutation(
        "join with changed", SUBGRAPH, INSERT, graphs.join_with_changed(_JOINS, swaps.shape_kept), (), 4
    ),
    Mutation("join edges", SUBGRAPH, REWIRE, graphs.join_edges(_JOINS), (), 3),
    Mutation(
        "reduce and broadcast", SUBGRAPH, INSERT, graphs.reduce_and_broadcast, (has.shaped, has.not_empty), 2
    ),
    Mutation("negate twice", SUBGRAPH, INSERT, graphs.negate_twice, (has.numeric,), 1),
    Mutation("neutral element", SUBGRAPH, INSERT, graphs.neutral, (), 1),
    Mutation("reshape and back", SUBGRAPH, INSERT, layouts.reshaped_and_back, (has.not_empty,), 2),
    Mutation("split and join", SUBGRAPH, INSERT, layouts.split_and_joined, (has.shaped,), 2),
    Mutation("cut here", SUBGRAPH, DELETE, graphs.cut_here, (has.a_node, has.pure), 1),
    Mutation("keep upstream", SUBGRAPH, DELETE, graphs.keep_upstream, (has.a_node, has.not_returned), 1),
    # structures
    Mutation("residual", SUBGRAPH, INSERT, structures.residual, (has.a_node,), 2),
    Mutation("repeat block", SUBGRAPH, INSERT, structures.repeat_block, (has.a_node, has.pure), 2),
    Mutation("with itself", SUBGRAPH, INSERT, structures.with_itself, (has.numeric,), 2),
    Mutation("divide and multiply", SUBGRAPH, INSERT, structures.divide_and_multiply, (has.floating,), 1),
    Mutation("mask arithmetic", SUBGRAPH, INSERT, structures.mask_arithmetic, (has.numeric,), 2),
    Mutation("neutral element in graph", SUBGRAPH, INSERT, structures.neutral_in_graph, (has.not_empty,), 1),
    Mutation("constant in graph", SUBGRAPH, INSERT, structures.constant_in_graph, (has.not_empty,), 2),
    Mutation(
        "reduce to a scalar and use",
        SUBGRAPH,
        INSERT,
        structures.scalar_and_use,
        (has.shaped, has.not_empty, has.numeric),
        2,
    ),
    Mutation(
        "gather by own order",
        SUBGRAPH,
        INSERT,
        structures.gather_by_order,
        (has.shaped, has.not_empty, has.numeric),
        2,
    ),
    Mutation(
        "reduce then reduce",
        SUBGRAPH,
        INSERT,
        swaps.then(swaps.family("reduction"), swaps.family("reduction")),
        (has.matrix, has.not_empty),
        2,
    ),
    Mutation(
        "reduce then compute",
        SUBGRAPH,
        INSERT,
        swaps.then(swaps.family("reduction"), swaps.family("elementwise")),
        (has.shaped, has.not_empty),
        3,
    ),
    Mutation(
        "index then compute",
        SUBGRAPH,
        INSERT,
        swaps.then(swaps.family("indexing"), swaps.family("elementwise")),
        (has.shaped,),
        3,
    ),
    Mutation(
        "multiply matrices then compute",
        SUBGRAPH,
        INSERT,
        swaps.then(swaps.family("matmul"), swaps.family("elementwise")),
        (has.matrix, has.numeric),
        2,
    ),
    Mutation(
        "combine then view",
        SUBGRAPH,
        INSERT,
        swaps.then(swaps.family("combine"), swaps.family("view")),
        (has.shaped,),
        3,
    ),
    Mutation(
        "view then reduce",
        SUBGRAPH,
        INSERT,
        swaps.then(swaps.family("view"), swaps.family("reduction")),
        (has.shaped, has.not_empty),
        3,
    ),
    Mutation(
        "view then index",
        SUBGRAPH,
        INSERT,
        swaps.then(swaps.family("view"), swaps.family("indexing")),
        (has.shaped, has.not_empty),
        2,
    ),
    Mutation(
        "compute then combine",
        SUBGRAPH,
        INSERT,
        swaps.then(swaps.family("elementwise"), swaps.family("combine")),
        (has.shaped,),
        3,
    ),
    Mutation(
        "normalise then cast",
        SUBGRAPH,
        INSERT,
        swaps.then(swaps.family("normalisation"), swaps.named("to")),
        (has.shaped, has.floating, has.not_empty),
        2,
    ),
    Mutation("split, compute and join", SUBGRAPH, INSERT, structures.split_compute_join, (has.shaped,), 3),
    Mutation("select between branches", SUBGRAPH, INSERT, structures.select_between, (has.numeric,), 2),
    Mutation("deep chain", SUBGRAPH, INSERT, structures.deep_chain, (has.floating,), 2),
    Mutation(
        "reduce wider", SUBGRAPH, INSERT, structures.reduce_wider, (has.shaped, has.not_empty, has.numeric), 2
    ),
    Mutation(
        "subtract the negated",
        OPERATOR,
        UPDATE,
        structures.subtract_negated,
        (has.made_by("add"), has.numeric),
        1,
    ),
    Mutation("bypass for one user", SUBGRAPH, REWIRE, structures.bypass, (has.a_node, has.read), 1),
    Mutation("swap neighbours", SUBGRAPH, REWIRE, structures.swap_neighbours, (has.a_node, has.pure), 2),
)
