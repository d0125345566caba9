"""How far apart two floating results may be.

Invariant: pure functions of tensors; the bound of an element is never below the default tolerance of its
dtype, and grows with what float64 says about eager's own error and about the element's condition.
"""

from __future__ import annotations

import torch

from fuzzers.oracle.thresholds import ERROR_FACTOR, tolerance


def error(values: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """Distance to the reference per element, float64; 0 where both are the same non-finite value and
    infinite where only one is finite."""
    wide = torch.complex128 if values.is_complex() else torch.float64
    a, b = values.to(wide), reference.to(wide)
    distance = (a - b).abs()
    alike = (a == b) | (torch.isnan(a) & torch.isnan(b))
    return torch.where(
        alike, torch.zeros_like(distance), distance.nan_to_num(nan=float("inf"), posinf=float("inf"))
    )


def rms(distance: torch.Tensor) -> float:
    """Root mean square over the finite elements; 0 when there are none."""
    finite = distance[torch.isfinite(distance)]
    return float(finite.square().mean().sqrt()) if finite.numel() else 0.0


def tolerated(expected: torch.Tensor) -> torch.Tensor:
    """The default tolerance around each element of `expected`, float64."""
    rtol, atol = tolerance(expected.dtype)
    size = expected.to(torch.complex128 if expected.is_complex() else torch.float64).abs()
    return atol + rtol * size.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)


def movement(clean: torch.Tensor, moved: list[torch.Tensor]) -> torch.Tensor:
    """How far each element of the float64 run goes when it is perturbed: unit roundoff times condition,
    sampled. Infinite where a perturbation makes it non-finite."""
    size = clean.to(torch.complex128 if clean.is_complex() else torch.float64).abs()
    furthest = torch.zeros_like(size)
    for run in moved:
        furthest = torch.maximum(furthest, error(run, clean))
    return furthest


def bound(expected: torch.Tensor, reference: torch.Tensor, moved: torch.Tensor) -> torch.Tensor:
    """The bound of oracle.md per element: default tolerance, plus ERROR_FACTOR times the largest of
    eager's own error there, the RMS of that error over the output, and the element's movement."""
    own = error(expected, reference)
    largest = torch.maximum(torch.maximum(own, moved), torch.full_like(own, rms(own)))
    return tolerated(expected) + ERROR_FACTOR * largest


def representable(reference: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Elements of the reference that are finite in float64 and in the dtype."""
    return torch.isfinite(reference) & (reference.abs() <= torch.finfo(dtype).max)


def honest(tolerance_: torch.Tensor, moved: torch.Tensor) -> torch.Tensor:
    """How far from float64 an honest evaluation may be, without looking at what eager did."""
    return tolerance_ + ERROR_FACTOR * moved
