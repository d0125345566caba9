"""Reading and writing by index, mask or order."""

from __future__ import annotations

from random import Random

from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.operators import requirements as need
from fuzzers.flowmut.operators.declaration import AttrDomain, Attrs, Operator, Requirement, States
from fuzzers.flowmut.program import Input

_DIM = {"dim": domains.dim()}
_RANKED = (need.rank_between(1), need.DIM_IN_RANGE)


def _axis(attrs: Attrs, state: EdgeState) -> int:
    return int(need.number(attrs, "dim")) % max(state.rank, 1)


def replaced(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    """The shape with another size on one axis."""
    return (*shape[:axis], size, *shape[axis + 1 :])


def _count(rng: Random, size: int) -> int:
    """How many indices: none into an empty dimension."""
    return rng.choice((1, 2, 3, 5)) if size else 0


def _positions(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    size = state.shape[_axis(attrs, state)]
    return (domains.indices((_count(rng, size),), size, "i"),)


def _aligned(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    axis = _axis(attrs, state)
    size = state.shape[axis]
    return (domains.indices(replaced(state.shape, axis, _count(rng, size)), size, "i"),)


def _aligned_and_source(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    (index,) = _aligned(rng, state, attrs)
    return (index, domains.like(index.shape, state.dtype, "p"))


def _positions_and_source(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    (index,) = _positions(rng, state, attrs)
    return (index, domains.like(replaced(state.shape, _axis(attrs, state), index.shape[0]), state.dtype, "p"))


def _distinct_and_source(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    axis = _axis(attrs, state)
    count = min(2, state.shape[axis])
    index = Input("i", (count,), "int64", "arange")
    return (index, domains.like(replaced(state.shape, axis, count), state.dtype, "p"))


def _fits_all_but_dim(states: States, attrs: Attrs) -> bool:
    """The index has the target's rank and fits it in every other dimension."""
    axis = _axis(attrs, states[0])
    pairs = zip(states[1].shape, states[0].shape, strict=False)
    return states[1].rank == states[0].rank and all(
        have <= room for k, (have, room) in enumerate(pairs) if k != axis
    )


def _source_covers(states: States, attrs: Attrs) -> bool:
    pairs = zip(states[1].shape, states[2].shape, strict=False)
    return states[1].rank == states[2].rank and all(i <= s for i, s in pairs)


def _source_matches(states: States, attrs: Attrs) -> bool:
    axis = _axis(attrs, states[0])
    return states[1].rank == 1 and states[2].shape == replaced(states[0].shape, axis, states[1].numel)


INDEX_ARGUMENT = need.argument(1, need.INDEX)
FITS_ALL_BUT_DIM = Requirement("index fits all but dim", _fits_all_but_dim)
SOURCE_COVERS = Requirement("source covers the index", _source_covers)
SOURCE_MATCHES = Requirement("source matches index and target", _source_matches)
SOURCE_DTYPE = Requirement("source of the same dtype", lambda s, a: s[0].dtype == s[2].dtype)
FLAT_INDEX = need.argument(1, need.rank_between(1, 1))
ADDS_WITHIN = need.no_overflow(
    lambda s, a: need.magnitude(s[0]) + need.magnitude(s[2]) * s[1].numel, lambda s: s[0].dtype
)
_POSITIONS = (*_RANKED, INDEX_ARGUMENT, FLAT_INDEX, need.indices_in_range(1))
_ALIGNED = (*_RANKED, INDEX_ARGUMENT, FITS_ALL_BUT_DIM, need.indices_in_range(1))
_SORTED = (*_RANKED, need.NO_NANS)


def _k(rng: Random, state: EdgeState) -> int:
    return rng.choice((1, 2, 3))


def _mask(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    return (domains.like(domains.broadcasting(rng, state.shape), "bool", "m"),)


def _lookup(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    shape = rng.choice(((3,), (2, 3), (1, 4))) if state.shape[0] else (0,)
    return (domains.indices(shape, state.shape[0], "i"),)


FILL_VALUE = domains.scalar((0, 1), (0.5, -1.0))
MASKED = (need.argument(1, need.MASK), need.FITS_TARGET)
FILL_IN_DTYPE = Requirement(
    "value in dtype",
    lambda s, a: s[0].floating or (isinstance(a["value"], int) and 0 <= int(a["value"]) <= 1),
)

OPERATORS = (
    Operator(
        "index_select",
        "indexing",
        "torch.index_select({0}, {dim}, {1})",
        arity=2,
        attributes=_DIM,
        requirements=_POSITIONS,
        partners=domains.from_rank(1, _positions),
    ),
    Operator(
        "gather",
        "indexing",
        "torch.gather({0}, {dim}, {1})",
        arity=2,
        attributes=_DIM,
        requirements=_ALIGNED,
        partners=domains.from_rank(1, _aligned),
    ),
    Operator(
        "take_along_dim",
        "indexing",
        "torch.take_along_dim({0}, {1}, dim={dim})",
        arity=2,
        attributes=_DIM,
        requirements=_ALIGNED,
        partners=domains.from_rank(1, _aligned),
    ),
    Operator(
        "scatter_add",
        "indexing",
        "torch.scatter_add({0}, {dim}, {1}, {2})",
        arity=3,
        attributes=_DIM,
        requirements=(*_ALIGNED, SOURCE_COVERS, SOURCE_DTYPE, ADDS_WITHIN),
        partners=domains.from_rank(1, _aligned_and_source),
    ),
    Operator(
        "index_add",
        "indexing",
        "torch.index_add({0}, {dim}, {1}, {2})",
        arity=3,
        attributes=_DIM,
        requirements=(*_POSITIONS, SOURCE_MATCHES, SOURCE_DTYPE, ADDS_WITHIN),
        partners=domains.from_rank(1, _positions_and_source),
    ),
    Operator(
        "index_copy",
        "indexing",
        "torch.index_copy({0}, {dim}, {1}, {2})",
        arity=3,
        attributes=_DIM,
        requirements=(*_POSITIONS, SOURCE_MATCHES, SOURCE_DTYPE, need.distinct_indices(1)),
        partners=domains.from_rank(1, _distinct_and_source),
    ),
    Operator(
        "index_fill",
        "indexing",
        "torch.index_fill({0}, {dim}, {1}, {value})",
        arity=2,
        attributes={**_DIM, "value": FILL_VALUE},
        requirements=(*_POSITIONS, FILL_IN_DTYPE),
        partners=domains.from_rank(1, _positions),
    ),
    Operator(
        "lookup",
        "indexing",
        "{0}[{1}]",
        arity=2,
        requirements=(need.rank_between(1), INDEX_ARGUMENT, need.indices_in_range(1)),
        partners=domains.from_rank(1, _lookup),
    ),
    Operator(
        "embedding",
        "indexing",
        "F.embedding({1}, {0})",
        arity=2,
        requirements=(
            need.rank_between(2, 2),
            need.argument(0, need.FLOATING_ONLY),
            INDEX_ARGUMENT,
            need.indices_in_range(1),
        ),
        partners=domains.from_rank(1, _lookup),
    ),
    Operator(
        "masked_fill",
        "indexing",
        "{0}.masked_fill({1}, {value})",
        arity=2,
        attributes={"value": FILL_VALUE},
        requirements=(*MASKED, FILL_IN_DTYPE),
        partners=_mask,
    ),
    Operator(
        "topk_values",
        "indexing",
        "{0}.topk({k}, dim={dim}{rest}).values",
        attributes={"k": AttrDomain(_k, plain=(1,)), **_DIM, "largest": domains.flag(True)},
        requirements=(
            *_SORTED,
            need.NOT_BOOL,
            Requirement("k within dim", lambda s, a: need.number(a, "k") <= s[0].shape[_axis(a, s[0])]),
        ),
    ),
    Operator(
        "sort_values",
        "indexing",
        "{0}.sort(dim={dim}{rest}).values",
        attributes={**_DIM, "descending": domains.flag()},
        requirements=_SORTED,
    ),
    Operator(
        "argsort",
        "indexing",
        "{0}.argsort(dim={dim}, stable=True{rest})",
        attributes={**_DIM, "descending": domains.flag()},
        requirements=_SORTED,
        index_result=True,
        decides=True,
    ),
    Operator(
        "bucketize",
        "indexing",
        "torch.bucketize({0}, {1}{rest})",
        arity=2,
        attributes={"right": domains.flag()},
        requirements=(
            need.NOT_BOOL,
            need.SAME_DTYPE,
            FLAT_INDEX,
            Requirement(
                "boundaries do not fall",
                lambda s, a: s[1].profile is None or s[1].numel < 2 or s[1].profile.rising,
            ),
        ),
        partners=lambda rng, state, attrs: (Input("b", (4,), state.dtype, "arange"),),
        decides=True,
    ),
    Operator(
        "one_hot",
        "indexing",
        "F.one_hot({0}, {classes})",
        attributes={"classes": domains.natural(4, 8)},
        requirements=(
            need.INDEX,
            Requirement("below classes", lambda s, a: need.within(s[0], 0, need.number(a, "classes") - 1)),
        ),
    ),
)
