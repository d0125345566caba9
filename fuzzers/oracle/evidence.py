"""What a difference says about itself, as plain data.

Invariant: everything here is JSON-able, small, and enough for a person to see the bug: the worst element,
its neighbours, what float64 says, and what tolerance would have let it pass.
"""

from __future__ import annotations

import logging
import math
from typing import Any

import torch
from torch._dynamo.utils import same

from fuzzers.oracle import bounds, nonfinite, not_bugs
from fuzzers.oracle.compare import KINDS, Raw
from fuzzers.oracle.float64 import Tracked
from fuzzers.oracle.lanes import inexact
from fuzzers.oracle.report import Difference
from fuzzers.oracle.thresholds import EXCERPT, tolerance
from fuzzers.records import Aspect, Json, Kind


def difference(raw: Raw, known: Tracked | None, phase: str) -> Difference:
    """The record of a difference that has passed the gates."""
    kind = raw.kind or KINDS[raw.aspect]
    detail: Json = {"phase": phase}
    if raw.bad is not None and isinstance(raw.expected, torch.Tensor):
        detail |= _values(raw, known)
    elif raw.aspect is Aspect.OUTCOME:
        detail |= {"expected": _outcome(raw.expected), "actual": _outcome(raw.actual)}
    else:
        detail |= {"expected": raw.expected, "actual": raw.actual}
    if known is not None and (sentence := nonfinite.quoted(known.labels)) and kind is Kind.WRONG:
        detail["documented"] = sentence
    detail["publishable"] = publishable(raw, known, kind)
    return Difference(kind, raw.aspect, raw.where, raw.index, detail)


def publishable(raw: Raw, known: Tracked | None, kind: Kind) -> bool:
    """What is published as `wrong` must also fail the framework's own comparison against float64."""
    if kind is not Kind.WRONG or raw.bad is None or not inexact(raw.expected.dtype):
        return True
    if known is None or known.clean is None or raw.expected.is_complex():
        return known is not None and known.clean is not None
    level = logging.getLogger("torch._dynamo.utils").level
    logging.getLogger("torch._dynamo.utils").setLevel(logging.CRITICAL)
    try:
        alike = same(raw.expected, raw.actual, known.clean.contiguous(), equal_nan=True)
    finally:
        logging.getLogger("torch._dynamo.utils").setLevel(level)
    return not alike


def _outcome(outcome: Any) -> Any:
    return not_bugs.describe(outcome) if isinstance(outcome, BaseException) else outcome


def _values(raw: Raw, known: Tracked | None) -> Json:
    expected, actual, bad = raw.expected, raw.actual, raw.bad
    assert bad is not None
    distance = bounds.error(actual, expected)
    ranked = torch.where(bad, distance, torch.full_like(distance, -1.0))
    worst = int(ranked.argmax()) if ranked.numel() else 0
    at = [int(i) for i in torch.unravel_index(torch.tensor(worst), expected.shape)]
    size = expected.to(torch.complex128 if expected.is_complex() else torch.float64).abs()
    marked = distance[bad]
    relative = (distance / size)[bad]
    rtol, atol = tolerances(raw, known)
    detail: Json = {
        "dtype": str(expected.dtype).removeprefix("torch."),
        "shape": list(expected.shape),
        "at": at,
        "n_bad": int(bad.sum()),
        "numel": expected.numel(),
        "max_abs": _number(marked.max()),
        "max_rel": _number(relative.max()),
        "rtol": rtol,
        "atol": atol,
        "expected": _excerpt(expected, worst),
        "actual": _excerpt(actual, worst),
    }
    if known is not None and known.clean is not None:
        moved = bounds.movement(known.clean, known.moved)
        detail["float64"] = _excerpt(known.clean, worst)
        detail["moved"] = _number(moved.flatten()[worst])
        if inexact(expected.dtype):
            detail["bound"] = _number(bounds.bound(expected, known.clean, moved).flatten()[worst])
    elif known is not None and known.by_floats:
        detail["reference"] = known.reference
    return detail


def tolerances(raw: Raw, known: Tracked | None) -> tuple[float, float]:
    """(rtol, atol) under which a script shows the difference and an honest build passes: the defaults,
    with a larger atol where the bound leaves more room than they do and the difference still exceeds it."""
    rtol, atol = tolerance(raw.expected.dtype)
    if known is None or known.clean is None or not inexact(raw.expected.dtype) or raw.bad is None:
        return rtol, atol
    allowed = bounds.bound(raw.expected, known.clean, bounds.movement(known.clean, known.moved))
    tolerated = bounds.tolerated(raw.expected)
    room = (allowed - tolerated)[torch.isfinite(allowed)]
    if not room.numel() or bool((room <= tolerated[torch.isfinite(allowed)]).all()):
        return rtol, atol
    power = 10.0 ** math.floor(math.log10(atol + float(room.max())))
    wider = math.ceil((atol + float(room.max())) / power) * power
    shown = bounds.error(raw.actual, raw.expected) > wider + tolerated
    return (rtol, float(f"{wider:.0e}")) if bool((raw.bad & shown).any()) else (rtol, atol)


def _excerpt(tensor: torch.Tensor, worst: int) -> list[Any]:
    """The worst element first, then its followers in row-major order."""
    values = tensor.detach().flatten()[worst : worst + EXCERPT].tolist()
    return [_number(v) for v in values]


def _number(value: Any) -> Any:
    """JSON has neither NaN nor infinity nor complex numbers: those are spelled."""
    plain = value.item() if isinstance(value, torch.Tensor) else value
    if isinstance(plain, complex) or (isinstance(plain, float) and not math.isfinite(plain)):
        return str(plain)
    return plain
