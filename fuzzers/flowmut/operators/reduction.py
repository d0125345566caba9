"""Reductions and scans: over one dimension, several or all, with and without keeping them."""

from __future__ import annotations

import math
from collections.abc import Callable

from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.operators import requirements as need
from fuzzers.flowmut.operators.declaration import AttrDomain, Attrs, Operator, Requirement, States

_KEEPS_A_DIM = Requirement(
    "keepdim needs a dim", lambda s, a: not a.get("keepdim") or a.get("dim") is not None
)


def _reduced(states: States, attrs: Attrs) -> int:
    """How many elements go into one result."""
    if attrs.get("dim") is None:
        return states[0].numel
    return math.prod(states[0].shape[d] for d in need.sizes(attrs, "dim") if states[0].rank)


def _reduction(
    name: str,
    template: str,
    *requirements: Requirement,
    dims: AttrDomain | None = None,
    index_result: bool = False,
    decides: bool = False,
    extra: dict[str, AttrDomain] | None = None,
) -> Operator:
    return Operator(
        name,
        "reduction",
        template,
        attributes={"dim": dims or domains.dims(), "keepdim": domains.flag(), **(extra or {})},
        requirements=(need.DIM_IN_RANGE, _KEEPS_A_DIM, *requirements),
        index_result=index_result,
        decides=decides,
    )


def _scan(name: str, template: str, *requirements: Requirement) -> Operator:
    return Operator(
        name,
        "reduction",
        template,
        attributes={"dim": domains.dim()},
        requirements=(need.DIM_IN_RANGE, *requirements),
    )


def _totals(bound: Callable[[float, int], float]) -> Requirement:
    return need.no_overflow(lambda s, a: bound(need.magnitude(s[0]), _reduced(s, a)), need.accumulated)


_MANY = 2.0**100
"""More than any integer dtype holds."""


def _total_power(states: States, attrs: Attrs) -> float:
    """The largest product of as many values as go into one result."""
    base, count = need.magnitude(states[0]), _reduced(states, attrs)
    return base**count if base <= 1 or count * math.log2(base) < math.log2(_MANY) else _MANY


_ONE = domains.dim(optional=True, default=None)
_NEEDED = domains.dim()
_ENOUGH = Requirement(
    "more elements than the correction",
    lambda s, a: _reduced(s, a) > need.number(a, "correction", 1),
    soft=True,
)
_ORDER = domains.choice(2, 1, 0.5, 3, default=2)

OPERATORS = (
    _reduction("sum", "{0}.sum({rest})", _totals(lambda m, n: m * n)),
    _reduction("mean", "{0}.mean({rest})", need.FLOATING_ONLY, need.SIZED_DIM),
    _reduction("amax", "{0}.amax({rest})", need.SIZED_DIM),
    _reduction("amin", "{0}.amin({rest})", need.SIZED_DIM),
    _reduction(
        "prod",
        "{0}.prod({rest})",
        need.no_overflow(_total_power, need.accumulated),
        need.bounded(4),
        dims=_ONE,
    ),
    _reduction("any", "{0}.any({rest})", dims=_ONE, decides=True),
    _reduction("all", "{0}.all({rest})", dims=_ONE, decides=True),
    _reduction("nansum", "{0}.nansum({rest})", need.NOT_BOOL, _totals(lambda m, n: m * n)),
    _reduction(
        "argmax",
        "{0}.argmax({rest})",
        need.NOT_BOOL,
        need.SIZED_DIM,
        dims=_ONE,
        index_result=True,
        decides=True,
    ),
    _reduction(
        "argmin",
        "{0}.argmin({rest})",
        need.NOT_BOOL,
        need.SIZED_DIM,
        dims=_ONE,
        index_result=True,
        decides=True,
    ),
    _reduction("max_values", "{0}.max({dim}{rest}).values", need.SIZED_DIM, dims=_NEEDED),
    _reduction("min_values", "{0}.min({dim}{rest}).values", need.SIZED_DIM, dims=_NEEDED),
    _reduction(
        "var",
        "{0}.var({rest})",
        need.FLOATING_ONLY,
        need.SIZED_DIM,
        _ENOUGH,
        extra={"correction": domains.choice(1, 0, 2, default=1)},
    ),
    _reduction(
        "std",
        "{0}.std({rest})",
        need.FLOATING_ONLY,
        need.SIZED_DIM,
        _ENOUGH,
        extra={"correction": domains.choice(1, 0, default=1)},
    ),
    _reduction(
        "logsumexp",
        "{0}.logsumexp({dim}{rest})",
        need.NOT_BOOL,
        need.SIZED_DIM,
        dims=domains.dims(optional=False),
    ),
    _reduction(
        "vector_norm",
        "torch.linalg.vector_norm({0}{rest})",
        need.FLOATING_ONLY,
        need.SIZED_DIM,
        extra={"ord": _ORDER},
    ),
    Operator(
        "count_nonzero",
        "reduction",
        "torch.count_nonzero({0}{rest})",
        attributes={"dim": domains.dims()},
        requirements=(need.DIM_IN_RANGE,),
        decides=True,
    ),
    _reduction("nanmean", "{0}.nanmean({rest})", need.FLOATING_ONLY, need.SIZED_DIM),
    _reduction(
        "median_values", "{0}.median({dim}{rest}).values", need.NOT_BOOL, need.SIZED_DIM, dims=_NEEDED
    ),
    _reduction(
        "kthvalue_values",
        "{0}.kthvalue({k}, {dim}{rest}).values",
        need.NOT_BOOL,
        need.SIZED_DIM,
        dims=_NEEDED,
        extra={"k": domains.natural(1)},
    ),
    _reduction(
        "var_mean_first",
        "torch.var_mean({0}{rest})[0]",
        need.FLOATING_ONLY,
        need.SIZED_DIM,
        _ENOUGH,
        extra={"correction": domains.choice(1, 0, default=1)},
    ),
    _reduction("aminmax_range", "torch.aminmax({0}{rest}).max", need.SIZED_DIM, dims=_ONE),
    _scan("softmin", "F.softmin({0}, dim={dim})", need.FLOATING_ONLY),
    _scan("diff", "{0}.diff(dim={dim})", need.rank_between(1), need.SIZED_DIM, need.FLOATING_ONLY),
    _scan("cumsum", "{0}.cumsum({dim})", _totals(lambda m, n: m * n)),
    _scan("cumprod", "{0}.cumprod({dim})", need.no_overflow(_total_power, need.accumulated), need.bounded(4)),
    _scan("logcumsumexp", "{0}.logcumsumexp({dim})", need.FLOATING_ONLY),
    _scan("cummax_values", "{0}.cummax({dim}).values", need.SIZED_DIM),
    _scan("cummin_values", "{0}.cummin({dim}).values", need.SIZED_DIM),
    _scan("softmax", "F.softmax({0}, dim={dim})", need.FLOATING_ONLY),
    _scan("log_softmax", "F.log_softmax({0}, dim={dim})", need.FLOATING_ONLY),
)
