"""What each command does, once it is known that its author may give it.

Invariant: what is quick is done on the store here; what takes time becomes an `Order` with every commit
pinned. What a commenter wrote reaches a reply only defanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import urlsplit

from bot import bodies, decisions
from bot.commands import grammar, reply
from bot.commands.event import CommentEvent
from bot.commands.grammar import Command, Verb
from bot.commands.order import Order
from bot.commands.reply import Stage
from bot.decisions import Decision, Kind
from bot.defang import code, prose
from bot.publishing import marks
from bot.publishing.marks import Seal
from bot.pulls.routes import LOOKING
from bot.settings import Settings
from bot.states import Published
from bot.store import Store
from bot.templating import filled
from bot.trackers.protocol import Issue, MissingError, Reaction, Tracker
from bot.trackers.pulls import Pull, PullHost
from fuzzers.records import Finding

DEFAULT_SECONDS = 600.0
"""For `/fuzz run` without --budget."""


@dataclass(frozen=True)
class Answer:
    """What is said to a command, and what follows. An order lacks its reply's number until there is one."""

    said: str
    order: Order | None = None
    publish: bool = False
    reaction: Reaction | None = None


@dataclass
class Desk:
    """What commands are done with: a repository's tracker, its pull requests where the host has them, and the
    store. `seal` is what marks there are made with."""

    tracker: Tracker
    pulls: PullHost | None
    store: Store
    settings: Settings
    seal: Seal


class Refusal(Exception):
    """What was asked cannot be done here; the message tells why, and goes into the reply."""


@dataclass
class Asked:
    """A command in its place. What it needs of the host is fetched when it is asked for."""

    gate: Desk
    command: Command
    event: CommentEvent

    @property
    def actor(self) -> str:
        """Who asks."""
        assert self.event.comment.user is not None
        return self.event.comment.user.login

    @property
    def actor_id(self) -> str:
        """Their account's number, which outlives its name."""
        assert self.event.comment.user is not None
        return str(self.event.comment.user.id)

    @property
    def number(self) -> str:
        """The issue's, or the pull request's."""
        return str(self.event.issue.number)

    @cached_property
    def issue(self) -> Issue:
        """The issue as the host has it now."""
        return self.gate.tracker.issue(self.number)

    @cached_property
    def pull(self) -> Pull:
        """The pull request. Refusal when this is none, which its host knows best."""
        with suppress(MissingError):
            if self.gate.pulls is not None:
                return self.gate.pulls.pull(self.number)
        raise Refusal("that works on a pull request")

    @cached_property
    def finding(self) -> Finding:
        """The finding that this issue is about: by the bot's own mark, on an issue that the bot opened."""
        if self.issue.author.ident == self.gate.tracker.account().ident:
            for told in self.gate.seal.read(marks.ISSUE, marks.ours(self.issue.body)):
                found = self.gate.store.finding(told[0])
                if found is not None:
                    return found
        raise Refusal("that works on the issue of a finding, which the bot has opened")

    def is_here(self, issue: str) -> bool:
        """Whether a number or an address is this issue's own."""
        if issue.startswith("#"):
            return issue[1:].lstrip("0") == self.number
        return issue.lower() == self.issue.url.lower()

    def order(self, **more: object) -> Order:
        """An order that lacks only its reply."""
        plain = Order(str(self.command.verb), self.number, str(self.event.comment.id), "", self.actor)
        return replace(plain, **more)  # type: ignore[arg-type]

    def decision(self, kind: Kind, reason: str = "") -> Decision:
        """A decision of whoever asks, now."""
        user = self.event.comment.user
        assert user is not None
        ident = str(self.event.comment.id)
        return Decision(kind, user.login, str(user.id), self.gate.tracker.now(), reason, ident)

    def upstream_record(self) -> tuple[Finding, Published]:
        """The finding and what the ledger has of it upstream."""
        if not self.gate.settings.upstream:
            raise Refusal("this bot has no upstream: its settings name none")
        finding = self.finding
        kind = self.gate.tracker.name.partition(":")[0]
        name = f"{kind}:{self.gate.settings.upstream}"
        known = self.gate.store.published(name)
        found = next((known[one] for one in finding.names if one in known), None)
        return finding, found or Published(finding.signature, name)


