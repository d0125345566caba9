"""The rules that close attack paths, read from the workflow files themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

WORKFLOWS = Path(__file__).parents[2] / ".github" / "workflows"
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(WORKFLOWS.glob("*.yml"))}
JOBS = {
    (name, job): body for name, text in TEXTS.items() for job, body in yaml.safe_load(text)["jobs"].items()
}
HOSTILE = [("nightly.yml", "campaign"), ("fuzz-command.yml", "work")]
"""The jobs that run a new build, a pull request's code, or a stored reproducer."""

CODE_OF_OTHERS = re.compile(r"-m bot (?:run|retest|bisect|reduce|triage|check|pull|work)\b")


def steps(job: dict[str, Any]) -> list[dict[str, Any]]:
    return job["steps"]


def test_there_are_jobs_to_look_at() -> None:
    assert set(HOSTILE) <= set(JOBS)
    assert set(TEXTS) == {"ci.yml", "fuzz-command.yml", "nightly.yml"}


@pytest.mark.parametrize("place", JOBS, ids="/".join)
def test_only_the_jobs_that_are_known_to_run_foreign_code_do(place: tuple[str, str]) -> None:
    runs = any(CODE_OF_OTHERS.search(step.get("run", "")) for step in steps(JOBS[place]))
    assert runs == (place in HOSTILE)


@pytest.mark.parametrize("place", HOSTILE, ids="/".join)
def test_a_job_that_runs_foreign_code_has_no_token_no_secret_and_no_cache(place: tuple[str, str]) -> None:
    job = JOBS[place]
    assert job["permissions"] == {}
    assert not re.search(r"secrets\.|github\.token|GITHUB_TOKEN|actions/cache|NIGHTFUZZ_TOKEN", str(job))
    assert "environment" not in job


@pytest.mark.parametrize("place", JOBS, ids="/".join)
def test_no_checkout_keeps_credentials(place: tuple[str, str]) -> None:
    for step in steps(JOBS[place]):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("place", JOBS, ids="/".join)
def test_every_job_says_what_it_may_and_how_long(place: tuple[str, str]) -> None:
    job = JOBS[place]
    assert "permissions" in job
    assert 0 < job["timeout-minutes"] <= 360


@pytest.mark.parametrize("name", TEXTS)
def test_a_workflow_has_no_permission_of_its_own(name: str) -> None:
    assert yaml.safe_load(TEXTS[name])["permissions"] == {}


@pytest.mark.parametrize("name", TEXTS)
def test_every_action_is_pinned_by_a_commit(name: str) -> None:
    used = re.findall(r"uses: (\S+)", TEXTS[name])
    assert used
    for one in used:
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", one), one


@pytest.mark.parametrize("place", JOBS, ids="/".join)
def test_nothing_of_an_event_is_in_a_script(place: tuple[str, str]) -> None:
    for step in steps(JOBS[place]):
        assert "${{" not in step.get("run", ""), "expressions go through env:"


def test_only_publishing_and_the_gate_can_write_and_they_run_one_at_a_time() -> None:
    writers = {place: job for place, job in JOBS.items() if job["permissions"].get("contents") == "write"}
    assert set(writers) == {("nightly.yml", "publish"), ("fuzz-command.yml", "gate")}
    for job in writers.values():
        assert job["concurrency"] == {"group": "nightfuzz-publish", "cancel-in-progress": False}


def test_a_forks_code_waits_for_a_reviewer_and_comes_by_the_commit_that_was_shown() -> None:
    approve, work = JOBS["fuzz-command.yml", "approve"], JOBS["fuzz-command.yml", "work"]
    assert approve["environment"] == "nightfuzz-fork"
    assert approve["if"] == "needs.gate.outputs.is_fork == 'true'"
    assert approve["permissions"] == {}
    assert "needs.gate.outputs.is_fork != 'true' || needs.approve.result == 'success'" in work["if"]
    assert set(work["needs"]) == {"gate", "approve"}
    heads = [step for step in steps(work) if step.get("with", {}).get("path") == "head"]
    assert [step["with"]["ref"] for step in heads] == ["${{ needs.gate.outputs.head_sha }}"]


def test_settings_are_the_default_branchs_and_the_controller_runs_isolated() -> None:
    work = JOBS["fuzz-command.yml", "work"]
    (settings,) = (step for step in steps(work) if step.get("with", {}).get("path") == "settings")
    # Where the default branch was when the command was read; empty, on a finding, means where it is now.
    assert settings["with"]["ref"] == "${{ needs.gate.outputs.settings_sha }}"
    assert "repository" not in settings["with"]
    for job in JOBS.values():
        for step in steps(job):
            for command in re.findall(r'^\s*"\$PYTHON" (.*)', step.get("run", ""), re.MULTILINE):
                assert command.startswith(("-I -m bot", "-m pip")), command
    runs = [step for step in steps(work) if CODE_OF_OTHERS.search(step.get("run", ""))]
    assert [step["working-directory"] for step in runs] == ["settings", "settings"]


def test_the_gate_is_cheap_for_every_other_comment() -> None:
    assert JOBS["fuzz-command.yml", "gate"]["if"] == "startsWith(github.event.comment.body, '/fuzz')"


def test_the_night_begins_at_an_odd_minute() -> None:
    cron = yaml.safe_load(TEXTS["nightly.yml"])[True]["schedule"][0]["cron"]
    assert int(cron.split()[0]) % 2 == 1


def test_the_job_that_asks_a_model_runs_nothing_and_the_token_goes_to_github_alone() -> None:
    job = JOBS["nightly.yml", "propose"]
    assert job["permissions"] == {"contents": "read", "models": "read"}
    assert [place for place, one in JOBS.items() if "models" in one["permissions"]] == [
        ("nightly.yml", "propose")
    ]
    (asking,) = (step for step in steps(job) if "-m bot" in step.get("run", ""))
    assert re.findall(r"-m bot (\w+)", asking["run"]) == ["propose"]
    key = " ".join(asking["env"]["NIGHTFUZZ_LLM_KEY"].split())
    assert "!vars.NIGHTFUZZ_LLM_URL && github.token" in key
    assert key.count("github.token") == 1


def test_a_night_goes_on_without_a_model() -> None:
    propose, campaign = JOBS["nightly.yml", "propose"], JOBS["nightly.yml", "campaign"]
    assert "vars.NIGHTFUZZ_LLM_MODEL != ''" in propose["if"]
    assert set(campaign["needs"]) == {"plan", "propose"}
    assert "!cancelled()" in campaign["if"], "a job that was skipped or failed would skip this one too"
    assert "needs.plan.result == 'success'" in campaign["if"]
    assert "propose" not in campaign["if"]
