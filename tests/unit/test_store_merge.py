"""Merging whole stores: the same whichever comes first and however often; joined findings stay joined."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.cli import exit_code
from bot.merging import merge
from bot.states import Hold, Status, TriageState, Trial, Tried
from bot.store import Store
from fuzzers.records import Finding
from tests.unit.made import a_finding, a_suspect

TIMES = st.sampled_from(["2026-11-01", "2026-11-02", "2026-11-03"])
NAMES = ["v2-x", "v2-y", "v2-z"]
TRIAL = Trial("torch", "2.13.0", "cpu", "3.11", "cf30153c", "flowmut", "1", Tried.TESTED, "2026-11-01")
HOLD = Hold("torch", "2.13.0", "cpu", "3.11", "cf30153c", "7 of 9 changed", "2026-11-01")


def consistent(finding: Finding) -> Finding:
    """As the store writes them: a decision is the state, and no finding is its own alias."""
    decision = finding.detail.get("decision") or {"state": finding.state}
    aliases = tuple(a for a in finding.aliases if a != finding.signature)
    return replace(finding, state=decision["state"], aliases=aliases)


FINDINGS = st.lists(
    st.builds(
        a_finding,
        st.sampled_from(NAMES),
        script=st.sampled_from(["a\n", "b\n"]),
        first_seen=TIMES,
        last_seen=TIMES,
        state=st.sampled_from(["open", "gone"]),
        suspects=st.lists(st.sampled_from("abc"), unique=True).map(lambda s: tuple(sorted(s))),
        verdicts=st.lists(st.fixed_dictionaries({"at": TIMES}), max_size=1).map(tuple),
        aliases=st.lists(st.sampled_from(["v1-p", "v1-q", "v2-y"]), max_size=1).map(tuple),
        since=st.fixed_dictionaries({}, optional={"reason": st.sampled_from(["r", "s"])}),
        detail=st.fixed_dictionaries(
            {}, optional={"decision": st.fixed_dictionaries({"state": st.just("gone"), "at": TIMES})}
        ),
    ).map(lambda finding: consistent(finding)),
    max_size=3,
    unique_by=lambda f: f.signature,
)
CONTENTS = st.fixed_dictionaries(
    {
        "findings": FINDINGS,
        "evidence": st.sampled_from([{}, {"log": 1}, {"log": 2}]),
        "edited": st.sampled_from(["", "mine\n", "yours\n"]),
        "suspects": st.lists(st.tuples(st.sampled_from("st"), TIMES, st.sampled_from(Status)), max_size=2),
        "trials": st.lists(st.sampled_from(Tried), max_size=1),
        "holds": st.lists(TIMES, max_size=1),
        "runs": st.lists(st.sampled_from(["one", "two"]), max_size=1),
    }
)


def filled(folder: Path, contents: dict[str, list[object]]) -> Store:
    """A store with the drawn contents. Everything is put where another store may have put it."""
    store = Store(folder, pytest.fail)
    for finding in contents["findings"]:
        place = store.put_finding(finding, contents["evidence"])
        if contents["edited"]:
            (place / "repro.py").write_text(contents["edited"])
    for script, at, status in contents["suspects"]:
        store.add(a_suspect(script, found_at=at))
        store.set_state(a_suspect(script).id, TriageState(status))
    for outcome in contents["trials"]:
        store.record_trial(replace(TRIAL, outcome=outcome))
    for at in contents["holds"]:
        store.put_hold(replace(HOLD, accepted_at=at))
    for name in contents["runs"]:
        store.record_run("a-run", {"name": name})
    return store


def picture(store: Store) -> object:
    """All that a store holds."""
    again = Store(store.root, pytest.fail)
    return (
        list(again.findings()),
        [(again.evidence(f.signature), again.script(f)) for f in again.findings()],
        [(s, again.state(s.id)) for s in again.suspects()],
        again.ledger(),
        again.holds(),
        [path.read_text() for path in sorted(again.root.glob("runs/*"))],
        sorted(path.name for path in again.root.glob("findings/*")),
    )


@settings(max_examples=100, deadline=None)
@given(CONTENTS, CONTENTS)
def test_stores_merge_the_same_both_ways_and_merging_again_changes_nothing(
    a: dict[str, list[object]], b: dict[str, list[object]]
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda fd: None)
        patch.setattr("bot.files.sync_disk", lambda folder: None)
        patch.setattr("bot.store.utc_now", lambda: "2026-11-09T00:00:00Z")
        root = Path(folder)
        ab, ba = filled(root / "ab", a), filled(root / "ba", b)
        only_a, only_b = filled(root / "a", a), filled(root / "b", b)
        merge(ab, only_b)
        merge(ba, only_a)
        assert picture(ab) == picture(ba)
        before = picture(ab)
        merge(ab, only_b)
        assert picture(ab) == before
        merge(ab, only_a)
        assert picture(ab) == before
        names = {f.signature for contents in (a, b) for f in contents["findings"]}  # type: ignore[attr-defined]
        assert all(ab.finding(name) for name in names)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "out" / "store", pytest.fail)


@pytest.fixture
def other(tmp_path: Path) -> Store:
    return Store(tmp_path / "other" / "store", pytest.fail)


X = a_finding("v2-x", first_seen="2026-11-01", script="x\n", suspects=("1",))
Y = a_finding("v2-y", first_seen="2026-11-02", script="y\n", suspects=("2",))


def joined(store: Store) -> Finding:
    """The store's one finding: y, of which x (though it was seen first) is an alias."""
    (finding,) = store.findings()
    assert (finding.signature, finding.aliases) == ("v2-y", ("v2-x",))
    assert finding.suspects == ("1", "2")
    assert [v["script"] for v in finding.detail["variants"]] == ["x\n"]
    assert store.finding("v2-x") == finding
    assert [path.name for path in (store.root / "findings").iterdir()] == ["v2-y"]
    return finding


