"""Every mutation, with the predicates under which it may be tried.

Invariant: names are unique, and this literal is the only list of mutations there is. Weights are shares
of random choice: what prior findings came from (small integers, views with writes, layouts, sizes) is
drawn more often.
"""

from __future__ import annotations

from fuzzers.flowmut.edge import DTYPES, FLOATING
from fuzzers.flowmut.mutations import (
    contents,
    dtypes,
    fans,
    graphs,
    interface,
    layouts,
    sizes,
    swaps,
    writes,
)
from fuzzers.flowmut.mutations import predicates as has
from fuzzers.flowmut.mutations.declaration import Mutation, Object, Primitive

TENSOR, OPERATOR, INTERFACE, SUBGRAPH = Object
UPDATE, INSERT, DELETE, REWIRE = Primitive

_JOINS = ("cat", "stack", "add", "sub", "mul", "maximum", "minimum", "bitwise_xor")

MUTATIONS: tuple[Mutation, ...] = (
    # dtype
    Mutation("input dtype", TENSOR, UPDATE, dtypes.input_dtype, (has.an_input,), 3),
    Mutation("every dtype", TENSOR, UPDATE, dtypes.every_dtype(DTYPES), (has.an_input,), 3),
    Mutation(
        "every dtype small",
        TENSOR,
        UPDATE,
        dtypes.every_dtype(("uint8", "int8", "int16", "bool")),
        (has.an_input,),
        5,
    ),
    Mutation(
        "every dtype half", TENSOR, UPDATE, dtypes.every_dtype(FLOATING), (has.an_input, has.floating), 1
    ),
    Mutation("cast", TENSOR, INSERT, dtypes.cast(DTYPES), (), 3),
    Mutation("cast small", TENSOR, INSERT, dtypes.cast(dtypes.SMALL), (), 3),
    Mutation("cast round trip", TENSOR, INSERT, dtypes.round_trip(DTYPES), (), 2),
    Mutation(
        "cast narrow then reduce", SUBGRAPH, INSERT, dtypes.narrowed_then("reduction"), (has.not_empty,), 3
    ),
    Mutation("cast narrow then compute", SUBGRAPH, INSERT, dtypes.narrowed_then("elementwise"), (), 2),
    Mutation("compute wider", SUBGRAPH, INSERT, dtypes.computed_wider, (has.numeric,), 1),
    # layout
    Mutation(
        "transpose input",
        TENSOR,
        UPDATE,
        layouts.relayout(layouts.transposed),
        (has.plain_layout, has.matrix),
        3,
    ),
    Mutation(
        "expand input", TENSOR, UPDATE, layouts.relayout(layouts.expanded), (has.an_input, has.shaped), 2
    ),
    Mutation(
        "stride input", TENSOR, UPDATE, layouts.relayout(layouts.strided), (has.an_input, has.shaped), 2
    ),
    Mutation("offset input", TENSOR, UPDATE, layouts.relayout(layouts.offset), (has.an_input, has.shaped), 2),
    Mutation("pad input", TENSOR, UPDATE, layouts.relayout(layouts.padded), (has.an_input, has.shaped), 2),
    Mutation(
        "channels-last input",
        TENSOR,
        UPDATE,
        layouts.relayout(layouts.channels_last),
        (has.an_input, has.image),
        3,
    ),
    Mutation("dense input", TENSOR, DELETE, layouts.without_views, (has.viewed,), 1),
    Mutation("permute and back", TENSOR, INSERT, layouts.there_and_back(()), (has.matrix,), 1),
    Mutation(
        "permute, densify and back",
        TENSOR,
        INSERT,
        layouts.there_and_back(("contiguous",)),
        (has.matrix,),
        2,
    ),
    Mutation("permute, copy and back", TENSOR, INSERT, layouts.there_and_back(("clone",)), (has.matrix,), 2),
    Mutation("return permuted", TENSOR, INSERT, layouts.returned_transposed, (has.matrix,), 2),
    Mutation(
        "view between",
        TENSOR,
        INSERT,
        swaps.insert_one(lambda op: op.views and op.writes is None),
        (has.shaped,),
        2,
    ),
    # values
    Mutation(
        "integer extremes",
        TENSOR,
        UPDATE,
        contents.refill(contents.extremes),
        (has.an_input, has.integral),
        2,
    ),
    Mutation(
        "saturated", TENSOR, UPDATE, contents.refill(contents.saturated), (has.an_input, has.integral), 1
    ),
    Mutation(
        "negative integers",
        TENSOR,
        UPDATE,
        contents.refill(contents.negatives),
        (has.an_input, has.signed),
        2,
    ),
    Mutation(
        "few whole numbers",
        TENSOR,
        UPDATE,
        contents.refill(contents.small_whole),
        (has.an_input, has.numeric),
        2,
    ),
    Mutation(
        "past the sign bit",
        TENSOR,
        UPDATE,
        contents.refill(contents.wide_unsigned),
        (has.an_input, has.numeric),
        2,
    ),
    Mutation("constant", TENSOR, UPDATE, contents.refill(contents.constant), (has.an_input,), 2),
    Mutation("rising", TENSOR, UPDATE, contents.refill(contents.ordered), (has.an_input, has.numeric), 1),
    Mutation(
        "special values", TENSOR, UPDATE, contents.refill(contents.special), (has.an_input, has.floating), 1
    ),
    # sizes
    Mutation("empty size", TENSOR, UPDATE, sizes.size_class((0,)), (has.shaped,), 1),
    Mutation("size one", TENSOR, UPDATE, sizes.size_class((1,)), (has.shaped,), 2),
    Mutation("tail size", TENSOR, UPDATE, sizes.size_class(sizes.TAILS), (has.shaped, has.small), 3),
    Mutation("power-of-two size", TENSOR, UPDATE, sizes.size_class(sizes.POWERS), (has.shaped, has.small), 2),
    Mutation("larger size", TENSOR, UPDATE, sizes.size_class(sizes.LARGER), (has.shaped, has.small), 2),
    Mutation("broadcast input", TENSOR, UPDATE, sizes.broadcast_input, (has.an_input, has.shaped), 2),
    Mutation("scalar input", TENSOR, UPDATE, sizes.scalar_input, (has.an_input, has.shaped), 2),
    Mutation("leading size", TENSOR, UPDATE, sizes.leading_input, (has.an_input,), 1),
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
)
