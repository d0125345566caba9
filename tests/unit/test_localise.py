"""The ladder's answer for every way its rungs can end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bot.localise import LADDER, localise, place
from fuzzers.records import Ending, Kind, Run

OK = Run(Ending.OK)
BAD = Run(Ending.ASSERTION)


def rungs(*runs: Run) -> dict[str, Run]:
    return dict(zip(LADDER, runs, strict=True))


@pytest.mark.parametrize(
    ("first", "stage", "label", "below"),
    [
        (0, "dynamo", "module: dynamo", None),
        (1, "aot", "module: pt2-dispatcher", "eager"),
        (2, "decomp", "module: pt2-dispatcher", "aot_eager"),
        (3, "inductor", "module: inductor", "aot_eager_decomp_partition"),
    ],
)
@pytest.mark.parametrize(
    "bad",
    [BAD, Run(Ending.EXCEPTION), Run(Ending.SIGNAL, signal="SIGSEGV"), Run(Ending.TIMEOUT)],
    ids=lambda r: r.ending,
)
def test_the_first_failing_rung_is_to_blame(
    first: int, stage: str, label: str, below: str | None, bad: Run
) -> None:
    found = place(Kind.WRONG, rungs(*[OK] * first, *[bad] * (4 - first)))
    assert (found.stage, found.label, found.rung, found.below) == (stage, label, LADDER[first], below)


@pytest.mark.parametrize(
    "silent", [Run(Ending.CANNOT_RUN, reason="no such operator"), Run(Ending.SIGNAL, signal="SIGKILL")]
)
def test_a_rung_that_says_nothing_below_the_failing_one_leaves_the_place_unknown(silent: Run) -> None:
    found = place(Kind.WRONG, rungs(OK, silent, OK, BAD))
    assert (found.stage, found.label, found.rung) == ("unknown", "", "")
    assert "aot_eager" in found.reason


def test_a_rung_that_says_nothing_above_the_failing_one_does_not_matter() -> None:
    assert place(Kind.WRONG, rungs(OK, BAD, Run(Ending.CANNOT_RUN), BAD)).stage == "aot"


def test_no_failing_rung_is_unknown_and_says_so() -> None:
    found = place(Kind.WRONG, rungs(OK, OK, OK, OK))
    assert found.stage == "unknown"
    assert found.reason


def test_a_bug_of_eager_needs_no_ladder() -> None:
    assert place(Kind.EAGER, {}).stage == "eager"


def test_gone_with_static_shapes_has_its_own_label() -> None:
    asked: list[tuple[str, str | None]] = []

    def run_all(pairs: Sequence[tuple[str, str | None]]) -> list[Run]:
        asked.extend(pairs)
        return [
            OK if "dynamic=False" in script or backend != "inductor" else BAD for script, backend in pairs
        ]

    found, _ = localise(Kind.WRONG, "torch.compile(f, dynamic=True)", run_all)
    assert found.label == "module: dynamic shapes"
    assert asked[-1] == ("torch.compile(f, dynamic=False)", None)
    static, _ = localise(Kind.WRONG, "torch.compile(f)", run_all)
    assert static.label == "module: inductor"
