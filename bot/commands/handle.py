"""One `issue_comment` event: who may, what it asks, and doing it or ordering it.

Invariant: nothing is done for anybody but an account to which the host itself gives write access, at that
moment; nothing for a bot, an edited comment, or an event that was answered before. What each command does
is in `bot.commands.verbs`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from bot.commands import grammar, reply
from bot.commands.event import CommentEvent
from bot.commands.grammar import Command, MisunderstoodError
from bot.commands.order import Order
from bot.commands.reply import Stage
from bot.commands.verbs import HANDLERS, Answer, Asked, Desk, Refusal
from bot.trackers.protocol import MissingError, Reaction


@dataclass(frozen=True)
class Handled:
    """What became of an event. `why` says why nothing was done; `publish` that the store has changed, so
    that the issue should be brought in line."""

    why: str = ""
    order: Order | None = None
    publish: bool = False


class Gate(Desk):
    """Handles events for one repository."""

    def handle(self, event: CommentEvent) -> Handled:
        """Do what a comment asks, or not."""
        if why := self._is_none_of_ours(event):
            return Handled(why)
        author = event.comment.user
        assert author is not None
        try:
            command = grammar.parse(event.comment.body or "")
            problem = ""
        except MisunderstoodError as error:
            command, problem = None, str(error)
        if command is None and not problem:
            return Handled("no command")
        if not self.tracker.permission(author.login).may_write:
            self._react(str(event.comment.id), Reaction.MINUS_ONE)
            return Handled(f"{author.login} has no write access")
        try:
            return self._answer(event, command, problem)
        except MissingError:
            if self._is_there(str(event.issue.number)):
                raise
            return Handled("the issue has gone")

    def _answer(self, event: CommentEvent, command: Command | None, problem: str) -> Handled:
        """Acknowledge a command of somebody who may command, once, and do it."""
        comment, issue = str(event.comment.id), str(event.issue.number)
        self._react(comment, Reaction.EYES)
        said_before = reply.replies(self.tracker, self.seal, issue, event.comment.created_at)
        if any(said.comment == comment for said in said_before):
            return Handled("answered before")
        if command is None:
            self._react(comment, Reaction.CONFUSED)
            self._say(issue, comment, reply.help_text(list(grammar.USAGE.values()), problem), Stage.DONE)
            return Handled("not understood")
        asked = Asked(self, command, event)
        try:
            answer = HANDLERS[command.verb](asked)
        except Refusal as refusal:
            answer = Answer(f"Not done: {refusal}.", reaction=Reaction.CONFUSED)
        if answer.reaction is not None:
            self._react(comment, answer.reaction)
        stage = Stage.RUNNING if answer.order else Stage.DONE
        number = self._say(issue, comment, answer.said, stage)
        order = replace(answer.order, reply=number) if answer.order else None
        return Handled("", order, answer.publish)

    def _is_none_of_ours(self, event: CommentEvent) -> str:
        if event.action != "created":
            return f"the comment was {event.action}: only new ones count"
        author = event.comment.user
        if author is None or author.is_bot or str(author.id) == self.tracker.account().ident:
            return "the comment is a bot's, or its author is gone"
        if event.sender is not None and event.sender.id != author.id:
            return "somebody else than the comment's author sent it"
        if event.comment.updated_at and event.comment.updated_at != event.comment.created_at:
            return "the comment has been edited: only new ones count"
        name = self.tracker.name.partition(":")[2]
        if self.settings.tracker != "outbox" and event.repository.full_name.lower() != name.lower():
            return f"the event is of {event.repository.full_name}, and this bot works in {name}"
        return ""

    def _is_there(self, issue: str) -> bool:
        try:
            self.tracker.issue(issue)
        except MissingError:
            return False
        return True

    def _react(self, comment: str, reaction: Reaction) -> None:
        with suppress(MissingError):  # its author has deleted it since; a command that was given stays one
            self.tracker.react(comment, reaction)

    def _say(self, issue: str, comment: str, said: str, stage: Stage) -> str:
        return self.tracker.comment(issue, reply.text(self.seal, comment, stage, said)).ident
