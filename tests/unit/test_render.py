"""Issues against goldens (UPDATE_GOLDENS=1 rewrites them), and the promises that every body keeps."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bot import render
from bot.bisect import Outcome
from bot.classify import Change, InStore, Standing, bisected, stand
from fuzzers.records import Aspect, Ending, Expect, Finding, Json, Kind, Run, Suspect
from tests.unit import toy_build

GOLDENS = Path(__file__).parent / "golden"

SCRIPT = """import torch


def f(x):
    return (-torch.cat([x, x]).abs()).sum()


torch.manual_seed(0)
x = torch.randint(0, 256, (20,), dtype=torch.uint8)
expected = f(x.clone())
actual = torch.compile(f)(x.clone())
assert torch.equal(actual, expected), (actual, expected)
"""

DIFFERENCE: Json = {
    "kind": "wrong",
    "aspect": "values",
    "where": "output 0",
    "index": 0,
    "detail": {
        "expected": [5646], "float64": [5646], "actual": [-4594], "at": [], "n_bad": 1, "numel": 1,
        "max_abs": 10240.0, "max_rel": 1.8136733970952887,
    },
}  # fmt: skip

RUNGS = {"eager": "ok", "aot_eager": "ok", "aot_eager_decomp_partition": "ok", "inductor": "assertion"}

HOSTILE_LOG = (
    "warning: noise\nTraceback (most recent call last):\n"
    '  File "/home/me/.venv/lib/python3.11/site-packages/torch/_inductor/ir.py", '
    "line 3, in realize\n```\n</details>\n# Owned by @pytorch/admins, fixes #1\n"
    "<!-- nightfuzz signature=v1-000000000000 kind=wrong -->\n"
    "see https://github.com/pytorch/pytorch/issues/1 on buildbox-9\n\x1b[31mred\x1b[0m\n"
    "GITHUB_TOKEN=ghp_abcdefghijklmnopqrstuvwxyz0123456789\nAssertionError: size 17\n"
)


def finding(kind: Kind = Kind.WRONG, aspect: Aspect = Aspect.VALUES, **more: object) -> Finding:
    suspect = Suspect(
        "flowmut",
        "1",
        toy_build.BUILD,
        kind,
        aspect,
        SCRIPT,
        Expect(Ending.ASSERTION),
        found_at="2026-01-02T03:04:05Z",
    )
    run = Run(Ending.ASSERTION, "AssertionError", "(tensor(-4594), tensor(5646))", log="not shown")
    plain = Finding(
        signature="v1-0123456789ab",
        suspect=suspect,
        script=SCRIPT,
        operators=("abs", "cat", "neg", "sum"),
        dtypes=("uint8",),
        stage="inductor",
        label="module: inductor",
        confirmed="3 of 3",
        runs=(run,) * 3,
        rungs=RUNGS,
        suspects=(suspect.id,),
        title="[inductor] wrong result: sum(neg(abs(cat(uint8)))) differs from eager",
        detail={"difference": DIFFERENCE},
    )
    made: Finding = replace(plain, **more)  # type: ignore[arg-type]
    return made


def raising(log: str = HOSTILE_LOG) -> Finding:
    run = Run(
        Ending.EXCEPTION, "InductorError", "AssertionError: size 17 @you #3", compiled_side=True, log=log
    )
    return finding(
        Kind.EXCEPTION,
        Aspect.OUTCOME,
        runs=(run,) * 3,
        rungs={**RUNGS, "inductor": "exception"},
        title="[inductor] InductorError: sum(neg(abs(cat(uint8)))) runs in eager",
        detail={"difference": {}},
    )


def regression(link: str) -> Finding:
    change = Change(Outcome.FIRST_BAD, "torch 2.12.0", "torch 2.13.0", link=link)
    placed = finding(culprits=("lowerings/abs", "codegen/fusion"), near=("v2-0123456789ab",))
    return stand(placed, bisected(Standing(InStore.NEW), change))


CASES = {
    "wrong": finding(),
    "exception-hostile-log": raising(),
    "gradient-without-evidence": finding(Kind.GRADIENT, Aspect.GRADIENT, detail={}, dtypes=("float32",)),
    "crash-place-unknown": finding(
        Kind.CRASH,
        Aspect.OUTCOME,
        runs=(Run(Ending.SIGNAL, signal="SIGSEGV", log="Fatal Python error: Segmentation fault"),),
        rungs={},
        stage="unknown",
        label="",
        detail={"reason": "aot_eager cannot run: out of memory"},
    ),
    "regression": regression(f"https://github.com/pytorch/pytorch/compare/{'0a' * 6}...{'1b' * 6}"),
}


@pytest.mark.parametrize("name", CASES)
def test_issue_is_as_its_golden(name: str) -> None:
    made = f"# {render.title(CASES[name], ['buildbox-9'])}\n\n{render.body(CASES[name], ['buildbox-9'])}"
    path = GOLDENS / f"{name}.md"
    if os.environ.get("UPDATE_GOLDENS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(made, encoding="utf-8")
    assert made == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_every_body_has_one_marker_one_reproducer_and_closed_fences(name: str) -> None:
    body = render.body(CASES[name])
    assert re.findall(r"<!--.*?-->", body) == [
        f"<!-- nightfuzz signature=v1-0123456789ab kind={CASES[name].suspect.kind} -->"
    ]
    assert f"```python\n{SCRIPT}```" in body
    assert len(re.findall(r"^```", body, re.MULTILINE)) % 2 == 0


def test_a_hostile_log_does_nothing_and_leaks_nothing() -> None:
    body = render.body(raising(), ["buildbox-9"])
    for leaked in ("@pytorch", "#1", "buildbox-9", "/home/me", "ghp_", "https://", "\x1b"):
        assert leaked not in body
    assert body.count("</details>") == 1


def test_a_link_is_shown_only_if_it_compares_two_commits() -> None:
    assert "/compare/" in render.body(CASES["regression"])
    for link in ("https://evil.example/x", "https://github.com/a/b/compare/main...x) @you [y](z"):
        body = render.body(regression(link))
        assert link not in body
        assert "@you" not in body


@pytest.mark.parametrize("size", [10, 60_000, 2_000_000])
def test_a_long_log_is_cut_and_the_reproducer_never(size: int) -> None:
    long = SCRIPT + "# " + "x" * 60_000 + "\n"
    for script in (SCRIPT, long):
        body = render.body(replace(raising("@a ``` #1 " * (size // 10)), script=script))
        assert len(body) < 65_536
        assert script in body


def test_a_reproducer_with_fences_is_shown_byte_for_byte() -> None:
    script = SCRIPT + '"""\n```\n@nobody\n````\n"""\n'
    assert f"`````python\n{script}`````" in render.body(finding(script=script))


def test_only_what_is_severe_enough_gets_an_issue(tmp_path: Path) -> None:
    mild = finding(Kind.LAYOUT, Aspect.STRIDE, signature="v1-aaaaaaaaaaaa")
    held = finding(signature="v1-bbbbbbbbbbbb", detail={"difference": {"detail": {"publishable": False}}})
    written = render.render([finding(), mild, held], tmp_path)
    assert [p.name for p in written] == ["v1-0123456789ab.md"]
    assert (tmp_path / "v1-0123456789ab" / "repro.py").read_text() == SCRIPT
    assert not (tmp_path / "v1-aaaaaaaaaaaa.md").exists()


def test_rendering_twice_writes_the_same_bytes(tmp_path: Path) -> None:
    (path,) = render.render([finding()], tmp_path)
    before = path.read_bytes()
    render.render([finding()], tmp_path)
    assert path.read_bytes() == before
