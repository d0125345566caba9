"""Every operator by name: the one list that all else reads."""

from __future__ import annotations

from fuzzers.flowmut.operators import (
    casts,
    combine,
    convolution,
    creation,
    elementwise,
    functions,
    indexing,
    inplace,
    matmul,
    normalisation,
    products,
    reduction,
    scalars,
    scattering,
    spatial,
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
    creation.OPERATORS,
    functions.OPERATORS,
    products.OPERATORS,
    scalars.OPERATORS,
    scattering.OPERATORS,
    spatial.OPERATORS,
)

OPERATORS: dict[str, Operator] = {o.name: o for family in FAMILIES for o in family}
