"""Tensors made in the graph, of another one's shape: constants that a compiler may fold.

Invariant: no value of the argument matters, only its shape, its dtype and, where the framework says so, its
layout.
"""

from __future__ import annotations

from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.operators import requirements as need
from fuzzers.flowmut.operators.declaration import Operator, Requirement

_VALUE_IN_DTYPE = Requirement(
    "value in dtype",
    lambda s, a: (
        s[0].floating or (isinstance(a["value"], int) and (s[0].dtype != "bool" or a["value"] in (0, 1)))
    ),
)

OPERATORS = (
    Operator("zeros_like", "creation", "torch.zeros_like({0})"),
    Operator("ones_like", "creation", "torch.ones_like({0})"),
    Operator(
        "full_like",
        "creation",
        "torch.full_like({0}, {value})",
        attributes={"value": domains.scalar((0, 1, 2, 3), (0.5, -1.0))},
        requirements=(_VALUE_IN_DTYPE,),
    ),
    Operator(
        "arange_along",
        "creation",
        "torch.arange({0}.shape[{dim}], device={0}.device)",
        attributes={"dim": domains.dim()},
        requirements=(need.rank_between(1), need.DIM_IN_RANGE),
    ),
)
