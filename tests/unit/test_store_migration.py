"""A store that an older nightfuzz wrote: read as it is, brought up to date, and nothing filed twice.

`stores/schema1` was written by the code of schema 1 and signatures v1. Two of its findings were named by
what their unreduced scripts raised; reduced they raise the same.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bot import fingerprint, migrate
from bot.merging import merge
from bot.store import Store
from fuzzers.records import SCHEMA, Finding, Kind
from tests.unit.dying import deaths
from tests.unit.made import a_finding

SCHEMA1 = Path(__file__).parent / "stores" / "schema1"


@pytest.fixture
def old(tmp_path: Path) -> Store:
    """A copy of it."""
    shutil.copytree(SCHEMA1, tmp_path / "store")
    return Store(tmp_path / "store", pytest.fail)


def old_names() -> list[str]:
    return sorted(path.name for path in (SCHEMA1 / "findings").iterdir())


def exceptions(store: Store) -> list[Finding]:
    return [finding for finding in store.findings() if finding.suspect.kind is Kind.EXCEPTION]


def picture(store: Store) -> object:
    """All that counts of a store."""
    return (
        list(store.findings()),
        {s.id: store.state(s.id) for s in store.suspects()},
        [store.script(finding) for finding in store.findings()],
    )


def test_a_store_of_schema_1_opens_with_nothing_set_aside(old: Store) -> None:
    assert len(list(old.suspects())) == 6
    assert [s.script for s in old.pending()] == [s.script for s in old.suspects() if "torch.neg" in s.script]
    assert {s.schema for s in old.suspects()} == {SCHEMA}
    assert {(f.schema, f.suspect.schema) for f in old.findings()} == {(SCHEMA, SCHEMA)}
    assert old.ledger().builds == {}


def test_findings_keep_the_names_they_were_filed_under_and_have_the_new_one_as_an_alias(old: Store) -> None:
    for finding in old.findings():
        assert finding.signature in old_names()
        now = fingerprint.signature(fingerprint.traits_of(finding))
        assert now.startswith(f"{fingerprint.VERSION}-")
        assert old.finding(now) == finding


def test_two_old_findings_of_one_bug_are_joined_into_the_one_first_seen(old: Store) -> None:
    assert len(old_names()) == 4
    (finding,) = exceptions(old)
    assert finding.first_seen == "2026-11-04T01:00:00Z"
    assert finding.last_seen == "2026-11-05T01:00:00Z"
    assert len(finding.suspects) == 2
    (joined,) = set(old_names()) & set(finding.aliases)
    assert old.finding(joined) == finding
    folder = old.put_finding(finding)
    assert folder.name == finding.signature
    assert not old.finding_folder(joined).exists()
    assert exceptions(Store(old.root, pytest.fail)) == [finding]
    assert list(old.evidence(finding.signature)["joined"]) == [joined]


def test_what_was_read_is_written_back_in_the_schema_of_today(old: Store) -> None:
    before = list(old.findings())
    for finding in before:
        plain = json.loads((old.put_finding(finding) / "finding.json").read_text())
        assert (plain["schema"], plain["suspect"]["schema"]) == (SCHEMA, SCHEMA)
    assert list(Store(old.root, pytest.fail).findings()) == before


def test_the_same_suspects_and_findings_again_are_nothing_new(old: Store) -> None:
    before = picture(old)
    again = Store(SCHEMA1, pytest.fail)
    assert not any(old.add(suspect) for suspect in again.suspects())
    for finding in list(old.findings()):
        now = fingerprint.signature(fingerprint.traits_of(finding))
        known = old.finding(now)
        assert known is not None
        old.put_finding(known)
    assert picture(old) == before
    assert merge(old, again).findings == 0
    assert picture(old) == before
    assert len(list(old.findings())) == 3


def test_a_bug_filed_under_its_new_name_too_is_one_with_the_old(old: Store) -> None:
    (known,) = exceptions(old)
    (now,) = (name for name in known.aliases if name.startswith(fingerprint.VERSION))
    folder = old.put_finding(a_finding(now, first_seen="2026-12-01", suspects=("0" * 16,)))
    assert folder.name == known.signature
    assert len(list(old.findings())) == 3
    assert "0" * 16 in exceptions(old)[0].suspects


def test_a_name_of_today_or_of_no_version_gets_no_alias() -> None:
    for name in (f"{fingerprint.VERSION}-0123456789ab", "nf1-0123456789ab", "v99-0123456789ab"):
        assert migrate.named_now(a_finding(name)).aliases == ()
    assert len(migrate.named_now(a_finding("v1-0123456789ab")).aliases) == 1


def test_a_migration_that_is_killed_anywhere_is_finished_by_the_next(
    old: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_back(store: Store) -> None:
        for finding in list(store.findings()):
            store.put_finding(finding)

    expected = picture(old)
    died = 0
    for folder in deaths(
        tmp_path / "deaths",
        lambda folder: shutil.copytree(old.root, folder),
        lambda folder: write_back(Store(folder, pytest.fail)),
        monkeypatch,
    ):
        died += 1
        store = Store(folder, pytest.fail)
        assert picture(store) == expected
        write_back(store)
        assert picture(store) == expected
        assert len(list((store.root / "findings").glob("v*"))) == 3
    assert died > 10
