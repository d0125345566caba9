"""More convolutions, pools and resampling: in one and three dimensions, and rearrangements of channels."""

from __future__ import annotations

from dataclasses import replace

from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.operators import requirements as need
from fuzzers.flowmut.operators.convolution import a_convolution, a_pool
from fuzzers.flowmut.operators.declaration import AttrDomain, Operator, Requirement

_SPACE = Requirement("no empty dim", lambda s, a: s[0].numel > 0)


def _spatial(
    name: str,
    template: str,
    low: int,
    high: int,
    attributes: dict[str, AttrDomain],
    *requirements: Requirement,
) -> Operator:
    return Operator(
        name,
        "convolution",
        template,
        attributes=attributes,
        requirements=(need.rank_between(low, high), need.FLOATING_ONLY, _SPACE, *requirements),
    )


_SIZE = {"output_size": domains.natural(1, 2, 3)}
_SCALE = {"scale": domains.natural(2, 3)}
_FACTOR = Requirement(
    "channels divisible by factor squared",
    lambda s, a: s[0].shape[1] % int(need.number(a, "factor")) ** 2 == 0,
)
_KERNEL = Requirement("kernel fits", lambda s, a: min(s[0].shape[2:]) >= need.number(a, "kernel"))

_NO_HALF = Requirement(
    "float32 or float64: no kernel for half", lambda s, a: s[0].dtype in ("float32", "float64")
)
_avg_pool3d = a_pool("avg_pool3d", 3, "F.avg_pool3d({0}, {kernel_size}{rest})")

OPERATORS = (
    a_convolution("conv3d", 3, "F.conv3d({0}, {1}, {2}{rest})"),
    a_convolution("conv_transpose1d", 1, "F.conv_transpose1d({0}, {1}, {2}{rest})", transposed=True),
    replace(_avg_pool3d, requirements=(*_avg_pool3d.requirements, _NO_HALF)),
    a_pool("max_pool3d", 3, "F.max_pool3d({0}, {kernel_size}{rest})"),
    _spatial("adaptive_avg_pool1d", "F.adaptive_avg_pool1d({0}, {output_size})", 3, 3, _SIZE),
    _spatial("upsample_linear", 'F.interpolate({0}, scale_factor={scale}, mode="linear")', 3, 3, _SCALE),
    _spatial("upsample_bicubic", 'F.interpolate({0}, scale_factor={scale}, mode="bicubic")', 4, 4, _SCALE),
    _spatial(
        "upsample_corners",
        'F.interpolate({0}, scale_factor={scale}, mode="bilinear", align_corners=True)',
        4,
        4,
        _SCALE,
    ),
    _spatial(
        "pixel_shuffle", "F.pixel_shuffle({0}, {factor})", 4, 4, {"factor": domains.natural(2, 1)}, _FACTOR
    ),
    _spatial("im2col", "F.unfold({0}, {kernel})", 4, 4, {"kernel": domains.natural(1, 2, 3)}, _KERNEL),
    _spatial("local_response_norm", "F.local_response_norm({0}, 3)", 3, 4, {}, _NO_HALF),
)
