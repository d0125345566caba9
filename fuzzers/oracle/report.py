"""What the oracle hands back.

Invariant: a `Report` holds plain JSON values only, and its differences are sorted most severe first, so
that the first one names the suspect whatever produced the report.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fuzzers.records import Aspect, Json, Kind, encode


@dataclass(frozen=True)
class Difference:
    """One observable that differs.

    `where` is `outcome`, `structure`, `output 0`, `input 1` or `grad 0`, counted over the tensor leaves;
    `index` is that number (-1 where there is none). `detail` holds the evidence: excerpts `expected`,
    `actual`, `float64` at the worst element `at`, `max_abs`, `max_rel`, `bound`, `n_bad`, `numel`, the
    `rtol`/`atol` that were in force, `phase` and `publishable`.
    """

    kind: Kind
    aspect: Aspect
    where: str
    index: int = -1
    detail: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """All that was found. `dropped` names the gate when nothing comparable was left, else it is empty;
    `counts` has one `dropped:<reason>` a difference that a gate stopped, and what else was counted."""

    differences: tuple[Difference, ...] = ()
    dropped: str = ""
    captured_graphs: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> Json:
        """The JSON form: nested plain dicts and lists."""
        return encode(self)


def by_severity(differences: list[Difference]) -> tuple[Difference, ...]:
    """Most severe first; outputs before inputs before gradients within one kind."""
    places = {"outcome": 0, "structure": 0, "output": 1, "input": 2, "grad": 3}
    return tuple(
        sorted(
            differences,
            key=lambda d: (
                d.kind.severity,
                not d.detail.get("publishable", True),
                places[d.where.split()[0]],
                d.index,
            ),
        )
    )
