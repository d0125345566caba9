"""The store on a branch: nothing that was pushed is lost, and nothing that is no store's file is read."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bot.branch import LARGEST_FILE, Branch, GitError
from bot.errors import MachineryFailure
from bot.store import Store
from tests.unit.made import a_finding, a_suspect


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    place = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(place)], check=True)
    return place


def store(folder: Path, *names: str) -> Store:
    made = Store(folder / "store", pytest.fail)
    for name in names:
        made.put_finding(a_finding(name))
    return made


def names(one: Store) -> list[str]:
    return [finding.signature for finding in one.findings()]


def branch(remote: Path, warned: list[str] | None = None) -> Branch:
    return Branch(str(remote), "nightfuzz-state", warn=pytest.fail if warned is None else warned.append)


def test_what_is_pushed_is_fetched(remote: Path, tmp_path: Path) -> None:
    one = store(tmp_path / "one", "v2-a")
    one.add(a_suspect())
    assert branch(remote).push(one, "a night")
    other = store(tmp_path / "other")
    assert branch(remote).fetch(other)
    assert names(other) == ["v2-a"]
    assert [s.id for s in other.suspects()] == [a_suspect().id]


def test_a_branch_that_is_not_there_is_an_empty_store(remote: Path, tmp_path: Path) -> None:
    one = store(tmp_path / "one")
    assert not branch(remote).fetch(one)
    assert names(one) == []


def test_nothing_new_makes_no_commit(remote: Path, tmp_path: Path) -> None:
    one = store(tmp_path / "one", "v2-a")
    branch(remote).push(one, "a night")
    assert not branch(remote).push(one, "another")


def test_a_push_brings_what_others_pushed(remote: Path, tmp_path: Path) -> None:
    one, other = store(tmp_path / "one", "v2-a"), store(tmp_path / "other", "v2-b")
    branch(remote).push(one, "one")
    branch(remote).push(other, "other")
    assert names(other) == ["v2-a", "v2-b"]


def test_many_at_once_lose_nothing(remote: Path, tmp_path: Path) -> None:
    stores = [store(tmp_path / str(n), f"v2-{n}") for n in range(5)]
    with ThreadPoolExecutor(5) as threads:
        list(threads.map(lambda one: branch(remote).push(one, "a night"), stores))
    whole = store(tmp_path / "whole")
    branch(remote).fetch(whole)
    assert names(whole) == [f"v2-{n}" for n in range(5)]


HOSTILE = {
    "../escape.json": "100644",
    "findings/v2-x/../../../escape": "100644",
    "suspects/0000000000000000/evil.sh": "100755",
    "ledger.json": "120000",
    ".git/config": "100644",
    "findings/v2-x/finding.json": "160000",
    "runs/x.json/y": "100644",
    "README.md": "100644",
}


def test_what_is_no_plain_file_of_a_store_is_not_read(remote: Path, tmp_path: Path) -> None:
    """A tree of these entries, written without git's own checks."""
    git = ["git", "--git-dir", str(remote)]

    def ask(*command: str, text: str = "") -> str:
        done = subprocess.run([*git, *command], input=text, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    blob = ask("hash-object", "-w", "--stdin", text="/etc/passwd")
    flat = {path.replace("/", "_").replace("..", "dots"): mode for path, mode in HOSTILE.items()}
    entries = "".join(
        f"{mode} commit {'1' * 40}\t{path}\n" if mode == "160000" else f"{mode} blob {blob}\t{path}\n"
        for path, mode in [*flat.items(), ("ledger.json", "120000")]
    )
    tree = ask("mktree", "--missing", text=entries)
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.invalid"]
    commit = subprocess.run(
        ["git", "--git-dir", str(remote), *identity, "commit-tree", tree],
        input="evil", capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    ask("update-ref", "refs/heads/nightfuzz-state", commit)
    warned: list[str] = []
    one = store(tmp_path / "one")
    branch(remote, warned).fetch(one)
    assert len(warned) == len(flat) + 1
    assert names(one) == []
    assert one.ledger().builds == {}


def test_a_repository_that_is_not_there_is_one_line_without_secrets(tmp_path: Path) -> None:
    gone = Branch("http://user:hunter22@127.0.0.1:9/x.git", "nightfuzz-state", "ghp_" + "a" * 30)
    with pytest.raises(GitError) as refused:
        gone.fetch(store(tmp_path / "one"))
    said = str(refused.value)
    assert "\n" not in said
    assert "hunter22" not in said
    assert "ghp_" not in said


def test_the_token_is_in_no_command_line(
    remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    real = subprocess.run
    monkeypatch.setattr(
        subprocess, "run", lambda command, **more: (seen.append(command), real(command, **more))[1]
    )
    Branch(str(remote), "nightfuzz-state", "ghp_" + "a" * 30).push(store(tmp_path / "one", "v2-a"), "x")
    assert seen
    assert "ghp_" not in str(seen)


def test_a_script_that_a_person_made_executable_comes_back(remote: Path, tmp_path: Path) -> None:
    one = store(tmp_path / "one", "v2-a")
    script = one.root / "findings" / "v2-a" / "repro.py"
    script.write_text("edited by a person\n")
    script.chmod(0o755)
    branch(remote).push(one, "a night")
    other = store(tmp_path / "other")
    branch(remote).fetch(other)
    assert (other.root / "findings" / "v2-a" / "repro.py").read_text() == "edited by a person\n"


def test_a_store_cannot_tell_git_what_to_do_with_its_files(remote: Path, tmp_path: Path) -> None:
    one = store(tmp_path / "one", "v2-a")
    (one.root / ".gitignore").write_text("*\n")
    (one.root / ".gitattributes").write_text("* text eol=crlf\n")
    script = one.root / "findings" / "v2-a" / "repro.py"
    script.write_bytes(b"one\r\ntwo\n")
    branch(remote).push(one, "a night")
    other = store(tmp_path / "other")
    branch(remote).fetch(other)
    assert (other.root / "findings" / "v2-a" / "repro.py").read_bytes() == b"one\r\ntwo\n"


def test_a_file_that_nobody_would_read_is_not_lost_without_a_word(remote: Path, tmp_path: Path) -> None:
    one = store(tmp_path / "one", "v2-a")
    (one.root / "findings" / "v2-a" / "evidence.json").write_text('{"log": "' + "x" * LARGEST_FILE + '"}')
    with pytest.raises(MachineryFailure, match=r"evidence\.json is larger"):
        branch(remote).push(one, "a night")
