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

from bot import classify, history, reading
from bot.commits import is_compare_link
from bot.defang import code, cut, fence, inline, prose
from bot.evidence import Row, quantities, rows
from bot.localise import DYNAMIC
from bot.wording import (
    ADDS,
    ENDINGS,
    ENDS,
    ENGINES,
    FLOATS,
    LABELS,
    SETTINGS,
    WORKAROUNDS,
    contract,
)
from fuzzers.records import Build, Ending, Finding, Json, Kind, Run, Verdict

MESSAGE = 4_000
"""Characters of an exception's message; that of a failed C++ compilation is as long as the compiler likes."""

TRACEBACK = "Traceback (most recent call last)"

SHA = re.compile(r"[0-9a-f]{12,40}")

ADDRESS = re.compile(r"https://[\w.-]+(?:/[\w.~%+&=?/-]*)?")

ORIGINS = ("seed", "origin", "test", "file")
"""Where an engine tells which model, test or kernel it began with."""

NOT_RUN = "not run"

JUDGED_BY_FLOAT64 = frozenset({Kind.WRONG, Kind.GRADIENT})

COMPARED = (
    "Compared at default tolerances, with a float64 run as the reference; all inputs are in the script."
)
"""What PyTorch's form asks of those who report what a fuzzer found."""

STANDS = {classify.OnBuilds.REGRESSION: "A regression", classify.OnBuilds.PRE_EXISTING: "Not new"}


def about(finding: Finding, hosts: Sequence[str]) -> Json:
    """All that the templates of issues and comments ask for."""
    difference = finding.detail.get("difference") or {}
    safe = partial(_safe, hosts)
    return {
        "signature": safe(finding.signature),
        "framework": safe(finding.suspect.build.framework),
        "sentence": _sentence(finding, hosts),
        "summary": [(name, value) for name, value in _summary(finding, hosts) if value],
        "script": finding.script.rstrip("\n"),
        "script_fence": fence(finding.script),
        "by_llm": bool(finding.suspect.origin.get("llm") or finding.suspect.detail.get("llm")),
        "engine": safe(ENGINES.get(finding.suspect.engine, finding.suspect.engine)),
        "how_it_ends": safe(_how_it_ends(finding)),
        "differences": [
            Row(*map(safe, (r.element, r.expected, r.float64, r.actual))) for r in rows(difference)
        ],
        "quantities": safe(_quantities(difference)),
        "compared": _compared(finding),
        "reproducibility": safe(_reproducibility(finding)),
        "ladder": [
            {
                "backend": rung,
                "adds": ADDS.get(rung, ""),
                "result": ENDINGS.get(finding.rungs.get(rung, ""), NOT_RUN),
            }
            for rung in finding.rungs
        ],
        "place": _place(finding, hosts),
        "culprits": ", ".join(code(part, hosts) for part in finding.culprits),
        "workaround": workaround(finding),
        "since": safe(_since(finding)),
        "link": _link(finding),
        "near": ", ".join(code(signature, hosts) for signature in finding.near),
        "versions": [(safe(name), safe(value)) for name, value in _versions(finding.suspect.build) if value],
        "device": "CPU" if finding.suspect.build.variant in ("", "cpu") else "GPU",
    }


def _safe(hosts: Sequence[str], text: object) -> str:
    return prose(str(text), hosts)


def _sentence(finding: Finding, hosts: Sequence[str]) -> str:
    """The symptom: the program, the broken contract, and what an exception says or one value that differs."""
    program = code(reading.sketch(finding.script), hosts) or "This program"
    run = _run(finding)
    line = next(iter(run.message.strip().splitlines()), "")
    said = code(f"{run.exception}: {line}".rstrip(": "), hosts) if run.ending is Ending.EXCEPTION else ""
    symptom = f"{program} on {prose(finding.suspect.build.name, hosts)}: {contract(finding)}"
    return " ".join(part for part in (f"{symptom} {said}".strip() + ".", _example(finding, hosts)) if part)


def _example(finding: Finding, hosts: Sequence[str]) -> str:
    """One value that differs."""
    for row in rows(finding.detail.get("difference") or {})[:1]:
        if row.expected and row.actual:
            return f"Eager: {code(row.expected, hosts)}, compiled: {code(row.actual, hosts)}."
    return ""


def _summary(finding: Finding, hosts: Sequence[str]) -> list[tuple[str, str]]:
    """What a maintainer wants to know first, a row each."""
    said = history.words(finding)
    build = finding.suspect.build
    bad = [word.name for word in said if word.verdict is Verdict.REPRODUCES]
    good = [word.name for word in said if word.verdict is Verdict.GONE]
    newest = bad[-1] if bad else build.name
    facts = [build.variant, shortened(build.git_sha)] if newest in ("", build.name) else [build.variant]
    return [
        (
            "fails on",
            ", ".join([prose(newest or build.name, hosts), *(code(fact, hosts) for fact in facts if fact)]),
        ),
        ("right on", ", ".join(prose(name, hosts) for name in good[-3:])),
        ("since", _dated(finding, hosts)),
        ("fails in", _where(finding, hosts)),
        ("goes away with", code(workaround(finding))),
        ("confirmed", prose(_reproducibility(finding), hosts)),
        ("found by", _found_by(finding, hosts)),
    ]


