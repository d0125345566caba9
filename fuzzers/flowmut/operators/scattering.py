"""Writes into a copy: a part of a tensor is given by another one. What in-place writes through views become.

Invariant: every place is written at most once, or by an operation whose order does not matter.
"""

from __future__ import annotations

from random import Random

from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.operators import domains, indexing
from fuzzers.flowmut.operators import requirements as need
from fuzzers.flowmut.operators.declaration import Attrs, Operator, Requirement, States
from fuzzers.flowmut.operators.indexing import replaced
from fuzzers.flowmut.program import Input

_DIM = {"dim": domains.dim()}
_RANKED = (need.rank_between(1), need.DIM_IN_RANGE)


def _axis(attrs: Attrs, state: EdgeState) -> int:
    return int(need.number(attrs, "dim")) % max(state.rank, 1)


def without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """The shape without one axis."""
    return (*shape[:axis], *shape[axis + 1 :])


def _selected(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    return (domains.like(without(state.shape, _axis(attrs, state)), state.dtype),)


def _sliced(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    axis = _axis(attrs, state)
    length = len(
        range(int(need.number(attrs, "start")), state.shape[axis], int(need.number(attrs, "step", 1)))
    )
    return (domains.like(replaced(state.shape, axis, length), state.dtype),)


def _diagonal(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    return (domains.like((*state.shape[2:], min(state.shape[:2])), state.dtype),)


def _source_is(shape: Requirement) -> tuple[Requirement, ...]:
    return (need.SAME_DTYPE, shape)


def _select_fits(states: States, attrs: Attrs) -> bool:
    axis = _axis(attrs, states[0])
    inside = -states[0].shape[axis] <= need.number(attrs, "index") < states[0].shape[axis]
    return inside and states[1].shape == without(states[0].shape, axis)


def _slice_fits(states: States, attrs: Attrs) -> bool:
    axis = _axis(attrs, states[0])
    taken = range(int(need.number(attrs, "start")), states[0].shape[axis], int(need.number(attrs, "step", 1)))
    return states[1].shape == replaced(states[0].shape, axis, len(taken))


def _pairs_in_range(states: States, attrs: Attrs) -> bool:
    first, second = states[0].shape[:2]
    return need.within(states[1], 0, first - 1) and need.within(states[2], 0, second - 1)


def _pairs(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    count = rng.choice((1, 3, 5)) if min(state.shape[:2]) else 0
    return tuple(domains.indices((count,), size, f"i{k}") for k, size in enumerate(state.shape[:2]))


def _flat_positions(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    return (domains.indices(rng.choice(((3,), (2, 2))) if state.numel else (0,), state.numel, "i"),)


_GATHERED = next(o for o in indexing.OPERATORS if o.name == "scatter_add")

OPERATORS = (
    Operator(
        "select_scatter",
        "indexing",
        "torch.select_scatter({0}, {1}, {dim}, {index})",
        arity=2,
        attributes={**_DIM, "index": domains.choice(0, -1)},
        requirements=(*_RANKED, *_source_is(Requirement("source without dim", _select_fits))),
        partners=domains.from_rank(1, _selected),
    ),
    Operator(
        "slice_scatter",
        "indexing",
        "torch.slice_scatter({0}, {1}, {dim}, {start}, step={step})",
        arity=2,
        attributes={**_DIM, "start": domains.choice(0, 1), "step": domains.natural(1, 2)},
        requirements=(*_RANKED, *_source_is(Requirement("source like the slice", _slice_fits))),
        partners=domains.from_rank(1, _sliced),
    ),
    Operator(
        "diagonal_scatter",
        "indexing",
        "torch.diagonal_scatter({0}, {1})",
        arity=2,
        requirements=(
            need.rank_between(2),
            *_source_is(
                Requirement(
                    "source like the diagonal",
                    lambda s, a: s[1].shape == (*s[0].shape[2:], min(s[0].shape[:2])),
                )
            ),
        ),
        partners=domains.from_rank(2, _diagonal),
    ),
    Operator(
        "scatter_reduce",
        "indexing",
        "torch.scatter_reduce({0}, {dim}, {1}, {2}, {reduce})",
        arity=3,
        attributes={**_DIM, "reduce": domains.choice("amax", "amin", "sum")},
        requirements=(*_GATHERED.requirements, need.argument(0, need.NOT_BOOL)),
        partners=_GATHERED.partners,
    ),
    Operator(
        "lookup_pairs",
        "indexing",
        "{0}[{1}, {2}]",
        arity=3,
        requirements=(
            need.rank_between(2),
            need.argument(1, need.INDEX),
            need.argument(2, need.INDEX),
            Requirement("indices broadcast", lambda s, a: s[1].shape == s[2].shape),
            Requirement("indices in range", _pairs_in_range),
        ),
        partners=domains.from_rank(2, _pairs),
    ),
    Operator(
        "take",
        "indexing",
        "{0}.take({1})",
        arity=2,
        requirements=(
            need.argument(1, need.INDEX),
            Requirement("indices in range", lambda s, a: need.within(s[1], 0, s[0].numel - 1)),
            Requirement("not empty, or nothing taken", lambda s, a: s[0].numel > 0 or s[1].numel == 0),
        ),
        partners=_flat_positions,
    ),
    Operator(
        "embedding_bag",
        "indexing",
        'F.embedding_bag({1}, {0}, mode="sum")',
        arity=2,
        requirements=(
            need.rank_between(2, 2),
            need.argument(0, need.FLOATING_ONLY),
            need.argument(
                0, Requirement("float32 or float64", lambda s, a: s[0].dtype in ("float32", "float64"))
            ),
            need.argument(1, need.INDEX),
            need.argument(1, need.rank_between(2, 2)),
            need.NONEMPTY,
            need.indices_in_range(1),
        ),
        partners=domains.from_rank(
            2, lambda rng, state, attrs: (domains.indices((2, 3), state.shape[0], "i"),)
        ),
    ),
)
