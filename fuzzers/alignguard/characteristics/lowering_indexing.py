"""Lowering: gathers, scatters, masks and index tensors."""

from __future__ import annotations

import ast

from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import (
    REDUCTIONS,
    any_step,
    both,
    calls,
    either,
    made_by,
)
from fuzzers.alignguard.needs import filled, first, floating, numeric, rank, typed
from fuzzers.alignguard.reading.call import plain
from fuzzers.alignguard.reading.notes import Step
from fuzzers.alignguard.variants import Variant, any_of

INDEX = {"idx": "torch.randint(0, {somesize}, ({somesize} + 2,))"}
"""Positions along a dimension; there is one more place than positions, so that one repeats."""
FIRST_INDEX = {"idx": "torch.randint(0, {firstsize}, ({firstsize} + 2,))"}


def _accumulates(s: Step) -> bool:
    return s.call.name in ("index_put", "put") and (
        plain(s.call.named.get("accumulate", s.call.args[-1])) is True
    )


def _reduces_gathered(s: Step) -> bool:
    return s.call.name in (*REDUCTIONS, "mul") and made_by(
        "index", "index_select", "gather", "embedding", "take_along_dim", "take"
    )(s)


def _narrow_index(s: Step) -> bool:
    return s.call.name in ("index", "index_select", "embedding") and any(
        t.dtype in ("int32", "int16", "uint8", "int8") for t in s.call.tensors[1:]
    )


def _apart(s: Step) -> bool:
    """Several positions, or one that is not the first."""
    node = s.node
    return (
        s.call.name == "index"
        and isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Tuple)
        and plain(s.call.named["mask"]) is False
    )


