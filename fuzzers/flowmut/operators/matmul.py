"""Matrix products: contracted sizes must agree, dtypes must be the same."""

from __future__ import annotations

from random import Random

from fuzzers.flowmut.edge import EdgeState, broadcast
from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.operators import requirements as need
from fuzzers.flowmut.operators.declaration import AttrDomain, Attrs, Operator, Partners, Requirement, States
from fuzzers.flowmut.program import Input

PRODUCT = (
    need.SAME_DTYPE,
    need.NOT_BOOL,
    need.no_overflow(
        lambda s, a: (
            (s[0].shape or (1,))[-1] * need.magnitude(s[0]) * need.magnitude(s[1])
            + (need.magnitude(s[2]) if len(s) > 2 else 0.0)
        ),
        lambda s: s[0].dtype,
    ),
)


def columns(rng: Random) -> int:
    """A drawn number of columns."""
    return rng.choice(domains.SIZES[:9])


def _contracted(states: States, attrs: Attrs) -> bool:
    """The last size of the first meets the last but one (or only one) of the second."""
    first, second = states[0].shape, states[1].shape
    return bool(first and second) and first[-1] == second[-2 if len(second) > 1 else -1]


def _batches(states: States, attrs: Attrs) -> bool:
    return broadcast(states[0].shape[:-2], states[1].shape[:-2]) is not None


def ranks(*wanted: int) -> Requirement:
    """The ranks of the first arguments."""
    return Requirement(f"ranks {wanted}", lambda s, a: tuple(x.rank for x in s[: len(wanted)]) == wanted)


CONTRACTS = Requirement("contracted sizes agree", _contracted)
BATCHES = Requirement("batch sizes broadcast", _batches)
_SAME_BATCH = Requirement("same batch size", lambda s, a: s[0].shape[:1] == s[1].shape[:1])


