"""The line from suspects to findings on a toy build, killed at every write."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bot.asking import Asker
from bot.errors import MachineryFailure
from bot.states import Status, TriageState
from bot.store import Store
from bot.triage import Allowance, TriageResult, triage
from fuzzers.records import Ending, Finding, Json, Kind, Limits, Run, Suspect
from tests.unit import toy_build

PLENTY = Allowance(seconds=1e9)


def store_of(folder: Path, *suspects: Suspect) -> Store:
    store = Store(folder / "store", pytest.fail)
    for suspect in suspects:
        store.add(suspect)
    return store


def run(store: Store, build: toy_build.ToyBuild | None = None, allowance: Allowance = PLENTY) -> TriageResult:
    build = build or toy_build.ToyBuild()
    return triage(store, Asker(build, Limits()), build.fresh, allowance)


def only_finding(store: Store) -> Finding:
    (finding,) = store.findings()
    return finding


def assert_ends_as(store: Store, suspect: Suspect, status: Status, reason: str = "") -> None:
    state = store.state(suspect.id)
    assert (state.status, reason in state.reason) == (status, True), state


@pytest.mark.parametrize(
    ("kind", "letters", "reduced", "stage"),
    [
        (Kind.WRONG, "abwcxd", "wx", "inductor"),
        (Kind.EXCEPTION, "abecd", "e", "aot"),
        (Kind.CRASH, "abkcd", "k", "inductor"),
        (Kind.HANG, "ahb", "h", "inductor"),
    ],
)
def test_a_suspect_becomes_a_small_placed_finding(
    tmp_path: Path, kind: Kind, letters: str, reduced: str, stage: str
) -> None:
    suspect = toy_build.suspect(kind, letters)
    store = store_of(tmp_path, suspect)
    result = run(store)
    finding = only_finding(store)
    assert result.new == (finding.signature,)
    assert toy_build.letters_of(finding.script) == reduced
    assert (finding.stage, finding.confirmed, finding.suspect.kind) == (stage, "3 of 3", kind)
    assert finding.suspects == (suspect.id,)
    assert [r.ending for r in finding.runs] == [toy_build.EXPECTED[kind].ending] * 3
    assert_ends_as(store, suspect, Status.CONFIRMED)


def test_reduction_never_slips_to_another_bug(tmp_path: Path) -> None:
    """Without `w` the script fails all the same, but by a bug that starts at another backend."""
    store = store_of(tmp_path, toy_build.suspect(Kind.WRONG, "wxq"))
    run(store)
    assert toy_build.letters_of(only_finding(store).script) == "wx"
    assert only_finding(store).stage == "inductor"


def test_one_bug_found_twice_is_one_finding(tmp_path: Path) -> None:
    first, second = toy_build.suspect(Kind.WRONG, "awx"), toy_build.suspect(Kind.WRONG, "wbcx")
    store = store_of(tmp_path, first, second)
    result = run(store)
    finding = only_finding(store)
    assert (len(result.new), result.known) == (1, ())
    assert set(finding.suspects) == {first.id, second.id}
    assert len(finding.detail["variants"]) == 1


def test_a_known_bug_met_again_by_a_later_campaign(tmp_path: Path) -> None:
    store = store_of(tmp_path, toy_build.suspect(Kind.WRONG, "awx"))
    run(store)
    store.add(toy_build.suspect(Kind.WRONG, "wxb"))
    result = run(store)
    assert (result.new, result.known) == ((), (only_finding(store).signature,))


def test_exact_duplicates_of_an_exception_are_joined_without_a_run(tmp_path: Path) -> None:
    store = store_of(tmp_path, toy_build.suspect(Kind.EXCEPTION, "ae"))
    build = toy_build.ToyBuild()
    run(store, build)
    alone = sum(build.fresh_runs.values())
    twice = store_of(
        tmp_path / "twice", toy_build.suspect(Kind.EXCEPTION, "ae"), toy_build.suspect(Kind.EXCEPTION, "bcde")
    )
    build = toy_build.ToyBuild()
    run(twice, build)
    assert sum(build.fresh_runs.values()) == alone
    assert len(only_finding(twice).suspects) == 2


@pytest.mark.parametrize(
    ("suspect", "status", "reason"),
    [
        (toy_build.suspect(Kind.WRONG, "abc"), Status.NOT_REPRODUCED, "ends normally"),
        (toy_build.suspect(Kind.WRONG, "af"), Status.FLAKY, "fails in 2 of 3 runs"),
        (toy_build.suspect(Kind.WRONG, "wxn"), Status.CANNOT_RUN, "No module named 'n'"),
        (toy_build.suspect(Kind.WRONG, "wxo"), Status.NOT_REPRODUCED, "ill-conditioned"),
        (
            toy_build.suspect(Kind.CRASH, "ab", detail={"interrupted": True}),
            Status.NOT_REPRODUCED,
            "ends normally",
        ),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_what_is_not_a_finding_is_kept_with_its_reason(
    tmp_path: Path, suspect: Suspect, status: Status, reason: str
) -> None:
    store = store_of(tmp_path, suspect)
    run(store)
    assert list(store.findings()) == []
    assert_ends_as(store, suspect, status, reason)
    assert store.pending() == []


def test_an_interrupted_candidate_becomes_what_it_really_is(tmp_path: Path) -> None:
    store = store_of(tmp_path, toy_build.suspect(Kind.CRASH, "awxb", detail={"interrupted": True}))
    run(store)
    assert only_finding(store).suspect.kind is Kind.WRONG
    assert toy_build.letters_of(only_finding(store).script) == "wx"


def test_a_failure_of_the_machinery_decides_nothing(tmp_path: Path) -> None:
    broken, good = toy_build.suspect(Kind.CRASH, "mk"), toy_build.suspect(Kind.WRONG, "awx")
    store = store_of(tmp_path, broken, good)
    build = toy_build.ToyBuild()

    def fresh(scripts: Sequence[str]) -> list[Run]:
        if "m" in toy_build.letters_of(scripts[0]):
            raise MachineryFailure("no worker")
        return build.fresh(scripts)

    result = triage(store, Asker(build, Limits()), fresh, PLENTY)
    assert result.failures == ((broken.id, "no worker"),)
    assert len(result.new) == 1
    assert store.pending() == [broken]


def test_an_engine_that_fails_on_its_own_program_does_not_hide_the_bug(tmp_path: Path) -> None:
    class Careless(toy_build.ToyBuild):
        def _engine_page(self, args: Json) -> Json:
            raise toy_build.BrokenError("no candidates")

    store = store_of(tmp_path, toy_build.suspect(Kind.WRONG, "awx"))
    run(store, Careless())
    assert set("wx") <= set(toy_build.letters_of(only_finding(store).script))


def test_machinery_that_fails_every_time_ends_triage(tmp_path: Path) -> None:
    store = store_of(tmp_path, *(toy_build.suspect(Kind.WRONG, f"wx{c}") for c in "abcde"))

    def fresh(scripts: Sequence[str]) -> list[Run]:
        raise MachineryFailure("no worker")

    with pytest.raises(MachineryFailure, match="no worker"):
        triage(store, Asker(toy_build.ToyBuild(), Limits()), fresh, PLENTY)
    assert len(store.pending()) == 5


def test_a_budget_defers_the_rest_and_the_next_triage_goes_on(tmp_path: Path) -> None:
    store = store_of(tmp_path, toy_build.suspect(Kind.CRASH, "ka"), toy_build.suspect(Kind.WRONG, "wxa"))
    build = toy_build.ToyBuild()
    ticks = itertools.count()
    result = triage(
        store,
        Asker(build, Limits()),
        build.fresh,
        Allowance(seconds=3.0, reduce_seconds=0.5),
        clock=lambda: next(ticks),
    )
    assert (len(result.new), len(result.deferred)) == (1, 1)
    assert only_finding(store).suspect.kind is Kind.WRONG, "the worst goes first"
    assert len(run(store).new) == 1
    assert store.pending() == []


def test_what_cannot_be_reduced_any_more_waits_confirmed(tmp_path: Path) -> None:
    suspect = toy_build.suspect(Kind.WRONG, "wxa")
    store = store_of(tmp_path, suspect)
    build = toy_build.ToyBuild()
    ticks = itertools.count()
    result = triage(
        store, Asker(build, Limits()), build.fresh, Allowance(seconds=2.0), clock=lambda: next(ticks)
    )
    assert result.deferred == (suspect.id,)
    assert set(store.state(suspect.id).stages) == {"confirm"}
    assert len(run(store).new) == 1


class KilledError(BaseException):
    """What kill -9 looks like from inside: nothing after it runs."""


class Mortal(Store):
    """A store whose process dies at write number `at`, before it is done or just after."""

    at = -1
    after = False

    def _dying(self, write: Any, *args: Any) -> Any:
        self.at -= 1
        if self.at == 0 and not self.after:
            raise KilledError
        done = write(*args)
        if self.at == 0:
            raise KilledError
        return done

    def set_state(self, ident: str, state: TriageState) -> None:
        self._dying(super().set_state, ident, state)

    def put_finding(self, finding: Finding, evidence: Json | None = None) -> Path:
        path: Path = self._dying(super().put_finding, finding, evidence)
        return path


def suspects() -> Iterator[Suspect]:
    yield toy_build.suspect(Kind.WRONG, "awx")
    yield toy_build.suspect(Kind.WRONG, "wbx")
    yield toy_build.suspect(Kind.EXCEPTION, "ae")
    yield toy_build.suspect(Kind.EXCEPTION, "be")
    yield toy_build.suspect(Kind.WRONG, "ab")


def picture(store: Store) -> Any:
    """All that counts of a finished triage."""
    findings = [
        (f.signature, f.script, sorted(f.suspects), f.detail.get("variants", [])) for f in store.findings()
    ]
    states = {s.id: (store.state(s.id).status, store.state(s.id).finding) for s in store.suspects()}
    return findings, states


@pytest.mark.parametrize("after", [False, True], ids=["before-the-write", "after-the-write"])
def test_killed_at_any_write_nothing_is_lost_and_nothing_done_twice(tmp_path: Path, after: bool) -> None:
    whole = store_of(tmp_path / "whole", *suspects())
    run(whole)
    deaths = 0
    for at in itertools.count(1):
        folder = tmp_path / f"dies-{at}"
        store_of(folder, *suspects())
        mortal = Mortal(folder / "store", pytest.fail)
        mortal.at, mortal.after = at, after
        try:
            run(mortal)
            break
        except KilledError:
            deaths += 1
        again = Store(folder / "store", pytest.fail)
        run(again)
        assert picture(again) == picture(whole)
    assert deaths > 10


def test_a_stage_that_was_written_down_is_not_done_again(tmp_path: Path) -> None:
    store = store_of(tmp_path, toy_build.suspect(Kind.WRONG, "abwcxd"))
    mortal = Mortal(tmp_path / "store", pytest.fail)
    mortal.at, mortal.after = 2, True  # confirm and reduce are written, write-up is not
    with pytest.raises(KilledError):
        run(mortal)
    build = toy_build.ToyBuild()
    run(store, build)
    assert build.jobs["engine.page"] == 0
    assert toy_build.letters_of(only_finding(store).script) == "wx"
    assert only_finding(store).runs[0].ending is Ending.ASSERTION
