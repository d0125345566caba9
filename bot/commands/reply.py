"""The one reply to a command, edited as work goes on.

Invariant: a reply carries a mark with the number of the comment that it answers and how far the work is, so
that an event that is delivered twice is answered once, and a cancelled command stays cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.publishing import marks
from bot.publishing.marks import Seal
from bot.templating import filled
from bot.trackers.protocol import Comment, Tracker


class Stage(StrEnum):
    """How far a command is."""

    DONE = "done"
    RUNNING = "running"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Said:
    """A reply that is there: to which comment, at which stage."""

    reply: Comment
    comment: str
    stage: str


def text(seal: Seal, comment: str, stage: Stage, said: str) -> str:
    """A reply's text with its mark."""
    return f"{said.strip()}\n\n{seal.mark(marks.REPLY, comment, stage)}"


def help_text(usage: Sequence[str], problem: str = "") -> str:
    """What commands there are, after what was wrong with one."""
    return filled("reply.md.j2", what="help", usage=usage, problem=problem)


def replies(tracker: Tracker, seal: Seal, issue: str, since: str = "") -> list[Said]:
    """Our replies on an issue, oldest first."""
    me = tracker.account().ident
    found = []
    for comment in tracker.comments(issue, since):
        if comment.author.ident == me:
            for told in seal.read(marks.REPLY, comment.body)[-1:]:
                if len(told) == 2:
                    found.append(Said(comment, told[0], told[1]))
    return found


def finish(tracker: Tracker, seal: Seal, issue: str, comment: str, said: str) -> bool:
    """The last word on a command, in the reply to its comment; False when it was cancelled, or the reply has
    gone."""
    for standing in replies(tracker, seal, issue):
        if standing.comment == comment and standing.stage != Stage.CANCELLED:
            tracker.edit_comment(standing.reply.ident, text(seal, comment, Stage.DONE, said))
            return True
    return False
