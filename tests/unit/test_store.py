"""The store under broken files, foreign files, two writers and two machines."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bot.errors import MachineryFailure, UserMistake
from bot.merging import merge
from bot.states import Ledger, Status, TriageState, Trial, Tried
from bot.store import Store
from fuzzers.records import SCHEMA
from tests.unit.made import a_finding, a_suspect


class Told(list[str]):
    """Collects what a store warns of."""

    def __call__(self, line: str) -> None:
        self.append(line)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def store(tmp_path: Path, told: Told) -> Store:
    return Store(tmp_path / "store", told)


def assert_set_aside(store: Store, told: Told, name: str) -> None:
    """One thing was moved away, kept, and named in one line."""
    kept = [path.name for path in (store.root / "set-aside").iterdir()]
    assert kept == [name]
    assert len(told) == 1
    assert name.replace("__", "/") in told[0]
    assert "\n" not in told[0]


def test_a_suspect_is_kept_once(store: Store) -> None:
    assert store.add(a_suspect("one\n"))
    assert not store.add(a_suspect("one\n", found_at="later", origin={"chain": 7}))
    assert store.add(a_suspect("two\n"))
    assert {s.script for s in store.suspects()} == {"one\n", "two\n"}


def test_adding_from_many_threads_keeps_one_of_each(store: Store) -> None:
    added: list[bool] = []
    scripts = [f"{n % 7}\n" for n in range(70)]

    def add(part: list[str]) -> None:
        for script in part:
            added.append(store.add(a_suspect(script)))

    threads = [threading.Thread(target=add, args=(scripts[n::5],)) for n in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert added.count(True) == 7
    assert len(list(store.suspects())) == 7


def test_a_suspect_cut_in_half_is_set_aside_and_the_rest_goes_on(store: Store, told: Told) -> None:
    cut, whole = a_suspect("cut\n"), a_suspect("whole\n")
    store.add(cut)
    store.add(whole)
    path = store.root / "suspects" / cut.id / "suspect.json"
    path.write_text(path.read_text()[: path.stat().st_size // 2])
    assert list(store.suspects()) == [whole]
    assert_set_aside(store, told, f"suspects__{cut.id}")
    assert list(store.suspects()) == [whole]
    assert len(told) == 1


@pytest.mark.parametrize("kind", ["folder", "link", "pipe", "deep"])
def test_what_stands_in_a_files_place_is_set_aside_and_never_followed(
    store: Store, told: Told, tmp_path: Path, kind: str
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine\n")
    make: dict[str, Callable[[Path], object]] = {
        "folder": Path.mkdir,
        "link": lambda path: path.symlink_to(secret),
        "pipe": os.mkfifo,
        "deep": lambda path: path.write_text("[" * 100_000),
    }
    folder = store.put_finding(a_finding())
    for path in (store.root / "ledger.json", store.root / "holds.json", folder / "evidence.json"):
        path.unlink(missing_ok=True)
        make[kind](path)
    assert (store.ledger(), store.holds(), store.evidence(folder.name)) == (Ledger(), [], {})
    assert len(told) == 3
    if kind != "deep":
        (folder / "repro.py").unlink()
        make[kind](folder / "repro.py")
        assert store.script(a_finding()) == a_finding().script
        assert "repro.py" in told[-1]
    store.add(a_suspect())
    path = store.suspect_path(a_suspect().id)
    path.unlink()
    make[kind](path)
    assert list(store.suspects()) == []
    assert f"suspects/{a_suspect().id}" in told[-1]
    assert secret.read_text() == "mine\n"


def test_a_suspect_that_was_cut_can_be_added_again(store: Store) -> None:
    store.add(a_suspect())
    (store.root / "suspects" / a_suspect().id / "suspect.json").write_text("{")
    assert store.add(a_suspect())
    assert list(store.suspects()) == [a_suspect()]


def test_a_suspect_under_another_name_is_set_aside(store: Store, told: Told) -> None:
    store.add(a_suspect())
    path = store.root / "suspects" / a_suspect().id
    path.rename(path.with_name("0" * 16))
    assert list(store.suspects()) == []
    assert_set_aside(store, told, f"suspects__{'0' * 16}")


@pytest.mark.parametrize("kind", ["suspects", "findings"])
def test_foreign_files_and_folders_are_set_aside(store: Store, told: Told, kind: str) -> None:
    (store.root / kind / "holiday").mkdir(parents=True)
    (store.root / kind / "holiday" / "photo.png").write_bytes(b"\x89PNG")
    assert list(getattr(store, kind)()) == []
    assert_set_aside(store, told, f"{kind}__holiday")
    (store.root / kind / "notes.txt").write_text("hello")
    assert list(getattr(store, kind)()) == []
    assert (store.root / "set-aside" / f"{kind}__notes.txt").read_text() == "hello"


def test_what_a_killed_writer_leaves_is_no_foreign_file(store: Store, told: Told) -> None:
    folder = store.root / "suspects" / a_suspect().id
    folder.mkdir(parents=True)
    assert list(store.suspects()) == []
    (folder / ".suspect.json.tmp").write_text('{"engine": "t')
    assert list(store.suspects()) == []
    assert told == []
    assert store.add(a_suspect())
    assert list(store.suspects()) == [a_suspect()]


def test_a_store_of_a_newer_nightfuzz_is_left_alone(store: Store, told: Told) -> None:
    store.add(a_suspect())
    path = store.root / "suspects" / a_suspect().id / "suspect.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": SCHEMA + 1}))
    with pytest.raises(UserMistake, match=r"suspect\.json.*newer"):
        list(store.suspects())
    assert path.exists()
    assert told == []


def test_pending_are_those_that_triage_has_not_finished(store: Store) -> None:
    ends = dict.fromkeys(Status, "")
    for status in ends:
        suspect = a_suspect(f"{status}\n")
        ends[status] = suspect.id
        store.add(suspect)
        store.set_state(suspect.id, TriageState(status))
    assert {s.id for s in store.pending()} == {ends[Status.PENDING], ends[Status.DEFERRED]}


def test_a_suspect_whose_finding_has_gone_is_pending_again(store: Store) -> None:
    store.add(a_suspect())
    finding = a_finding()
    store.put_finding(finding)
    store.set_state(a_suspect().id, TriageState(Status.CONFIRMED, finding=finding.signature))
    assert store.pending() == []
    (store.finding_folder(finding.signature) / "finding.json").write_text("{")
    assert store.pending() == [a_suspect()]


def test_a_broken_state_means_triage_starts_over(store: Store, told: Told) -> None:
    store.add(a_suspect())
    store.set_state(a_suspect().id, TriageState(Status.FLAKY, stages={"confirm": {"runs": 3}}))
    path = store.root / "suspects" / a_suspect().id / "state.json"
    path.write_text(path.read_text()[:20])
    assert store.state(a_suspect().id).status is Status.PENDING
    assert_set_aside(store, told, f"suspects__{a_suspect().id}__state.json")
    assert store.suspect(a_suspect().id) == a_suspect()


def test_a_finding_comes_back_with_its_evidence(store: Store) -> None:
    folder = store.put_finding(a_finding(), {"log": "boom"})
    assert store.finding(a_finding().signature) == a_finding()
    assert store.evidence(a_finding().signature) == {"log": "boom"}
    assert (folder / "repro.py").read_text() == a_finding().script


def test_a_reproducer_that_a_person_edited_stays(store: Store) -> None:
    folder = store.put_finding(a_finding())
    (folder / "repro.py").write_text("edited\n")
    store.put_finding(a_finding(last_seen="2026-11-30T00:00:00Z"))
    assert store.script(a_finding()) == "edited\n"
    store.put_finding(a_finding(script="smaller\n"))
    assert store.script(a_finding()) == "smaller\n"


def test_the_ledger_keeps_the_last_word_on_each_build(store: Store) -> None:
    first = Trial("torch", "2.13.0", "cpu", "3.11", "cf30153c", "flowmut", "1", Tried.CAMPAIGN_FAILED, "1")
    store.record_trial(first)
    store.record_trial(replace(first, outcome=Tried.TESTED, at="2"))
    store.record_trial(replace(first, revision="2", at="3"))
    kept = store.ledger().builds.values()
    assert [(t.revision, t.outcome) for t in kept] == [("1", "tested"), ("2", "campaign-failed")]


def test_merging_takes_in_everything_once(store: Store, tmp_path: Path, told: Told) -> None:
    other = Store(tmp_path / "other", told)
    store.add(a_suspect("ours\n"))
    for each in (store, other):
        each.add(a_suspect("both\n"))
    other.set_state(a_suspect("both\n").id, TriageState(Status.FLAKY))
    other.put_finding(a_finding(last_seen="2026-11-30"), {"log": "theirs"})
    store.put_finding(a_finding(last_seen="2026-11-29", detail={"decision": {"state": "gone", "at": "1"}}))
    for _ in range(2):
        merge(store, other)
        assert {s.script for s in store.suspects()} == {"ours\n", "both\n"}
        assert store.state(a_suspect("both\n").id).status is Status.FLAKY
        (finding,) = store.findings()
        assert (finding.last_seen, finding.state) == ("2026-11-30", "gone")
        assert store.evidence(finding.signature) == {"log": "theirs"}
    assert told == []


def test_an_alias_is_a_name_of_its_finding_also_when_another_process_has_just_written_it(
    store: Store, told: Told
) -> None:
    first = Store(store.root, told)
    store.put_finding(a_finding("v2-a", aliases=("v1-a",)))
    assert first.finding("v1-a") == store.finding("v2-a")
    store.put_finding(a_finding("v2-a", aliases=("v0-a", "v1-a")))
    assert first.finding("v0-a") == store.finding("v2-a")
    assert first.finding("v0-b") is None


def test_a_finding_under_a_name_that_another_has_is_joined_with_it(store: Store) -> None:
    store.put_finding(a_finding("v2-a", first_seen="1", suspects=("1",)), {"log": "a"})
    folder = store.put_finding(
        a_finding("v2-b", first_seen="2", suspects=("2",), aliases=("v1-x",)), {"log": "b"}
    )
    assert folder.name == "v2-b"
    folder = store.put_finding(a_finding("v2-a", first_seen="1", suspects=("1",), aliases=("v1-x",)))
    assert folder.name == "v2-a"
    (finding,) = store.findings()
    assert (finding.aliases, finding.suspects) == (("v1-x", "v2-b"), ("1", "2"))
    assert store.evidence("v2-a") == {"log": "a", "joined": {"v2-b": {"log": "b"}}}


def test_who_has_not_heard_of_a_join_does_not_undo_it(store: Store) -> None:
    stale = a_finding("v2-a", first_seen="1", suspects=("1",))
    store.put_finding(stale)
    store.put_finding(a_finding("v2-b", first_seen="2", suspects=("2",), script="b\n"))
    joined = store.join("v2-a", "v2-b")
    store.put_finding(stale)
    assert list(store.findings()) == [joined]
    store.put_finding(a_finding("v2-b", first_seen="2", suspects=("2",), script="b\n"))
    assert list(store.findings()) == [joined]
    assert store.join("v2-a", "v2-b") == joined


def test_what_somebody_put_beside_a_joined_finding_is_set_aside(store: Store, told: Told) -> None:
    store.put_finding(a_finding("v2-a"))
    folder = store.put_finding(a_finding("v2-b"))
    (folder / "notes.md").write_text("mine")
    store.join("v2-a", "v2-b")
    assert_set_aside(store, told, "findings__v2-b")
    assert (store.root / "set-aside" / "findings__v2-b" / "notes.md").read_text() == "mine"


def test_a_finding_of_which_only_the_beginning_was_written_is_no_foreign_folder(
    store: Store, told: Told
) -> None:
    folder = store.put_finding(a_finding(), {"log": "a"})
    (folder / "finding.json").unlink()
    assert list(store.findings()) == []
    assert told == []


def test_joining_what_is_not_there_names_it(store: Store) -> None:
    store.put_finding(a_finding("v2-a"))
    with pytest.raises(MachineryFailure, match="v2-b has gone"):
        store.join("v2-a", "v2-b")