@pytest.mark.parametrize("swap", [False, True], ids=["ours-is-joined", "theirs-is-joined"])
def test_what_one_store_has_joined_the_other_does_not_take_apart(
    store: Store, other: Store, swap: bool
) -> None:
    one, two = (other, store) if swap else (store, other)
    for each in (one, two):
        each.put_finding(X)
        each.put_finding(Y)
    one.join("v2-y", "v2-x")
    merge(store, other)
    first = joined(store)
    merge(store, other)
    assert joined(store) == first


@pytest.mark.parametrize("name", ["", ".", "../runs", "../../../mine"])
def test_an_alias_that_is_no_finding_of_ours_moves_nothing(store: Store, other: Store, name: str) -> None:
    mine = store.root.parents[1] / "mine"
    mine.mkdir()
    store.record_run("a-run", {})
    store.put_finding(X)
    other.put_finding(Y)
    path = other.finding_folder("v2-y") / "finding.json"
    path.write_text(path.read_text().replace('"aliases": []', f'"aliases": ["v2-x", "{name}"]'))
    merge(store, other)
    assert joined_names(store) == ["v2-x", "v2-y"]
    assert mine.exists() and (store.root / "runs" / "a-run.json").exists()


def joined_names(store: Store) -> list[str]:
    return sorted(name for name in ("v2-x", "v2-y") if store.finding(name))


def test_a_state_that_names_a_joined_finding_still_finds_it(store: Store) -> None:
    store.add(a_suspect())
    store.put_finding(X)
    store.put_finding(Y)
    store.set_state(a_suspect().id, TriageState(Status.CONFIRMED, finding="v2-x"))
    store.join("v2-y", "v2-x")
    assert store.pending() == []
    assert store.finding(store.state(a_suspect().id).finding) == joined(store)


def test_a_persons_edited_script_comes_along(store: Store, other: Store) -> None:
    store.put_finding(X)
    folder = other.put_finding(X)
    (folder / "repro.py").write_text("edited\n")
    merge(store, other)
    assert store.script(X) == "edited\n"


def test_the_suspect_that_was_found_first_is_the_one_kept(store: Store, other: Store) -> None:
    store.add(a_suspect(found_at="2026-11-02"))
    other.add(a_suspect(found_at="2026-11-01"))
    assert merge(store, other).suspects == 0
    assert [s.found_at for s in store.suspects()] == ["2026-11-01"]


def test_a_hold_that_a_person_accepted_stays_accepted(store: Store, other: Store) -> None:
    store.put_hold(replace(HOLD, accepted_at="2026-11-03"))
    other.put_hold(replace(HOLD, at="2026-11-02"))
    merge(store, other)
    (hold,) = store.holds()
    assert (hold.at, hold.accepted_at) == ("2026-11-02", "2026-11-03")


def test_the_command_merges_and_names_what_it_set_aside(
    store: Store, other: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    other.put_finding(X)
    other.record_trial(TRIAL)
    (other.root / "findings" / "notes.txt").write_text("hello")
    out, source = str(store.root.parent), str(other.root.parent)
    assert exit_code(["merge", source, "--out", out, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["findings"], document["trials"], len(document["set_aside"])) == (1, 1, 1)
    assert list(store.findings()) == [X]
    assert exit_code(["merge", str(other.root), "--out", out]) == 0
    assert "nothing new" in capsys.readouterr().out


@pytest.mark.parametrize("named", [lambda out: out, lambda out: out / "nowhere"], ids=["itself", "nothing"])
def test_the_command_refuses_what_it_cannot_merge(
    store: Store, named: Callable[[Path], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    store.put_finding(X)
    out = store.root.parent
    assert exit_code(["merge", str(named(out)), "--out", str(out)]) == 2
    assert "store" in capsys.readouterr().err
