"""Casts to every dtype."""

from __future__ import annotations

from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.operators import requirements as need
from fuzzers.flowmut.operators.declaration import Operator

OPERATORS = (
    Operator(
        "to",
        "cast",
        "{0}.to({dtype})",
        attributes={"dtype": domains.dtype()},
        requirements=(need.cast_in_range(lambda s, a: str(a["dtype"])),),
        may_view=True,
        decides=True,
    ),
)
