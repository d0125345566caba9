"""Elementwise operators: one or several tensors, broadcast, every dtype that the framework takes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from fuzzers.flowmut.edge import INTEGRAL, EdgeState
from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.operators import requirements as need
from fuzzers.flowmut.operators.declaration import AttrDomain, Attrs, Operator, Requirement, States
from fuzzers.flowmut.program import Input


def _unary(name: str, template: str, *requirements: Requirement, decides: bool = False) -> Operator:
    return Operator(name, "elementwise", template, requirements=requirements, decides=decides)


def _binary(
    name: str,
    template: str,
    *requirements: Requirement,
    decides: bool = False,
    positive: bool = False,
    same_dtype: bool = False,
) -> Operator:
    return Operator(
        name,
        "elementwise",
        template,
        arity=2,
        requirements=(need.BROADCASTABLE, *requirements),
        partners=domains.positive_mates() if positive else domains.mates(same_dtype=same_dtype),
        decides=decides,
    )


def _grows(bound: Callable[[float, float], float]) -> Requirement:
    """No signed overflow when the result of magnitudes a and b is at most bound(a, b)."""
    return need.no_overflow(
        lambda s, a: bound(need.magnitude(s[0]), need.magnitude(s[-1])), lambda s: need.joint(s)
    )


def _scalar_grows(bound: Callable[[float, float], float], name: str) -> Requirement:
    return need.no_overflow(
        lambda s, a: bound(need.magnitude(s[0]), abs(need.number(a, name))), lambda s: s[0].dtype
    )


def _mask_and_mate(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    shape = domains.broadcasting(rng, state.shape)
    return (domains.like(shape, "bool", "m"), domains.like(shape, state.dtype, "p"))


def _shift_counts(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    return (Input("p", domains.broadcasting(rng, state.shape), state.dtype, "randint", 0, 4),)


def _integer_power(states: States, attrs: Attrs) -> bool:
    """Integers to negative powers are rejected."""
    low = states[1].profile.low if states[1].profile else 0
    return any(s.floating for s in states) or low >= 0


_SCALAR = domains.scalar((0, 1, 2, 3), (0.5, -1.0, 1.5))
_DIVISOR = domains.scalar((1, 2, 3, 7), (0.5, -1.5, 2.5))

UNARY = (
    _unary("abs", "{0}.abs()", need.NOT_BOOL, _grows(lambda a, b: a)),
    _unary("neg", "-{0}", need.NOT_BOOL, _grows(lambda a, b: a)),
    _unary("sign", "{0}.sign()", decides=True),
    _unary("square", "{0}.square()", need.NOT_BOOL, _grows(lambda a, b: a * a), need.bounded(100)),
    _unary("relu", "{0}.relu()", need.NOT_BOOL),
    _unary("floor", "{0}.floor()", need.NOT_BOOL, decides=True),
    _unary("ceil", "{0}.ceil()", need.NOT_BOOL, decides=True),
    _unary("round", "{0}.round()", need.NOT_BOOL, decides=True),
    _unary("trunc", "{0}.trunc()", need.NOT_BOOL, decides=True),
    _unary("frac", "{0}.frac()", need.FLOATING_ONLY, decides=True),
    _unary("exp", "{0}.exp()", need.bounded(8)),
    _unary("exp2", "{0}.exp2()", need.bounded(8)),
    _unary("expm1", "{0}.expm1()", need.bounded(8)),
    _unary("log", "{0}.log()", need.POSITIVE),
    _unary("log1p", "{0}.log1p()", need.value_range(-0.9, 1e4)),
    _unary("log2", "{0}.log2()", need.POSITIVE),
    _unary("sqrt", "{0}.sqrt()", need.POSITIVE),
    _unary("rsqrt", "{0}.rsqrt()", need.POSITIVE),
    _unary("reciprocal", "{0}.reciprocal()", need.POSITIVE),
    _unary("sin", "{0}.sin()", need.bounded(100)),
    _unary("cos", "{0}.cos()", need.bounded(100)),
    _unary("tanh", "{0}.tanh()"),
    _unary("atan", "{0}.atan()"),
    _unary("asinh", "{0}.asinh()"),
    _unary("erf", "{0}.erf()"),
    _unary("sigmoid", "{0}.sigmoid()"),
    _unary("gelu", "F.gelu({0})", need.FLOATING_ONLY),
    _unary("gelu_tanh", 'F.gelu({0}, approximate="tanh")', need.FLOATING_ONLY),
    _unary("silu", "F.silu({0})", need.FLOATING_ONLY),
    _unary("mish", "F.mish({0})", need.FLOATING_ONLY),
    _unary("softplus", "F.softplus({0})", need.FLOATING_ONLY),
    _unary("elu", "F.elu({0})", need.FLOATING_ONLY),
    _unary("leaky_relu", "F.leaky_relu({0})", need.FLOATING_ONLY),
    _unary("hardtanh", "F.hardtanh({0})", need.FLOATING_ONLY),
    _unary("hardswish", "F.hardswish({0})", need.FLOATING_ONLY),
    _unary("logsigmoid", "F.logsigmoid({0})", need.FLOATING_ONLY),
    _unary("isnan", "{0}.isnan()"),
    _unary("isfinite", "{0}.isfinite()"),
    _unary("signbit", "{0}.signbit()", decides=True),
    _unary("logical_not", "{0}.logical_not()", decides=True),
    _unary("bitwise_not", "~{0}", need.NOT_FLOATING),
    _unary("clone", "{0}.clone()"),
)

BINARY = (
    _binary("add", "{0} + {1}", _grows(lambda a, b: a + b)),
    _binary("sub", "{0} - {1}", need.NOT_BOOL, _grows(lambda a, b: a + b)),
    _binary("mul", "{0} * {1}", _grows(lambda a, b: a * b)),
    _binary("div", "{0} / {1}", positive=True),
    _binary("floor_divide", "{0} // {1}", need.NOT_ALL_BOOL, need.nonzero(1), decides=True, positive=True),
    _binary("remainder", "{0} % {1}", need.NOT_ALL_BOOL, need.nonzero(1), decides=True, positive=True),
    _binary("fmod", "torch.fmod({0}, {1})", need.NOT_ALL_BOOL, need.nonzero(1), decides=True, positive=True),
    _binary("maximum", "torch.maximum({0}, {1})"),
    _binary("minimum", "torch.minimum({0}, {1})"),
    _binary("fmax", "torch.fmax({0}, {1})"),
    _binary("atan2", "torch.atan2({0}, {1})"),
    _binary("hypot", "torch.hypot({0}, {1})", need.FLOATING_ONLY, same_dtype=True),
    _binary("copysign", "torch.copysign({0}, {1})", decides=True),
    _binary(
        "pow",
        "torch.pow({0}, {1})",
        need.NOT_ALL_BOOL,
        Requirement("no negative integer power", _integer_power),
        _grows(lambda a, b: a ** min(b, 64) if a > 1 else a),
        need.POSITIVE,
        positive=True,
    ),
    _binary("eq", "{0} == {1}", decides=True),
    _binary("ne", "{0} != {1}", decides=True),
    _binary("lt", "{0} < {1}", decides=True),
    _binary("le", "{0} <= {1}", decides=True),
    _binary("gt", "{0} > {1}", decides=True),
    _binary("ge", "{0} >= {1}", decides=True),
    _binary("logical_and", "torch.logical_and({0}, {1})", decides=True),
    _binary("logical_or", "torch.logical_or({0}, {1})", decides=True),
    _binary("logical_xor", "torch.logical_xor({0}, {1})", decides=True),
    _binary("bitwise_and", "{0} & {1}", need.NOT_FLOATING, same_dtype=True),
    _binary("bitwise_or", "{0} | {1}", need.NOT_FLOATING, same_dtype=True),
    _binary("bitwise_xor", "{0} ^ {1}", need.NOT_FLOATING, same_dtype=True),
    Operator(
        "shift_left",
        "elementwise",
        "{0} << {1}",
        arity=2,
        requirements=(
            need.BROADCASTABLE,
            need.INTEGRAL_ONLY,
            need.shift_in_width(1),
            need.no_overflow(
                lambda s, a: need.magnitude(s[0]) * 2.0 ** min(need.magnitude(s[1]), 64), need.joint
            ),
        ),
        partners=_shift_counts,
    ),
    Operator(
        "shift_right",
        "elementwise",
        "{0} >> {1}",
        arity=2,
        requirements=(need.BROADCASTABLE, need.INTEGRAL_ONLY, need.shift_in_width(1)),
        partners=_shift_counts,
    ),
)

TERNARY = (
    Operator(
        "where",
        "elementwise",
        "torch.where({1}, {0}, {2})",
        arity=3,
        requirements=(need.BROADCASTABLE, need.argument(1, need.MASK)),
        partners=_mask_and_mate,
    ),
    Operator(
        "addcmul",
        "elementwise",
        "torch.addcmul({0}, {1}, {2}{rest})",
        arity=3,
        attributes={"value": domains.scalar((1, 2), (0.5,), default=1)},
        requirements=(
            need.BROADCASTABLE,
            need.SAME_DTYPE,
            need.NOT_BOOL,
            need.no_overflow(
                lambda s, a: (
                    need.magnitude(s[0])
                    + need.magnitude(s[1]) * need.magnitude(s[2]) * need.number(a, "value", 1)
                ),
                need.joint,
            ),
        ),
        partners=domains.mates(2, same_dtype=True),
    ),
    Operator(
        "addcdiv",
        "elementwise",
        "torch.addcdiv({0}, {1}, {2})",
        arity=3,
        requirements=(need.BROADCASTABLE, need.SAME_DTYPE, need.FLOATING_ONLY),
        partners=domains.positive_mates(2),
    ),
    Operator(
        "lerp",
        "elementwise",
        "torch.lerp({0}, {1}, {2})",
        arity=3,
        requirements=(need.BROADCASTABLE, need.SAME_DTYPE, need.FLOATING_ONLY),
        partners=domains.mates(2, same_dtype=True),
    ),
)


def _scalar_op(
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


SCALAR = (
    _scalar_op("add_scalar", "{0} + {value}", _SCALAR, _scalar_grows(lambda a, b: a + b, "value")),
    _scalar_op("mul_scalar", "{0} * {value}", _SCALAR, _scalar_grows(lambda a, b: a * b, "value")),
    _scalar_op(
        "rsub_scalar", "{value} - {0}", _SCALAR, need.NOT_BOOL, _scalar_grows(lambda a, b: a + b, "value")
    ),
    _scalar_op("div_scalar", "{0} / {value}", _DIVISOR),
    _scalar_op("floor_divide_scalar", "{0} // {value}", _DIVISOR, need.NOT_BOOL, decides=True),
    _scalar_op("remainder_scalar", "{0} % {value}", _DIVISOR, need.NOT_BOOL, decides=True),
    _scalar_op(
        "pow_scalar",
        "{0}.pow({value})",
        domains.scalar((2, 3, 0, 1), (0.5, -1.0)),
        need.NOT_BOOL,
        _scalar_grows(lambda a, b: a**b if a > 1 else a, "value"),
        need.POSITIVE,
    ),
    _scalar_op("gt_scalar", "{0} > {value}", _SCALAR, decides=True),
    _scalar_op("eq_scalar", "{0} == {value}", _SCALAR, decides=True),
    _scalar_op(
        "shift_left_scalar",
        "{0} << {value}",
        domains.choice(1, 2, 3),
        need.INTEGRAL_ONLY,
        need.no_overflow(lambda s, a: need.magnitude(s[0]) * 2 ** int(need.number(a, "value")), need.joint),
    ),
    _scalar_op("shift_right_scalar", "{0} >> {value}", domains.choice(1, 2, 3), need.INTEGRAL_ONLY),
    Operator(
        "clamp",
        "elementwise",
        "{0}.clamp({rest})",
        attributes={
            "min": domains.scalar((0, 1), (0.5, -1.0), default=None),
            "max": domains.scalar((2, 3, 5), (1.5,)),
        },
        requirements=(
            need.NOT_BOOL,
            Requirement(
                "bounds in dtype",
                lambda s, a: (
                    s[0].dtype not in INTEGRAL
                    or all(
                        isinstance(v, int | None) and (v is None or v >= 0 or s[0].dtype != "uint8")
                        for v in a.values()
                    )
                ),
            ),
        ),
    ),
)

OPERATORS = (*UNARY, *BINARY, *TERNARY, *SCALAR)
