"""The operators that a reference may call: name to how its elements follow from its arguments'.

What is not listed is decomposed by torch while tracing, or is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

from fuzzers.dirigo.reference.demand import Operator
from fuzzers.dirigo.reference.operators import (
    activations,
    attention,
    convolution,
    elementwise,
    indexing,
    interpolation,
    losses,
    normalising,
    ordering,
    padding,
    pooling,
    products,
    reductions,
    views,
)

GROUPS = (
    elementwise,
    activations,
    views,
    indexing,
    products,
    convolution,
    pooling,
    normalising,
    reductions,
    ordering,
    losses,
    padding,
    interpolation,
    attention,
)

TABLE: Mapping[str, Operator] = {name: found for group in GROUPS for name, found in group.TABLE.items()}
