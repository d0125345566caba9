"""What the oracle saw, in the words of a reproducer: its claim, and how its script ends.

Invariant: pure; the claim names the place as the emitter counts it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fuzzers.flowmut.claim import Claim
from fuzzers.records import Aspect, Ending, Expect, Json, Kind


class Difference(Protocol):
    """What an oracle says of one place; each framework's has these."""

    @property
    def kind(self) -> Kind: ...
    @property
    def aspect(self) -> Aspect: ...
    @property
    def where(self) -> str: ...
    @property
    def index(self) -> int: ...
    @property
    def detail(self) -> Json: ...


class Report(Protocol):
    """What an oracle says of a program: differences, worst first, or why it was dropped."""

    @property
    def differences(self) -> Sequence[Difference]: ...
    @property
    def dropped(self) -> str: ...
    @property
    def counts(self) -> Mapping[str, int]: ...


ENDINGS = {Kind.EXCEPTION: Ending.EXCEPTION, Kind.CRASH: Ending.SIGNAL, Kind.HANG: Ending.TIMEOUT}
"""How the script of a sighting ends where that is not its assertion."""


def claim_of(difference: Difference, wanting: Sequence[bool]) -> Claim:
    """The oracle's difference as the emitter asserts it. `wanting` says which inputs want a gradient: the
    oracle counts gradients over all inputs, the emitter over those."""
    where = difference.where.split()[0]
    if str(difference.detail.get("expected")).startswith("backward"):
        where = "grad"
    where = where if where in ("output", "input", "grad") else "output"
    index = max(difference.index, 0)
    if where == "grad":
        index = sum(wanting[:index])
    detail = difference.detail
    return Claim(
        kind=str(difference.kind),
        aspect=str(difference.aspect),
        index=index,
        where=where,
        rtol=detail.get("rtol") or None,
        atol=detail.get("atol") or None,
        pair=_odd_pair(detail) if difference.aspect is Aspect.ALIASING else ("output 0", "input 0"),
        level=str(detail.get("level", "")),
        none="None" in (str(detail.get("expected")), str(detail.get("actual"))),
    )


def _odd_pair(detail: Json) -> tuple[str, str]:
    """The first pair of places that shares storage on one side only."""
    expected, actual = (set(detail.get(side, ())) for side in ("expected", "actual"))
    first, second = sorted(expected ^ actual)[0].split(" ~ ")
    return first, second


def expect_of(difference: Difference) -> Expect:
    """How the script of a difference ends on this build."""
    if difference.kind is not Kind.EXCEPTION:
        return Expect(ENDINGS.get(difference.kind, Ending.ASSERTION))
    raised = difference.detail["actual"]
    return Expect(Ending.EXCEPTION, exception=raised["exception"], message=raised["message"])
