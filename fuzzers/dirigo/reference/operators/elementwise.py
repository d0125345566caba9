"""Elementwise operators: arithmetic, the maths library, comparisons, choices, conversions.

Invariant: a formula is the plain mathematical one, over floats of the result's type; comparisons are of the
operands' common type. Numbers that sources write stay the constants that they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from fuzzers.dirigo.reference.demand import Demand, Operator, Work, pointwise
from fuzzers.dirigo.reference.graph import Ref
from fuzzers.dirigo.reference.values import Number, Values, merged

LIBRARY = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "lgamma"),
)
PAIR = "self other"
MULTIPLIED = 8
"""A whole exponent up to this is multiplied out."""


def divided(a: Values, b: Values, how: str | None) -> Values:
    """aten.div with a rounding mode; of integers, too, through floats."""
    exact = a / b
    return exact if how is None else exact.whole(how)


def power(a: Values, b: Values) -> Values:
    """a to the b; small whole exponents and halves as what they mean."""
    if b.nodes is None and len(b) == 1:
        exponent = float(b.number[0])
        if exponent in (0.5, -0.5):
            return a.sqrt() if exponent > 0 else a.rsqrt()
        if exponent == int(exponent) and 0 < abs(exponent) <= MULTIPLIED:
            raised = multiplied(a, int(abs(exponent)))
            return raised if exponent > 0 else raised.reciprocal()
        if exponent == 0:
            return a.constant(1)
    return a.call("pow", b)


def multiplied(a: Values, times: int) -> Values:
    """a to a whole power by squaring."""
    if times == 1:
        return a
    half = multiplied(a, times // 2)
    return half * half * a if times % 2 else half * half


def modulo(a: Values, b: Values) -> Values:
    """Python's %: the sign is the divisor's."""
    return a - (a / b).whole("floor") * b


def sign(a: Values) -> Values:
    return a.compare("gt", 0).choose(1, a.compare("lt", 0).choose(-1, 0, a.type))


def sigmoid(a: Values) -> Values:
    return 1 / (1 + (-a).call("exp"))


def clamped(a: Values, low: Values | None, high: Values | None) -> Values:
    """Between bounds: at least the lower one first, as torch does it."""
    raised = a if low is None else a.most(low)
    return raised if high is None else raised.least(high)


def logit(a: Values, eps: Number | None) -> Values:
    inside = a if eps is None else a.most(eps).least(1 - eps)
    return (inside / (1 - inside)).call("log")


def x_log_y(x: Values, y: Values) -> Values:
    """0 where x is 0, whatever y is."""
    return x.compare("eq", 0).choose(x.constant(0), x * y.call("log"))


def x_log1p_y(x: Values, y: Values) -> Values:
    return x.compare("eq", 0).choose(x.constant(0), x * y.call("log1p"))


def entropy(x: Values) -> Values:
    return x.compare("eq", 0).choose(x.constant(0), -(x * x.call("log")))


def sinc(x: Values) -> Values:
    angle = x * math.pi
    return x.compare("eq", 0).choose(x.constant(1), angle.call("sin") / angle)


def log_add(a: Values, b: Values, base: str, power: str) -> Values:
    """The log of a sum of powers, the larger one taken out."""
    top = a.most(b)
    return top + ((a - top).call(power) + (b - top).call(power)).call(base)


def halved_rounding(a: Values, digits: int) -> Values:
    scale = float(10**digits)
    return (a * scale).whole("nearest") / scale


def number_else(x: Values, nan: Number | None, high: Number | None, low: Number | None) -> Values:
    """nan_to_num."""
    biggest = {"f64": 1.7976931348623157e308, "f32": 3.4028234663852886e38}[x.type]
    finite = x.compare("eq", math.inf).choose(x.constant(biggest if high is None else high), x)
    finite = finite.compare("eq", -math.inf).choose(x.constant(-biggest if low is None else low), finite)
    return x.is_nan().choose(x.constant(nan or 0.0), finite)


def not_nan(how: str) -> Callable[[Values, Values], Values]:
    """fmin and fmax: the number, where the other is none."""

    def formula(a: Values, b: Values) -> Values:
        both = a.least(b) if how == "min" else a.most(b)
        return a.is_nan().choose(b, b.is_nan().choose(a, both))

    return formula


def _truth(how: str) -> Operator:
    """and, or, xor of truth values; bitwise on integers is not for data."""

    def formula(a: Values, b: Values) -> Values:
        return a.cast("pred").also(how, b.cast("pred"))

    return pointwise(formula, PAIR, compares=True)


def _bitwise(how: str) -> Operator:
    def work(d: Demand) -> Work:
        if d.out.type != "pred":
            raise d.unknown("integers that depend on data")
        found = yield from _truth(how).function(d)
        return found

    return Operator(work)


def _converted(d: Demand) -> Work:
    (found,) = yield (d.flat("self" if "self" in d.call.arguments else "a", d.at),)
    return found.cast(d.out.type)


def _chosen(mask: str, yes: str, no: str) -> Operator:
    """`yes` where the mask holds. Of a concrete mask only the side that is taken is asked for."""

    def work(d: Demand) -> Work:
        if d[mask] not in d.concrete:
            found = yield from by_data.function(d)
            return found
        held = d.concrete[d[mask]].reshape(-1)[d.alike(d[mask]).at] != 0
        held = np.broadcast_to(held, len(d))
        sides = [(np.flatnonzero(held), d[yes]), (np.flatnonzero(~held), d[no])]
        asks = [d.alike(ref, lanes) for lanes, ref in sides if isinstance(ref, Ref)]
        answers = iter((yield tuple(asks)))
        parts = [
            (lanes, next(answers).cast(d.type) if isinstance(ref, Ref) else d.number(ref))
            for lanes, ref in sides
        ]
        return merged(parts)

    by_data = pointwise(lambda m, a, b: m.cast("pred").choose(a, b), f"{mask} {yes} {no}")
    return Operator(work)


def add(a: Values, b: Values, alpha: Number) -> Values:
    return a + (b if alpha == 1 else b * alpha)


def subtract(a: Values, b: Values, alpha: Number) -> Values:
    return a - (b if alpha == 1 else b * alpha)


def scaled_product(a: Values, b: Values, c: Values, value: Number) -> Values:
    return a + (b * c if value == 1 else b * c * value)


def scaled_quotient(a: Values, b: Values, c: Values, value: Number) -> Values:
    return a + (b / c if value == 1 else b / c * value)


def between(a: Values, b: Values, weight: Values) -> Values:
    return a + weight * (b - a)


def _compared(name: str) -> Operator:
    return pointwise(lambda a, b: a.compare(name, b), PAIR, compares=True)


def _library(name: str) -> Operator:
    return pointwise(lambda a: a.call(name))


def _same(operator: Operator, *names: str) -> dict[str, Operator]:
    return {f"aten.{name}": operator for name in names}


TABLE: Mapping[str, Operator] = {
    **_same(pointwise(add, PAIR, "alpha"), "add.Tensor", "add.Scalar"),
    **_same(pointwise(subtract, PAIR, "alpha"), "sub.Tensor", "sub.Scalar"),
    **_same(
        pointwise(lambda a, b, alpha: subtract(b, a, alpha), PAIR, "alpha"), "rsub.Tensor", "rsub.Scalar"
    ),
    **_same(pointwise(lambda a, b: a * b, PAIR), "mul.Tensor", "mul.Scalar"),
    **_same(pointwise(lambda a, b: a / b, PAIR), "div.Tensor", "div.Scalar"),
    **_same(pointwise(divided, PAIR, "rounding_mode"), "div.Tensor_mode", "div.Scalar_mode"),
    **_same(
        pointwise(lambda a, b: (a / b).whole("floor"), PAIR), "floor_divide.default", "floor_divide.Scalar"
    ),
    **_same(pointwise(modulo, PAIR), "remainder.Tensor", "remainder.Scalar"),
    **_same(pointwise(lambda a, b: a.call("fmod", b), PAIR), "fmod.Tensor", "fmod.Scalar"),
    **_same(pointwise(power, "self exponent"), "pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar"),
    **_same(pointwise(lambda a, b: a.call("atan2", b), PAIR), "atan2.default"),
    **_same(pointwise(lambda a, b: a.call("hypot", b), PAIR), "hypot.default"),
    **_same(pointwise(Values.most, PAIR), "maximum.default"),
    **_same(pointwise(Values.least, PAIR), "minimum.default"),
    **_same(pointwise(not_nan("max"), PAIR), "fmax.default"),
    **_same(pointwise(not_nan("min"), PAIR), "fmin.default"),
    **_same(pointwise(lambda a, b: a.copysign(b), PAIR), "copysign.Tensor", "copysign.Scalar"),
    **_same(pointwise(x_log_y, PAIR), "xlogy.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self"),
    **_same(pointwise(x_log1p_y, PAIR), "special_xlog1py.default"),
    **_same(pointwise(lambda a, b: log_add(a, b, "log", "exp"), PAIR), "logaddexp.default"),
    **_same(pointwise(lambda a, b: log_add(a, b, "log2", "exp2"), PAIR), "logaddexp2.default"),
    **_same(pointwise(Values.__neg__), "neg.default"),
    **_same(pointwise(lambda a: a, "self"), "positive.default"),
    **_same(pointwise(Values.abs), "abs.default"),
    **_same(pointwise(sign), "sign.default", "sgn.default"),
    **_same(pointwise(Values.reciprocal), "reciprocal.default"),
    **_same(pointwise(Values.sqrt), "sqrt.default"),
    **_same(pointwise(Values.rsqrt), "rsqrt.default"),
    **_same(pointwise(lambda a: a * a), "square.default"),
    **_same(pointwise(lambda a: a.whole("floor")), "floor.default"),
    **_same(pointwise(lambda a: a.whole("ceil")), "ceil.default"),
    **_same(pointwise(lambda a: a.whole("trunc")), "trunc.default", "fix.default"),
    **_same(pointwise(lambda a: a.whole("nearest")), "round.default"),
    **_same(pointwise(halved_rounding, "self", "decimals"), "round.decimals"),
    **_same(pointwise(lambda a: a - a.whole("trunc")), "frac.default"),
    **{f"aten.{name}.default": _library(name) for name in LIBRARY},
    **_same(_library("erfcx"), "special_erfcx.default"),
    **_same(_library("normcdfinv"), "special_ndtri.default"),
    **_same(_library("i0"), "i0.default"),
    **_same(pointwise(sigmoid), "sigmoid.default", "special_expit.default"),
    **_same(pointwise(logit, "self", "eps"), "logit.default"),
    **_same(pointwise(entropy), "special_entr.default"),
    **_same(pointwise(sinc), "sinc.default"),
    **_same(pointwise(lambda a: a * (180 / math.pi)), "rad2deg.default"),
    **_same(pointwise(lambda a: a * (math.pi / 180)), "deg2rad.default"),
    **_same(pointwise(number_else, "self", "nan posinf neginf"), "nan_to_num.default"),
    **_same(pointwise(clamped, "self min max"), "clamp.default", "clamp.Tensor"),
    **_same(pointwise(lambda a, low: a.most(low), "self min"), "clamp_min.default", "clamp_min.Tensor"),
    **_same(pointwise(lambda a, high: a.least(high), "self max"), "clamp_max.default", "clamp_max.Tensor"),
    **_same(pointwise(between, "self end weight"), "lerp.Tensor", "lerp.Scalar"),
    **_same(pointwise(scaled_product, "self tensor1 tensor2", "value"), "addcmul.default"),
    **_same(pointwise(scaled_quotient, "self tensor1 tensor2", "value"), "addcdiv.default"),
    **{
        f"aten.{name}.{overload}": _compared(name)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
        for overload in ("Tensor", "Scalar")
    },
    **_same(pointwise(Values.is_nan, compares=True), "isnan.default"),
    **_same(pointwise(lambda a: a.abs().compare("eq", math.inf), compares=True), "isinf.default"),
    **_same(pointwise(lambda a: a.compare("lt", 0), compares=True), "signbit.default"),
    **{f"aten.logical_{how}.default": _truth(how) for how in ("and", "or", "xor")},
    **{f"aten.bitwise_{how}.Tensor": _bitwise(how) for how in ("and", "or", "xor")},
    **_same(pointwise(lambda a: a.cast("pred").inverted(), compares=True), "logical_not.default"),
    **_same(pointwise(Values.inverted), "bitwise_not.default"),
    **_same(_chosen("condition", "self", "other"), "where.self"),
    **_same(_chosen("mask", "value", "self"), "masked_fill.Scalar", "masked_fill.Tensor"),
    **_same(Operator(_converted), "_to_copy.default", "to.dtype"),
    "prims.convert_element_type.default": Operator(_converted),
}
