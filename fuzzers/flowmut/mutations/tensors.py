"""Mutations of single tensors: dtype, layout, values, sizes, and what one user sees.

Invariant: this literal and its fellows are all there is; each entry is one declaration.
"""

from __future__ import annotations

from fuzzers.flowmut.edge import DTYPES, FLOATING
from fuzzers.flowmut.mutations import contents, dtypes, layouts, sizes, swaps, users
from fuzzers.flowmut.mutations import predicates as has
from fuzzers.flowmut.mutations.cells import DELETE, INSERT, REWIRE, SUBGRAPH, TENSOR, UPDATE
from fuzzers.flowmut.mutations.declaration import Mutation

_LISTED = (has.plain_layout, has.floating, has.listed)
_FEW = (has.plain_layout, has.numeric, has.listed)

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
    # more of each
    Mutation("one NaN", TENSOR, UPDATE, contents.refill(contents.filled("one_nan")), _LISTED, 1),
    Mutation("one infinity", TENSOR, UPDATE, contents.refill(contents.filled("one_infinity")), _LISTED, 1),
    Mutation("signed zeros", TENSOR, UPDATE, contents.refill(contents.filled("signed_zeros")), _LISTED, 1),
    Mutation("denormals", TENSOR, UPDATE, contents.refill(contents.filled("denormals")), _LISTED, 1),
    Mutation("halves", TENSOR, UPDATE, contents.refill(contents.filled("halves")), _LISTED, 1),
    Mutation("powers of two", TENSOR, UPDATE, contents.refill(contents.filled("powers")), _LISTED, 1),
    Mutation("one element set", TENSOR, UPDATE, contents.refill(contents.filled("one_set")), _FEW, 1),
    Mutation("falling", TENSOR, UPDATE, contents.refill(contents.filled("falling")), _FEW, 1),
    Mutation("two tail sizes", TENSOR, UPDATE, sizes.two_sizes(sizes.TAILS), (has.matrix, has.small), 2),
    Mutation("long and thin", TENSOR, UPDATE, sizes.long_and_thin, (has.matrix, has.small), 1),
    Mutation("wide scalar input", TENSOR, UPDATE, sizes.wide_scalar, (has.an_input, has.shaped), 2),
    Mutation(
        "one stored element",
        TENSOR,
        UPDATE,
        layouts.relayout(layouts.one_element),
        (has.an_input, has.shaped),
        1,
    ),
    Mutation(
        "overlapping windows",
        TENSOR,
        INSERT,
        swaps.insert_one(swaps.named("unfold")),
        (has.shaped, has.not_empty),
        2,
    ),
    Mutation(
        "as strided",
        TENSOR,
        INSERT,
        swaps.insert_one(swaps.named("as_strided")),
        (has.dense, has.not_empty),
        2,
    ),
    Mutation("diagonal between", TENSOR, INSERT, swaps.insert_one(swaps.named("diagonal")), (has.matrix,), 1),
    Mutation("every second", TENSOR, INSERT, layouts.every_second, (has.shaped, has.not_empty), 2),
    Mutation("densify", TENSOR, INSERT, layouts.densify, (has.not_dense,), 2),
    Mutation("channels last between", TENSOR, INSERT, layouts.channels_last_between, (has.image,), 2),
    Mutation("detach", TENSOR, INSERT, users.detached, (has.tracked, has.read), 1),
    Mutation(
        "detach for one user",
        TENSOR,
        REWIRE,
        users.for_one_user(users.detach),
        (has.tracked, has.read_twice),
        1,
    ),
    Mutation("cast for one user", TENSOR, REWIRE, users.for_one_user(users.cast), (has.read_twice,), 2),
    Mutation(
        "other layout for one user",
        TENSOR,
        REWIRE,
        users.for_one_user(users.other_layout),
        (has.read_twice, has.matrix),
        2,
    ),
    Mutation("constant instead", TENSOR, DELETE, users.constant_instead, (has.read, has.not_empty), 1),
)
