"""How the float64 run is moved, to see what an answer hangs on.

Invariant: every lane starts from the same inputs and differs from the clean lane only by what its
`Lane` says; draws come from the lane's own generator, so a lane is reproducible. Lanes run in lockstep
(`fuzzers.oracle.float64`), which is why each is a pair of small functions and not a run of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import torch

from fuzzers.oracle.thresholds import INPUT_SEEDS, INPUT_ULPS, LIMITS, STEP_SEEDS, STEP_ULPS


class Purpose(StrEnum):
    """What a lane is there to tell."""

    CLEAN = "clean"
    """The reference itself."""
    INPUT = "input"
    """Whether the answer moves beyond tolerance as inputs move by one ulp (gate 3)."""
    CONDITION = "condition"
    """How far rounding on the way moves the answer (the bound), and whether it changes a decision."""
    ZERO_SIGN = "signed-zero"
    """Whether the answer hangs on the sign of a zero, which the compiler does not keep."""
    ORDINARY = "extreme"
    """Whether the answer needs values beyond what the dtype carries comfortably (gate 7)."""


Move = Callable[[torch.Tensor, torch.dtype, torch.Generator], torch.Tensor]
"""(float64 or complex128 values, nominal dtype, generator) -> moved values."""


@dataclass(frozen=True)
class Lane:
    """One float64 run. `on_input` moves what comes in; `on_step` what an operator that rounds computes;
    `on_select` what an operator that only chooses among its inputs returns."""

    name: str
    purpose: Purpose
    on_input: Move | None = None
    on_step: Move | None = None
    on_select: Move | None = None


def epsilon(dtype: torch.dtype) -> float:
    """Spacing of the dtype's real part at 1."""
    return float(torch.finfo(dtype).eps)


def _randomly(ulps: float) -> Move:
    def move(values: torch.Tensor, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
        drawn = torch.randint(0, 2, values.shape, generator=generator, dtype=torch.int8)
        signs = (2 * drawn.to(torch.float64) - 1).to(values.device)
        return values * (1 + ulps * epsilon(dtype) * signs)

    return move


def _together(ulps: float) -> Move:
    def move(values: torch.Tensor, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
        return values * (1 + ulps * epsilon(dtype))

    return move


def _zeros(sign: float) -> Move:
    def move(values: torch.Tensor, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
        return torch.where(values == 0, torch.full_like(values, sign), values)

    return move


def _tame(values: torch.Tensor, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Clamped to the comfortable range, denormals flushed; infinities and NaN stay what they are."""
    if values.is_complex():
        return torch.view_as_complex(_tame(torch.view_as_real(values).contiguous(), dtype, generator))
    limit = LIMITS.get(dtype.to_real(), LIMITS[torch.float16])
    tamed = torch.where(torch.isfinite(values), values.clamp(-limit, limit), values)
    return torch.where(tamed.abs() < torch.finfo(dtype).tiny, torch.zeros_like(tamed), tamed)


LANES: tuple[Lane, ...] = (
    Lane("clean", Purpose.CLEAN),
    *(Lane(f"input {k}", Purpose.INPUT, on_input=_randomly(INPUT_ULPS)) for k in range(INPUT_SEEDS)),
    Lane("up", Purpose.CONDITION, on_step=_together(STEP_ULPS)),
    Lane("down", Purpose.CONDITION, on_step=_together(-STEP_ULPS)),
    *(Lane(f"step {k}", Purpose.CONDITION, on_step=_randomly(STEP_ULPS)) for k in range(STEP_SEEDS)),
    Lane("plus zero", Purpose.ZERO_SIGN, on_step=_zeros(0.0), on_select=_zeros(0.0)),
    Lane("minus zero", Purpose.ZERO_SIGN, on_step=_zeros(-0.0), on_select=_zeros(-0.0)),
    Lane("ordinary", Purpose.ORDINARY, on_input=_tame, on_step=_tame, on_select=_tame),
)
"""All runs; the first is the reference."""
