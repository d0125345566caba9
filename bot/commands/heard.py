"""People's decisions, derived again from what they wrote.

Invariant: what counts here would have counted when it was written: a new comment that nobody edited, on the
issue of a finding, by a person to whom the host itself gives write access. The later of two decisions counts,
and one that is in the store already changes nothing. The reason: the job that answers a comment pushes the
store last; when that fails, the answer is there and the decision is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from bot import decisions
from bot.commands import grammar
from bot.commands.grammar import Command, MisunderstoodError
from bot.decisions import Decision, Kind
from bot.store import Store
from bot.trackers.protocol import Comment, Permission, Tracker
from fuzzers.records import Finding

LOOK_BACK = timedelta(days=7)
"""A night's run hears what was said since the last one; so many may fail in a row and nothing is lost."""

KINDS: Mapping[str, Kind] = {str(kind): kind for kind in Kind}
"""Verb -> what it decides. An approval is none of them: it counts only at the moment when it is given."""


def hear(tracker: Tracker, store: Store) -> list[Finding]:
    """The findings that a comment of the last days decides, as they are in the store from now on."""
    issues = {record.number: name for name, record in store.published(tracker.name).items() if record.number}
    if not issues:
        return []
    tracker.repository_id()  # what is wrong with the whole repository is said first, and in its own words
    since = datetime.fromisoformat(tracker.now()) - LOOK_BACK
    allowed: dict[str, Permission] = {}
    changed = []
    for signature, comment, command in _commands(tracker, issues, f"{since:%Y-%m-%dT%H:%M:%SZ}"):
        login = comment.author.login
        if login not in allowed:
            allowed[login] = tracker.permission(login)
        if allowed[login].may_write and (found := _decide(store, signature, comment, command)):
            changed.append(found)
    return changed


def _commands(
    tracker: Tracker, issues: Mapping[str, str], since: str
) -> Iterator[tuple[str, Comment, Command]]:
    """Comments that decide, oldest first, each with the name of its finding."""
    me = tracker.account().ident
    for number, comment in tracker.spoken(since):
        is_edited = comment.updated_at != comment.created_at
        if number not in issues or is_edited or comment.author.is_bot or comment.author.ident == me:
            continue
        try:
            command = grammar.parse(comment.body)
        except MisunderstoodError:
            continue
        if command is not None and command.verb in KINDS and command.text != f"#{number}":
            yield issues[number], comment, command


def _decide(store: Store, signature: str, comment: Comment, command: Command) -> Finding | None:
    """The finding after a decision; None when that is known, or something later was decided."""
    with store.shelf.held():
        finding = store.finding(signature)
        if finding is None:
            return None
        before = finding.detail.get("decision")
        at = str(before.get("at", "")) if isinstance(before, dict) else ""
        kind = KINDS[command.verb]
        is_idle = kind is Kind.UNDO and decisions.standing(finding) is None
        if is_idle or at >= comment.created_at:
            return None
        who = comment.author
        decision = Decision(kind, who.login, who.ident, comment.created_at, command.text, comment.ident)
        after = decisions.decided(finding, decision)
        store.put_finding(after)
        return after