def _run(asked: Asked) -> Answer:
    """Engines on what a pull request changes, its head pinned now."""
    pull, command = asked.pull, asked.command
    pulls = asked.gate.pulls
    assert pulls is not None
    if not pull.is_open:
        raise Refusal("this pull request is closed")
    if command.sha and command.sha != pull.head_sha:
        raise Refusal(f"the head is `{pull.head_sha}` now, not `{command.sha}`: look at it, and ask for that")
    if pull.is_fork and not command.sha:
        raise Refusal(
            f"this is a fork's code: look at it, and say `/fuzz run {pull.head_sha}` to have that commit run"
        )
    engines = [e for e in command.engines if e != "all"] or list(LOOKING)
    if missing := [e for e in engines if e not in LOOKING]:
        raise Refusal(f"{', '.join(missing)}: not in this version, which has {', '.join(LOOKING)}")
    files = pulls.changed_files(asked.number)
    if (head := pulls.pull(asked.number).head_sha) != pull.head_sha:  # the files may be those of that one
        raise Refusal(f"the head has just moved to `{head}`: look at it, and ask again")
    changed = {file.path for file in files}
    if strange := [path for path in command.paths if path not in changed]:
        raise Refusal(f"{code(strange[0])} is not among the files that this pull request changes")
    order = asked.order(
        verb=str(Verb.RUN),
        pull=pull.number,
        head_sha=pull.head_sha,
        base_sha=pull.base_sha,
        head_repository=pull.head_repository,
        is_fork=pull.is_fork,
        files=tuple(files),
        engines=tuple(dict.fromkeys(engines)),
        paths=command.paths,
        framework=command.framework,
        build=command.build,
        budget=command.budget or DEFAULT_SECONDS,
        seed=command.seed or 0,
        settings_sha=pulls.default_branch()[1],
    )
    about = f"{', '.join(order.engines)} on `{pull.head_sha}` against `{pull.base_sha}`"
    return Answer(_taken(asked, about), order, reaction=Reaction.ROCKET)


def _later(asked: Asked) -> Answer:
    """Work on a finding."""
    finding = asked.finding
    about = f"`{finding.signature}`"
    return Answer(_taken(asked, about), asked.order(signature=finding.signature), reaction=Reaction.ROCKET)


def _taken(asked: Asked, about: str) -> str:
    return filled("reply.md.j2", what="taken", verb=str(asked.command.verb), about=about)


def _decide(asked: Asked) -> Answer:
    """A person's last word."""
    kind = Kind(asked.command.verb)
    finding = asked.finding
    reason = asked.command.text
    if kind is Kind.DUP and asked.is_here(reason):
        raise Refusal("an issue is no duplicate of itself")
    _put(asked, finding, asked.decision(kind, reason))
    why = prose(reason, longest=grammar.LONGEST_REASON)
    said = f"Noted: {kind}, by {prose(asked.actor)}: {why}. `/fuzz undo` takes it back."
    return Answer(said, publish=True)


def _put(asked: Asked, finding: Finding, decision: Decision) -> None:
    store = asked.gate.store
    with store.shelf.held():
        now = store.finding(finding.signature) or finding
        store.put_finding(decisions.decided(now, decision))


def _undo(asked: Asked) -> Answer:
    """The last decision, or the approval, whichever is there."""
    finding = asked.finding
    if (told := decisions.standing(finding)) is not None:
        _put(asked, finding, asked.decision(Kind.UNDO))
        said = f"Taken back: {prose(str(told.get('kind')))}. Builds have the word again."
        return Answer(said, publish=True)
    if asked.gate.settings.upstream:
        _, record = asked.upstream_record()
        if record.approved and not record.number:
            now = asked.gate.tracker.now()
            taken = replace(record, approved="", approved_by="", approved_id="", words="", approved_at=now)
            asked.gate.store.put_published(taken)
            return Answer(f"Taken back: the approval of `{record.approved}`.", publish=True)
    raise Refusal("there is nothing to take back")


