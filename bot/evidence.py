"""The oracle's evidence: which difference it is, and its numbers as a table and a few sentences.

Invariant: pure, and tolerant of evidence that lacks a part: what is not there is not shown, and never
made up. Texts are as the oracle wrote them: defanging is the renderer's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzzers.records import Aspect, Json, Kind

ROWS = 8
"""Elements that are shown: enough to see a pattern."""


@dataclass(frozen=True)
class Row:
    """One element, as eager, the float64 run and the compiled program have it."""

    element: str
    expected: str
    float64: str
    actual: str


def difference(report: Json | None, kind: Kind, aspect: Aspect) -> Json | None:
    """The oracle's difference of this kind and aspect; None when it dropped the call or has no such."""
    if not report or report.get("dropped"):
        return None
    found = report.get("differences") or []
    return next((d for d in found if d.get("kind") == kind and d.get("aspect") == aspect), None)


def publishable(seen: Json) -> bool:
    """Whether the oracle lets a difference go out: torch's own comparison must see it too (oracle.md)."""
    return bool((seen.get("detail") or {}).get("publishable", True))


def number(value: object) -> str:
    """A value as people read it: six digits of a float, anything else as it is."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def rows(difference: Json) -> list[Row]:
    """The elements of the excerpts. An excerpt that is one value gives one row, for the worst element."""
    detail = difference.get("detail") or {}
    sides = [_listed(detail.get(side)) for side in ("expected", "float64", "actual")]
    length = max(len(side) for side in sides)
    at = detail.get("at")
    where = str(difference.get("where", "")) + (f" {_place(at)}" if at not in (None, [], "") else "")
    found = []
    for index in range(min(length, ROWS)):
        shown = [number(side[index]) if index < len(side) else "" for side in sides]
        name = where.strip() if length == 1 else f"{where} +{index}".strip() if index else where.strip()
        found.append(Row(name, shown[0], shown[1], shown[2]))
    return found


def _listed(value: object) -> Sequence[object]:
    if value is None:
        return []
    return value if isinstance(value, list | tuple) else [value]


def _place(at: object) -> str:
    return "[" + ", ".join(str(i) for i in at) + "]" if isinstance(at, list | tuple) else f"[{at}]"


QUANTITIES: tuple[tuple[str, str, Callable[[object], str]], ...] = (
    ("n_bad", "elements that differ", number),
    ("numel", "elements in all", number),
    ("max_abs", "largest absolute difference", number),
    ("max_rel", "largest relative difference", number),
    ("bound", "allowed there (default tolerance and 4 times eager's own error)", number),
    ("phase", "seen in", str),
)
"""Key of the evidence, what it is called, how it is shown."""


def quantities(difference: Json) -> list[tuple[str, str]]:
    """The numbers that go with a table."""
    detail = difference.get("detail") or {}
    return [(name, show(detail[key])) for key, name, show in QUANTITIES if detail.get(key) is not None]
