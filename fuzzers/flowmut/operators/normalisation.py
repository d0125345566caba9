"""Normalisations, with their affine parameters as arguments."""

from __future__ import annotations

from random import Random

from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.operators import requirements as need
from fuzzers.flowmut.operators.declaration import AttrDomain, Attrs, Operator, Requirement
from fuzzers.flowmut.program import Input

_EPS = domains.choice(1e-5, 1e-3, default=1e-5)


def _last(rng: Random, state: EdgeState) -> tuple[int, ...]:
    return state.shape[-1:]


def _over_last(count: int) -> Requirement:
    return Requirement(
        "normalised over the last dim",
        lambda s, a: (
            bool(s[0].shape)
            and a["shape"] == s[0].shape[-1:]
            and all(x.shape == s[0].shape[-1:] for x in s[1 : count + 1])
        ),
    )


def _per_channel(states: list[EdgeState]) -> bool:
    return states[0].rank >= 2 and all(x.shape == states[0].shape[1:2] for x in states[1:])


def _channel_parameters(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    channels = state.shape[1:2]
    return (domains.like(channels, state.dtype, "p0"), domains.like(channels, state.dtype, "p1"))


def _statistics(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    """Running mean and variance, weight and bias."""
    channels = state.shape[1:2]
    mean, bias = (domains.like(channels, state.dtype, name) for name in ("p0", "p3"))
    return (
        mean,
        domains.positives(channels, state.dtype, "p1"),
        domains.positives(channels, state.dtype, "p2"),
        bias,
    )


def _divisors(rng: Random, state: EdgeState) -> int:
    channels = state.shape[1] if state.rank > 1 else 1
    return rng.choice([g for g in (1, 2, 3, channels) if g and channels % g == 0] or [1])


_CHANNELS = Requirement("parameters per channel", lambda s, a: _per_channel(list(s)))
_FLOATS = (need.FLOATING_ONLY, need.SAME_DTYPE, need.NONEMPTY)

OPERATORS = (
    Operator(
        "layer_norm",
        "normalisation",
        "F.layer_norm({0}, {shape}, {1}, {2}{rest})",
        arity=3,
        attributes={"shape": AttrDomain(_last), "eps": _EPS},
        requirements=(*_FLOATS, _over_last(2)),
        partners=lambda rng, s, a: (
            domains.like(s.shape[-1:], s.dtype, "p0"),
            domains.like(s.shape[-1:], s.dtype, "p1"),
        ),
    ),
    Operator(
        "layer_norm_plain",
        "normalisation",
        "F.layer_norm({0}, {shape}{rest})",
        attributes={"shape": AttrDomain(_last), "eps": _EPS},
        requirements=(*_FLOATS, _over_last(0)),
    ),
    Operator(
        "rms_norm",
        "normalisation",
        "F.rms_norm({0}, {shape}, {1}, eps={eps})",
        arity=2,
        attributes={"shape": AttrDomain(_last), "eps": domains.choice(1e-5, 1e-3)},
        requirements=(*_FLOATS, _over_last(1)),
        partners=lambda rng, s, a: (domains.like(s.shape[-1:], s.dtype, "p0"),),
    ),
    Operator(
        "group_norm",
        "normalisation",
        "F.group_norm({0}, {groups}, {1}, {2}{rest})",
        arity=3,
        attributes={"groups": AttrDomain(_divisors, plain=(1,)), "eps": _EPS},
        requirements=(
            *_FLOATS,
            need.rank_between(2),
            _CHANNELS,
            Requirement(
                "channels divisible by groups",
                lambda s, a: s[0].shape[1] % int(need.number(a, "groups", 1)) == 0,
            ),
            Requirement(
                "more than one value a group",
                lambda s, a: s[0].numel > s[0].shape[0] * int(need.number(a, "groups", 1)),
            ),
        ),
        partners=domains.from_rank(2, _channel_parameters),
    ),
    Operator(
        "batch_norm",
        "normalisation",
        "F.batch_norm({0}, {1}, {2}, {3}, {4}{rest})",
        arity=5,
        attributes={"eps": _EPS},
        requirements=(*_FLOATS, need.rank_between(2), _CHANNELS),
        partners=domains.from_rank(2, _statistics),
    ),
    Operator(
        "instance_norm",
        "normalisation",
        "F.instance_norm({0}{rest})",
        attributes={"eps": _EPS},
        requirements=(
            *_FLOATS,
            need.rank_between(3, 5),
            Requirement(
                "more than one value a channel", lambda s, a: s[0].numel > s[0].shape[0] * s[0].shape[1]
            ),
        ),
    ),
    Operator(
        "normalize",
        "normalisation",
        "F.normalize({0}, dim={dim})",
        attributes={"dim": domains.dim()},
        requirements=(*_FLOATS, need.DIM_IN_RANGE),
    ),
    Operator(
        "glu",
        "normalisation",
        "F.glu({0}, dim={dim})",
        attributes={"dim": domains.dim()},
        requirements=(
            *_FLOATS,
            need.rank_between(1),
            need.DIM_IN_RANGE,
            Requirement("dim of even size", lambda s, a: s[0].shape[int(need.number(a, "dim"))] % 2 == 0),
        ),
    ),
)
