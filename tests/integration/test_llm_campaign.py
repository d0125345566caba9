"""A language model beside a campaign on the real torch: what it says well is run, the rest is not."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bot import wire
from fuzzers.alignguard.proposals import Proposal, Proposals
from tests.unit.answering import Says, answering
from tests.unit.hostile_programs import in_f
from tests.unit.modelling import GOOD, KEY, completion, fenced

TREE = Path(__file__).parents[2]
CANDIDATES = 6
SEED_OF_CAMPAIGN = 28
"""With it the model's turn comes in the first steps."""


@contextmanager
def trap() -> Iterator[tuple[int, list[str]]]:
    """A port that notes whoever comes."""
    with socket.create_server(("localhost", 0)) as listening:
        came: list[str] = []

        def work() -> None:
            while True:
                try:
                    connection, peer = listening.accept()
                except OSError:
                    return
                came.append(str(peer))
                connection.close()

        threading.Thread(target=work, daemon=True).start()
        yield listening.getsockname()[1], came


def hostile(canary: Path, port: int) -> list[Says]:
    """Answers of which any one would show, if it ran."""
    write = f"open({str(canary)!r}, 'w').write('x')"
    ways = [
        write,
        f"__import__('os').system('touch {canary}')",
        f"import subprocess\nsubprocess.run(['touch', {str(canary)!r}])",
        f"import socket\nsocket.create_connection(('localhost', {port}))",
        f"torch.save(x, {str(canary)!r})",
        f"torch.nn.functional.torch.save(x, {str(canary)!r})",
        f"x.untyped_storage()._write_file(open({str(canary)!r}, 'w'), True, True, 4)",
        f"().__class__.__bases__[0].__subclasses__()\neval({write!r})",
        f"torch.hub.download_url_to_file('http://localhost:{port}/', {str(canary)!r})",
        f"g = (i for i in ())\ng.gi_frame.f_builtins['open']({str(canary)!r}, 'w')",
        f"getattr(torch, 'sa' + 've')(x, {str(canary)!r})",
        "while True:\n    pass",
        "w = torch.zeros(100000, 100000)",
    ]
    programs = [completion(fenced(in_f(f"x = torch.add(x, x)\n{way}"))) for way in ways]
    top = f"import torch\nopen({str(canary)!r}, 'w')\n"
    broken = [completion(top), completion("no"), Says(200, "no JSON"), completion(None), Says(400, "no")]
    good = completion(fenced(in_f("x = torch.sub(x, x)\nopen('x')")))  # keeps failures from adding up
    return [one for pair in zip(programs, broken * 3, strict=False) for one in (*pair, good)]


def run(folder: Path, *arguments: str) -> tuple[int, dict[str, Any], str]:
    """(exit code, counts of the campaign, all that was said or kept) of `nightfuzz run` in a folder."""
    done = subprocess.run(
        [
            sys.executable, "-m", "bot", "run", "--engine", "alignguard", "--out", "out", "--no-triage",
            "--candidates", str(CANDIDATES), "--budget", "200s", "--workers", "1", "--aspects", "forward",
            "--json", "--seed", str(SEED_OF_CAMPAIGN), *arguments,
        ],
        cwd=folder,
        env={
            "PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(TREE), "NIGHTFUZZ_LLM_KEY": KEY,
            "PYTHONWARNINGS": "ignore", "XDG_CACHE_HOME": str(folder / "cache"),
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )  # fmt: skip
    (record,) = (json.loads(path.read_bytes()) for path in folder.glob("out/campaigns/*/campaign.json"))
    kept = "".join(path.read_text(errors="replace") for path in folder.rglob("*.json"))
    return done.returncode, record, done.stdout + done.stderr + kept


def count(record: dict[str, Any], name: str) -> int:
    found = record["tally"]["counts"].get(name, 0)
    assert isinstance(found, int)
    return found


def test_a_hostile_model_gets_nothing_run_and_the_campaign_ends(tmp_path: Path) -> None:
    """All answers of the model are hostile or broken; a file has good programs and a hostile one."""
    canary = tmp_path / "canary"
    bad = in_f(f"x = torch.add(x, x)\nopen({str(canary)!r}, 'w')")
    sources = [bad, *(GOOD.replace("add_(2)", f"add_({n})") for n in range(20))]
    file = tmp_path / "proposals.json"
    file.write_text(wire.text(Proposals(tuple(Proposal(one) for one in sources), "m")))
    with trap() as (port, came), answering(*hostile(canary, port)) as server:
        code, record, said = run(
            tmp_path, "--llm-url", f"{server.url}/v1", "--llm-model", "m", "--proposals", str(file)
        )
        assert len(server.asked) > 3
        assert came == []
    assert code == 0, said
    assert not canary.exists()
    assert sum(record["tally"]["fates"].values()) == CANDIDATES
    assert "1 programs refused: not through the gate" in said
    assert 0 < count(record, "made:llm") == count(record, "ran:llm")
    assert KEY not in said


@pytest.mark.slow
def test_programs_of_a_model_that_makes_sense_are_run(tmp_path: Path) -> None:
    answers = [completion(fenced(GOOD.replace("add_(2)", f"add_({n})"))) for n in range(50)]
    with answering(*answers) as server:
        code, record, said = run(tmp_path, "--llm-url", f"{server.url}/v1", "--llm-model", "m")
    assert code == 0, said
    assert 0 < count(record, "made:llm") == count(record, "ran:llm")


@pytest.mark.slow
def test_an_endpoint_that_is_down_is_one_line_and_rules_go_on(tmp_path: Path) -> None:
    code, record, said = run(tmp_path, "--llm-url", "http://localhost:1/v1", "--llm-model", "m")
    assert code == 0, said
    assert said.count("rules go on") <= 1
    assert sum(record["tally"]["fates"].values()) == CANDIDATES
    assert count(record, "made:llm") == 0
