"""Dirigo's own figures over a corpus of kernel pairs.

Invariant: every pair of the corpus is counted once: equal, different, or unknown by its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bot.kernels import LOCATIONS, SECONDS, Pair, check_all, checkers, pairs
from fuzzers.dirigo.verdict import Answer, Report
from fuzzers.records import Json

JOBS = 2
TAIL = 0.99


def measure(corpus: Path, jobs: int, interpreter: Path | None) -> Json:
    """Check every pair at the standard limits."""
    found = pairs(corpus)
    with checkers(interpreter, jobs) as pool:
        return figures(check_all(pool, found, LOCATIONS, SECONDS))


def figures(checked: Sequence[tuple[Pair, Report, float]]) -> Json:
    """The figures of some checks: the pair, its report, and the seconds that it took."""
    reports = [report for _, report, _ in checked]
    answers = Counter(report.answer for report in reports)
    reasons = Counter(stage(report.reason) for report in reports if report.answer is Answer.UNKNOWN)
    seconds = sorted(took for _, _, took in checked)
    return {
        "pairs": len(checked),
        "compiled": sum(report.compiled for report in reports),
        "equal": answers[Answer.EQUAL],
        "different": answers[Answer.DIFFERENT],
        "unknown": dict(reasons.most_common()),
        "median_s": round(at(seconds, 0.5), 2),
        "p99_s": round(at(seconds, TAIL), 2),
        "peak_mib": max((report.peak_mib for report in reports), default=0),
        "answers": {pair.name: report.words() for pair, report, _ in checked},
    }


def stage(reason: str) -> str:
    """The kind of a reason: what comes before its second colon, or its first few words."""
    parts = reason.split(":")
    return ":".join(parts[:2]).strip()[:80]


def at(ordered: Sequence[float], share: float) -> float:
    """The value below which this share lies, of ordered values."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