def shortened(sha: str) -> str:
    """The start of a commit's name; anything else is shown whole, for a piece of a secret looks like none."""
    return sha[:12] if SHA.fullmatch(sha) else sha


def _dated(finding: Finding, hosts: Sequence[str]) -> str:
    since, link = prose(_since(finding), hosts), _link(finding)
    return f"{since} [Commits in between]({link})." if link else since


def _where(finding: Finding, hosts: Sequence[str]) -> str:
    """The stage, the last backend that is right, and how shapes were compiled."""
    if finding.stage == "unknown":
        return "not known, see the ablation"
    label = f" ({code(finding.label, hosts)})" if finding.label else ""
    right = [rung for rung, ending in finding.rungs.items() if ending == Ending.OK]
    parts = [
        f"{prose(finding.stage, hosts)}{label}",
        f"right with `{SETTINGS.get(right[-1], '')}`" if right else "",
        "dynamic shapes" if DYNAMIC.search(finding.script) else "",
    ]
    return "; ".join(part for part in parts if part)


def _found_by(finding: Finding, hosts: Sequence[str]) -> str:
    engine = prose(ENGINES.get(finding.suspect.engine, finding.suspect.engine), hosts)
    origin = next((told for name in ORIGINS if (told := finding.suspect.detail.get(name))), "")
    return f"{engine}; it began with {code(str(origin), hosts)}" if origin else engine


def _quantities(difference: Json) -> str:
    """The numbers of the evidence on one line; that one element of one differs says nothing."""
    numbers = quantities(difference)
    if (difference.get("detail") or {}).get("numel") == 1:
        numbers = [(name, value) for name, value in numbers if not name.startswith("elements")]
    return "; ".join(f"{name}: {value}" for name, value in numbers)


def _compared(finding: Finding) -> str:
    """How the results were compared, where they were."""
    is_judged = finding.suspect.kind in JUDGED_BY_FLOAT64 and FLOATS & set(finding.dtypes)
    return COMPARED if is_judged else ""


def _versions(build: Build) -> list[tuple[str, str]]:
    return [
        (build.framework, build.version),
        ("variant", build.variant),
        ("git", build.git_sha),
        ("python", build.python),
    ]


def workaround(finding: Finding) -> str:
    """One setting with which the script is right; empty when no culprit has one."""
    return next((WORKAROUNDS[part] for part in finding.culprits if part in WORKAROUNDS), "")


def labels(finding: Finding, hosts: Sequence[str] = ()) -> tuple[str, ...]:
    """The labels of a triage issue: what kind of failure, where."""
    named = [
        LABELS["kind"].format(finding.suspect.kind),
        LABELS["framework"].format(finding.suspect.build.framework),
    ]
    if finding.label:
        named.append(finding.label)
    return tuple(inline(name, hosts, longest=50) for name in named)


def address(text: str) -> str:
    """An https address and nothing else; empty when it is not."""
    return text if ADDRESS.fullmatch(text) else ""


def log(finding: Finding) -> str:
    """What an exception says and its trace, or the output of a crash or a hang; a failed assertion shows its
    values above."""
    run = _run(finding)
    if run.ending is Ending.ASSERTION:
        return ""
    trace = run.log[max(run.log.rfind(TRACEBACK), 0) :].strip()
    told = run.message.strip() and run.message.strip() in trace
    said = "" if told else cut(f"{run.exception}: {run.message}".strip(": \n"), MESSAGE)
    return "\n\n".join(part for part in (said, trace) if part)


def suite_test(finding: Finding, hosts: Sequence[str] = ()) -> str:
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
    name = "_".join(re.sub(r"\W+", "_", inline(word, hosts)).strip("_")[:20] for word in words)
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


def _reproducibility(finding: Finding) -> str:
    return f"{finding.confirmed} fresh processes, stock settings, no compiled program in the cache"


def _place(finding: Finding, hosts: Sequence[str]) -> str:
    if finding.stage == "unknown":
        reason = finding.detail.get("reason") or "the ladder gave no answer"
        return f"Which stage is to blame is not known: {prose(str(reason), hosts)}."
    label = f" (suggested label: {code(finding.label, hosts)})" if finding.label else ""
    return f"First failing stage: {prose(finding.stage, hosts)}{label}."


def _since(finding: Finding) -> str:
    """What older builds say."""
    where = classify.standing(finding)
    known = where.on_builds is not classify.OnBuilds.UNKNOWN
    return f"{STANDS[where.on_builds]}: {where.reason}." if known else ""


def _link(finding: Finding) -> str:
    """The commits between the last good build and the first bad one. It is shown only if it is nothing but an
    address of a comparison: builds tell their own commits."""
    change = classify.standing(finding).change
    framework = finding.suspect.build.framework
    return change.link if change is not None and is_compare_link(framework, change.link) else ""
