"""A finding as a Markdown issue in an outbox folder, with its reproducer beside it. Jinja lives here only.

Invariant: the body is below GitHub's limit because the log was cut, never the reproducer; all text that a
target, a log or a machine had a hand in passes `bot.defang`, except the reproducer, which is shown byte
for byte in a fence that it cannot end. Rendering the same finding again writes the same bytes.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path

import jinja2

import templates
from bot import classify
from bot.defang import cut, defang, fence, inline
from bot.evidence import Row, publishable, quantities, rows
from bot.files import write_atomically
from bot.localise import LADDER
from bot.wording import ADDS, ENDINGS, ENDS, sentence
from fuzzers.records import Ending, Finding, Kind, Run

LONGEST_BODY = 65_536
"""Characters of an issue's body that GitHub takes."""

ROOM = 256
"""What is left free, for what a tracker adds."""

LOG = 12_000
"""Characters of a log that are shown at most; people read the end of it."""

MESSAGE = 4_000
"""Characters of an exception's message; that of a failed C++ compilation is as long as the compiler likes."""

TRACEBACK = "Traceback (most recent call last)"

MARKER = "<!-- nightfuzz signature={} kind={} -->"


def _environment() -> jinja2.Environment:
    """Markdown, so no autoescape: what is interpolated is defanged before it gets here."""
    folder = Path(str(templates.__file__)).parent
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def is_published(finding: Finding, down_to: Kind) -> bool:
    """Whether a finding becomes an issue: severe enough, and not held back by the oracle."""
    difference = finding.detail.get("difference") or {}
    return finding.suspect.kind.severity <= down_to.severity and publishable(difference)


def render(
    findings: Iterable[Finding],
    outbox: Path,
    down_to: Kind = Kind.ALIASING,
    hosts: Sequence[str] | None = None,
) -> list[Path]:
    """Write `<signature>.md` and `<signature>/repro.py` for each published finding; the Markdown files."""
    named = [socket.gethostname()] if hosts is None else hosts
    written = []
    for finding in findings:
        if not is_published(finding, down_to):
            continue
        path = outbox / f"{finding.signature}.md"
        write_atomically(outbox / finding.signature / "repro.py", finding.script)
        write_atomically(path, f"# {title(finding, named)}\n\n{body(finding, named)}")
        written.append(path)
    return written


def title(finding: Finding, hosts: Sequence[str] = ()) -> str:
    """The issue's title, harmless and on one line."""
    return inline(finding.title, hosts)


def body(finding: Finding, hosts: Sequence[str] = ()) -> str:
    """The issue's body. ValueError when the reproducer alone is too long for an issue."""
    room = LONGEST_BODY - ROOM
    bare = _filled(finding, hosts, "")
    if len(bare) > room:
        raise ValueError(f"the reproducer of {finding.signature} leaves no room: {len(bare)} characters")
    log = cut(defang(_log(finding), hosts), min(LOG, room - len(bare) - ROOM))
    return _filled(finding, hosts, log)


def _filled(finding: Finding, hosts: Sequence[str], log: str) -> str:
    template = _environment().get_template("issue.md.j2")
    difference = finding.detail.get("difference") or {}
    build = finding.suspect.build

    def safe(text: object) -> str:
        return inline(str(text), hosts)

    return template.render(
        sentence=safe(sentence(finding)),
        script=finding.script.rstrip("\n"),
        script_fence=fence(finding.script),
        how_it_ends=safe(_how_it_ends(finding)),
        differences=[Row(*map(safe, (r.element, r.expected, r.float64, r.actual))) for r in rows(difference)],
        quantities=[(name, safe(value)) for name, value in quantities(difference)],
        reproducibility=safe(_reproducibility(finding)),
        ladder=[
            {
                "backend": rung,
                "adds": ADDS[rung],
                "result": safe(ENDINGS.get(finding.rungs.get(rung, ""), "not run")),
            }
            for rung in LADDER
        ],
        place=safe(_place(finding)),
        culprits=", ".join(f"`{safe(part)}`" for part in finding.culprits),
        since=safe(_since(finding)),
        link=_link(finding),
        near=", ".join(f"`{safe(signature)}`" for signature in finding.near),
        log=log,
        environment=[
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
        marker=MARKER.format(safe(finding.signature), finding.suspect.kind),
    )


def _run(finding: Finding) -> Run:
    return finding.runs[0] if finding.runs else Run(finding.suspect.expect.ending)


def _how_it_ends(finding: Finding) -> str:
    run = _run(finding)
    fact = ENDS[run.ending].format(exception=run.exception, signal=run.signal)
    return f"{fact} On a correct build it ends normally."


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
    """The commits between the last good build and the first bad one. The one address in a body, so it is
    shown only if it is nothing but that: builds tell their own commits."""
    change = classify.standing(finding).change
    return change.link if change is not None and COMPARE.fullmatch(change.link) else ""


COMPARE = re.compile(
    r"https://[a-z]+\.(?:com|net)/[\w.-]+/[\w.-]+/compare/[0-9a-f]{7,40}\.\.\.[0-9a-f]{7,40}"
)


STANDS = {classify.OnBuilds.REGRESSION: "A regression", classify.OnBuilds.PRE_EXISTING: "Not new"}


def _log(finding: Finding) -> str:
    """What an exception says and its trace, or the output of a crash or a hang; a failed assertion shows
    its values above."""
    run = _run(finding)
    if run.ending is Ending.ASSERTION:
        return ""
    said = cut(f"{run.exception}: {run.message}".strip(": \n"), MESSAGE)
    trace = run.log[max(run.log.rfind(TRACEBACK), 0) :].strip()
    return "\n\n".join(part for part in (said, trace) if part)
