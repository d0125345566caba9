"""A folder as a tracker: the default, and what publishing comes to before there is a repository.

Invariant: an issue is two files, `<number>.md` for people and `<number>.json` with all the rest, of which
the second counts; each is replaced whole. Numbers rise and are never given twice. Nobody but the owner of the
folder writes here, so everybody here may do everything.

    issues/<number>.md        issues/<number>.json        lock        publishing
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot import wire
from bot.errors import MachineryFailure
from bot.files import InUseError, locked, owned, utc_now, write_atomically
from bot.trackers.protocol import (
    Account,
    BusyError,
    Comment,
    Issue,
    IssueState,
    MissingError,
    Permission,
    Reaction,
    Reason,
)
from fuzzers.records import SCHEMA

BOT = Account("nightfuzz", "1", is_bot=True)


@dataclass(frozen=True)
class Kept:
    """An issue's file."""

    issue: Issue
    comments: tuple[Comment, ...] = ()
    reactions: tuple[str, ...] = ()
    """`<comment> <reaction>` each."""
    schema: int = SCHEMA


@dataclass
class Outbox:
    """The issues in a folder. `account_of` the bot writes; tests may write as somebody else."""

    root: Path
    bot: Account = BOT
    longest_body: int = 65_536
    _calls: int = field(default=0, repr=False)

    @property
    def name(self) -> str:
        """One outbox a folder; a store belongs to one folder, so its place need not be named."""
        return "outbox:issues"

    def repository_id(self) -> str:
        """There is one."""
        return "outbox"

    def account(self) -> Account:
        """Who writes here."""
        return self.bot

    def own_issues(self) -> Iterator[Issue]:
        """All that the bot has opened, oldest first."""
        self._calls += 1
        for path in sorted(self._folder.glob("*.json"), key=lambda path: (len(path.stem), path.stem)):
            issue = self._read(path).issue
            if issue.author.ident == self.bot.ident:
                yield issue

    def issue(self, number: str) -> Issue:
        """One issue."""
        self._calls += 1
        return self._kept(number).issue

    def create(self, title: str, body: str, labels: Sequence[str] = ()) -> Issue:
        """Write one more."""
        with self._writing():
            last = max(
                (int(path.stem) for path in self._folder.glob("*.json") if path.stem.isdigit()), default=0
            )
            now, number = utc_now(), str(last + 1)
            issue = Issue(
                number, f"issues/{number}.md", title, body, self.bot,
                labels=tuple(labels), created_at=now, updated_at=now,
            )  # fmt: skip
            self._write(Kept(issue))
            return issue

    def edit(
        self,
        number: str,
        *,
        title: str | None = None,
        body: str | None = None,
        state: IssueState | None = None,
        reason: Reason | None = None,
        labels: Sequence[str] | None = None,
    ) -> Issue:
        """Change what is given."""
        with self._writing():
            kept = self._kept(number)
            now = utc_now()
            issue = replace(
                kept.issue,
                title=kept.issue.title if title is None else title,
                body=kept.issue.body if body is None else body,
                labels=kept.issue.labels if labels is None else tuple(labels),
                updated_at=now,
            )
            if state is IssueState.CLOSED and issue.state is not state:
                issue = replace(issue, closed_at=now, closed_by=self.bot.login)
            if state is IssueState.OPEN:
                issue = replace(issue, closed_at="", closed_by="", reason="")
            issue = replace(issue, state=state or issue.state, reason=str(reason or issue.reason))
            self._write(replace(kept, issue=issue))
            return issue

    def comments(self, number: str, since: str = "") -> Iterator[Comment]:
        """An issue's comments."""
        self._calls += 1
        yield from (one for one in self._kept(number).comments if one.updated_at >= since)

    def spoken(self, since: str) -> Iterator[tuple[str, Comment]]:
        """Comments of all issues."""
        found = [
            (issue.number, one) for issue in self.own_issues() for one in self.comments(issue.number, since)
        ]
        yield from sorted(found, key=lambda each: each[1].created_at)

    def comment(self, number: str, body: str) -> Comment:
        """Add one."""
        with self._writing():
            kept = self._kept(number)
            now = utc_now()
            made = Comment(f"{number}-{len(kept.comments) + 1}", self.bot, body, now, now)
            changed = replace(kept.issue, updated_at=now)
            self._write(replace(kept, issue=changed, comments=(*kept.comments, made)))
            return made

    def edit_comment(self, ident: str, body: str) -> Comment:
        """Replace one's text."""
        with self._writing():
            kept = self._kept(ident.partition("-")[0])
            before = next((one for one in kept.comments if one.ident == ident), None)
            if before is None:
                raise MissingError(f"no comment {ident} in {self.root}")
            made = replace(before, body=body, updated_at=utc_now())
            self._write(
                replace(kept, comments=tuple(made if one is before else one for one in kept.comments))
            )
            return made

    def react(self, comment: str, reaction: Reaction) -> None:
        """Note a reaction."""
        with self._writing():
            kept = self._kept(comment.partition("-")[0])
            noted = tuple(dict.fromkeys((*kept.reactions, f"{comment} {reaction}")))
            self._write(replace(kept, reactions=noted))

    def permission(self, login: str) -> Permission:
        """Whoever can write the folder may command the bot."""
        return Permission.ADMIN

    def ensure_labels(self, labels: Sequence[str]) -> None:
        """A label is there as soon as it is used."""

    @contextmanager
    def lease(self, holder: str, seconds: float) -> Iterator[None]:
        """A lock on the folder; it goes with its holder, so there is no expiry."""
        try:
            with owned(self.root / "publishing", str(self.root)):
                yield
        except InUseError as busy:
            raise BusyError(str(busy)) from None

    def now(self) -> str:
        """Our clock."""
        return utc_now()

    def calls(self) -> int:
        """Readings and writes made."""
        return self._calls

    @property
    def _folder(self) -> Path:
        return self.root / "issues"

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._calls += 1
        with locked(self.root / "lock"):
            yield

    def _kept(self, number: str) -> Kept:
        path = self._folder / f"{number}.json"
        if not number.isdigit() or not path.is_file():
            raise MissingError(f"no issue {number} in {self.root}")
        return self._read(path)

    def _read(self, path: Path) -> Kept:
        try:
            return wire.read(Kept, path.read_bytes())
        except (OSError, wire.UnreadableError) as error:
            raise MachineryFailure(f"{path} is no issue of an outbox: {error}") from error

    def _write(self, kept: Kept) -> None:
        issue = kept.issue
        said = "".join(f"\n\n---\n\n{one.body}" for one in kept.comments)
        write_atomically(self._folder / f"{issue.number}.json", wire.text(kept))
        write_atomically(self._folder / f"{issue.number}.md", f"# {issue.title}\n\n{issue.body}{said}\n")
