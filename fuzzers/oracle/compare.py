"""Where two observations differ, aspect by aspect, before any gate.

Invariant: nothing is cast before it is compared, values within the dtype's default tolerance never
differ, and -0.0 equals 0.0. A `Raw` difference is only a claim that two observables are unlike; whether
that is a bug is for the gates to say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from fuzzers.oracle.execution import Observation
from fuzzers.oracle.thresholds import tolerance
from fuzzers.records import Aspect, Kind

KINDS: dict[Aspect, Kind] = {
    Aspect.OUTCOME: Kind.EXCEPTION,
    Aspect.STRUCTURE: Kind.WRONG,
    Aspect.DTYPE: Kind.METADATA,
    Aspect.SHAPE: Kind.METADATA,
    Aspect.DEVICE: Kind.METADATA,
    Aspect.REQUIRES_GRAD: Kind.METADATA,
    Aspect.STRIDE: Kind.LAYOUT,
    Aspect.VALUES: Kind.WRONG,
    Aspect.NONFINITE: Kind.NONFINITE,
    Aspect.INDICES: Kind.WRONG,
    Aspect.MUTATION: Kind.WRONG,
    Aspect.ALIASING: Kind.ALIASING,
    Aspect.GRADIENT: Kind.GRADIENT,
}
"""The kind that an aspect reports as, unless a gate says otherwise."""


@dataclass(frozen=True)
class Place:
    """One tensor of an observation: `role` is `output`, `input` or `grad`, `index` its number among the
    tensor leaves of that role."""

    role: str
    index: int
    expected: Any
    actual: Any
    flags: tuple[bool | None, bool | None] = (None, None)

    @property
    def where(self) -> str:
        return f"{self.role} {self.index}"


@dataclass(frozen=True)
class Raw:
    """An observable that is unlike. `bad` marks the elements of a value difference, in the shape of
    `expected`; `expected` and `actual` are tensors for values and plain data for everything else."""

    aspect: Aspect
    where: str
    index: int
    expected: Any
    actual: Any
    bad: torch.Tensor | None = None
    kind: Kind | None = None


def differences(eager: Observation, compiled: Observation, layout: bool) -> list[Raw]:
    """Every aspect in which two executions that both returned are unlike."""
    if eager.structure != compiled.structure:
        return [Raw(Aspect.STRUCTURE, "structure", -1, str(eager.structure), str(compiled.structure))]
    found: list[Raw] = []
    for place in _places(eager, compiled):
        for check in CHECKS:
            if raw := check(place):
                found.append(raw)
                if raw.aspect in (Aspect.DTYPE, Aspect.SHAPE, Aspect.DEVICE):
                    break
        if layout and (raw := _stride(place)):
            found.append(raw)
    found.extend(_aliasing(eager, compiled))
    found.extend(_grad_presence(eager, compiled))
    return found


def _places(eager: Observation, compiled: Observation) -> Iterator[Place]:
    flags = zip(eager.requires_grad, compiled.requires_grad, strict=True)
    for k, (a, b, flag) in enumerate(zip(eager.leaves, compiled.leaves, flags, strict=True)):
        yield Place("output", k, a, b, flag)
    for k, (a, b) in enumerate(zip(eager.inputs, compiled.inputs, strict=True)):
        yield Place("input", k, a, b)
    if eager.differentiated == compiled.differentiated and len(eager.grads) == len(compiled.grads):
        for k, (a, b) in enumerate(zip(eager.grads, compiled.grads, strict=True)):
            if a is not None and b is not None:
                yield Place("grad", k, a, b)


def _unlike(place: Place, aspect: Aspect, read: Callable[[torch.Tensor], Any]) -> Raw | None:
    if not _both_tensors(place):
        return None
    a, b = read(place.expected), read(place.actual)
    return None if a == b else Raw(aspect, place.where, place.index, a, b)


def _both_tensors(place: Place) -> bool:
    return isinstance(place.expected, torch.Tensor) and isinstance(place.actual, torch.Tensor)


def _dtype(place: Place) -> Raw | None:
    if isinstance(place.expected, torch.Tensor) != isinstance(place.actual, torch.Tensor):
        a, b = type(place.expected).__name__, type(place.actual).__name__
        return Raw(Aspect.DTYPE, place.where, place.index, a, b)
    return _unlike(place, Aspect.DTYPE, lambda t: str(t.dtype).removeprefix("torch."))


def _shape(place: Place) -> Raw | None:
    return _unlike(place, Aspect.SHAPE, lambda t: list(t.shape))


def _device(place: Place) -> Raw | None:
    return _unlike(place, Aspect.DEVICE, lambda t: str(t.device))


def _stride(place: Place) -> Raw | None:
    """Strides of dimensions longer than one: the others address nothing."""
    if place.role == "grad" or (_both_tensors(place) and place.expected.numel() == 0):
        return None
    raw = _unlike(
        place, Aspect.STRIDE, lambda t: [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1]
    )
    if raw is None:
        return None
    return Raw(raw.aspect, raw.where, raw.index, list(place.expected.stride()), list(place.actual.stride()))


def _requires_grad(place: Place) -> Raw | None:
    a, b = place.flags
    return None if a == b else Raw(Aspect.REQUIRES_GRAD, place.where, place.index, a, b)


VALUE_ASPECTS = {"output": Aspect.VALUES, "input": Aspect.MUTATION, "grad": Aspect.GRADIENT}


def _values(place: Place) -> Raw | None:
    a, b = as_tensor(place.expected), as_tensor(place.actual)
    if a is None or b is None:
        same = place.expected == place.actual
        return (
            None
            if same
            else Raw(Aspect.VALUES, place.where, place.index, repr(place.expected), repr(place.actual))
        )
    bad = beyond_tolerance(a, b) & ~class_differs(a, b)
    if not bool(bad.any()):
        return None
    return Raw(VALUE_ASPECTS[place.role], place.where, place.index, a, b, bad)


def _nonfinite(place: Place) -> Raw | None:
    a, b = as_tensor(place.expected), as_tensor(place.actual)
    if a is None or b is None:
        return None
    bad = class_differs(a, b)
    return Raw(Aspect.NONFINITE, place.where, place.index, a, b, bad) if bool(bad.any()) else None


CHECKS: tuple[Callable[[Place], Raw | None], ...] = (
    _dtype,
    _shape,
    _device,
    _requires_grad,
    _values,
    _nonfinite,
)
"""What is compared at every place, in order; an unlike dtype, shape or device ends the place."""


def _aliasing(eager: Observation, compiled: Observation) -> list[Raw]:
    odd = sorted(eager.aliases ^ compiled.aliases)
    if not odd:
        return []
    where = odd[0][0]
    expected, actual = ([f"{a} ~ {b}" for a, b in sorted(o.aliases)] for o in (eager, compiled))
    return [Raw(Aspect.ALIASING, where, int(where.split()[1]), expected, actual)]


def _grad_presence(eager: Observation, compiled: Observation) -> list[Raw]:
    """None and zero are told apart."""
    if eager.differentiated != compiled.differentiated:
        return []
    return [
        Raw(Aspect.GRADIENT, f"grad {k}", k, _presence(a), _presence(b))
        for k, (a, b) in enumerate(zip(eager.grads, compiled.grads, strict=False))
        if (a is None) != (b is None)
    ]


def _presence(grad: torch.Tensor | None) -> str:
    if grad is None:
        return "None"
    return "zeros" if not bool(grad.any()) else "a tensor"


def as_tensor(leaf: Any) -> torch.Tensor | None:
    """A leaf as a tensor: a Python float is taken as the float32 it most likely came from. None for
    other leaves and for layouts that have no elements to index."""
    if isinstance(leaf, torch.Tensor):
        return leaf if leaf.layout is torch.strided and not leaf.is_quantized else None
    if isinstance(leaf, bool | int) and -(2**63) <= leaf < 2**63:
        return torch.tensor(leaf)
    return torch.tensor(leaf, dtype=torch.float32) if isinstance(leaf, float) else None


def real(tensor: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs of reals; everything else as it is."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def magnitude(tensor: torch.Tensor) -> torch.Tensor:
    """Absolute values in float64."""
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64).abs()


def beyond_tolerance(expected: torch.Tensor, actual: torch.Tensor, factor: float = 1.0) -> torch.Tensor:
    """Elements further apart than the default tolerance of the dtype (exactly unequal for integers and
    bool), elements of an unlike class included. Shape of `expected`."""
    if not (expected.is_floating_point() or expected.is_complex()):
        return expected != actual
    rtol, atol = (factor * t for t in tolerance(expected.dtype))
    return ~torch.isclose(_wide(actual), _wide(expected), rtol=rtol, atol=atol, equal_nan=True)


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    """Half types in float32, so that the tolerance itself does not round; exact."""
    return tensor.to(torch.float64) if tensor.is_floating_point() else tensor.to(torch.complex128)


def class_differs(expected: torch.Tensor, actual: torch.Tensor) -> torch.Tensor:
    """Elements of which one is NaN or infinite and the other is not, or the infinity is another one."""
    if not (expected.is_floating_point() or expected.is_complex()):
        return torch.zeros(expected.shape, dtype=torch.bool)
    if expected.is_complex():
        return class_differs(real(expected), real(actual)).any(-1)
    finite = torch.isfinite(expected) & torch.isfinite(actual)
    alike = finite | (torch.isnan(expected) & torch.isnan(actual)) | (expected == actual)
    return ~alike


def identical(a: Observation, b: Observation, factor: float) -> bool:
    """Whether two runs of the *same* callable agree: every aspect, values within `factor` tolerances
    (0 means bits, NaN equal to NaN, zeros of either sign equal)."""
    if (a.raised is None) != (b.raised is None):
        return False
    if a.raised is not None:
        return type(a.raised) is type(b.raised)
    if (a.backward_raised is None) != (b.backward_raised is None) or a.structure != b.structure:
        return False
    if a.aliases != b.aliases or a.requires_grad != b.requires_grad:
        return False
    pairs = [*zip(a.leaves, b.leaves, strict=True), *zip(a.inputs, b.inputs, strict=True)]
    pairs += list(zip(a.grads, b.grads, strict=True))
    return all(_same(x, y, factor) for x, y in pairs)


def _same(a: Any, b: Any, factor: float) -> bool:
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return bool(a == b) or (
            isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b)
        )
    if (a.dtype, a.shape, a.layout, a.device) != (b.dtype, b.shape, b.layout, b.device):
        return False
    if a.layout is not torch.strided or a.is_quantized or a.is_meta:
        return True
    return not bool(beyond_tolerance(a, b, factor).any())
