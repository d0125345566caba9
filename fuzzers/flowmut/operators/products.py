"""Products and distances beyond the plain matrix product."""

from __future__ import annotations

from random import Random

from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.operators import requirements as need
from fuzzers.flowmut.operators.declaration import Attrs, Operator, Requirement
from fuzzers.flowmut.operators.matmul import (
    CONTRACTS,
    PRODUCT,
    SCALES,
    SMALL_SCALES,
    columns,
    ranks,
    same_but_rows,
)
from fuzzers.flowmut.program import Input


def _right_flat(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    return (domains.like((state.shape[-1], columns(rng)), state.dtype),)


def _small(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    return (domains.like(rng.choice(((2,), (2, 3), (1, 2))), state.dtype),)


OPERATORS = (
    Operator(
        "addmv",
        "matmul",
        "torch.addmv({2}, {0}, {1}{rest})",
        arity=3,
        attributes=SCALES,
        requirements=(
            ranks(2, 1, 1),
            CONTRACTS,
            Requirement("one bias a row", lambda s, a: s[2].shape == s[0].shape[:1]),
            SMALL_SCALES,
            *PRODUCT,
        ),
        partners=domains.from_rank(
            2,
            lambda rng, s, a: (
                domains.like(s.shape[-1:], s.dtype, "p0"),
                domains.like(s.shape[:1], s.dtype, "p1"),
            ),
        ),
    ),
    Operator(
        "tensordot",
        "matmul",
        "torch.tensordot({0}, {1}, dims=1)",
        arity=2,
        requirements=(
            need.rank_between(1),
            Requirement(
                "last of the first meets the first of the second",
                lambda s, a: bool(s[1].shape) and s[0].shape[-1] == s[1].shape[0],
            ),
            *PRODUCT,
        ),
        partners=domains.from_rank(1, _right_flat),
    ),
    Operator(
        "kron",
        "matmul",
        "torch.kron({0}, {1})",
        arity=2,
        requirements=(need.rank_between(0, 2), *PRODUCT),
        partners=_small,
    ),
    Operator(
        "cdist",
        "matmul",
        "torch.cdist({0}, {1}, p=1.0)",
        arity=2,
        requirements=(
            ranks(2, 2),
            need.FLOATING_ONLY,
            need.argument(
                0, Requirement("float32 or float64", lambda s, a: s[0].dtype in ("float32", "float64"))
            ),
            need.NONEMPTY,
            need.SAME_DTYPE,
            Requirement("same columns", lambda s, a: s[0].shape[1] == s[1].shape[1]),
        ),
        partners=domains.from_rank(2, same_but_rows),
    ),
    Operator(
        "cosine_similarity",
        "matmul",
        "F.cosine_similarity({0}, {1}, dim={dim})",
        arity=2,
        attributes={"dim": domains.dim()},
        requirements=(
            need.rank_between(1),
            need.DIM_IN_RANGE,
            need.FLOATING_ONLY,
            need.SAME_DTYPE,
            need.SAME_SHAPE,
            need.NONEMPTY,
        ),
        partners=lambda rng, state, attrs: (domains.like(state.shape, state.dtype),),
    ),
)
