"""The gates that stand between an unlike observable and a suspect.

Invariant: each gate is a function from (case, raw difference) to the difference, possibly narrowed to
fewer elements or reported as another kind, or to a `Drop` with its reason. They run in the order of
`GATES`, cheap ones first, and a difference that comes out at the end has passed them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from fuzzers.oracle import bounds, indices, nonfinite, not_bugs, open_contracts
from fuzzers.oracle.case import Case, Drop
from fuzzers.oracle.compare import Raw, beyond_tolerance
from fuzzers.oracle.execution import observe
from fuzzers.oracle.float64 import DECISION, TIES, ZERO_SIGN, Tracked
from fuzzers.oracle.lanes import inexact
from fuzzers.oracle.thresholds import EAGER_FACTOR, LOW_PRECISION, NO_REFERENCE_FACTOR
from fuzzers.records import Aspect, Kind

Gate = Callable[[Case, Raw], "Raw | Drop"]

OF_VALUES = (Aspect.VALUES, Aspect.NONFINITE, Aspect.INDICES, Aspect.MUTATION, Aspect.GRADIENT)
"""Aspects that hang on numbers; the others are exact."""


def something_compiled(case: Case, raw: Raw) -> Raw | Drop:
    """Gate 1: without a captured graph eager was compared with eager. A compiler that raised did run."""
    if raw.aspect is Aspect.OUTCOME or case.captured_graphs > 0:
        return raw
    return Drop("nothing-compiled")


def no_bug(case: Case, raw: Raw) -> Raw | Drop:
    """Gate 6: limits that are documented, and failures of the machine."""
    if raw.aspect is not Aspect.OUTCOME:
        return raw
    if raw.kind is Kind.ACCEPTS_INVALID:
        reason = not_bugs.excuse(not_bugs.EAGER_RAISES, raw.expected)
    else:
        reason = not_bugs.excuse(not_bugs.COMPILED_RAISES, raw.actual) or _no_backward(case)
    return Drop(reason) if reason else raw


def _no_backward(case: Case) -> str:
    """Compiling traces the backward pass ahead of time. Where eager's own would raise (no derivative, a
    saved tensor overwritten), eager returns only because nobody asked for it yet."""
    if not any(case.inputs.requires_grad):
        return ""
    seen = observe(case.fn, case.inputs, case.seed, gradients=True)
    return "eager has no backward either" if seen.backward_raised is not None else ""


def open_by_contract(case: Case, raw: Raw) -> Raw | Drop:
    """Gate 5: what reached this place and is undefined or left open."""
    if raw.aspect is Aspect.ALIASING:
        names = sorted(case.functions & open_contracts.MAY_ALIAS)
        return Drop(f"open: {names[0]} may or may not copy") if names else raw
    if raw.aspect is Aspect.OUTCOME and raw.kind is not Kind.ACCEPTS_INVALID:
        odd = open_contracts.OVERLAP in case.labels
        return Drop(f"open: {open_contracts.OVERLAP}") if odd else raw
    if raw.aspect not in OF_VALUES or raw.bad is None:
        return raw
    known = case.tracked(raw)
    if known is None:
        return Drop("no-trace")
    broken = sorted(known.labels & open_contracts.LABELS)
    return Drop(f"open: {broken[0]}") if broken else raw


def by_selection(case: Case, raw: Raw) -> Raw | Drop:
    """Positions are compared by what they select; what is made of positions among ties is open."""
    known = case.tracked(raw) if raw.aspect in OF_VALUES else None
    if known is None or raw.bad is None:
        return raw
    own = known.indices
    if own is not None and raw.where.startswith("output") and indices.is_direct(own, case.traced(raw)):
        bad = indices.select_unlike(own, raw.expected, raw.actual)
        if not bool(bad.any()):
            return Drop("another valid position")
        return replace(raw, aspect=Aspect.INDICES, bad=bad)
    ties = sorted(label for label in known.labels if label.startswith(TIES))
    return Drop(f"open: {ties[0]}") if ties else raw


def well_conditioned(case: Case, raw: Raw) -> Raw | Drop:
    """Gate 3 and the bound: only elements that rounding cannot have moved this far stay."""
    known = case.tracked(raw) if raw.aspect in OF_VALUES else None
    if known is None or raw.bad is None:
        return raw
    hair = sorted(label for label in _labels(known, raw) if label.startswith((DECISION, ZERO_SIGN)))
    if hair:
        return Drop(f"ill-conditioned: {hair[0]}")
    if not inexact(raw.expected.dtype):
        lost = known.by_floats and known.clean is None
        return Drop(f"no reference: {known.reference}") if lost else raw
    if known.clean is None:
        return _without_reference(raw, known)
    return _finite(raw, known) if raw.aspect is not Aspect.NONFINITE else _nonfinite(case, raw, known)


def _labels(known: Tracked, raw: Raw) -> frozenset[str]:
    return (
        known.indices.labels if raw.aspect is Aspect.INDICES and known.indices is not None else known.labels
    )


def _without_reference(raw: Raw, known: Tracked) -> Raw | Drop:
    if raw.aspect is Aspect.NONFINITE:
        return raw
    bad = raw.bad & beyond_tolerance(raw.expected, raw.actual, NO_REFERENCE_FACTOR)
    return replace(raw, bad=bad) if bool(bad.any()) else Drop(f"no reference: {known.reference}")


def _finite(raw: Raw, known: Tracked) -> Raw | Drop:
    """The bound of oracle.md; and `eager` where eager is the side that is off."""
    moved = bounds.movement(known.clean, known.moved)
    tolerated = bounds.tolerated(raw.expected)
    firm = bounds.movement(known.clean, known.shaken) <= tolerated
    if not bool((raw.bad & firm).any()):
        return Drop("ill-conditioned")
    if raw.kind is Kind.NONDETERMINISTIC:
        return replace(raw, bad=raw.bad & firm)
    own, theirs = bounds.error(raw.expected, known.clean), bounds.error(raw.actual, known.clean)
    honest = bounds.honest(tolerated, moved)
    eager_off = raw.bad & firm & (own > honest) & (theirs <= honest)
    if bool(eager_off.any()):
        if raw.expected.dtype in LOW_PRECISION:
            return Drop("intended: eager accumulates in half")
        far = eager_off & (own > EAGER_FACTOR * honest)
        return replace(raw, bad=far, kind=Kind.EAGER) if bool(far.any()) else Drop("eager is less exact")
    distance = bounds.error(raw.actual, raw.expected)
    bad = raw.bad & firm & (distance > bounds.bound(raw.expected, known.clean, moved))
    if not bool(bad.any()):
        return Drop("within-bound")
    signed = bad & (bounds.movement(known.clean, known.signed) <= tolerated)
    return replace(raw, bad=signed) if bool(signed.any()) else Drop("signed-zero")


def _nonfinite(case: Case, raw: Raw, known: Tracked) -> Raw | Drop:
    """`wrong` where everything but the compiled side is finite, or where a sentence is contradicted."""
    firm = raw.bad & torch.isfinite(bounds.movement(known.clean, known.moved))
    if not bool(firm.any()):
        return Drop("ill-conditioned")
    firm &= torch.isfinite(bounds.movement(known.clean, known.signed))
    if not bool(firm.any()):
        return Drop("signed-zero")
    if raw.kind is Kind.NONDETERMINISTIC:
        return replace(raw, bad=firm)
    plain = firm & torch.isfinite(raw.expected) & bounds.representable(known.clean, raw.expected.dtype)
    if bool(plain.any()) and case.inputs_are_finite:
        return replace(raw, bad=plain, kind=Kind.WRONG)
    if nonfinite.quoted(known.labels):
        return replace(raw, bad=firm, kind=Kind.WRONG)
    return replace(raw, bad=firm)


def ordinary_values(case: Case, raw: Raw) -> Raw | Drop:
    """Gate 7: elements that change when values are kept in the comfortable range need extreme ones."""
    known = case.tracked(raw) if raw.aspect in OF_VALUES else None
    if known is None or raw.bad is None or known.clean is None or raw.kind is Kind.NONFINITE:
        return raw
    if raw.aspect is Aspect.NONFINITE and raw.kind is None:
        return raw
    if not inexact(raw.expected.dtype):
        calm = raw.bad & (known.ordinary[0] == known.clean)
    else:
        calm = raw.bad & (bounds.movement(known.clean, known.ordinary) <= bounds.tolerated(raw.expected))
    return replace(raw, bad=calm) if bool(calm.any()) else replace(raw, kind=Kind.EXTREME)


def not_intended(case: Case, raw: Raw) -> Raw | Drop:
    """Gate 4: with half types the difference must survive when every cast is kept as eager makes it."""
    if raw.aspect not in OF_VALUES or not case.uses(LOW_PRECISION):
        return raw
    other = case.with_emulated_casts(raw)
    if other is None:
        return Drop("intended")
    for gate in (by_selection, well_conditioned):
        again = gate(case, other)
        if isinstance(again, Drop):
            return Drop("intended")
        other = again
    return raw


GATES: tuple[Gate, ...] = (
    something_compiled,
    no_bug,
    open_by_contract,
    by_selection,
    well_conditioned,
    ordinary_values,
    not_intended,
)
"""Gates 1, 6, 5, 3, 7 and 4 of oracle.md, cheap ones first. Gate 2, determinism, needs no difference to
look at: it is in `fuzzers.oracle.examine`, which runs each side several times."""


def pass_gates(case: Case, raw: Raw) -> Raw | Drop:
    """A difference after all gates, or what stopped it."""
    for gate in GATES:
        judged = gate(case, raw)
        if isinstance(judged, Drop):
            return judged
        raw = judged
    return raw
