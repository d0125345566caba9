"""The script that shows a difference between MindSpore's modes: overview.md's reproducer.

Invariant: plain MindSpore and numpy; both sides are computed, what they gave is kept, and the last statement
compares it.
"""

from __future__ import annotations

from fuzzers.flowmut.claim import Claim
from fuzzers.flowmut.layout import WIDTH, fits, lay_out
from fuzzers.flowmut.on_mindspore.source import function_source, input_lines
from fuzzers.flowmut.program import Program
from fuzzers.flowmut.source import input_names
from fuzzers.records import Aspect

LOOSE = 0.01
"""Tolerance of a comparison that only a build without the bug reaches."""

DEFAULT_LEVEL = "O0"


def jit(level: str) -> str:
    """The call that compiles f."""
    return "ms.jit(f)" if level in ("", DEFAULT_LEVEL) else f'ms.jit(f, jit_level="{level}")'


def script(program: Program, claim: Claim) -> str:
    """The whole reproducer."""
    function = function_source(program)
    names = ", ".join(input_names(program))
    pick = f"[{claim.index}]" if len(program.outputs) > 1 else ""
    setting = input_lines(program)
    imports = ["import mindspore as ms"]
    text = function + "\n".join(setting)
    imports += ["import numpy as np"] if "np." in text or _compares_values(claim) else []
    imports += ["from mindspore import ops"] if "ops." in text else []
    calls = [f"expected = f({names}){pick}", f"actual = {jit(claim.level)}({names}){pick}"]
    rows = [*setting, *calls, _assertion(claim)]
    laid = [row for line in rows for row in (lay_out(line) if len(line) > WIDTH else [line])]
    return "\n".join([*imports, "", "", *function.splitlines(), "", "", *laid]) + "\n"


def _compares_values(claim: Claim) -> bool:
    return claim.aspect not in (Aspect.DTYPE, Aspect.SHAPE, Aspect.STRUCTURE)


def _assertion(claim: Claim) -> str:
    if claim.aspect in (Aspect.DTYPE, Aspect.SHAPE):
        sides = [f"{side}.{claim.aspect}" for side in ("actual", "expected")]
        return f"assert {sides[0]} == {sides[1]}, ({', '.join(sides)})"
    if claim.aspect == Aspect.STRUCTURE:
        return "assert len(actual) == len(expected), (actual, expected)"
    sides = [f"{side}.asnumpy()" for side in ("actual", "expected")]
    if claim.aspect != Aspect.OUTCOME and claim.rtol is None:
        test = f"np.array_equal({', '.join(sides)})"
    else:
        bounds = f"rtol={claim.rtol or LOOSE!r}, atol={claim.atol or LOOSE!r}, equal_nan=True"
        test = f"np.allclose({', '.join(sides)}, {bounds})"
    whole = f"assert {test}, (actual, expected)"
    return whole if fits(whole) else f"assert {test}"
