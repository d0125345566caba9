"""What a new failure is held against, and what it is taken for."""

from __future__ import annotations

from dataclasses import replace

from bot.fingerprint import traits_of
from bot.near import Seen
from bot.recognise import WITHOUT, Recognised, recognise, seen_of, with_alias
from fuzzers.records import Finding, Kind
from tests.unit.made import a_finding

ABS = {"lowerings/abs": True, "codegen/fusion": False}


def kept(
    signature: str, *, first_seen: str = "2026-01-01", without: dict[str, bool] | None = None
) -> Finding:
    made = a_finding(signature=signature, first_seen=first_seen, script=f"# {signature}\n")
    return replace(made, detail={WITHOUT: ABS if without is None else without})


def new(finding: Finding, without: dict[str, bool]) -> Seen:
    return Seen(replace(traits_of(finding), kind=Kind.EXCEPTION), without)


def test_the_same_script_is_the_same_bug_whatever_else() -> None:
    older = kept("v2-1", without={})
    assert recognise([older], Seen(traits_of(older), {}), older.script).known == "v2-1"


def test_a_variants_script_counts_too() -> None:
    older = kept("v2-1")
    older = replace(older, detail={"variants": [{"suspect": "s", "script": "# variant\n"}]})
    assert recognise([older], Seen(traits_of(older), {}), "# variant\n").known == "v2-1"


def test_an_experiment_makes_it_the_oldest_that_fits() -> None:
    older, younger = kept("v2-9", first_seen="2026-01-01"), kept("v2-1", first_seen="2026-02-01")
    found = recognise([younger, older], new(older, ABS), "# new\n")
    assert (found.known, found.why) == ("v2-9", "both are right without lowerings/abs")


def test_what_only_looks_alike_is_offered() -> None:
    older = kept("v2-1", without={"lowerings/abs": False})
    found = recognise([older], new(older, ABS), "# new\n")
    assert found.known == ""
    assert [signature for signature, _ in found.near] == ["v2-1"]


def test_another_frameworks_findings_are_not_looked_at() -> None:
    older = kept("v2-1")
    elsewhere = replace(older.suspect, build=replace(older.suspect.build, framework="mindspore"))
    seen = new(older, ABS)
    assert recognise([replace(older, suspect=elsewhere)], seen, older.script) == Recognised()


def test_a_finding_is_compared_by_what_was_written_down() -> None:
    assert seen_of(kept("v2-1")).without == ABS
    assert seen_of(replace(kept("v2-1"), detail={WITHOUT: "not a table"})).without == {}


def test_an_alias_is_added_once_and_never_its_own_name() -> None:
    named = with_alias(with_alias(kept("v2-1"), "v2-2"), "v2-2")
    assert named.aliases == ("v2-2",)
    assert with_alias(named, "v2-1") == named
