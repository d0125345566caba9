"""Activations: elementwise operators with formulas of their own.

Invariant: a formula has the branches that torch documents, decided by a comparison of the input.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from fuzzers.dirigo.reference.demand import Demand, Operator, Work, pointwise
from fuzzers.dirigo.reference.operators.elementwise import sigmoid
from fuzzers.dirigo.reference.values import Number, Values

SQRT_HALF = math.sqrt(0.5)
TANH_INNER = math.sqrt(2 / math.pi)
TANH_CUBIC = 0.044715
"""Of torch's tanh approximation of GELU."""


def relu(x: Values) -> Values:
    return x.most(0)


def leaky_relu(x: Values, slope: Number) -> Values:
    return x.compare("gt", 0).choose(x, x * slope)


def gelu(x: Values, approximate: str) -> Values:
    if approximate == "tanh":
        inner = (x + x * x * x * TANH_CUBIC) * TANH_INNER
        return x * 0.5 * (1 + inner.call("tanh"))
    return x * 0.5 * (1 + (x * SQRT_HALF).call("erf"))


def silu(x: Values) -> Values:
    return x / (1 + (-x).call("exp"))


def softplus(x: Values, beta: Number, threshold: Number) -> Values:
    scaled = x if beta == 1 else x * beta
    smooth = scaled.call("exp").call("log1p")
    return scaled.compare("gt", threshold).choose(x, smooth if beta == 1 else smooth / beta)


def mish(x: Values) -> Values:
    return x * softplus(x, 1, 20).call("tanh")


def hard_sigmoid(x: Values) -> Values:
    return (x + 3).most(0).least(6) / 6


def elu(x: Values, alpha: Number, scale: Number, input_scale: Number) -> Values:
    inner = x if input_scale == 1 else x * input_scale
    below = inner.call("expm1") * (alpha * scale)
    return x.compare("gt", 0).choose(x if scale == 1 else x * scale, below)


def log_sigmoid(x: Values) -> Values:
    return x.least(0) - (-x.abs()).call("exp").call("log1p")


def soft_shrink(x: Values, width: Number) -> Values:
    return x.compare("gt", width).choose(x - width, x.compare("lt", -width).choose(x + width, 0 * x))


def hard_shrink(x: Values, width: Number) -> Values:
    inside = x.compare("ge", -width).also("and", x.compare("le", width))
    return inside.choose(x.constant(0), x)


def threshold(x: Values, least: Number, value: Number) -> Values:
    return x.compare("le", least).choose(x.constant(value), x)


def _glu(d: Demand) -> Work:
    where = list(d.where())
    axis = int(d["dim"]) % len(where)
    other = list(where)
    other[axis] = other[axis] + d.out.shape[axis]
    kept, gate = yield d.ask("self", where), d.ask("self", other)
    return kept * sigmoid(gate)


def _rrelu(d: Demand) -> Work:
    """Outside training the slope is the middle of its range."""
    if d["training"]:
        raise d.unknown("random")
    (x,) = yield (d.alike(d["self"]),)
    return leaky_relu(x, (d["lower"] + d["upper"]) / 2)


def _dropout(d: Demand) -> Work:
    """Nothing is dropped at 0 and outside training, everything at 1; between them it is random."""
    chance, training = d["p"], d["train"] is not False
    if training and 0 < chance < 1:
        raise d.unknown("random")
    keeps = not training or chance == 0
    if d.output:
        (nothing,) = yield (d.flat("input", d.at[:0]),)
        return d.pen.concrete("pred", nothing.number[:0] != 0).constant(keeps)
    (x,) = yield (d.flat("input", d.at),)
    return x if keeps else x.constant(0)


TABLE: Mapping[str, Operator] = {
    "aten.relu.default": pointwise(relu),
    "aten.relu6.default": pointwise(lambda x: x.most(0).least(6)),
    "aten.leaky_relu.default": pointwise(leaky_relu, "self", "negative_slope"),
    "aten.prelu.default": pointwise(lambda x, w: x.compare("gt", 0).choose(x, x * w), "self weight"),
    "aten._prelu_kernel.default": pointwise(lambda x, w: x.compare("gt", 0).choose(x, x * w), "self weight"),
    "aten.gelu.default": pointwise(gelu, "self", "approximate"),
    "aten.silu.default": pointwise(silu),
    "aten.mish.default": pointwise(mish),
    "aten.softplus.default": pointwise(softplus, "self", "beta threshold"),
    "aten.hardsigmoid.default": pointwise(hard_sigmoid),
    "aten.hardswish.default": pointwise(lambda x: x * hard_sigmoid(x)),
    "aten.hardtanh.default": pointwise(
        lambda x, low, high: x.most(low).least(high), "self", "min_val max_val"
    ),
    "aten.elu.default": pointwise(elu, "self", "alpha scale input_scale"),
    "aten.log_sigmoid_forward.default": pointwise(log_sigmoid),
    "aten.softshrink.default": pointwise(soft_shrink, "self", "lambd"),
    "aten.hardshrink.default": pointwise(hard_shrink, "self", "lambd"),
    "aten.threshold.default": pointwise(threshold, "self", "threshold value"),
    "aten.glu.default": Operator(_glu),
    "aten.rrelu_with_noise.default": Operator(_rrelu),
    "aten.rrelu_with_noise_functional.default": Operator(_rrelu),
    "aten.native_dropout.default": Operator(_dropout),
}
