"""What is known of a finding, as the values that templates show: sentences, rows, links.

Invariant: pure, and all that comes from outside is defanged here, in one place; what is not known is empty,
and never made up.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from functools import partial

from bot import classify, history
from bot.defang import cut, fence, inline
from bot.evidence import Row, quantities, rows
from bot.localise import LADDER
from bot.wording import (
    ADDS,
    ENDINGS,
    ENDS,
    ENGINES,
    LABELS,
    WORKAROUNDS,
    sentence,
)
from fuzzers.records import Ending, Finding, Json, Kind, Run, Verdict

MESSAGE = 4_000
"""Characters of an exception's message; that of a failed C++ compilation is as long as the compiler likes."""

TRACEBACK = "Traceback (most recent call last)"

COMPARE = re.compile(
    r"https://[a-z]+\.(?:com|net)/[\w.-]+/[\w.-]+/compare/[0-9a-f]{7,40}\.\.\.[0-9a-f]{7,40}"
)

ADDRESS = re.compile(r"https://[\w.-]+(?:/[\w.~%+&=?/-]*)?")

STANDS = {classify.OnBuilds.REGRESSION: "A regression", classify.OnBuilds.PRE_EXISTING: "Not new"}


def about(finding: Finding, hosts: Sequence[str]) -> Json:
    """All that the templates of issues and comments ask for."""
    difference = finding.detail.get("difference") or {}
    build = finding.suspect.build
    safe = partial(_safe, hosts)
    return {
        "signature": safe(finding.signature),
        "framework": safe(build.framework),
        "sentence": safe(sentence(finding)),
        "summary": [(name, value) for name, value in _summary(finding, safe) if value],
        "script": finding.script.rstrip("\n"),
        "script_fence": fence(finding.script),
        "by_llm": bool(finding.suspect.origin.get("llm") or finding.suspect.detail.get("llm")),
        "how_it_ends": safe(_how_it_ends(finding)),
        "expected": safe(_expected(finding)),
        "differences": [
            Row(*map(safe, (r.element, r.expected, r.float64, r.actual))) for r in rows(difference)
        ],
        "quantities": [(name, safe(value)) for name, value in quantities(difference)],
        "reproducibility": safe(_reproducibility(finding)),
        "ladder": [
            {
                "backend": rung,
                "adds": ADDS[rung],
                "result": safe(ENDINGS.get(finding.rungs.get(rung, ""), "not run")),
            }
            for rung in LADDER
        ],
        "place": safe(_place(finding)),
        "culprits": ", ".join(f"`{safe(part)}`" for part in finding.culprits),
        "workaround": workaround(finding),
        "since": safe(_since(finding)),
        "link": _link(finding),
        "near": ", ".join(f"`{safe(signature)}`" for signature in finding.near),
        "environment": [
            (name, safe(value))
            for name, value in (
                (build.framework, build.version),
                ("variant", build.variant),
                ("git", build.git_sha),
                ("python", build.python),
                ("found by", f"{finding.suspect.engine} {finding.suspect.revision}"),
            )
            if value
        ],
    }


def _safe(hosts: Sequence[str], text: object) -> str:
    return inline(str(text), hosts)


def _summary(finding: Finding, safe: partial[str]) -> list[tuple[str, str]]:
    """What a maintainer wants to know first, a row each."""
    said = history.words(finding)
    bad = [word for word in said if word.verdict is Verdict.REPRODUCES]
    good = [word for word in said if word.verdict is Verdict.GONE]
    newest = bad[-1].name if bad else finding.suspect.build.name
    sha = finding.suspect.build.git_sha[:12] if newest in ("", finding.suspect.build.name) else ""
    setting = workaround(finding)
    return [
        ("fails on", safe(newest or finding.suspect.build.name) + (f" (`{safe(sha)}`)" if sha else "")),
        ("right on", ", ".join(safe(word.name) for word in good[-3:])),
        ("since", safe(_since(finding))),
        ("stage", f"{safe(finding.stage)}" + (f", `{safe(finding.label)}`" if finding.label else "")),
        ("goes away with", f"`{setting}`" if setting else ""),
        ("found by", safe(ENGINES.get(finding.suspect.engine, finding.suspect.engine))),
    ]


