"""`nightfuzz run` as a process, on the real torch, with an engine whose outcome is known."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.toy_campaign import NAME, TREE, expected_suspects

LONGEST = 240.0
SHORT = ("--seed", "3", "--candidates", "12", "--budget", "10m", "--workers", "1")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One output folder for all, so that the precompiled header is built once."""
    return tmp_path_factory.mktemp("run") / "out"


def start(out: Path, *flags: str) -> subprocess.Popen[str]:
    """`nightfuzz run` with the toy engine, no triage, in a folder without settings."""
    command = [
        sys.executable,
        "-m",
        "bot",
        "run",
        "--engine",
        NAME,
        "--out",
        str(out),
        "--no-triage",
        "--json",
    ]
    variables = {**os.environ, "PYTHONPATH": str(TREE), "NIGHTFUZZ_ENGINE_PATH": str(TREE)}
    return subprocess.Popen(
        [*command, *flags],
        cwd=out.parent,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, dict[str, Any], str]:
    """(exit code, the document on standard output, standard error)."""
    out, err = process.communicate(timeout=LONGEST)
    return process.returncode, json.loads(out), err


def trace(out: Path, document: dict[str, Any]) -> list[dict[str, Any]]:
    text = (out / "campaigns" / document["campaigns"][0]["id"] / "candidates.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_one_seed_one_worker_one_sequence_of_candidates(out: Path) -> None:
    code, first, _ = finish(start(out, *SHORT))
    assert code == 0
    taken = trace(out, first)
    assert [(line["chain"], line["step"]) for line in taken] == [(n // 5, n % 5) for n in range(12)]
    kept = {path.name for path in (out / "store" / "suspects").iterdir()}
    assert kept == set(expected_suspects(3, [(line["chain"], line["step"]) for line in taken]))

    code, _, err = finish(start(out, *SHORT))
    assert code == 0
    assert "has used this budget; another --seed" in err

    code, second, err = finish(start(out, *SHORT, "--fresh"))
    assert code == 0
    assert "has used this budget" not in err
    assert trace(out, second) == taken
    assert second["campaigns"][0]["suspects"] == 0


def test_ctrl_c_ends_a_campaign_with_what_it_found(out: Path) -> None:
    process = start(out, "--seed", "4", "--budget", "10m", "--workers", "1")
    deadline = time.monotonic() + LONGEST
    while time.monotonic() < deadline and len(list(out.glob("campaigns/*seed4*/chains/*.json"))) < 2:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    code, document, err = finish(process)
    assert time.monotonic() - sent < 15
    assert document["campaigns"][0]["over"] == "stopped"
    assert document["triage_skipped"] == "--no-triage was given"
    assert "stopping with what there is" in err
    places = [(line["chain"], line["step"]) for line in trace(out, document)]
    kept = {path.name for path in (out / "store" / "suspects").iterdir()}
    assert set(expected_suspects(4, places)) <= kept
    assert code == 4
