"""A full disk: one clear line, exit 3, nothing half-written, and the store opens again."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bot.campaign import Campaign
from bot.cli import exit_code
from bot.errors import MachineryFailure
from bot.files import is_leftover
from bot.merging import merge
from bot.render import render
from bot.states import Status, TriageState
from bot.store import Store
from fuzzers.records import Budget
from tests.unit.dying import full_at
from tests.unit.made import a_finding, a_suspect
from tests.unit.test_store_kills import CHANGES, ours, picture, theirs
from tests.unit.toy_pool import SPEC, ToyPool


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of one MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("mounting a small file system needs mount(8) and root")
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def fill(folder: Path) -> None:
    """Take all the room that is left."""
    with suppress(OSError), (folder / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


def assert_fails_in_one_line(act: Callable[[], object], *, names: str) -> None:
    with pytest.raises(MachineryFailure, match="No space left on device") as told:
        act()
    assert "\n" not in str(told.value)
    assert names in str(told.value)


@pytest.mark.parametrize("change", CHANGES)
def test_whichever_write_finds_the_disk_full_the_store_is_whole_and_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    monkeypatch.setattr("bot.files.sync_disk", lambda folder: None)
    other = theirs(tmp_path / "theirs")
    ours(tmp_path / "before")
    shutil.copytree(tmp_path / "before", tmp_path / "whole")
    CHANGES[change](Store(tmp_path / "whole", pytest.fail), other)
    for at in itertools.count(1):
        folder = tmp_path / f"full-{at}"
        shutil.copytree(tmp_path / "before", folder)
        with full_at(at, monkeypatch) as writes:
            with suppress(MachineryFailure):
                CHANGES[change](Store(folder, pytest.fail), other)
            if writes() < at:
                break
        assert [path for path in folder.rglob("*") if is_leftover(path)] == []
        CHANGES[change](Store(folder, pytest.fail), other)
        assert picture(Store(folder, pytest.fail)) == picture(Store(tmp_path / "whole", pytest.fail))
    assert at > 1


def test_every_write_of_a_store_on_a_full_disk_is_a_failure_of_the_machinery(
    small: Path, tmp_path: Path
) -> None:
    store = Store(small / "store", pytest.fail)
    other = theirs(tmp_path / "other")
    store.put_finding(a_finding())
    store.add(a_suspect())
    before = picture(store)
    fill(small)
    state = TriageState(Status.FLAKY, stages={"confirm": {"log": "x" * 9000}})
    for act, names in (
        (lambda: store.put_finding(a_finding("v2-more"), {"log": "x" * 9000}), "v2-more"),
        (lambda: store.add(a_suspect("more\n")), "suspect.json"),
        (lambda: store.set_state(a_suspect().id, state), "state.json"),
        (lambda: store.record_run("a-run", {"log": "x" * 9000}), "a-run"),
        (lambda: merge(store, other), "cannot write"),
        (lambda: list(render([a_finding()], small / "issues", hosts=[])), "issues"),
    ):
        assert_fails_in_one_line(act, names=names)
    assert picture(Store(store.root, pytest.fail)) == before
    (small / "filler").unlink()
    store.put_finding(a_finding("v2-more"), {"log": "x" * 9000})
    assert store.finding("v2-more") is not None


def test_a_campaign_on_a_full_disk_ends_and_goes_on_when_there_is_room(small: Path) -> None:
    def campaign() -> Campaign:
        return Campaign(SPEC, small / "campaigns" / "toy", Store(small / "store", pytest.fail))

    def deed(chain: int, step: int) -> str:
        if (chain, step) == (1, 1) and not (small / "filler").exists() and not was_full:
            fill(small)
            was_full.append(True)
        return "differs"

    was_full: list[bool] = []
    assert_fails_in_one_line(lambda: campaign().run(ToyPool(deed), Budget(60.0, 9)), names=str(small))
    assert was_full
    (small / "filler").unlink()
    record = campaign().run(ToyPool(deed), Budget(60.0, 9))
    assert record.tally.steps == 9
    scripts = {suspect.script for suspect in campaign().store.suspects()}
    assert {f"({chain}, {step})\n" for chain in (0, 1) for step in range(4)} <= scripts


def test_the_command_line_says_it_in_one_line_and_ends_with_3(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs(tmp_path / "other")
    Store(small / "store", pytest.fail).add(a_suspect())
    fill(small)
    assert exit_code(["merge", str(tmp_path / "other"), "--out", str(small)]) == 3
    said = capsys.readouterr().err.strip()
    assert "\n" not in said
    assert "No space left on device" in said
