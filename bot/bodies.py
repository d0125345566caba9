"""What people read of a finding: the triage issue, the upstream's form, a comment on a transition.

Invariant: pure; the same finding gives the same text. All that a target, a log or a machine had a hand in
passes `bot.defang`, except the reproducer, which is shown byte for byte in a fence that it cannot end. A
text is as long as may be because logs were cut, never the reproducer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlencode

from bot import facts
from bot.defang import cut, defang, fence, inline, prose
from bot.templating import filled
from bot.wording import LABELS
from fuzzers.records import Finding

LONGEST_BODY = 65_536
"""Characters of an issue's body that GitHub takes."""

SPARE = 256
"""What is left free, for the line that says how much of a log was cut."""

LOG = 12_000
"""Characters of a log that are shown at most; people read the end of it."""

LEAST_LOG = 2_000
"""Characters of a log that are worth more than what says a thing twice."""

LEFT_OUT = ("preview", "test")
"""What an issue can be without, in the order in which it goes when room is short."""

LONGEST_LINK = 8_000
"""Characters of an address that browsers and GitHub take."""


LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""The name of an account; a slash would make a team of it."""


DAY = re.compile(r"\d{4}-\d\d-\d\d(?=T|$)")


class TooLongError(ValueError):
    """The reproducer alone is longer than an issue may be."""


class Form(StrEnum):
    """The forms of an issue."""

    TRIAGE = "triage"
    PT2 = "pt2"
    GENERAL = "general"
    MINDSPORE = "mindspore"


class Transition(StrEnum):
    """What is worth a comment."""

    BISECTED = "bisected"
    FIXED = "fixed"
    REGRESSED = "regressed"
    STILL = "still"
    """It still fails after a person closed it as done."""
    APPROVED = "approved"
    FILED = "filed"
    MIRRORED = "mirrored"


@dataclass(frozen=True)
class Text:
    """An issue's title, body and labels."""

    title: str
    body: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Person:
    """Who looked at a finding and stands for it, in which words, when."""

    login: str
    words: str = ""
    at: str = ""


def issue(
    finding: Finding,
    *,
    upstream: Form | None = None,
    hosts: Sequence[str] = (),
    longest: int = LONGEST_BODY,
) -> Text:
    """The issue of the triage repository; with `upstream` it shows how to approve the finding for there."""
    asked: dict[str, object] = {"approval": "", "preview": "", "test": facts.suite_test(finding, hosts)}
    if upstream:
        preview = _preview(finding, upstream, hosts)
        asked |= {
            "approval": approval_hash(finding, upstream),
            "preview": f"{preview.title}\n\n{preview.body.strip()}",
            "preview_fence": fence(preview.body),
        }
    body = _fitted(finding, Form.TRIAGE, asked, hosts, longest)
    return Text(title(finding, hosts), body, facts.labels(finding, hosts))


def upstream(
    finding: Finding,
    form: Form,
    *,
    person: Person | None,
    hosts: Sequence[str] = (),
    longest: int = LONGEST_BODY,
) -> Text:
    """The issue as the upstream's form wants it. Without a person it is the preview that a hash covers."""
    asked: dict[str, object] = {"person": None}
    if person is not None:
        asked["person"] = {
            "login": _mention(person.login, hosts),
            "words": prose(person.words, hosts, longest=2_000),
            "at": _day(person.at, hosts),
        }
    labels = (*facts.labels(finding, hosts), LABELS["fuzzer"])
    return Text(title(finding, hosts), _fitted(finding, form, asked, hosts, longest), labels)


def approval_hash(finding: Finding, form: Form) -> str:
    """What a person approves: twelve hex digits over the reproducer and the text that will be filed. Only
    what does not change from night to night, or from machine to machine, is in that text, so that an
    approval outlives a retest."""
    text = _preview(finding, form, ())
    whole = f"{form}\n{finding.script}\n{text.title}\n{text.body}"
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def _preview(finding: Finding, form: Form, hosts: Sequence[str]) -> Text:
    """The upstream's issue without the person's word: what is read before it is approved."""
    return upstream(finding, form, person=None, hosts=hosts)


def comment(what: Transition, finding: Finding, told: Mapping[str, str], hosts: Sequence[str] = ()) -> str:
    """The comment on a transition."""
    plain = {name: prose(str(value), hosts, longest=500) for name, value in told.items()}
    if "by" in told:
        plain["by"] = _mention(told["by"], hosts)
    if "title" in told:
        plain["title"] = inline(told["title"], hosts)
    if "body" in told:
        plain |= {"body": told["body"], "body_fence": fence(told["body"])}
    for name in ("link", "url"):
        if name in told:
            plain[name] = facts.address(told[name])
    return (
        filled("comment.md.j2", what=str(what), told=plain, finding=facts.about(finding, hosts)).strip()
        + "\n"
    )


def new_issue_link(repository: str, text: Text) -> str:
    """A link that opens the upstream's page for a new issue with this text filled in; empty when it is too
    long for a link."""
    query = urlencode({"title": text.title, "body": text.body, "labels": ",".join(text.labels)})
    link = f"https://github.com/{repository}/issues/new?{query}"
    return link if len(link) <= LONGEST_LINK else ""


def _mention(login: str, hosts: Sequence[str]) -> str:
    """The one mention that is meant: of the person who stands for a finding."""
    return f"@{login}" if LOGIN.fullmatch(login) else prose(login, hosts)


def _day(at: str, hosts: Sequence[str]) -> str:
    """The day of a time; a text that is none is shown whole, for a piece of a secret looks like none."""
    day = DAY.match(at)
    return day.group() if day else prose(at, hosts)


def title(finding: Finding, hosts: Sequence[str] = ()) -> str:
    """The issue's title, harmless and on one line."""
    return inline(finding.title, hosts)


def _fitted(
    finding: Finding, form: Form, asked: Mapping[str, object], hosts: Sequence[str], longest: int
) -> str:
    """The body, with as much of the log as fits. TooLongError when the reproducer alone is too long."""
    known = {**facts.about(finding, hosts), **asked}
    template = f"{form}.md.j2"
    bare = filled(template, **known, log="")
    for part in LEFT_OUT:
        if longest - SPARE - len(bare) < LEAST_LOG and known.get(part):
            known[part] = ""
            bare = filled(template, **known, log="")
    room = longest - SPARE - len(bare)
    if room < 0:
        raise TooLongError(f"the reproducer of {finding.signature} leaves no room: {-room} characters over")
    log = cut(defang(facts.log(finding), hosts), min(LOG, room))
    return filled(template, **known, log=log) if log else bare
