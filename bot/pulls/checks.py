"""The result of an order on a pull request, told: a check run with annotations, and the reply.

Invariant: a result is a claim. A finding is told only on a file that the order names and on a line that the
file has at the pinned commit; every text is made harmless and cut; the conclusion is ours. A head that has
moved since, a result for another commit, or none at all, ends neutral and says so. Done twice, it says the
same in the same places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bot.commands import reply
from bot.commands.order import Order
from bot.commands.reply import Stage
from bot.defang import CONTROL, code, cut, fence, inline, prose, redact
from bot.publishing.marks import ROOM, Seal
from bot.pulls.result import PullFinding, Result
from bot.templating import filled
from bot.trackers.protocol import Tracker
from bot.trackers.pulls import Annotation, Conclusion, PullHost

NAME = "nightfuzz"
"""The check run's."""

LONGEST_SUMMARY = 65_000

LONGEST_MESSAGE = 8_000
"""Characters of an annotation: its script is there to be seen, and whole in the reply."""


@dataclass(frozen=True)
class Told:
    """What was said: findings that were told, the conclusion, a sentence. `result` is what it rests on, None
    where there is none to rely on; `cancelled` means that nothing was said."""

    findings: tuple[PullFinding, ...] = ()
    conclusion: Conclusion = Conclusion.NEUTRAL
    headline: str = ""
    result: Result | None = None
    cancelled: bool = False


@dataclass
class Reporter:
    """Tells one order's result. `problem` says why there is none."""

    order: Order
    result: Result | None
    tracker: Tracker
    pulls: PullHost
    seal: Seal
    problem: str = ""

    def report(self) -> Told:
        """Check run and reply, unless somebody has cancelled the command."""
        if self._is_cancelled():
            return Told(cancelled=True)
        told = self.told()
        text = self._text(told, LONGEST_SUMMARY)
        ident = self.pulls.check_started(self.order.head_sha, NAME, self.order.comment)
        annotations = [annotation(one) for one in told.findings if one.line]
        self.pulls.check_done(ident, told.conclusion, told.headline, text, annotations)
        said = self._text(told, self.tracker.longest_body - ROOM)
        reply.finish(self.tracker, self.seal, self.order.issue, self.order.comment, said)
        return told

    def told(self) -> Told:
        """What there is to tell."""
        if why := self._nothing_to_tell():
            return Told(headline=why)
        assert self.result is not None
        findings = tuple(one for one in map(self._admitted, self.result.findings) if one is not None)
        return Told(findings, *concluded(findings, self.result), self.result)

    def _is_cancelled(self) -> bool:
        said = reply.replies(self.tracker, self.seal, self.order.issue)
        mine = next((one for one in said if one.reply.ident == self.order.reply), None)
        return mine is not None and mine.stage == Stage.CANCELLED

    def _nothing_to_tell(self) -> str:
        if self.result is None:
            return f"No result: {inline(self.problem) or 'the work ended without one'}"
        if (self.result.head_sha, self.result.base_sha) != (self.order.head_sha, self.order.base_sha):
            return "No result: what came is for other commits than those that were asked about"
        now = self.pulls.pull(self.order.pull).head_sha
        if now != self.order.head_sha:
            return f"The head has moved to {now[:12]} since: ask again for that commit"
        return ""

    @cached_property
    def _lengths(self) -> dict[str, int]:
        """How many lines each file has that a finding is on."""
        assert self.result is not None
        named = {file.path for file in self.order.files} & {one.path for one in self.result.findings}
        texts = {path: self.pulls.text_at(path, self.order.head_sha) or "" for path in sorted(named)}
        return {path: len(text.splitlines()) for path, text in texts.items()}

    def _admitted(self, one: PullFinding) -> PullFinding | None:
        """The finding, without a line that its file does not have; None when the order names no such file."""
        if not one.path:
            return one.model_copy(update={"line": 0})
        if one.path not in self._lengths:
            return None
        return one if one.line <= self._lengths[one.path] else one.model_copy(update={"line": 0})

    def _text(self, told: Told, longest: int) -> str:
        """The summary; scripts go, the last first, until it is short enough."""
        for scripts in range(len(told.findings), -1, -1):
            text = self._filled(told, scripts)
            if len(text) <= longest:
                return text
        return cut(text, longest)

    def _filled(self, told: Told, scripts: int) -> str:
        result = told.result
        return filled(
            "pull.md.j2",
            headline=prose(told.headline, longest=400) + ".",
            findings=[shown(one, k < scripts) for k, one in enumerate(told.findings)],
            figures=[
                {
                    "path": code(one.path or "(the framework)"),
                    "engine": code(one.engine),
                    "base": prose(one.base),
                    "suspects": one.suspects,
                    "seconds": f"{one.seconds:.0f}",
                }
                for one in (result.figures if result else ())
            ],
            notes=[prose(note, longest=600) for note in (result.notes if result else ())],
            head=code(self.order.head_sha),
            base=code(self.order.base_sha),
            build=prose(result.build) if result else "",
        )


def concluded(findings: Sequence[PullFinding], result: Result) -> tuple[Conclusion, str]:
    """(conclusion, a sentence): what fails as it stands fails the check, what a mutation brought about is a
    remark."""
    stands = [one for one in findings if not one.mutant]
    if stands:
        said = f"{len(stands)} new {_differences(len(stands))} between compiled and uncompiled code"
        return Conclusion.FAILURE, said
    if findings:
        said = (
            f"As it stands it is right; {len(findings)} small {_changes(len(findings))} of it compiled wrong"
        )
        return Conclusion.NEUTRAL, said
    if not any(one.checked for one in result.figures):
        return Conclusion.NEUTRAL, "Nothing was compared"
    if result.waiting:
        return Conclusion.NEUTRAL, "Not decided: there was no time to look into what differs"
    return Conclusion.SUCCESS, "Nothing new against the base"


def _differences(count: int) -> str:
    return "difference" if count == 1 else "differences"


def _changes(count: int) -> str:
    return "change" if count == 1 else "changes"


def annotation(one: PullFinding) -> Annotation:
    """A remark on the line."""
    level = "warning" if one.mutant or one.known else "failure"
    message = f"{inline(one.said, longest=600)}\n\n{harmless(one.script)}"
    title = inline(one.title, longest=255)
    return Annotation(one.path, one.line, one.line, level, title, cut(message, LONGEST_MESSAGE))


def shown(one: PullFinding, script: bool) -> dict[str, str]:
    """A finding as the template has it."""
    text = harmless(one.script) if script else ""
    where = f"{one.path}:{one.line}" if one.line else one.path
    how = "a small change of it" if one.mutant else "as it stands"
    return {
        "where": code(where) or "the framework",
        "title": prose(one.title),
        "how": f"{how}, known to the night" if one.known else how,
        "summary": prose(f"{where} {one.title}".strip(), longest=300),
        "said": prose(f"{one.said} ({one.signature})", longest=700),
        "script": text.rstrip("\n"),
        "fence": fence(text),
    }


def harmless(script: str) -> str:
    """A script as it may be shown in a fence: nothing of the machine, nothing that hides or shows."""
    return redact(CONTROL.sub("", script)).replace("<!--", "<\u200b!--")