def workaround(finding: Finding) -> str:
    """One setting with which the script is right; empty when no culprit has one."""
    return next((WORKAROUNDS[part] for part in finding.culprits if part in WORKAROUNDS), "")


def labels(finding: Finding) -> tuple[str, ...]:
    """The labels of a triage issue: what kind of failure, where."""
    named = [
        LABELS["kind"].format(finding.suspect.kind),
        LABELS["framework"].format(finding.suspect.build.framework),
    ]
    if finding.label:
        named.append(finding.label)
    return tuple(inline(name, longest=50) for name in named)


def address(text: str) -> str:
    """An https address and nothing else; empty when it is not."""
    return text if ADDRESS.fullmatch(text) else ""


def log(finding: Finding) -> str:
    """What an exception says and its trace, or the output of a crash or a hang; a failed assertion shows its
    values above."""
    run = _run(finding)
    if run.ending is Ending.ASSERTION:
        return ""
    said = cut(f"{run.exception}: {run.message}".strip(": \n"), MESSAGE)
    trace = run.log[max(run.log.rfind(TRACEBACK), 0) :].strip()
    return "\n\n".join(part for part in (said, trace) if part)


def suite_test(finding: Finding) -> str:
    """The reproducer as a method of a test class in the framework's own suite; empty where indenting it would
    change what it does."""
    if finding.suspect.build.framework != "torch" or finding.suspect.kind in (Kind.CRASH, Kind.HANG):
        return ""
    tree = ast.parse(finding.script)
    spread = any(
        isinstance(node, ast.Constant | ast.JoinedStr) and (node.end_lineno or 0) > node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.expr)
    )
    lines = finding.script.splitlines()
    kept = [line for number, line in enumerate(lines, 1) if not _is_import_of_torch(tree, number)]
    if spread or not kept:
        return ""
    words = [*finding.operators[:3], *finding.dtypes[:1], str(finding.suspect.kind)]
    name = "_".join(re.sub(r"\W+", "_", word).strip("_") for word in words)
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n")
    return f"def test_{name}(self):\n{textwrap.indent(body, '    ')}"


def _is_import_of_torch(tree: ast.Module, number: int) -> bool:
    """Whether a line is the import that every file of the suite has."""
    return any(
        isinstance(node, ast.Import)
        and node.lineno == number
        and [(alias.name, alias.asname) for alias in node.names] == [("torch", None)]
        for node in tree.body
    )


def _run(finding: Finding) -> Run:
    return finding.runs[0] if finding.runs else Run(finding.suspect.expect.ending)


def _how_it_ends(finding: Finding) -> str:
    run = _run(finding)
    fact = ENDS[run.ending].format(exception=run.exception, signal=run.signal)
    return f"{fact} On a correct build it ends normally."


def _expected(finding: Finding) -> str:
    return "It ends normally: the compiled program does what eager does."


def _reproducibility(finding: Finding) -> str:
    return f"{finding.confirmed} fresh processes, with stock settings and no compiled program in the cache."


def _place(finding: Finding) -> str:
    if finding.stage == "unknown":
        reason = finding.detail.get("reason") or "the ladder gave no answer"
        return f"Which stage is to blame is not known: {reason}."
    if not finding.label:
        return f"Stage: {finding.stage}."
    return f"First failing stage: {finding.stage} (suggested label: {finding.label})."


def _since(finding: Finding) -> str:
    """What older builds say."""
    where = classify.standing(finding)
    known = where.on_builds is not classify.OnBuilds.UNKNOWN
    return f"{STANDS[where.on_builds]}: {where.reason}." if known else ""


def _link(finding: Finding) -> str:
    """The commits between the last good build and the first bad one. It is shown only if it is nothing but an
    address of a comparison: builds tell their own commits."""
    change = classify.standing(finding).change
    return change.link if change is not None and COMPARE.fullmatch(change.link) else ""
