"""Nights from plan to publish, in the real act, on the real torch: filed, updated, closed as fixed, opened
again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.branch import Branch
from bot.store import Store
from fuzzers.records import Aspect, Ending, Expect, Kind
from tests.integration.toy_index import Index, ToyBuild
from tests.rig.act import Act, Ran
from tests.rig.host import BOT, Host
from tests.unit.made import BUILD as TORCH
from tests.unit.made import a_finding, a_suspect

ANY = """import torch


def f(x):
    y = x + 1
    return y.any()


x = torch.ones((), dtype=torch.uint8)
expected = f(x)
actual = torch.compile(f)(x)
assert actual.dtype == expected.dtype, (actual.dtype, expected.dtype)
"""
"""What torch 2.13.0 has wrong: `any` of uint8 becomes bool."""

TOY = "import torch\nanswer = torch.answer()\nassert answer == 42, answer\n"


@pytest.fixture
def act(github_host: Host, tmp_path: Path) -> Act:
    made = Act(
        tmp_path / "act",
        github_host.repository,
        {"GITHUB_TOKEN": github_host.token, "NIGHTFUZZ_MARKER_KEY": "a long random text"},
    )
    made.variables |= {
        "NIGHTFUZZ_API": github_host.api,
        "NIGHTFUZZ_STATE_REMOTE": str(made.bare),
        "NIGHTFUZZ_WRITE_PAUSE": "0",
        "NIGHTFUZZ_CACHE": str(tmp_path / "cache"),
        "VAR_NIGHTFUZZ_BOT_LOGIN": BOT,
    }
    return made


@pytest.fixture
def index(tmp_path: Path, act: Act) -> Iterator[Index]:
    with Index(tmp_path, [ToyBuild("20261130", bad=True)]) as served:
        act.variables |= {"NIGHTFUZZ_NIGHTLY_INDEX": served.url, **served.variables}
        yield served


def night(act: Act, **settings: str) -> Ran:
    """One run of nightly.yml with these settings."""
    before = dict(act.variables)
    act.variables |= {f"NIGHTFUZZ_{name.upper()}": value for name, value in settings.items()}
    inputs = {"python": sys.executable, "runner": '["self-hosted"]'}
    ran = act.run("workflow_dispatch", ".github/workflows/nightly.yml", {"inputs": inputs})
    act.variables = before
    return ran


def stored(act: Act, tmp_path: Path, name: str) -> Store:
    """The store as its branch has it."""
    store = Store(tmp_path / name, pytest.fail)
    Branch(str(act.bare), "nightfuzz-state").fetch(store)
    return store


def test_a_night_files_what_torch_has_wrong_and_the_next_files_nothing(
    act: Act, github_host: Host, tmp_path: Path
) -> None:
    before = Store(tmp_path / "before", pytest.fail)
    before.add(
        replace(
            a_suspect(ANY, kind=Kind.METADATA, aspect=Aspect.DTYPE, expect=Expect(Ending.ASSERTION)),
            engine="flowmut",
        )
    )
    Branch(str(act.bare), "nightfuzz-state").push(before, "before")

    ran = night(act, build="installed", candidates="3", budget="5m", triage_budget="4m")
    assert ran.status == 0, ran.log[-3000:]
    issues = {one["title"]: one for one in github_host.issues()}
    (ours,) = (one for title, one in issues.items() if "wrong dtype: any(uint8)" in title)
    assert ".any()" in ours["body"]
    assert "assert actual.dtype == expected.dtype" in ours["body"]
    # The campaign may have found more than the suspect that was left for it.
    assert len(list(stored(act, tmp_path, "first").findings())) >= len(issues)

    ran = night(act, build="installed", candidates="1", budget="5m")
    assert ran.status == 0, ran.log[-3000:]
    assert len(github_host.issues()) == len(issues)
    again = next(one for one in github_host.issues() if one["number"] == ours["number"])
    assert again["state"] == "open"


def test_three_fixed_builds_close_and_a_regression_opens_again(
    act: Act, index: Index, github_host: Host, tmp_path: Path
) -> None:
    before = Store(tmp_path / "before", pytest.fail)
    found_on = replace(TORCH, version="2.15.0.dev20261130+cpu", git_sha="")
    old = replace(a_suspect(TOY), engine="flowmut", build=found_on)
    toy = a_finding(
        "v2-00000000aaaa", suspect=old, script=TOY, title="[inductor] wrong result: answer()",
        suspects=(old.id,), first_seen="2026-11-30T00:00:00Z", last_seen="2026-11-30T00:00:00Z",
    )  # fmt: skip
    before.put_finding(toy)
    Branch(str(act.bare), "nightfuzz-state").push(before, "before")

    for day, bad in (("01", False), ("02", False), ("03", False), ("04", True)):
        made = ToyBuild(f"202612{day}", bad=bad)
        index.put("torch", made.filename, made.wheel())
        ran = night(act, build="nightly")
        (issue,) = github_host.issues()
        assert issue["state"] == ("closed" if day == "03" else "open"), ran.log[-3000:]
    said = [one["body"] for one in github_host.comments(issue["number"])]
    assert "three builds in a row" in said[0]
    assert "It is back: the reproducer fails on torch 2.15.0.dev20261204+cpu" in said[1]
    assert len(said) == 2
