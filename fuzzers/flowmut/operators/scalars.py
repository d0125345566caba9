"""Operators of a tensor and a number, beyond arithmetic: comparisons, bits, selection.

Invariant: the number fits the tensor's dtype; what does not promote in one framework as in another stays out.
"""

from __future__ import annotations

from random import Random

from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.operators import requirements as need
from fuzzers.flowmut.operators.declaration import AttrDomain, Attrs, Operator, Requirement
from fuzzers.flowmut.program import Input

_NUMBER = domains.scalar((0, 1, 2, 3), (0.5, -1.0, 1.5))
_BITS = domains.choice(1, 3, 7, 5)


def _scalar(
    name: str, template: str, domain: AttrDomain, *requirements: Requirement, decides: bool = False
) -> Operator:
    return Operator(
        name,
        "elementwise",
        template,
        attributes={"value": domain},
        requirements=requirements,
        decides=decides,
    )


def _mask(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    return (domains.like(domains.broadcasting(rng, state.shape), "bool", "m"),)


def _bounds(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    return tuple(domains.like(domains.broadcasting(rng, state.shape), state.dtype, f"p{k}") for k in range(2))


OPERATORS = (
    _scalar("lt_scalar", "{0} < {value}", _NUMBER, decides=True),
    _scalar("ne_scalar", "{0} != {value}", _NUMBER, decides=True),
    _scalar("le_scalar", "{0} <= {value}", _NUMBER, decides=True),
    _scalar(
        "fmod_scalar",
        "torch.fmod({0}, {value})",
        domains.scalar((2, 3, 7), (1.5,)),
        need.NOT_BOOL,
        decides=True,
    ),
    _scalar("bitwise_and_scalar", "{0} & {value}", _BITS, need.INTEGRAL_ONLY),
    _scalar("bitwise_or_scalar", "{0} | {value}", _BITS, need.INTEGRAL_ONLY),
    _scalar("bitwise_xor_scalar", "{0} ^ {value}", _BITS, need.INTEGRAL_ONLY),
    Operator(
        "where_scalar",
        "elementwise",
        "torch.where({1}, {0}, {value})",
        arity=2,
        attributes={"value": domains.scalar((0, 1), (0.5,))},
        requirements=(need.BROADCASTABLE, need.argument(1, need.MASK), need.argument(0, need.NOT_BOOL)),
        partners=_mask,
    ),
    Operator(
        "clamp_tensors",
        "elementwise",
        "{0}.clamp({1}, {2})",
        arity=3,
        requirements=(need.FITS_TARGET, need.SAME_DTYPE, need.NOT_BOOL),
        partners=_bounds,
    ),
)
