"""Every number the oracle decides by, with the reason beside it.

Invariant: no other module of the oracle holds a tolerance, a factor, a seed count or a limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

TOLERANCES: dict[torch.dtype, tuple[float, float]] = {
    # (rtol, atol): the defaults of torch.testing.assert_close, which is what the pt2 bug form asks for.
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex32: (1e-3, 1e-5),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}

LOW_PRECISION = (torch.float16, torch.bfloat16)
"""The compiler keeps these in float32 between fused operators, on purpose (gate 4)."""

LIMITS: dict[torch.dtype, float] = {
    # Beyond these a dtype is not carried comfortably (gate 7): squares and short sums of float32 leave
    # 24 bits behind at 1e4, those of half at 1e2. float64 keeps the limit of float32: real code is no
    # bigger, and maintainers judge the values, not the dtype.
    torch.float16: 1e2,
    torch.bfloat16: 1e2,
    torch.float32: 1e4,
    torch.float64: 1e4,
}

ERROR_FACTOR = 4.0
"""How many times eager's own error (or the condition) the compiled side may be off. Measured: 14% of 456
OpInfo programs differ in bits, all of them within four times eager's own error against float64."""

EAGER_FACTOR = 100.0
"""How many honest bounds eager must be off before eager itself is blamed. Its kernels sum in float32 in
orders that no perturbation of whole intermediates shows: a gradient that is zero but for cancellation
missed the bound by 4% (layer_norm over one element). Nothing honest gets a hundred times there, and
maintainers do not act on less."""

INPUT_ULPS = 1.0
"""Inputs move by one ulp of their dtype: what any upstream rounding would have done to them."""

STEP_ULPS = 2.0
"""Intermediates move by this many: one rounding on each side, twice. A fused multiply-add or another
order of two operations is within it."""

INPUT_SEEDS = 2
STEP_SEEDS = 3
"""Random perturbations drawn, besides all-up and all-down. One element's decision at a tie survives each
with probability 1/2; an output is dropped as soon as any of its elements flips in any of them."""

TIE_ULPS = 32.0
"""Selected elements this near another are ties: further than any lane moves them (STEP_ULPS a step), so a
chain of a dozen operators cannot change which is chosen without being seen here or in a lane. Over
windows (pooling) only equal elements count, and the lanes see the rest."""

NO_REFERENCE_FACTOR = 1000.0
"""Without a float64 reference a floating difference counts only this many tolerances away: no rounding
of a sane program gets there."""

NONDETERMINISTIC_FACTOR = 1.0
"""A compiled side that disagrees with itself within tolerance is an unordered reduction, not a race on
data: only more than the tolerance counts."""

EXACT_BITS: dict[torch.dtype, int] = {
    torch.float16: 10,
    torch.bfloat16: 7,
    torch.float32: 23,
    torch.float64: 52,
}
"""Integers up to 2**bits are exact in the dtype, so sums and products that stay below are exact in any
order and are not perturbed."""

FILL_PATTERNS = (0x3F, 0xC1)
"""What fresh memory is filled with in turn. As floats of any width both are finite and unlike (0.75 and
-24 in float32), as integers large, as bool not canonical: whatever reads it shows."""

COTANGENT_SEED = 20240229
"""Seeds the fixed random cotangent of gradients."""

EXCERPT = 6
"""How many values around the worst element the evidence quotes."""


@dataclass(frozen=True)
class Settings:
    """What a caller may turn. `repeats` is how often each side runs; at least 2 to see either fill
    pattern, 3 to tell a race from uninitialised memory. `seed` reseeds before every call.
    `backend_gates` off skips the gate that compiles again (emulated precision casts)."""

    repeats: int = 3
    seed: int = 0
    backend_gates: bool = True


DEFAULTS = Settings()


def tolerance(dtype: torch.dtype) -> tuple[float, float]:
    """(rtol, atol) for one dtype; (0, 0) for integers and bool."""
    return TOLERANCES.get(dtype, (0.0, 0.0))
