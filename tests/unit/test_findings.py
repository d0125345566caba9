"""Titles, and joining a suspect to a finding."""

from __future__ import annotations

import pytest

from bot.findings import join, title
from fuzzers.records import Aspect, Kind
from tests.unit import toy_build
from tests.unit.test_render import SCRIPT, finding


@pytest.mark.parametrize(
    ("kind", "aspect", "expected"),
    [
        (Kind.WRONG, Aspect.VALUES, "[inductor] wrong result: sum(neg(abs(cat(uint8)))) differs from eager"),
        (Kind.METADATA, Aspect.DTYPE, "[inductor] wrong dtype: sum(neg(abs(cat(uint8)))) differs from eager"),
        (Kind.EXCEPTION, Aspect.OUTCOME, "[inductor] InductorError: sum(neg(abs(cat(uint8)))) runs in eager"),
        (Kind.CRASH, Aspect.OUTCOME, "[inductor] crash: sum(neg(abs(cat(uint8))))"),
    ],
)
def test_a_title_leads_with_symptom_and_operators(kind: Kind, aspect: Aspect, expected: str) -> None:
    assert title("inductor", kind, aspect, SCRIPT, "InductorError") == expected


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_a_title_that_fits(kind: Kind) -> None:
    assert 10 < len(title("inductor", kind, Aspect.VALUES, SCRIPT, "E" * 300)) <= 120


def test_joining_twice_is_joining_once_and_keeps_what_was_reported() -> None:
    known = finding()
    other = toy_build.suspect(Kind.WRONG, "wx")
    once = join(known, other, {"script": "s"}, "2026-02-01T00:00:00Z")
    assert join(once, other, {"script": "s"}, "2026-03-01T00:00:00Z") == once
    assert other.id in once.suspects
    assert (once.signature, once.script, once.title) == (known.signature, known.script, known.title)
    assert once.detail["variants"] == [{"suspect": other.id, "script": "s"}]
    assert once.last_seen == "2026-02-01T00:00:00Z"
