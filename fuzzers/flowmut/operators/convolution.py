"""Convolutions, pools and resampling over (batch, channels, ...space)."""

from __future__ import annotations

from random import Random

from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.operators import requirements as need
from fuzzers.flowmut.operators.declaration import AttrDomain, Attrs, Operator, Partners, Requirement, States
from fuzzers.flowmut.program import Input


def _groups(rng: Random, state: EdgeState) -> int:
    channels = state.shape[1] if state.rank > 1 else 1
    return rng.choice([1, 1, *(g for g in (2, 3, channels) if g and channels % g == 0)])


def _size(attrs: Attrs, name: str, default: int = 1) -> int:
    return int(need.number(attrs, name, default))


def _filters(space: int, *, transposed: bool = False) -> Partners:
    """A weight, and a bias for the channels that come out."""

    def partners(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
        groups = _size(attrs, "groups")
        channels, out = state.shape[1], groups * rng.choice((1, 2, 3))
        kernel = tuple(rng.choice([k for k in (1, 2, 3) if k <= max(size, 1)]) for size in state.shape[2:])
        lead = (channels, out // groups) if transposed else (out, channels // groups)
        return (
            domains.like((*lead, *kernel), state.dtype, "p0"),
            domains.like((out,), state.dtype, "p1"),
        )

    return partners


def _channels(states: States, attrs: Attrs) -> bool:
    groups, weight = _size(attrs, "groups"), states[1].shape
    fits = states[0].rank == len(weight) and states[0].shape[1] == weight[1] * groups
    return fits and weight[0] > 0 and weight[0] % groups == 0 and states[2].shape == weight[:1]


def _transposed_channels(states: States, attrs: Attrs) -> bool:
    groups, weight = _size(attrs, "groups"), states[1].shape
    fits = states[0].rank == len(weight) and states[0].shape[1] == weight[0] and weight[0] % groups == 0
    return fits and states[2].shape == (weight[1] * groups,)


def _kernel_fits(states: States, attrs: Attrs) -> bool:
    pad, dilation = _size(attrs, "padding", 0), _size(attrs, "dilation")
    pairs = zip(states[0].shape[2:], states[1].shape[2:], strict=False)
    return all(kernel > 0 and size + 2 * pad >= dilation * (kernel - 1) + 1 for size, kernel in pairs)


_SPACE = Requirement("no empty dim", lambda s, a: s[0].numel > 0)


def a_convolution(name: str, space: int, template: str, *, transposed: bool = False) -> Operator:
    """A convolution over `space` dimensions."""
    attributes: dict[str, AttrDomain] = {
        "stride": domains.natural(1, 2, default=1),
        "padding": domains.natural(0, 1, 2, default=0),
        "dilation": domains.natural(1, 2, default=1),
        "groups": AttrDomain(_groups, 1, (1,)),
    }
    channels = _transposed_channels if transposed else _channels
    return Operator(
        name,
        "convolution",
        template,
        arity=3,
        attributes=attributes,
        requirements=(
            need.rank_between(space + 2, space + 2),
            need.FLOATING_ONLY,
            need.SAME_DTYPE,
            _SPACE,
            Requirement("divisible by groups, channels agree", channels),
            Requirement("kernel fits", _transposed_leaves_some if transposed else _kernel_fits),
        ),
        partners=domains.from_rank(space + 2, _filters(space, transposed=transposed)),
    )


def _transposed_leaves_some(states: States, attrs: Attrs) -> bool:
    stride, pad, dilation = _size(attrs, "stride"), _size(attrs, "padding", 0), _size(attrs, "dilation")
    pairs = zip(states[0].shape[2:], states[1].shape[2:], strict=False)
    return all(
        kernel > 0 and (n - 1) * stride - 2 * pad + dilation * (kernel - 1) + 1 > 0 for n, kernel in pairs
    )


def _pool_fits(states: States, attrs: Attrs) -> bool:
    kernel, pad = _size(attrs, "kernel_size"), _size(attrs, "padding", 0)
    return pad <= kernel // 2 and all(n + 2 * pad >= kernel for n in states[0].shape[2:])


def a_pool(name: str, space: int, template: str, *extra: tuple[str, AttrDomain]) -> Operator:
    """A pool over `space` dimensions."""
    return Operator(
        name,
        "convolution",
        template,
        attributes={
            "kernel_size": domains.natural(2, 1, 3),
            "stride": domains.choice(None, 1, 2, default=None),
            "padding": domains.natural(0, 1, default=0),
            **dict(extra),
        },
        requirements=(
            need.rank_between(space + 2, space + 2),
            need.FLOATING_ONLY,
            _SPACE,
            Requirement("window fits", _pool_fits),
        ),
    )


OPERATORS = (
    a_convolution("conv1d", 1, "F.conv1d({0}, {1}, {2}{rest})"),
    a_convolution("conv2d", 2, "F.conv2d({0}, {1}, {2}{rest})"),
    a_convolution("conv_transpose2d", 2, "F.conv_transpose2d({0}, {1}, {2}{rest})", transposed=True),
    a_pool("max_pool1d", 1, "F.max_pool1d({0}, {kernel_size}{rest})"),
    a_pool("max_pool2d", 2, "F.max_pool2d({0}, {kernel_size}{rest})", ("ceil_mode", domains.flag())),
    a_pool("avg_pool1d", 1, "F.avg_pool1d({0}, {kernel_size}{rest})"),
    a_pool(
        "avg_pool2d",
        2,
        "F.avg_pool2d({0}, {kernel_size}{rest})",
        ("ceil_mode", domains.flag()),
        ("count_include_pad", domains.flag(True)),
    ),
    Operator(
        "adaptive_avg_pool2d",
        "convolution",
        "F.adaptive_avg_pool2d({0}, {output_size})",
        attributes={"output_size": domains.natural(1, 2, 3)},
        requirements=(need.rank_between(4, 4), need.FLOATING_ONLY, _SPACE),
    ),
    Operator(
        "adaptive_max_pool2d",
        "convolution",
        "F.adaptive_max_pool2d({0}, {output_size})",
        attributes={"output_size": domains.natural(1, 2, 3)},
        requirements=(need.rank_between(4, 4), need.FLOATING_ONLY, _SPACE),
    ),
    Operator(
        "upsample_nearest",
        "convolution",
        'F.interpolate({0}, scale_factor={scale}, mode="nearest")',
        attributes={"scale": domains.natural(2, 3)},
        requirements=(need.rank_between(3, 4), need.FLOATING_ONLY, _SPACE),
    ),
    Operator(
        "upsample_bilinear",
        "convolution",
        'F.interpolate({0}, scale_factor={scale}, mode="bilinear")',
        attributes={"scale": domains.natural(2, 3)},
        requirements=(need.rank_between(4, 4), need.FLOATING_ONLY, _SPACE),
    ),
    Operator(
        "pixel_unshuffle",
        "convolution",
        "F.pixel_unshuffle({0}, {factor})",
        attributes={"factor": domains.natural(1, 2)},
        requirements=(
            need.rank_between(4, 4),
            _SPACE,
            Requirement(
                "space divisible by factor",
                lambda s, a: all(n % _size(a, "factor") == 0 for n in s[0].shape[2:]),
            ),
        ),
        may_view=True,
    ),
)
