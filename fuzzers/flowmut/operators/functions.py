"""Functions of one or two tensors beyond arithmetic: trigonometry, special functions, activations, losses.

Invariant: domains are soft requirements, so that a function is legal outside of them but is not sent there.
"""

from __future__ import annotations

from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.operators import requirements as need
from fuzzers.flowmut.operators.declaration import AttrDomain, Operator, Requirement


def _function(name: str, template: str, *requirements: Requirement, decides: bool = False) -> Operator:
    return Operator(name, "elementwise", template, requirements=requirements, decides=decides)


def _with(
    name: str, template: str, attribute: str, domain: AttrDomain, *requirements: Requirement
) -> Operator:
    return Operator(name, "elementwise", template, attributes={attribute: domain}, requirements=requirements)


def _of_two(
    name: str,
    template: str,
    *requirements: Requirement,
    decides: bool = False,
    positive: bool = False,
    family: str = "elementwise",
) -> Operator:
    return Operator(
        name,
        family,
        template,
        arity=2,
        requirements=(need.BROADCASTABLE, *requirements),
        partners=domains.positive_mates() if positive else domains.mates(same_dtype=True),
        decides=decides,
    )


_UNIT = need.value_range(-0.9, 0.9)
_FLOATS = (need.FLOATING_ONLY, need.SAME_DTYPE)

OPERATORS = (
    _function("asin", "{0}.asin()", _UNIT),
    _function("acos", "{0}.acos()", _UNIT),
    _function("atanh", "{0}.atanh()", _UNIT),
    _function("erfinv", "{0}.erfinv()", _UNIT),
    _function("acosh", "{0}.acosh()", need.value_range(1.1, 1e4)),
    _function("tan", "{0}.tan()", need.bounded(1)),
    _function("sinh", "{0}.sinh()", need.bounded(8)),
    _function("cosh", "{0}.cosh()", need.bounded(8)),
    _function("erfc", "{0}.erfc()", need.bounded(4)),
    _function("lgamma", "{0}.lgamma()", need.value_range(0.5, 100)),
    _function("digamma", "{0}.digamma()", need.value_range(0.5, 100)),
    _function("sinc", "{0}.sinc()", need.bounded(100)),
    _function("log10", "{0}.log10()", need.POSITIVE),
    _function("logit", "{0}.logit()", need.value_range(0.1, 0.9)),
    _function("deg2rad", "{0}.deg2rad()", need.NOT_BOOL),
    _function("isinf", "{0}.isinf()"),
    _function("nan_to_num", "{0}.nan_to_num()"),
    _function("softsign", "F.softsign({0})", need.FLOATING_ONLY),
    _function("tanhshrink", "F.tanhshrink({0})", need.FLOATING_ONLY),
    _function("hardsigmoid", "F.hardsigmoid({0})", need.FLOATING_ONLY),
    _function("relu6", "F.relu6({0})", need.NOT_BOOL),
    _function("selu", "F.selu({0})", need.FLOATING_ONLY),
    _function("celu", "F.celu({0})", need.FLOATING_ONLY),
    _function("hardshrink", "F.hardshrink({0})", need.FLOATING_ONLY, decides=True),
    _function("softshrink", "F.softshrink({0})", need.FLOATING_ONLY),
    _with("elu_alpha", "F.elu({0}, {alpha})", "alpha", domains.choice(0.5, 2.0, 1.5), need.FLOATING_ONLY),
    _with(
        "leaky_relu_slope",
        "F.leaky_relu({0}, {slope})",
        "slope",
        domains.choice(0.5, 2.0, 0.1),
        need.FLOATING_ONLY,
    ),
    _with(
        "softplus_beta", "F.softplus({0}, {beta})", "beta", domains.choice(2.0, 0.5, 3.0), need.FLOATING_ONLY
    ),
    _of_two("fmin", "torch.fmin({0}, {1})", need.SAME_DTYPE),
    _of_two("logaddexp", "torch.logaddexp({0}, {1})", *_FLOATS, need.bounded(8)),
    _of_two("xlogy", "torch.xlogy({0}, {1})", *_FLOATS, positive=True),
    _of_two("gcd", "torch.gcd({0}, {1})", need.INTEGRAL_ONLY, need.SAME_DTYPE, positive=True),
    _of_two(
        "div_trunc",
        'torch.div({0}, {1}, rounding_mode="trunc")',
        need.NOT_ALL_BOOL,
        need.nonzero(1),
        decides=True,
        positive=True,
    ),
    _of_two(
        "div_floor",
        'torch.div({0}, {1}, rounding_mode="floor")',
        need.NOT_ALL_BOOL,
        need.nonzero(1),
        decides=True,
        positive=True,
    ),
    _of_two("squared_difference", "({0} - {1}).square()", *_FLOATS, need.bounded(100)),
    _of_two("mse_loss", "F.mse_loss({0}, {1})", *_FLOATS, need.SAME_SHAPE, need.NONEMPTY, family="loss"),
    _of_two("l1_loss", "F.l1_loss({0}, {1})", *_FLOATS, need.SAME_SHAPE, need.NONEMPTY, family="loss"),
    _of_two(
        "smooth_l1_loss",
        "F.smooth_l1_loss({0}, {1})",
        *_FLOATS,
        need.SAME_SHAPE,
        need.NONEMPTY,
        family="loss",
    ),
    _of_two(
        "huber_loss", 'F.huber_loss({0}, {1}, reduction="none")', *_FLOATS, need.SAME_SHAPE, family="loss"
    ),
    _of_two(
        "kl_div",
        'F.kl_div({0}, {1}, reduction="sum", log_target=True)',
        *_FLOATS,
        need.SAME_SHAPE,
        need.bounded(8),
        family="loss",
    ),
    _of_two(
        "bce_with_logits",
        "F.binary_cross_entropy_with_logits({0}, {1})",
        *_FLOATS,
        need.SAME_SHAPE,
        need.NONEMPTY,
        family="loss",
        positive=True,
    ),
)
