"""A real small model, end to end: it is asked, its answers (mostly bad) are dealt with, nothing runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot import wire
from bot.cli import exit_code
from bot.proposing import read_proposals
from fuzzers.alignguard import form, gate
from fuzzers.alignguard.proposals import Proposals
from tests.rig.llm import small_model
from tests.unit.modelling import SEED


def test_a_real_model_is_asked_and_whatever_it_says_is_dealt_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "seed.py").write_text(SEED)
    with small_model(tmp_path) as url:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
        where = ["--llm-url", url, "--llm-model", "smollm2", "--llm-seconds", "100s", "--calls", "2"]
        code = exit_code(["propose", "--seeds", "seed.py", "--out", "made", "--json", *where])
    told = json.loads(capfd.readouterr().out)
    assert code == 0
    assert told["calls"] == 2
    assert told.get("unanswered", 0) == 0, "it answers, in the form of the protocol"
    assert told["tokens_out"] > 20
    kept = [json.loads(path.read_text())["text"] for path in (tmp_path / "cache/llm").glob("*.json")]
    assert len(kept) == 2
    assert all(text.strip() for text in kept)
    made = wire.read(Proposals, (tmp_path / "made/proposals.json").read_bytes())
    for program in made.programs:
        form.read(program.source)
        assert gate.refusals(program.source) == ()
    assert len(read_proposals(tmp_path / "made/proposals.json")) == len(made.programs)
