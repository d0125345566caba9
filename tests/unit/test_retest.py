"""Retesting: the verdicts of findings on a build, what is remembered of them, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bot.errors import MachineryFailure
from bot.retest import Moved, Retested, accept, held, retest
from bot.store import Store
from fuzzers.records import Build, Ending, Expect, Kind, Run, Verdict
from tests.unit import toy_build
from tests.unit.made import a_finding, a_suspect


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with one open finding, the wrong result `wx`."""
    store = Store(tmp_path / "store", pytest.fail)
    suspect = toy_build.suspect(Kind.WRONG, "wx")
    store.put_finding(a_finding(suspect=suspect, script=suspect.script))
    return store


def only(store: Store, build: toy_build.ToyBuild) -> Retested:
    (one,) = retest(store, toy_build.BUILD, build.fresh)
    return one


def edit(store: Store, text: str) -> None:
    (finding,) = store.findings()
    (store.finding_folder(finding.signature) / "repro.py").write_text(text)


def test_a_bug_that_is_still_there_reproduces(store: Store) -> None:
    found = only(store, toy_build.ToyBuild())
    assert (found.verdict, found.changed) == (Verdict.REPRODUCES, False)


def test_a_build_without_the_bug_says_gone(store: Store) -> None:
    assert only(store, toy_build.ToyBuild(fixed="w")).verdict is Verdict.GONE


def test_the_script_in_the_folder_is_what_is_run(store: Store) -> None:
    edit(store, toy_build.script("abc"))
    assert only(store, toy_build.ToyBuild()).verdict is Verdict.GONE
    edit(store, toy_build.script("nwx"))
    found = only(store, toy_build.ToyBuild())
    assert (found.verdict, found.reason) == (Verdict.CANNOT_RUN, "No module named 'n'")


def test_another_failure_than_recorded_reproduces_and_is_said_to_have_changed(store: Store) -> None:
    edit(store, toy_build.script("ke"))
    found = only(store, toy_build.ToyBuild())
    assert (found.verdict, found.changed) == (Verdict.REPRODUCES, True)


def test_a_failure_of_the_machinery_is_cannot_run(store: Store) -> None:
    def fresh(scripts: Sequence[str]) -> list[Run]:
        raise MachineryFailure("no disk")

    (found,) = retest(store, toy_build.BUILD, fresh)
    assert found.verdict is Verdict.CANNOT_RUN
    assert "no disk" in found.reason


def test_verdicts_are_remembered_once_a_build(store: Store) -> None:
    only(store, toy_build.ToyBuild())
    only(store, toy_build.ToyBuild(fixed="w"))
    (finding,) = store.findings()
    assert [v["verdict"] for v in finding.verdicts] == ["gone"]
    retest(store, replace(toy_build.BUILD, git_sha="another"), toy_build.ToyBuild().fresh)
    (finding,) = store.findings()
    assert [v["verdict"] for v in finding.verdicts] == ["gone", "reproduces"]


def test_another_framework_is_left_alone(store: Store) -> None:
    assert retest(store, replace(toy_build.BUILD, framework="mindspore"), toy_build.ToyBuild().fresh) == []


def test_what_reproduces_was_last_seen_then(store: Store) -> None:
    only(store, toy_build.ToyBuild())
    (finding,) = store.findings()
    assert finding.last_seen == finding.verdicts[0]["at"] > "2026-01-02"


def test_an_expectation_says_how_it_should_fail(tmp_path: Path) -> None:
    store = Store(tmp_path, pytest.fail)
    wanted = Expect(Ending.EXCEPTION, "InductorError", "AssertionError: size <n>")
    for number, letters in enumerate(("e", "wx")):
        suspect = a_suspect(toy_build.script(letters), expect=wanted)
        store.put_finding(a_finding(f"nf2-{number}", suspect=suspect, script=suspect.script))
    found = retest(store, night(1), toy_build.ToyBuild().fresh)
    assert [(one.verdict, one.changed) for one in found] == [
        (Verdict.REPRODUCES, False),
        (Verdict.REPRODUCES, True),
    ]


# What follows from the verdicts


def night(number: int) -> Build:
    """A build that is newer than the one of the findings."""
    return replace(toy_build.BUILD, version=f"2.15.0.dev202611{number:02}", git_sha=f"{number:012}")


def a_store(folder: Path, letters: Sequence[str]) -> Store:
    """A store with an open finding for each word of letters."""
    store = Store(folder / "many", pytest.fail)
    for number, word in enumerate(letters):
        suspect = a_suspect(toy_build.script(word))
        store.put_finding(a_finding(f"nf2-{number:02}", suspect=suspect, script=suspect.script))
    return store


def states(store: Store) -> str:
    """`o` or `g` for each finding."""
    return "".join(finding.state[0] for finding in store.findings())


def assert_moves(store: Store, number: int, fixed: str, **moved: Moved) -> None:
    """On that night's build, in which the letters do nothing, these findings move and no others."""
    found = retest(store, night(number), toy_build.ToyBuild(fixed).fresh)
    names = {f"nf2_{one.signature[-2:]}": one.moved for one in found if one.moved is not Moved.NOT}
    assert names == moved
    for one, state in zip(found, states(store), strict=True):
        assert one.state[0] == state