def _approve(asked: Asked) -> Answer:
    """This text, and no other, may go upstream."""
    finding, record = asked.upstream_record()
    settings = asked.gate.settings
    if record.number:
        raise Refusal(f"it is upstream already: {record.url}")
    if finding.state != "open":
        raise Refusal(f"the finding is {finding.state}: only an open one goes upstream")
    now = bodies.approval_hash(finding, bodies.Form(settings.upstream_form))
    if asked.command.text != now:
        raise Refusal(f"the text is `{now}` now: read it again, and approve that")
    approved = replace(
        record,
        approved=now,
        approved_by=asked.actor,
        approved_id=asked.actor_id,
        approved_at=asked.gate.tracker.now(),
        words=asked.command.words,
    )
    asked.gate.store.put_published(approved)
    by_bot = settings.upstream_filed_by == "bot"
    how = "the bot files it" if by_bot else "a comment with a link to file it follows"
    return Answer(f"Approved: `{now}`, for {settings.upstream}; {how}.", publish=True)


def _upstream(asked: Asked) -> Answer:
    """A person has filed it."""
    _, record = asked.upstream_record()
    url = asked.command.text
    repository, _, number = url.partition("/issues/")
    host = urlsplit(asked.issue.url).hostname
    expected = f"https://{host}/{asked.gate.settings.upstream}"
    if repository.lower() != expected.lower():
        raise Refusal(f"that is not an issue of {asked.gate.settings.upstream} on {host}")
    if asked.gate.settings.tracker == "github" and not number.isdecimal():
        raise Refusal("that is not the address of an issue: it ends with a number")
    now = asked.gate.tracker.now()
    asked.gate.store.put_published(replace(record, number=number, url=url, filed_at=now, written_at=now))
    return Answer(f"Noted: {url}. What is said there is told here.", publish=True)


def _status(asked: Asked) -> Answer:
    """How things stand."""
    seal, tracker = asked.gate.seal, asked.gate.tracker
    running = [said for said in reply.replies(tracker, seal, asked.number) if said.stage == Stage.RUNNING]
    urls = ", ".join(said.reply.url or said.reply.ident for said in running)
    try:
        finding = asked.finding
    except Refusal:
        title, state, verdicts = "Commands here", f"{len(running)} at work", []
    else:
        title, state = prose(finding.title), prose(finding.state)
        verdicts = [
            {key: prose(str(verdict.get(key, ""))) for key in ("build", "verdict", "at")}
            for verdict in finding.verdicts[-10:]
        ]
    said = filled("reply.md.j2", what="status", title=title, state=state, verdicts=verdicts, running=urls)
    return Answer(said)


def _cancel(asked: Asked) -> Answer:
    """What runs is not reported: the report finds its reply cancelled."""
    seal, tracker = asked.gate.seal, asked.gate.tracker
    running = [said for said in reply.replies(tracker, seal, asked.number) if said.stage == Stage.RUNNING]
    if not running:
        raise Refusal("nothing is at work here")
    for said in running:
        by = f"Cancelled by {prose(asked.actor)}."
        tracker.edit_comment(said.reply.ident, reply.text(seal, said.comment, Stage.CANCELLED, by))
    ends = "What a machine has begun ends by itself, and is not reported."
    return Answer(f"Cancelled: {len(running)}. {ends}")


def _help(asked: Asked) -> Answer:
    return Answer(reply.help_text(list(grammar.USAGE.values())))


HANDLERS: Mapping[Verb, Callable[[Asked], Answer]] = {
    Verb.RUN: _run,
    Verb.RETEST: _later,
    Verb.BISECT: _later,
    Verb.REDUCE: _later,
    Verb.APPROVE: _approve,
    Verb.UPSTREAM: _upstream,
    Verb.DUP: _decide,
    Verb.INVALID: _decide,
    Verb.WONTFIX: _decide,
    Verb.UNDO: _undo,
    Verb.STATUS: _status,
    Verb.CANCEL: _cancel,
    Verb.HELP: _help,
}
"""What does each."""
