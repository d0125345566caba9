"""Every operator by name: the one list that all else reads."""

from __future__ import annotations

from fuzzers.flowmut.operators import (
    casts,
    combine,
    convolution,
    elementwise,
    indexing,
    inplace,
    matmul,
    normalisation,
    reduction,
    views,
)
from fuzzers.flowmut.operators.declaration import Operator

FAMILIES: tuple[tuple[Operator, ...], ...] = (
    elementwise.OPERATORS,
    reduction.OPERATORS,
    matmul.OPERATORS,
    convolution.OPERATORS,
    normalisation.OPERATORS,
    indexing.OPERATORS,
    views.OPERATORS,
    inplace.OPERATORS,
    casts.OPERATORS,
    combine.OPERATORS,
)

OPERATORS: dict[str, Operator] = {o.name: o for family in FAMILIES for o in family}
