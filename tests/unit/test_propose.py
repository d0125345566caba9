"""`nightfuzz propose`: a file of programs, whatever the endpoint does; nothing runs; reading it back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot import wire
from bot.cli import exit_code
from bot.errors import UserMistake
from bot.proposing import read_proposals
from bot.settings import load
from fuzzers.alignguard.proposals import LARGEST_FILE, Proposal, Proposals
from tests.unit.answering import Says, answering
from tests.unit.hostile_programs import IN_F, in_f
from tests.unit.modelling import GOOD, HOSTILE, KEY, SEED, completion, fenced

SLOW = Says(200, {}, hangs=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a seed, and no cache of the user's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NIGHTFUZZ_LLM_KEY", KEY)
    (tmp_path / "seed.py").write_text(SEED)
    return tmp_path


def proposed(
    capfd: pytest.CaptureFixture[str], *arguments: str, seeds: str = "seed.py"
) -> tuple[int, dict[str, Any], str]:
    """(exit code, the document, what was said) of a run; the key is in none of it."""
    code = exit_code(["propose", "--seeds", seeds, "--out", "made", "--json", *arguments])
    shown = capfd.readouterr()
    assert KEY not in shown.out + shown.err
    for file in Path().rglob("*"):
        assert not file.is_file() or KEY not in file.read_text()
    return code, json.loads(shown.out or "{}"), shown.err


def at(url: str, *more: str) -> list[str]:
    return ["--llm-url", f"{url}/v1", "--llm-model", "m", "--llm-seconds", "0.5", *more]


def programs() -> tuple[Proposal, ...]:
    return wire.read(Proposals, Path("made/proposals.json").read_bytes()).programs


def test_good_answers_become_a_file_of_programs(capfd: pytest.CaptureFixture[str]) -> None:
    answers = [completion(fenced(GOOD.replace("add_(2)", f"add_({n})"))) for n in range(4)]
    with answering(*answers) as server:
        code, told, said = proposed(capfd, *at(server.url, "--calls", "4"))
    assert (code, told["programs"], told["calls"]) == (0, 4, 4)
    assert "4 calls are used up" in told["ended"]
    assert all(one.seed == "seed" and one.characteristics for one in programs())
    assert len(read_proposals(Path("made/proposals.json"))) == 4
    assert said.count("a program") == 4


@pytest.mark.parametrize(
    "answer",
    [
        Says(401, {"error": {"message": f"the key {KEY} is wrong"}}),
        Says(404, ""),
        Says(500, KEY),
        Says(429, {}, {"Retry-After": "86400"}),
        Says(0),
        SLOW,
        Says(200, "no JSON"),
        Says(200, "x" * 2_000_000),
        completion("I cannot do that."),
        completion(fenced(HOSTILE)),
        completion(f"```python\n# {KEY}\nimport os\nos.system('touch canary')\n```"),
    ],
    ids=lambda one: f"{one.status}-{str(one.plain)[:10]}",
)
def test_an_endpoint_that_fails_costs_programs_and_one_line(
    answer: Says, capfd: pytest.CaptureFixture[str]
) -> None:
    with answering(answer) as server:
        code, told, said = proposed(capfd, *at(server.url, "--calls", "2"))
    assert (code, told["programs"]) == (0, 0)
    assert programs() == ()
    assert told["ended"]
    assert said.count(told["ended"]) == 1
    assert not Path("canary").exists()


def test_what_was_made_before_the_endpoint_failed_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    with answering(completion(fenced(GOOD)), Says(401, "")) as server:
        code, told, _ = proposed(capfd, *at(server.url))
    assert (code, told["programs"]) == (0, 1)
    assert "401" in told["ended"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "llm_url"),
        (["--llm-url", "http://localhost:1"], "llm_model"),
        (["--llm-model", "m"], "llm_url"),
        (["--llm-url", "localhost:1", "--llm-model", "m"], "llm_url"),
        (["--llm-url", f"http://me:{KEY}@host", "--llm-model", "m"], "llm_url"),
        (["--llm-url", "http://localhost:1", "--llm-model", "m", "--calls", "-1"], "llm"),
    ],
)
def test_settings_that_make_no_sense_are_the_persons_mistake(
    arguments: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code, _, told = proposed(capfd, *arguments)
    assert code == 2
    assert said in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("key", [f"{KEY}\n{KEY}", f"{KEY} x", f"{KEY}é"])
def test_a_key_that_cannot_be_one_is_refused_and_not_shown(
    key: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NIGHTFUZZ_LLM_KEY", key)
    code, _, told = proposed(capfd, *at("http://localhost:1"))
    assert code == 2
    assert "NIGHTFUZZ_LLM_KEY" in told


def test_a_key_in_a_file_is_refused_and_not_shown(folder: Path) -> None:
    (folder / "nightfuzz.toml").write_text(f'llm_key = "{KEY}"\n')
    with pytest.raises(UserMistake, match="NIGHTFUZZ_LLM_KEY") as told:
        load({})
    assert KEY not in str(told.value)
    (folder / "nightfuzz.toml").unlink()


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        ("nowhere", "no such file"),
        ("bad.py", "in the form"),
        ("empty", "no program"),
        ("bad.json", "proposals"),
    ],
)
def test_seeds_that_are_none_are_the_persons_mistake(
    seeds: str, said: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.py").write_text("import os\nos.system('touch canary')\n")
    (folder / "bad.json").write_text("[]")
    (folder / "empty").mkdir()
    code, _, told = proposed(capfd, *at("http://localhost:1"), seeds=seeds)
    assert code == 2
    assert said in told
    assert not Path("canary").exists()


def test_a_folder_of_seeds_is_read_and_what_is_none_is_counted(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "seeds").mkdir()
    (folder / "seeds/a.py").write_text(SEED)
    (folder / "seeds/b.py").write_text("print(1)\n")
    with answering(completion(fenced(GOOD))) as server:
        code, told, said = proposed(capfd, *at(server.url, "--calls", "1"), seeds="seeds")
    assert (code, told["programs"]) == (0, 1)
    assert "1 of 2" in said


# The file, as a stranger may have written it


def written(*sources: str, **more: Any) -> Path:
    path = Path("proposals.json")
    path.write_text(wire.text(Proposals(tuple(Proposal(source, **more) for source in sources), "m")))
    return path


def test_only_what_passes_the_gate_is_taken_from_a_file() -> None:
    told: list[str] = []
    hostile = [in_f(lines) for lines in IN_F]
    taken = read_proposals(written(GOOD, *hostile, GOOD, "x = 1\n"), told.append)
    assert [one.source for one in taken] == [GOOD]
    assert any("gate" in line for line in told)
    assert any("there already" in line for line in told)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"programs": 3}', '{"programs": [{"source": 1}]}', "[" * 9999]
)
def test_a_file_that_is_none_is_one_line(text: str) -> None:
    Path("proposals.json").write_text(text)
    with pytest.raises(UserMistake, match="proposals"):
        read_proposals(Path("proposals.json"))


def test_a_file_that_is_too_large_is_not_read() -> None:
    with Path("proposals.json").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    with pytest.raises(UserMistake, match="MiB"):
        read_proposals(Path("proposals.json"))


def test_labels_of_a_file_are_bounded() -> None:
    for more in (
        {"seed": "x" * 1000},
        {"seed": "a\nb"},
        {"characteristics": ("x",) * 9},
        {"seed": "\x1b[31m"},
    ):
        assert read_proposals(written(GOOD, **more)) == ()


def test_a_run_with_a_file_of_proposals_that_is_none_is_told_so(capfd: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["run", "--proposals", "nowhere.json", "--out", "made", "--engine", "alignguard"]) == 2
    assert "nowhere.json" in capfd.readouterr().err
