"""Every operator by name."""

from __future__ import annotations

from fuzzers.flowmut.operators import elementwise
from fuzzers.flowmut.operators.declaration import Operator

FAMILIES: tuple[tuple[Operator, ...], ...] = (elementwise.OPERATORS,)

OPERATORS: dict[str, Operator] = {o.name: o for family in FAMILIES for o in family}
