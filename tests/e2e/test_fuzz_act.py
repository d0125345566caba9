"""`/fuzz` on a pull request that changes a model file which torch miscompiles, in the real act, to its
check run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.rig.act import TREE, Act
from tests.rig.host import BOT, Host
from tests.rig.payloads import commented

HARMLESS = """import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        y = x + 1
        return y * 2


def get_init_inputs():
    return []


def get_inputs():
    return [torch.ones(4, dtype=torch.uint8)]
"""

WRONG = HARMLESS.replace("        return y * 2\n", "        seen = y.any()\n        return seen\n")
"""torch 2.13.0 gives `any` of uint8 another dtype when compiled: line 8."""

LINE = WRONG.splitlines().index("        seen = y.any()") + 1


@pytest.fixture
def act(github_host: Host, tmp_path: Path) -> Act:
    workflows = {
        f".github/workflows/{path.name}": path.read_text()
        for path in (TREE / ".github" / "workflows").glob("*.yml")
    }
    settings = 'tracker = "github"\nengine = "flowmut"\n'
    github_host.commit({**workflows, "nightfuzz.toml": settings, "models/net.py": HARMLESS})
    made = Act(
        tmp_path / "act",
        github_host.repository,
        {"GITHUB_TOKEN": github_host.token, "NIGHTFUZZ_MARKER_KEY": "a long random text"},
        bare=github_host.git,
    )
    made.variables |= {
        "NIGHTFUZZ_API": github_host.api,
        "NIGHTFUZZ_STATE_REMOTE": str(github_host.git),
        "NIGHTFUZZ_WRITE_PAUSE": "0",
        "VAR_NIGHTFUZZ_BOT_LOGIN": BOT,
        "VAR_NIGHTFUZZ_PYTHON": sys.executable,
    }
    return made


def test_a_changed_model_gets_a_check_run_with_the_annotation_on_its_line(
    act: Act, github_host: Host
) -> None:
    number = github_host.pull({"models/net.py": WRONG})
    payload = commented(github_host, number, "/fuzz run flowmut --budget 5m")
    ran = act.run("issue_comment", ".github/workflows/fuzz-command.yml", payload)
    assert ran.status == 0, ran.log[-4000:]
    assert github_host.reactions(payload["comment"]["id"]) == ["eyes", "rocket"]
    (reply,) = (one["body"] for one in github_host.comments(number) if one["user"]["login"] == BOT)
    assert "models/net.py" in reply
    assert "taken" not in reply, "the reply was edited"
    head = github_host.ask("GET", f"/pulls/{number}")["head"]["sha"]
    (check,) = github_host.ask("GET", f"/commits/{head}/check-runs")["check_runs"]
    assert (check["status"], check["conclusion"]) == ("completed", "failure")
    marks = {(one["path"], one["start_line"]) for one in github_host.annotations(check["id"])}
    assert marks == {("models/net.py", LINE)}, json.dumps(check)[:2000]
