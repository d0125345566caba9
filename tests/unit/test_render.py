"""Issues against goldens (UPDATE_GOLDENS=1 rewrites them), and the promises that every body keeps."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from bot import bodies, facts, render, wording
from bot.bisect import Outcome
from bot.bodies import Form, Person, Transition
from bot.classify import Change, InStore, Standing, bisected, stand
from fuzzers import ablate
from fuzzers.records import Aspect, Ending, Expect, Finding, Json, Kind, Run, Suspect
from tests.unit import toy_build

UNSAFE = Options.CMARK_OPT_UNSAFE
"""GitHub lets some HTML through, as the fold of a log."""

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


FORMS = [form for form in Form if form is not Form.TRIAGE]


def body_of(one: Finding, hosts: Sequence[str] = ()) -> str:
    return bodies.issue(one, hosts=hosts).body


def assert_golden(name: str, made: str) -> None:
    path = GOLDENS / f"{name}.md"
    if os.environ.get("UPDATE_GOLDENS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(made, encoding="utf-8")
    assert made == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_issue_is_as_its_golden(name: str) -> None:
    text = bodies.issue(CASES[name], upstream=Form.PT2, hosts=["buildbox-9"])
    assert_golden(name, f"# {text.title}\n\n{text.body}")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["wrong", "exception-hostile-log", "regression"])
def test_upstream_form_is_as_its_golden(name: str, form: Form) -> None:
    person = Person("ada", "It breaks @us: quantised models return garbage.", "2026-12-01T09:00:00Z")
    text = bodies.upstream(CASES[name], form, person=person, hosts=["buildbox-9"])
    assert_golden(f"{form}-{name}", f"# {text.title}\n\n{text.body}")


TOLD = {
    Transition.BISECTED: {
        "outcome": "first-bad",
        "before": "torch 2.12.0",
        "after": "torch 2.13.0",
        "link": f"https://github.com/pytorch/pytorch/compare/{'0a' * 6}...{'1b' * 6}",
    },
    Transition.FIXED: {"build": "torch 2.15.0", "at": "2026-12-01T09:00:00Z"},
    Transition.REGRESSED: {"build": "torch 2.15.1", "at": "2026-12-02T09:00:00Z"},
    Transition.STILL: {"build": "torch 2.15.1", "at": "2026-12-02T09:00:00Z"},
    Transition.APPROVED: {"link": "", "title": "a title", "body": "a ``` body", "by": "ada"},
    Transition.FILED: {"url": "https://github.com/pytorch/pytorch/issues/1", "by": "ada"},
    Transition.MIRRORED: {
        "url": "https://github.com/pytorch/pytorch/issues/1",
        "said": "closed as completed",
    },
}


def test_comments_are_as_their_golden() -> None:
    said = [bodies.comment(what, finding(), told) for what, told in TOLD.items()]
    assert set(TOLD) == set(Transition)
    assert_golden("comments", "\n---\n\n".join(said))


@pytest.mark.parametrize("what", Transition)
def test_what_a_comment_is_told_does_nothing(what: Transition) -> None:
    hostile = "@pytorch/admins #1 ``` <!-- x --> [y](https://evil.example)"
    said = bodies.comment(what, finding(), {**dict.fromkeys(TOLD[what], hostile), "body": "harmless"})
    assert not re.search(r"@pytorch|#1\b|<!--|https://evil", said)


@pytest.mark.parametrize("form", FORMS)
def test_a_hash_covers_the_script_and_the_text_and_nothing_of_tonight(form: Form) -> None:
    one = finding()
    first = bodies.approval_hash(one, form)
    later = replace(one, last_seen="2026-12-09T00:00:00Z", near=("v2-1",), suspects=("a", "b"))
    assert bodies.approval_hash(later, form) == first
    others = [
        replace(one, script=SCRIPT + "\n"),
        replace(one, title="another"),
        replace(one, confirmed="2 of 3"),
    ]
    assert first not in {bodies.approval_hash(other, form) for other in others}


def test_a_link_to_the_upstreams_page_is_short_enough_or_none() -> None:
    text = bodies.upstream(finding(), Form.PT2, person=None)
    link = bodies.new_issue_link("pytorch/pytorch", text)
    assert parse_qs(urlsplit(link).query)["body"] == [text.body]
    assert bodies.new_issue_link("pytorch/pytorch", replace(text, body="x" * 9_000)) == ""


@pytest.mark.parametrize("name", CASES)
def test_a_page_keeps_its_structure_whatever_is_in_it(name: str) -> None:
    page = cmarkgfm.github_flavored_markdown_to_html(body_of(CASES[name], ["buildbox-9"]), options=UNSAFE)
    assert page.count("<details>") == page.count("</details>")
    assert "<table>" in page
    assert re.findall(r"<h3>(.*?)</h3>", page)[:1] == ["Reproducer"]
    assert re.findall(r"<h3>(.*?)</h3>", page)[-2:] == ["Environment", "Commands"]
    assert "<!--" not in page
    assert f'<pre lang="python"><code>{html.escape(SCRIPT, quote=True)}</code></pre>' in page


def test_the_test_for_the_suite_fails_as_the_reproducer_does() -> None:
    made = facts.suite_test(finding(script="import numpy\nimport torch\n\n\nx = 1\nassert x == 2, x\n"))
    place: dict[str, Any] = {"torch": None}
    exec(made, place)
    (method,) = (value for name, value in place.items() if name.startswith("test_"))
    with pytest.raises(AssertionError, match="1"):
        method(None)


def test_a_script_that_cannot_be_indented_makes_no_test() -> None:
    assert facts.suite_test(finding(script='x = """\na\n"""\nassert not x\n')) == ""


def test_a_workaround_is_the_setting_that_the_ablation_used() -> None:
    for part, line in wording.WORKAROUNDS.items():
        setting = ablate.SETTINGS[part]
        assert line == f"{setting.module}.config.{setting.name} = {setting.value}"
    placed = finding(culprits=("lowerings/x", "codegen/loop_tails"))
    assert "torch._inductor.config.cpp.enable_loop_tail_vec = False" in body_of(placed)


def test_a_hostile_log_does_nothing_and_leaks_nothing() -> None:
    body = body_of(raising(), ["buildbox-9"])
    for leaked in ("@pytorch", "#1", "buildbox-9", "/home/me", "ghp_", "https://", "\x1b"):
        assert leaked not in body
    assert body.count("</details>") == body.count("<details>") == 2


def test_a_link_is_shown_only_if_it_compares_two_commits() -> None:
    assert "/compare/" in body_of(CASES["regression"])
    for link in ("https://evil.example/x", "https://github.com/a/b/compare/main...x) @you [y](z"):
        body = body_of(regression(link))
        assert link not in body
        assert "@you" not in body


@pytest.mark.parametrize("size", [10, 60_000, 2_000_000])
def test_a_long_log_is_cut_and_the_reproducer_never(size: int) -> None:
    long = SCRIPT + "# " + "x" * 55_000 + "\n"
    for script in (SCRIPT, long):
        body = body_of(replace(raising("@a ``` #1 " * (size // 10)), script=script))
        assert len(body) < 65_536
        assert script in body


def test_a_reproducer_with_fences_is_shown_byte_for_byte() -> None:
    script = SCRIPT + '"""\n```\n@nobody\n````\n"""\n'
    assert f"`````python\n{script}`````" in body_of(finding(script=script))


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