def _right(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    lead = state.shape[:-2] if state.rank > 2 and rng.random() < 0.5 else ()
    return (domains.like((*lead, state.shape[-1], columns(rng)), state.dtype),)


def _batch(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    return (domains.like((state.shape[0], state.shape[-1], columns(rng)), state.dtype),)


def _vector(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    return (domains.like(state.shape[-1:], state.dtype),)


def _any_vector(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    return (domains.like((columns(rng),), state.dtype),)


def _right_and_bias(*, batched: bool) -> Partners:
    def partners(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
        count = columns(rng)
        lead = state.shape[:1] if batched else ()
        bias = rng.choice(((count,), (state.shape[-2], count), (1, count)))
        return (
            domains.like((*lead, state.shape[-1], count), state.dtype, "p0"),
            domains.like(bias, state.dtype, "p1"),
        )

    return partners


def _weight(*, bias: bool) -> Partners:
    def partners(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
        rows = columns(rng)
        weight = domains.like((rows, state.shape[-1]), state.dtype, "p0")
        return (weight, domains.like((rows,), state.dtype, "p1")) if bias else (weight,)

    return partners


def _biased(states: States, attrs: Attrs) -> bool:
    """The bias broadcasts to the product."""
    product = (*states[0].shape[:-1], states[1].shape[-1])
    return broadcast(states[2].shape, product) == product


def _weighted(states: States, attrs: Attrs) -> bool:
    """weight is (out, in), bias (out)."""
    weight = states[1].shape
    fits = len(weight) == 2 and bool(states[0].shape) and states[0].shape[-1] == weight[1]
    return fits and (len(states) < 3 or states[2].shape == weight[:1])


_BIAS = Requirement("bias broadcasts to the product", _biased)
_WEIGHT = Requirement("weight is (out, in), bias (out)", _weighted)
SCALES: dict[str, AttrDomain] = {
    "beta": domains.scalar((1, 2), (0.5,), default=1),
    "alpha": domains.scalar((1, 2), (0.5,), default=1),
}
SMALL_SCALES = need.no_overflow(
    lambda s, a: (
        need.number(a, "alpha", 1) * s[0].shape[-1] * need.magnitude(s[0]) * need.magnitude(s[1])
        + need.number(a, "beta", 1) * need.magnitude(s[2])
    ),
    lambda s: s[0].dtype,
)

_EQUATIONS = {1: "i,i->i", 2: "ij,kj->ik", 3: "bij,bkj->bik", 4: "bhij,bhkj->bhik"}


def _equation(rng: Random, state: EdgeState) -> str:
    return _EQUATIONS.get(state.rank, "i,i->i")


def same_but_rows(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    """A tensor that differs in the last size but one."""
    shape = (*state.shape[:-2], columns(rng), state.shape[-1]) if state.rank > 1 else state.shape
    return (domains.like(shape, state.dtype),)


OPERATORS = (
    Operator(
        "matmul",
        "matmul",
        "{0} @ {1}",
        arity=2,
        requirements=(need.rank_between(1), CONTRACTS, BATCHES, *PRODUCT),
        partners=domains.from_rank(2, _right),
    ),
    Operator(
        "mm",
        "matmul",
        "torch.mm({0}, {1})",
        arity=2,
        requirements=(ranks(2, 2), CONTRACTS, *PRODUCT),
        partners=domains.from_rank(2, _right),
    ),
    Operator(
        "bmm",
        "matmul",
        "torch.bmm({0}, {1})",
        arity=2,
        requirements=(ranks(3, 3), CONTRACTS, _SAME_BATCH, *PRODUCT),
        partners=domains.from_rank(3, _batch),
    ),
    Operator(
        "mv",
        "matmul",
        "torch.mv({0}, {1})",
        arity=2,
        requirements=(ranks(2, 1), CONTRACTS, *PRODUCT),
        partners=domains.from_rank(1, _vector),
    ),
    Operator(
        "dot",
        "matmul",
        "torch.dot({0}, {1})",
        arity=2,
        requirements=(ranks(1, 1), CONTRACTS, *PRODUCT),
        partners=domains.from_rank(1, _vector),
    ),
    Operator(
        "outer",
        "matmul",
        "torch.outer({0}, {1})",
        arity=2,
        requirements=(ranks(1, 1), *PRODUCT),
        partners=domains.from_rank(1, _any_vector),
    ),
    Operator(
        "addmm",
        "matmul",
        "torch.addmm({2}, {0}, {1}{rest})",
        arity=3,
        attributes=SCALES,
        requirements=(ranks(2, 2), CONTRACTS, _BIAS, SMALL_SCALES, *PRODUCT),
        partners=domains.from_rank(2, _right_and_bias(batched=False)),
    ),
    Operator(
        "baddbmm",
        "matmul",
        "torch.baddbmm({2}, {0}, {1}{rest})",
        arity=3,
        attributes=SCALES,
        requirements=(ranks(3, 3), CONTRACTS, _SAME_BATCH, _BIAS, SMALL_SCALES, *PRODUCT),
        partners=domains.from_rank(3, _right_and_bias(batched=True)),
    ),
    Operator(
        "linear",
        "matmul",
        "F.linear({0}, {1}, {2})",
        arity=3,
        requirements=(_WEIGHT, *PRODUCT),
        partners=domains.from_rank(1, _weight(bias=True)),
    ),
    Operator(
        "linear_no_bias",
        "matmul",
        "F.linear({0}, {1})",
        arity=2,
        requirements=(_WEIGHT, *PRODUCT),
        partners=domains.from_rank(1, _weight(bias=False)),
    ),
    Operator(
        "einsum",
        "matmul",
        "torch.einsum({equation}, {0}, {1})",
        arity=2,
        attributes={"equation": AttrDomain(_equation)},
        requirements=(
            need.rank_between(1, 4),
            Requirement("equation of that rank", lambda s, a: a["equation"] == _EQUATIONS[s[0].rank]),
            Requirement(
                "same but for rows",
                lambda s, a: (
                    s[0].rank == s[1].rank
                    and s[0].shape[-1] == s[1].shape[-1]
                    and s[0].shape[:-2] == s[1].shape[:-2]
                ),
            ),
            *PRODUCT,
        ),
        partners=domains.from_rank(1, same_but_rows),
    ),
    Operator(
        "attention",
        "matmul",
        "F.scaled_dot_product_attention({0}, {1}, {2})",
        arity=3,
        requirements=(
            need.rank_between(3, 4),
            need.FLOATING_ONLY,
            need.SAME_DTYPE,
            need.SAME_SHAPE,
            need.NONEMPTY,
        ),
        partners=lambda rng, state, attrs: tuple(
            domains.like(state.shape, state.dtype, f"p{k}") for k in range(2)
        ),
    ),
)