LOWERING_INDEXING: tuple[Characteristic, ...] = (
    Characteristic(
        "scatter with repeated positions",
        Stage.LOWERING,
        "Values are added or reduced into positions of which some repeat.",
        "Parallel or vectorised loops must combine them; how the old content counts differs by reduction.",
        "return x.scatter_reduce(0, idx, y, 'amax', include_self=False)",
        calls("scatter_add index_add scatter_reduce index_reduce"),
        any_of(
            Variant(
                "{y} = {x}.scatter_add({some}, torch.zeros_like({x}, dtype=torch.int64), {x})",
                (filled, numeric),
                same=True,
            ),
            Variant(
                "{y} = {x}.index_add({some}, {idx}, {x}.index_select({some}, {idx}))",
                (filled, rank(1), numeric),
                inputs=INDEX,
                same=True,
            ),
            Variant(
                "{y} = {x}.scatter_reduce({some}, torch.zeros_like({x}, dtype=torch.int64), {x}, "
                "'{scatter}', include_self={flag})",
                (filled, rank(1), numeric),
                same=True,
            ),
            Variant(
                "{y} = {x}.index_reduce({some}, {idx}, {x}.index_select({some}, {idx}), '{extreme}', "
                "include_self={flag})",
                (filled, rank(1), numeric),
                inputs=INDEX,
                same=True,
            ),
        ),
    ),
    Characteristic(
        "accumulating index_put",
        Stage.LOWERING,
        "`index_put` adds at positions of which some repeat.",
        "It is an atomic add in a loop that must not be vectorised or fused with reads of the same tensor.",
        "return x.index_put((idx,), x[idx], accumulate=True)",
        calls("index_put put", where=_accumulates),
        any_of(
            Variant(
                "{y} = {x}.index_put(({idx},), {x}[{idx}], accumulate=True)",
                (filled, rank(1), numeric),
                inputs=FIRST_INDEX,
                same=True,
            ),
            Variant(
                "{t} = {x}.clone()\n{t}.index_put_(({idx},), {x}[{idx}] * {value}, accumulate=True)\n"
                "{y} = {t} - {x}",
                (filled, rank(1), numeric),
                inputs=FIRST_INDEX,
                same=True,
            ),
            Variant(
                "{y} = torch.zeros_like({x}).index_put((torch.tensor([0, -1, 0]),), {x}[:1], "
                "accumulate=True)",
                (filled, rank(1), typed),
                same=False,
            ),
        ),
    ),
    Characteristic(
        "gather then reduction",
        Stage.LOWERING,
        "Rows chosen by an index with repetitions are reduced; their gradient is a scatter.",
        "The backward pass adds into repeated positions and is then fused with reductions.",
        "return x[idx].sum(0) * 2",
        any_step(_reduces_gathered),
        any_of(
            Variant("{y} = {x}[{idx}].{reduce}(0)", (filled, rank(1)), inputs=FIRST_INDEX),
            Variant(
                "{y} = {x}.index_select({some}, {idx}).sum({some}, keepdim=True) * {x}",
                (filled, rank(1), numeric),
                inputs=INDEX,
            ),
            Variant(
                "{y} = {x}[{idx}].transpose(0, -1).sum(0) * 2", (filled, rank(1), numeric), inputs=FIRST_INDEX
            ),
            Variant(
                "{y} = torch.nn.functional.embedding({idx}, {x}).sum(0)",
                (floating, filled, rank(2, 2)),
                inputs=FIRST_INDEX,
            ),
            Variant(
                "{y} = {x}.gather({some}, torch.zeros_like({x}, dtype=torch.int64)).{reduce}({some})",
                (filled,),
            ),
        ),
    ),
    Characteristic(
        "index that is not alone",
        Stage.LOWERING,
        "Index tensors stand beside slices, with another dimension between them, or count from the end.",
        "Where the indexed dimensions end up depends on whether the index tensors are adjacent.",
        "return x[idx, :, idx] + x[:, 0, [0, -1]]",
        any_step(_apart),
        any_of(
            Variant("{y} = {x}[..., [0, -1]]", (filled, rank(1))),
            Variant("{y} = {x}[[0, -1], :, [0, 0]]", (filled, rank(3))),
            Variant("{y} = {x}[:, [-1, 0, -1]]", (filled, rank(2))),
            Variant("{y} = {x}[None, [0, 0], ..., -1:]", (filled, rank(2))),
            Variant("{y} = {x}[{idx} - {firstsize}, ..., 0]", (filled, rank(2)), inputs=FIRST_INDEX),
        ),
    ),
    Characteristic(
        "index of a narrow dtype",
        Stage.LOWERING,
        "An index tensor is int32, or positions are computed in a small dtype and then cast.",
        "Loads are computed in the index's dtype, which a product with a stride may leave.",
        "return x[(idx.to(torch.uint8) * 3 % 4).to(torch.int32)]",
        any_step(either(_narrow_index, both(lambda s: s.call.name == "index", made_by("to", "int")))),
        any_of(
            Variant("{y} = {x}[{idx}.to(torch.int32)]", (filled, rank(1)), inputs=FIRST_INDEX),
            Variant(
                "{y} = {x}.index_select(0, ({idx}.to(torch.uint8) * 3 % {firstsize}).to(torch.int32))",
                (filled, rank(1), lambda t: bool(t.shape) and (t.shape or (0,))[0] < 80),
                inputs=FIRST_INDEX,
            ),
            Variant(
                "{y} = {x}[{idx}.to(torch.int8).to(torch.int64)]",
                (filled, rank(1), lambda t: bool(t.shape) and (t.shape or (0,))[0] < 100),
                inputs=FIRST_INDEX,
            ),
        ),
    ),
    Characteristic(
        "selection by a mask",
        Stage.LOWERING,
        "A boolean mask selects, fills or chooses between two tensors, also along a dimension.",
        "Masks are stored as bytes and used as lanes; sizes that depend on them are unknown ahead.",
        "m = x > 0\nreturn torch.where(m, x, x * 2), x.masked_fill(m, 1)",
        calls("where masked_fill masked_select masked_scatter"),
        any_of(
            Variant("{m} = {x} > 0\n{y} = torch.where({m}, {x}, {x} * 2)", (numeric,), same=True),
            Variant("{y} = {x}.masked_fill({x} < 1, {value})", (numeric,), same=True),
            Variant(
                "{m} = ({x} > 0).any({dim}, keepdim=True)\n{y} = torch.where({m}, {x}, {value})",
                (numeric, rank(1), filled),
                same=True,
            ),
            Variant(
                "{m} = {x} > 0\n{y} = {x}.masked_scatter({m}, {x}.flip({dim}))", (numeric, rank(1)), same=True
            ),
            Variant("{m} = {x} != 0\n{also} = {m}\n{y} = {x}.masked_select({m}).sum()", (numeric,)),
        ),
    ),
    Characteristic(
        "scatter of a slice into a copy",
        Stage.LOWERING,
        "`slice_scatter`, `select_scatter` or `diagonal_scatter` puts values into a copy.",
        "They become a load with a condition on the position, with steps and ends to get right.",
        "return torch.slice_scatter(x, x[:, ::2] * 0, 1, 0, 9, 2)",
        calls("slice_scatter select_scatter diagonal_scatter as_strided_scatter"),
        any_of(
            Variant(
                "{y} = torch.slice_scatter({x}, {x}[..., ::2], -1, 0, {lastsize}, 2)",
                (rank(1), filled),
                same=True,
            ),
            Variant("{y} = {x}.select_scatter({x}.select({some}, 0), {some}, -1)", (filled,), same=True),
            Variant(
                "{y} = torch.diagonal_scatter({x}, torch.zeros_like({x}.diagonal(0, {dim}, {other})), 0, "
                "{dim}, {other})",
                (rank(2), filled),
                same=True,
            ),
            Variant("{y} = torch.slice_scatter({x}, {x}[1:], 0, 0, -1)", (rank(1), first(2)), same=True),
        ),
    ),
)