def test_a_finding_is_gone_after_three_builds_and_open_again_when_it_is_back(tmp_path: Path) -> None:
    store = a_store(tmp_path, ["wx", "ax"])
    (first, _) = store.findings()
    assert_moves(store, 1, "w")
    assert_moves(store, 2, "w")
    assert_moves(store, 3, "w", nf2_00=Moved.GONE, nf2_01=Moved.GONE)
    assert_moves(store, 4, "w")
    assert_moves(store, 5, "", nf2_00=Moved.REGRESSED)
    back = store.finding(first.signature)
    assert back is not None
    assert back.detail["regressed"]["build"] == night(5).name
    assert back.since["in_store"] == "regressed"
    assert_moves(store, 6, "")


def test_the_same_build_three_times_is_one_build(tmp_path: Path) -> None:
    store = a_store(tmp_path, ["wx"])
    for _ in range(3):
        assert_moves(store, 1, "w")


def test_a_person_outranks_three_builds(tmp_path: Path) -> None:
    store = a_store(tmp_path, ["wx"])
    (finding,) = store.findings()
    store.put_finding(replace(finding, detail={"decision": {"state": "open", "at": "2026-11-01"}}))
    for number in (1, 2, 3, 4):
        assert_moves(store, number, "w")
    assert states(store) == "o"


EIGHT = ["wx"] * 6 + ["kw", "ke"]


def test_a_build_on_which_too_much_changes_is_held_until_a_person_has_looked(tmp_path: Path) -> None:
    store = a_store(tmp_path, EIGHT)
    for number in (1, 2, 3, 4):
        assert_moves(store, number, "w")
    assert (
        held(store) == f"{night(1).name}: 6 of 8 open findings changed their verdict: it is the build or us"
    )
    assert held(store, "mindspore") == ""
    lifted, moved = accept(store)
    assert [hold.version for hold in lifted] == [night(1).version]
    assert moved == {f"nf2-{n:02}": Moved.GONE for n in range(6)}
    assert (held(store), states(store)) == ("", "ggggggoo")


def test_a_build_that_was_accepted_is_not_held_again(tmp_path: Path) -> None:
    store = a_store(tmp_path, EIGHT)
    assert_moves(store, 1, "w")
    accept(store)
    assert_moves(store, 1, "w")
    assert held(store) == ""
    assert accept(store) == ([], {})


def test_testing_a_held_build_again_with_a_better_end_lifts_the_hold(tmp_path: Path) -> None:
    store = a_store(tmp_path, EIGHT)
    assert_moves(store, 1, "w")
    assert held(store)
    assert_moves(store, 1, "")
    assert held(store) == ""


def test_a_hold_that_a_second_retest_lifted_comes_back_with_a_third(tmp_path: Path) -> None:
    store = a_store(tmp_path, EIGHT)
    assert_moves(store, 1, "w")
    assert_moves(store, 1, "")
    assert held(store) == ""
    assert_moves(store, 1, "w")
    assert "6 of 8 open findings" in held(store)


def test_what_a_person_decides_while_a_script_runs_stays(store: Store) -> None:
    def fresh(scripts: Sequence[str]) -> list[Run]:
        (finding,) = store.findings()
        decision = {"state": "gone", "at": "2026-11-01"}
        store.put_finding(replace(finding, state="gone", detail={"decision": decision}))
        return toy_build.ToyBuild().fresh(scripts)

    (found,) = retest(store, toy_build.BUILD, fresh)
    (finding,) = store.findings()
    assert finding.detail["decision"]["state"] == finding.state == found.state == "gone"
    assert [v["verdict"] for v in finding.verdicts] == ["reproduces"]


def test_the_build_after_a_held_one_is_held_for_itself(tmp_path: Path) -> None:
    store = a_store(tmp_path, EIGHT)
    assert_moves(store, 1, "w")
    assert_moves(store, 2, "")
    lifted, moved = accept(store)
    assert ([hold.version for hold in lifted], moved) == ([night(1).version, night(2).version], {})
    assert states(store) == "oooooooo"


def test_five_changes_or_a_fifth_are_no_reason_to_hold(tmp_path: Path) -> None:
    five = a_store(tmp_path / "five", ["wx"] * 5 + ["ke"])
    assert_moves(five, 1, "w")
    assert held(five) == ""
    fifth = a_store(tmp_path / "fifth", ["wx"] * 6 + ["ke"] * 24)
    assert_moves(fifth, 1, "w")
    assert held(fifth) == ""


def test_a_machine_on_which_nothing_runs_is_held(tmp_path: Path) -> None:
    store = a_store(tmp_path, EIGHT)

    def fresh(scripts: Sequence[str]) -> list[Run]:
        raise MachineryFailure("no compiler")

    retest(store, night(1), fresh)
    assert "8 of 8 open findings" in held(store)


class Killed(BaseException):
    """Stands for a kill -9."""


@pytest.mark.parametrize("after", range(4))
def test_a_retest_that_was_killed_is_run_again(tmp_path: Path, after: int) -> None:
    store = a_store(tmp_path, ["wx", "wx", "ke"])
    for number in (1, 2):
        assert_moves(store, number, "w")
    told: list[Retested] = []

    def tell(one: Retested) -> None:
        told.append(one)
        if len(told) > after:
            raise Killed

    if after < 3:
        with pytest.raises(Killed):
            retest(store, night(3), toy_build.ToyBuild("w").fresh, tell)
    else:
        retest(store, night(3), toy_build.ToyBuild("w").fresh, tell)
    retest(store, night(3), toy_build.ToyBuild("w").fresh)
    assert states(store) == "ggo"
    assert [len(finding.verdicts) for finding in store.findings()] == [3, 3, 3]
