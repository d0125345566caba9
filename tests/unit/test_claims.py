"""Artifacts of shards: what an honest one brings, and what none can do, whoever wrote it."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot import artifact, bodies, fingerprint, retest
from bot.claims import MOST_REFUSALS, Taken, take
from bot.defang import redact
from bot.planning import Shard
from bot.states import Hold, Published, Status, TriageState, Trial, Tried
from bot.store import Store
from fuzzers.records import Build, Finding, Json, Suspect, encode
from tests.unit.made import a_finding, a_suspect

BUILD = Build("torch", "2.14.0.dev20261130+cpu", "cpu", "a" * 40, "python3", "3.11.7")
SHARD = Shard("torch-night-toy-0", "torch", "cpu", "https://x.invalid/w.whl", BUILD.version, "toy", 7)
SECRET = "ghp_" + "a1B2" * 9
PAST = "2026-11-01T00:00:00Z"

TRIAL = Trial(
    "torch", BUILD.version, "cpu", BUILD.python, BUILD.git_sha, "toy", "1", Tried.TESTED, PAST, "c", "done"
)


def suspect(script: str = "x = 1\nassert False\n", **fields: Any) -> Suspect:
    return a_suspect(script, **{"build": BUILD, "found_at": PAST, **fields})


def finding(script: str = "x = 1\nassert False\n", **fields: Any) -> Finding:
    """A finding of the shard, under its true name."""
    own = fields.pop("suspect", suspect(script))
    made = a_finding(
        suspect=own, script=script, suspects=(own.id,), operators=(f"op {script[:40]}",), first_seen=PAST,
        last_seen=PAST, **{"detail": {"founder": own.id}, **fields},
    )  # fmt: skip
    return named(made)


def named(made: Finding) -> Finding:
    return replace(made, signature=fingerprint.signature(fingerprint.traits_of(made)))


def known() -> Finding:
    """What our store has already: found on an earlier build."""
    older = replace(BUILD, version="2.14.0.dev20261101+cpu", git_sha="b" * 40)
    return finding("y = 2\nassert False\n", suspect=suspect("y = 2\nassert False\n", build=older))


def foreign() -> Finding:
    """Of another framework, in our store too."""
    other = replace(BUILD, framework="mindspore", version="2.10.0")
    return finding("z = 34\nassert False\n", suspect=suspect("z = 34\nassert False\n", build=other))


def verdict(said: str, **fields: Any) -> Json:
    told = {"build": BUILD.name, "variant": "cpu", "git_sha": BUILD.git_sha, "python": BUILD.python}
    return {**told, "verdict": said, "changed": False, "reason": "", "at": PAST, **fields}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "ours", pytest.fail)
    made.put_finding(known())
    made.put_finding(foreign())
    return made


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    return tmp_path / "claims"


@pytest.fixture
def claim(shards: Path) -> Store:
    """The artifact as a store, to be filled."""
    made = Store(shards / SHARD.name, pytest.fail)
    made.record_trial(TRIAL)
    return made


def at(claim: Store, record: Finding | Suspect, **changes: Any) -> None:
    """Write a record as it is, by hand: no code of ours would."""
    kind = "finding" if isinstance(record, Finding) else "suspect"
    name = record.signature if isinstance(record, Finding) else record.id
    folder = claim.root / f"{kind}s" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{kind}.json").write_text(json.dumps({**encode(record), **changes}))


def contents(store: Store) -> dict[str, str]:
    return {
        str(path.relative_to(store.root)): path.read_text()
        for path in sorted(store.root.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


# What an honest shard brings


def test_an_honest_shard_brings_suspects_findings_verdicts_and_its_trial(
    store: Store, claim: Store, shards: Path
) -> None:
    claim.add(suspect())
    claim.put_finding(finding(), {"log": "boom"})
    claim.put_finding(replace(known(), verdicts=(verdict("gone"),)))
    claim.set_state(suspect().id, TriageState(Status.CONFIRMED, finding().signature))
    taken = take(store, shards, [SHARD])
    assert taken.refused == []
    assert (taken.suspects, taken.findings, taken.verdicts, taken.trials) == (1, 1, 1, 1)
    ours = store.finding(finding().signature)
    assert ours is not None
    assert (ours.script, ours.suspects, ours.state) == (finding().script, (suspect().id,), "open")
    assert store.evidence(ours.signature) == {"log": "boom"}
    assert store.state(suspect().id).status is Status.CONFIRMED
    heard = store.finding(known().signature)
    assert heard is not None
    assert [v["verdict"] for v in heard.verdicts] == ["gone"]
    assert [trial.outcome for trial in store.ledger().builds.values()] == [Tried.TESTED]


def test_taking_an_artifact_twice_changes_nothing(store: Store, claim: Store, shards: Path) -> None:
    claim.add(suspect())
    claim.put_finding(finding())
    claim.put_finding(replace(known(), verdicts=(verdict("reproduces"),)))
    take(store, shards, [SHARD])
    before = contents(store)
    take(store, shards, [SHARD])
    assert contents(store) == before


def test_a_suspect_that_waited_is_done_with_once_a_shard_has_triaged_it(
    store: Store, claim: Store, shards: Path
) -> None:
    waited = suspect("w = 5\nassert False\n", build=replace(BUILD, version="2.14.0.dev20261101+cpu"))
    for each in (store, claim):
        each.add(waited)
    found = finding(waited.script, suspect=waited)
    claim.put_finding(found)
    claim.set_state(waited.id, TriageState(Status.CONFIRMED, found.signature))
    assert take(store, shards, [SHARD]).refused == []
    assert store.finding(found.signature) is not None
    assert store.pending() == []


def test_a_failed_trial_is_replaced_by_the_one_that_tested(store: Store, claim: Store, shards: Path) -> None:
    store.record_trial(replace(TRIAL, outcome=Tried.CAMPAIGN_FAILED, at="2026-10-01T00:00:00Z"))
    take(store, shards, [SHARD])
    assert [trial.outcome for trial in store.ledger().builds.values()] == [Tried.TESTED]


# What none can do

Make = Callable[[Store], None]


def _folder(claim: Store, name: str) -> Path:
    place = claim.root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def _raw(name: str, data: str | bytes) -> Make:
    def make(claim: Store) -> None:
        _folder(claim, name).write_bytes(data.encode() if isinstance(data, str) else data)

    return make


def _link(name: str, target: str) -> Make:
    return lambda claim: _folder(claim, name).symlink_to(target)


def _put(made: Finding | Suspect, **changes: Any) -> Make:
    return lambda claim: at(claim, made, **changes)


def _listening(claim: Store) -> None:
    here = Path.cwd()
    os.chdir(claim.root)  # a socket's path is short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("holds.json")
    finally:
        os.chdir(here)


def _many_links(claim: Store) -> None:
    for number in range(MOST_REFUSALS + 50):
        _folder(claim, f"runs/{number}").symlink_to("/etc/passwd")


def _deep(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


BAD = finding("b = 3\nassert b\n")
OTHER = replace(BUILD, version="2.14.0.dev20261001+cpu")
NAME = f"findings/{BAD.signature}"

REFUSED: dict[str, Make] = {
    "a path that leaves": _raw("runs/..%2f..%2fx.sh", "x"),
    "a program": _raw("repro.sh", "rm -rf /"),
    "git's own folder": _raw(".git/config", "[core]\nfsmonitor = x"),
    "attributes": _raw(".gitattributes", "* filter=x"),
    "a link to a file": _link("ledger2.json", "/etc/passwd"),
    "a link in a record's place": _link(f"{NAME}/finding.json", "/etc/passwd"),
    "a link to a folder": _link("suspects", "/etc"),
    "a pipe": lambda claim: os.mkfifo(claim.root / "holds.json"),
    "a socket": _listening,
    "too many links": _many_links,
    "folders without end": _raw("runs/" + "d/" * 50 + "x.json", "{}"),
    "half a record": _raw(f"{NAME}/finding.json", json.dumps(encode(BAD))[:200]),
    "no object": _raw(f"{NAME}/finding.json", "[1]"),
    "no text": _raw(f"{NAME}/finding.json", b"\xff\xfe\x00"),
    "nested without end": _raw(f"{NAME}/finding.json", "[" * 100_000),
    "a number without end": _raw(f"{NAME}/finding.json", '{"schema": ' + "9" * 10_000 + "}"),
    "a file that is too large": _raw(f"{NAME}/finding.json", b" " * (9 * 2**20)),
    "an unknown field": _put(BAD, admin=True),
    "of a newer nightfuzz": _put(BAD, schema=99),
    "a state of a newer nightfuzz": lambda claim: (
        at(claim, suspect()),
        _raw(f"suspects/{suspect().id}/state.json", '{"schema": 99}')(claim),
    )[0],
    "under another's name": lambda claim: (
        at(claim, BAD),
        (claim.root / NAME).rename(claim.root / "findings" / known().signature),
    )[0],
    "a made-up name": _put(replace(BAD, signature="v2-000000000000")),
    "a name with a mark's words": _put(replace(BAD, signature="v2-0_open")),
    "the name of another framework's bug": _put(replace(foreign(), suspect=BAD.suspect, title="mine")),
    "of another engine": _put(
        finding("c = 4\nassert c\n", suspect=suspect("c = 4\nassert c\n", engine="dirigo"))
    ),
    "of another framework": _put(
        finding(
            "d = 51\nassert d\n", suspect=suspect("d = 51\nassert d\n", build=replace(BUILD, framework="jax"))
        )
    ),
    "of another build": _put(
        finding("e = 612\nassert e\n", suspect=suspect("e = 612\nassert e\n", build=OTHER))
    ),
    "a suspect of another build": _put(suspect("f = 1\n", build=OTHER)),
    "a suspect of another engine": _put(suspect("f = 1\n", engine="flowmut")),
    "a founder that is not ours": _put(
        replace(BAD, suspect=replace(BAD.suspect, build=OTHER), detail={"founder": "../" + BAD.suspect.id})
    ),
    "a script that is none": _put(finding("assert (\n")),
    "a script with a zero byte": _put(finding("assert 0 \0\n")),
    "a script nested without end": _put(finding("x = " + "-" * 30_000 + "1\nassert x\n")),
    "a tree that is too deep": _put(finding("x = " + ".a".join(["b"] * 500) + "\nassert x\n")),
    "a script that is too long": _put(finding("x = 1\n" * 20_000)),
    "a suspect whose script is none": _put(suspect("assert (\n")),
    "a message without end": lambda claim: at(
        claim,
        replace(BAD, runs=()),
        runs=[{"ending": "exception", "message": "/home/" * 20_000}],
    ),
    "detail that is too deep": lambda claim: at(claim, BAD, detail=json.loads(_deep(150))),
    "a difference that is none": _put(replace(BAD, detail={"difference": "x"})),
    "a difference without detail": _put(replace(BAD, detail={"difference": {"detail": [1]}})),
    "variants that are none": _put(replace(BAD, detail={"variants": [1]})),
    "a nearness that is none": _put(replace(BAD, detail={"near": [1]})),
    "a record that fills the store": _put(replace(BAD, confirmed="x" * 2**21)),
    "a name of a build that is none": lambda claim: (
        (claim.root / "ledger.json").unlink(),
        at(claim, replace(BAD, verdicts=(verdict("gone", python="3.11\n" * 99),))),
    )[1],
    "frames that are none": _put(suspect("g = 1\n", detail={"actual": {"frames": 7}})),
}
"""What it is -> how to make it. Each is refused with a line, and nothing of it is in the store."""


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused_with_a_line_and_nothing_is_taken(
    store: Store, claim: Store, shards: Path, what: str
) -> None:
    before = {k: v for k, v in contents(store).items() if k != "ledger.json"}
    REFUSED[what](claim)
    taken = take(store, shards, [SHARD])
    assert {k: v for k, v in contents(store).items() if k != "ledger.json"} == before
    assert 0 < len(taken.refused) <= MOST_REFUSALS + 1
    assert all(line.isprintable() and len(line) < 400 and "::" not in line for line in taken.refused)


def _ours(store: Store) -> Finding:
    found = store.finding(known().signature)
    assert found is not None
    return found


UNHEARD: dict[str, Json] = {
    "a decision": {"detail": {"decision": {"kind": "wontfix", "state": "wontfix", "by": "me", "at": PAST}}},
    "a state": {"state": "gone", "last_seen": "2999-01-01T00:00:00Z"},
    "a script": {"script": "import os\nassert not os.system('x')\n"},
    "a title": {"title": "@everyone"},
    "another's alias": {"aliases": [foreign().signature]},
    "an alias to come": {"aliases": ["v2-ffffffffffff"]},
    "a verdict on another build": {"verdicts": [verdict("gone", build="torch 9.9")]},
    "a verdict on another commit": {"verdicts": [verdict("gone", git_sha="c" * 40)]},
    "a verdict on another variant": {"verdicts": [verdict("gone", variant="cu130")]},
    "a verdict of another framework": {"verdicts": [verdict("gone", build="mindspore 2.10.0")]},
    "a verdict that is none": {"verdicts": [verdict("fixed"), {"verdict": []}, {"verdict": {"a": 1}}]},
    "another's suspect": {"suspects": [known().suspect.id, "../../x", foreign().suspect.id]},
    "a standing that is none": {"since": {"change": "x"}},
}
"""What a shard may write into a finding that we have; all of it changes nothing."""


@pytest.mark.parametrize("what", UNHEARD)
def test_a_finding_that_we_have_hears_nothing_of_it(
    store: Store, claim: Store, shards: Path, what: str
) -> None:
    before = contents(store)
    at(claim, known(), **UNHEARD[what])
    take(store, shards, [SHARD])
    after = contents(store)
    after.pop("ledger.json")
    assert after == before
    retest.settle(store, "torch", BUILD.name)
    assert _ours(store).state == "open"


def test_what_people_and_publishers_write_is_not_a_shards_to_say(
    store: Store, claim: Store, shards: Path
) -> None:
    hold = Hold("torch", BUILD.version, "cpu", BUILD.python, BUILD.git_sha, "too much", PAST)
    store.put_hold(hold)
    store.record_run("publish", {"steps": 1})
    claim.put_hold(replace(hold, accepted_at=PAST))
    claim.put_published(Published(known().signature, "github", "1", approved="f" * 12, approved_by="me"))
    claim.record_run("publish", {"steps": ["a", "longer", "record", "that", "a", "merge", "would", "keep"]})
    take(store, shards, [SHARD])
    assert [one.accepted_at for one in store.holds()] == [""]
    assert store.publications() == []
    assert json.loads((store.root / "runs" / "publish.json").read_text()) == {"steps": 1}


def test_a_new_finding_brings_no_decision_alias_time_to_come_or_edit(
    store: Store, claim: Store, shards: Path
) -> None:
    at(
        claim,
        finding(),
        state="wontfix",
        aliases=[known().signature, "v2-ffffffffffff"],
        first_seen="soon",
        last_seen="2999-01-01T00:00:00Z",
        title="one\n::add-mask::two",
        detail={"founder": suspect().id, "decision": {"state": "wontfix"}, "gone": {"build": "x"}},
        verdicts=[verdict("reproduces", at="2999-01-01T00:00:00Z"), verdict("gone", git_sha="d" * 40)],
    )
    folder = claim.root / "findings" / finding().signature
    (folder / "repro.py").write_text("import os\n")
    (folder / "evidence.json").write_text(json.dumps({"edits": ["x"], "joined": {"a": {}}, "log": "l"}))
    take(store, shards, [SHARD])
    found = store.finding(finding().signature)
    assert found is not None
    assert (found.state, found.aliases, found.title) == ("open", (), "one : :add-mask: :two")
    assert not {"decision", "gone"} & found.detail.keys()
    assert [v["git_sha"] for v in found.verdicts] == [BUILD.git_sha]
    assert max(found.first_seen, found.last_seen, found.verdicts[0]["at"]) < "2999"
    assert store.script(found) == finding().script
    assert store.evidence(found.signature) == {"log": "l"}
    assert _ours(store).signature == known().signature


def test_secrets_are_redacted_and_scripts_are_not_touched(store: Store, claim: Store, shards: Path) -> None:
    claim.add(suspect(detail={"log": SECRET, SECRET: [SECRET]}))
    claim.put_finding(finding(detail={"note": f"token={SECRET}"}), {"log": {"deep": SECRET}})
    take(store, shards, [SHARD])
    assert store.finding(finding().signature) is not None
    assert not [name for name, text in contents(store).items() if SECRET in text]


def test_an_installed_build_cannot_be_three_builds(store: Store, claim: Store, shards: Path) -> None:
    shard = replace(SHARD, version="", build="installed")
    (claim.root / "ledger.json").unlink()
    said = [verdict("gone", build=f"torch 99.{n}", git_sha=f"{n}" * 40) for n in range(3)]
    at(claim, known(), verdicts=said)
    taken = take(store, shards, [shard])
    assert _ours(store).verdicts == ()
    assert any("3 builds" in line for line in taken.refused)


def test_shards_of_one_build_cannot_be_three_builds(store: Store, shards: Path) -> None:
    night = [replace(SHARD, name=f"s{n}", version="", build="installed") for n in range(3)]
    for number, shard in enumerate(night):
        claimed = Store(shards / shard.name, pytest.fail)
        said = verdict("gone", build=f"torch 99.{number}", git_sha=f"{number}" * 40)
        at(claimed, known(), verdicts=[said])
    taken = take(store, shards, night)
    retest.settle(store, "torch", "torch 99.0")
    assert len(_ours(store).verdicts) == 1
    assert _ours(store).state == "open"
    assert len([line for line in taken.refused if "another shard" in line]) == 2


def test_a_ledger_cannot_be_filled_or_claim_for_others(store: Store, claim: Store, shards: Path) -> None:
    for number in range(50):
        claim.record_trial(replace(TRIAL, revision=f"r{number}"))
    claim.record_trial(replace(TRIAL, engine="dirigo"))
    claim.record_trial(replace(TRIAL, version="9.9"))
    assert take(store, shards, [SHARD]).trials == 0
    assert store.ledger().builds == {}


def test_what_triage_told_of_a_suspect_is_not_believed(store: Store, claim: Store, shards: Path) -> None:
    claim.add(suspect())
    claim.set_state(suspect().id, TriageState(Status.DEFERRED, stages={"confirm": {"x": 1}}))
    other = suspect("h = 1\n")
    claim.add(other)
    claim.set_state(other.id, TriageState(Status.DUPLICATE_OF, foreign().signature, "so"))
    take(store, shards, [SHARD])
    assert [store.state(s.id).stages for s in store.suspects()] == [{}, {}]
    assert {s.id for s in store.pending()} == {suspect().id, other.id}


def test_a_folder_that_was_not_planned_and_one_that_is_a_link_say_nothing(
    store: Store, claim: Store, shards: Path
) -> None:
    claim.put_finding(finding())
    before = contents(store)
    stranger = replace(SHARD, name="stranger")
    linked = replace(SHARD, name="linked")
    (shards / "linked").symlink_to(claim.root)
    taken = take(store, shards, [stranger, linked])
    assert contents(store) == before
    assert len(taken.refused) == 2


def test_too_many_files_are_not_looked_at(
    store: Store, claim: Store, shards: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifact, "MOST_FILES", 3)
    claim.put_finding(finding())
    before = contents(store)
    taken = take(store, shards, [SHARD])
    assert contents(store) == before
    assert "none is taken" in taken.refused[-1]


def test_what_was_taken_can_be_written_as_an_issue(store: Store, claim: Store, shards: Path) -> None:
    odd: Json = {"x": [None, float("inf"), "\ud800", {"y": "`" * 50 + "<!-- -->"}]}
    at(
        claim, finding(),
        detail={"founder": suspect().id, "difference": {"detail": odd, "where": odd}, "z": odd},
        rungs={"eager": "x" * 1000, "<!--": "-->"}, culprits=["`x`\n"], near=["<!--"], label="@all\n" * 99,
    )  # fmt: skip
    assert take(store, shards, [SHARD]).refused == []
    found = store.finding(finding().signature)
    assert found is not None
    assert found.script.strip() in bodies.issue(found).body


def test_a_deep_or_odd_evidence_ends_nothing(store: Store, claim: Store, shards: Path) -> None:
    claim.put_finding(finding())
    (claim.root / "findings" / finding().signature / "evidence.json").write_text(_deep(900))
    assert take(store, shards, [SHARD]).findings == 1
    assert store.evidence(finding().signature) == {}


@pytest.mark.parametrize("piece", ["/a", "/tmp", "/home/", "eyJ-", "://a:", "token=", "bearer ", "-", "a."])
def test_redacting_a_long_text_of_somebody_who_means_harm_takes_no_time(piece: str) -> None:
    began = time.monotonic()
    redact(piece * (200_000 // len(piece)))
    assert time.monotonic() - began < 5


def test_nothing_is_kept_of_an_artifact_beside_the_store(store: Store, claim: Store, shards: Path) -> None:
    _raw("repro.sh", "x")(claim)
    take(store, shards, [SHARD])
    assert {p.name for p in store.root.iterdir()} <= {"findings", "ledger.json", "lock"}
    assert Taken().refused == []
