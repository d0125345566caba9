"""Comments of people who mean ill, or mistype: none is obeyed, none breaks anything, each answer is right."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import cmarkgfm
import pytest

from bot.commands.event import read_event
from bot.commands.order import read_order
from bot.errors import UserMistake
from bot.publish_bench.host import BOT, REPOSITORY
from bot.publish_bench.world import SEAL
from bot.publishing import marks
from tests.unit.commenting import (
    BASE,
    CHANGED,
    CLOSED_PULL,
    FINDING,
    FORK,
    GONE,
    HEAD,
    OTHER_FINDING,
    OWNER,
    PLAIN,
    PULL,
    READER,
    WRITER,
    Desk,
)

ACTED_ON = re.compile(r"@(?=\w)|#(?=\d)|https?://|<!--|-->|<(?=/?(?:details|summary))|[\u202a-\u202e]")
"""What GitHub, or a reader of marks, would act on in a reply."""

NO_COMMANDS = {
    "quoted": "> /fuzz retest",
    "quoted twice": "> > /fuzz retest",
    "in code": "`/fuzz retest`",
    "in a fence": "```\n/fuzz retest\n```",
    "in a fence of tildes": "~~~\n/fuzz retest\n~~~",
    "indented as code": "    /fuzz retest",
    "after a space": " /fuzz retest",
    "after a tab": "\t/fuzz retest",
    "in a hidden comment": "<!--\n/fuzz retest\n-->",
    "after a hidden comment": "<!-- x -->/fuzz retest",
    "in a list": "- /fuzz retest",
    "in a numbered list": "1. /fuzz retest",
    "in a task list": "- [ ] /fuzz retest",
    "in a table": "| /fuzz retest |\n|---|",
    "in a heading": "# /fuzz retest",
    "in bold": "**/fuzz retest**",
    "in a link": "[/fuzz retest](/fuzz)",
    "in HTML": "<p>/fuzz retest</p>",
    "escaped": "\\/fuzz retest",
    "as an entity": "&#47;fuzz retest",
    "in a sentence": "Try /fuzz retest",
    "after a mention": "@nightfuzz /fuzz retest",
    "on the second line": "Look:\n/fuzz retest",
    "after an empty line": "\n/fuzz retest",
    "after an empty Windows line": "\r\n/fuzz retest",
    "with a division slash": "\u2215fuzz retest",
    "with a fraction slash": "\u2044fuzz retest",
    "with a full-width slash": "\uff0ffuzz retest",
    "with a Cyrillic letter": "/fuz\u0437 retest",
    "with full-width letters": "/\uff46\uff55\uff5a\uff5a retest",
    "with a combining accent": "/fuzz\u0301 retest",
    "after a zero-width space": "\u200b/fuzz retest",
    "after a byte-order mark": "\ufeff/fuzz retest",
    "after a right-to-left override": "\u202e/fuzz retest",
    "with a zero-width joiner inside": "/fu\u200dzz retest",
    "with a zero-width space at the end": "/fuzz\u200b retest",
    "with a NUL at the end": "/fuzz\0 retest",
    "in upper case": "/FUZZ retest",
    "glued": "/fuzzretest",
    "glued with a colon": "/fuzz:retest",
    "glued with a semicolon": "/fuzz;retest",
    "a path": "/fuzz/retest",
    "another's command": "/fuzzy retest",
    "two slashes": "//fuzz retest",
    "empty": "",
    "nothing but a line end": "\n",
    "60 kB of another thing": "a" * 60_000,
    "after 60 kB": "a " * 30_000 + "\n/fuzz retest",
}

MISUNDERSTOOD = {
    "a shell's substitution": ("/fuzz $(id)", "no command"),
    "a shell's substitution after a verb": ("/fuzz run $(id)", "not a path"),
    "backticks": ("/fuzz `id`", "no command"),
    "a second command": ("/fuzz retest; id", "no command"),
    "a second command after a verb": ("/fuzz retest ; id", "takes nothing more"),
    "a pipe": ("/fuzz retest | sh", "takes nothing more"),
    "an ampersand": ("/fuzz retest && /fuzz wontfix x", "takes nothing more"),
    "a redirection": ("/fuzz status > /etc/passwd", "takes nothing more"),
    "an expression of a workflow": ("/fuzz run ${{secrets.TOKEN}}", "not a path"),
    "a workflow's command": ("/fuzz ::set-output name=x::y", "no command"),
    "a template": ("/fuzz {{7*7}}", "no command"),
    "a path that leaves": ("/fuzz run ../../etc/passwd", "not a path"),
    "a path that leaves in its middle": ("/fuzz run kernels/../../x.py", "not a path"),
    "a path that only leaves": ("/fuzz run ..", "not a path"),
    "an absolute path": ("/fuzz run /etc/passwd", "not a path"),
    "a home": ("/fuzz run ~/x.py", "not a path"),
    "a Windows path": ("/fuzz run C:\\x.py", "not a path"),
    "a path with a colon": ("/fuzz run x.py:1", "not a path"),
    "a glob": ("/fuzz run kernels/*.py", "not a path"),
    "an empty part of a path": ("/fuzz run kernels//x.py", "not a path"),
    "a long path": ("/fuzz run " + "a" * 201, "not a path"),
    "an address as a path": ("/fuzz run https://evil.example/x.py", "not a path"),
    "an option of git": ("/fuzz run --upload-pack=id", "no option"),
    "a single dash": ("/fuzz run -rf", "not a path"),
    "the end of options": ("/fuzz run -- x.py", "no option"),
    "an option in an option": ("/fuzz run --framework=--help", "`--framework` is one of"),
    "an option as a value": ("/fuzz run --framework --help", "`--framework` is one of"),
    "an option without its value": ("/fuzz run --seed", "needs a value"),
    "an option that is nearly one": ("/fuzz run --budgte 10m", "did you mean `--budget`?"),
    "an unknown framework": ("/fuzz run --framework jax", "`--framework` is one of"),
    "a wheel of somebody": ("/fuzz run --build https://evil.example/x.whl", "`--build` is"),
    "a path as a build": ("/fuzz run --build ../x.whl", "`--build` is"),
    "a day that is none": ("/fuzz run --build 2026-13-45", "`--build` is"),
    "a build with a line of pip": ("/fuzz run --build 2.9;--index-url=x", "`--build` is"),
    "a budget with an exponent": ("/fuzz run --budget 1e9m", "`--budget` is a duration"),
    "a negative budget": ("/fuzz run --budget -5m", "`--budget` is a duration"),
    "a budget of nothing": ("/fuzz run --budget 0", "`--budget` is a duration"),
    "no number as a budget": ("/fuzz run --budget nan", "`--budget` is a duration"),
    "no end as a budget": ("/fuzz run --budget inf", "`--budget` is a duration"),
    "a budget out of range": ("/fuzz run --budget 7h", "at most 6h"),
    "a budget of 300 digits": ("/fuzz run --budget " + "9" * 300, "at most 6h"),
    "a budget of 400 digits": ("/fuzz run --budget " + "9" * 400, "at most 6h"),
    "a negative seed": ("/fuzz run --seed -1", "`--seed` is a number"),
    "a seed out of range": ("/fuzz run --seed 9999999999", "`--seed` is a number"),
    "a seed in other digits": ("/fuzz run --seed ١٢", "`--seed` is a number"),
    "thousands of words": ("/fuzz run " + "a " * 3_000, "more than 1000 characters"),
    "60 kB in one line": ("/fuzz " + "a" * 60_000, "more than 1000 characters"),
    "many paths": ("/fuzz run " + "a " * 21, "at most 20 paths"),
    "a NUL": ("/fuzz retest\0", "cannot be seen"),
    "an escape of a terminal": ("/fuzz \x1b[2Jretest", "cannot be seen"),
    "a no-break space": ("/fuzz\u00a0retest", "cannot be seen"),
    "a zero-width space": ("/fuzz re\u200btest", "cannot be seen"),
    "right to left": ("/fuzz \u202eretest", "cannot be seen"),
    "a line separator": ("/fuzz retest\u2028/fuzz undo", "cannot be seen"),
    "a carriage return": ("/fuzz retest\r/fuzz undo", "cannot be seen"),
    "a look-alike of a verb": ("/fuzz ret\u0435st", "did you mean `retest`?"),
    "a slip": ("/fuzz wontfx so be it", "did you mean `wontfix`?"),
    "the beginning of a commit": (f"/fuzz run {HEAD[:12]}", "all its 40 digits"),
    "a commit in upper case": (f"/fuzz run {HEAD.upper()}", "all its 40 digits"),
    "a commit and more": (f"/fuzz run {HEAD}0", "all its 40 digits"),
    "a commit without its verb": (f"/fuzz {HEAD}", "`/fuzz run SHA`"),
    "no hash": ("/fuzz approve", "twelve digits"),
    "a hash that is too short": ("/fuzz approve 0123456789a", "twelve digits"),
    "a hash in upper case": ("/fuzz approve 0123456789AB", "twelve digits"),
    "no reason": ("/fuzz wontfix", "needs a reason"),
    "a reason without end": ("/fuzz invalid " + "a" * 501, "needs a reason"),
    "no number": ("/fuzz dup me", "needs the number"),
    "a number that is none": ("/fuzz dup #1e3", "needs the number"),
    "a number without end": ("/fuzz dup #" + "1" * 11, "needs the number"),
    "a script as an address": ("/fuzz upstream javascript:alert(1)", "needs the address"),
    "an address with a password": ("/fuzz upstream https://a:b@github.com/o/n/issues/1", "needs the address"),
    "an address with a query": ("/fuzz upstream https://github.com/o/n/issues/1?x", "needs the address"),
    "an address with a fragment": ("/fuzz upstream https://github.com/o/n/issues/1#x", "needs the address"),
    "a plain address": ("/fuzz upstream http://github.com/pytorch/pytorch/issues/1", "needs the address"),
    "a mention": ("/fuzz @everyone #12 <!-- x -->", "no command"),
    "a forged mark": ("/fuzz <!--nightfuzz:end-->", "no command"),
    "a folded part": ("/fuzz </details><script>", "not a path"),
}

REFUSED = {
    "an approval of another text": (FINDING, "/fuzz approve 000000000000", "read it again"),
    "a duplicate of itself": (FINDING, "/fuzz dup #1", "no duplicate of itself"),
    "a duplicate of itself with zeros": (FINDING, "/fuzz dup #0001", "no duplicate of itself"),
    "a duplicate of itself by address": (
        FINDING,
        f"/fuzz dup https://github.com/{REPOSITORY}/issues/1",
        "no duplicate of itself",
    ),
    "another host's issue as upstream": (
        FINDING,
        "/fuzz upstream https://evil.example/pytorch/pytorch/issues/1",
        "not an issue of pytorch/pytorch on github.com",
    ),
    "another repository's issue as upstream": (
        FINDING,
        "/fuzz upstream https://github.com/pytorch/pytorch-evil/issues/1",
        "not an issue of pytorch/pytorch",
    ),
    "a word as an upstream's number": (
        FINDING,
        "/fuzz upstream https://github.com/pytorch/pytorch/issues/new",
        "ends with a number",
    ),
    "nothing to take back": (FINDING, "/fuzz undo", "nothing to take back"),
    "nothing to cancel": (FINDING, "/fuzz cancel", "nothing is at work"),
    "a run on an issue": (FINDING, "/fuzz run", "works on a pull request"),
    "a run that is no word": (FINDING, "/fuzz", "works on a pull request"),
    "a copied mark": (PLAIN, "/fuzz retest", "works on the issue of a finding"),
    "a decision on a copied mark": (PLAIN, "/fuzz wontfix so be it", "works on the issue of a finding"),
    "an approval on a copied mark": (PLAIN, "/fuzz approve 000000000000", "works on the issue of a finding"),
    "a retest of a pull request": (PULL, "/fuzz retest", "works on the issue of a finding"),
    "a fork without a commit": (FORK, "/fuzz", f"`/fuzz run {HEAD}`"),
    "a fork's engine without a commit": (FORK, "/fuzz run flowmut", f"`/fuzz run {HEAD}`"),
    "a fork at another commit": (FORK, f"/fuzz run {BASE}", f"the head is `{HEAD}` now"),
    "another commit": (PULL, f"/fuzz run {BASE}", f"the head is `{HEAD}` now"),
    "a closed pull request": (CLOSED_PULL, "/fuzz run", "is closed"),
    "a file that is not changed": (PULL, "/fuzz run setup.py", "not among the files"),
    "a folder": (PULL, "/fuzz run kernels", "not among the files"),
    "an engine that is not here": (PULL, "/fuzz run alignguard", "not in this version"),
}

IGNORED: dict[str, dict[str, Any]] = {
    "edited": {"action": "edited"},
    "deleted": {"action": "deleted"},
    "an action that nobody knows": {"action": "created; id"},
    "edited before the event was read": {"comment": {"updated_at": "2026-12-02T00:00:00Z"}},
    "of a bot": {"who": {"login": "dependabot[bot]", "id": 5, "type": "Bot"}},
    "of a bot by its name alone": {"who": {"login": "x[bot]", "id": 5, "type": "User"}},
    "of a bot by its type alone": {"who": {"login": "wanda", "id": 21, "type": "Bot"}},
    "of the bot itself": {"who": BOT},
    "of the bot under another name": {"who": {"login": "wanda", "id": 7, "type": "User"}},
    "of nobody": {"comment": {"user": None}},
    "sent by another than its author": {"sender": READER},
    "of another repository": {"repository": {"full_name": "rita/triage"}},
    "of a repository with a longer name": {"repository": {"full_name": REPOSITORY + "-2"}},
}

NOT_ALLOWED: dict[str, dict[str, Any]] = {
    "a reader": {"who": READER},
    "an OWNER by association": {"who": OWNER, "comment": {"author_association": "OWNER"}},
    "a stranger": {"who": {"login": "sam", "id": 99, "type": "User"}},
    "a name that is a path": {"who": GONE},
    "no name": {"who": {"login": "", "id": 98, "type": "User"}},
}

EVENTS = {
    "nothing": b"",
    "no JSON": b"{",
    "no object": b"[]",
    "another event": b'{"action": "created", "issue": {"number": 1}}',
    "a word as a number": b'{"action": "created", "issue": {"number": "x"}}',
    "nested too deeply": b"[" * 100_000,
    "no UTF-8": b'{"action": "\xff"}',
    "a null": b"null",
    "a huge one": b" " * (5 * 2**20),
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """One repository."""
    return Desk.at(tmp_path)


def assert_untouched(desk: Desk, before: str, changes: int) -> None:
    """Nothing was stored, nothing written."""
    assert desk.kept() == before
    assert desk.host.changes == changes


def assert_harmless(said: str) -> None:
    """What the bot says contains nothing that is acted on."""
    assert not ACTED_ON.search(said.replace("#N", "")), said
    assert len(said) < 4_000


@pytest.mark.parametrize("body", NO_COMMANDS.values(), ids=NO_COMMANDS)
def test_what_is_no_command_is_left_alone(desk: Desk, body: str) -> None:
    before, changes = desk.kept(), desk.host.changes
    handled = desk.say(body)
    assert (handled.why, handled.order, handled.publish) == ("no command", None, False)
    assert_untouched(desk, before, changes)
    assert desk.reactions() == []


@pytest.mark.parametrize("on", [FINDING, PULL])
@pytest.mark.parametrize(("body", "answer"), MISUNDERSTOOD.values(), ids=MISUNDERSTOOD)
def test_what_is_not_understood_is_answered_with_help(desk: Desk, body: str, answer: str, on: int) -> None:
    before = desk.kept()
    handled = desk.say(body, on)
    assert (handled.why, handled.order, handled.publish) == ("not understood", None, False)
    (said,) = desk.replies(on)
    assert answer in said.split("Commands, as")[0]
    assert "/fuzz help" in said
    assert_harmless(said)
    assert desk.reactions() == ["eyes", "confused"]
    assert desk.kept() == before


@pytest.mark.parametrize(("on", "body", "answer"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_with_the_reason(desk: Desk, on: int, body: str, answer: str) -> None:
    before = desk.kept()
    handled = desk.say(body, on)
    assert (handled.order, handled.publish) == (None, False)
    (said,) = desk.replies(on)
    assert said.startswith("Not done: ")
    assert answer in said
    assert_harmless(said)
    assert desk.reactions() == ["eyes", "confused"]
    assert desk.kept() == before


@pytest.mark.parametrize("event", IGNORED.values(), ids=IGNORED)
@pytest.mark.parametrize("body", ["/fuzz wontfix so be it", "/fuzz retest", "/fuzz nonsense"])
def test_what_does_not_count_is_not_even_acknowledged(desk: Desk, event: dict[str, Any], body: str) -> None:
    before, changes = desk.kept(), desk.host.changes
    handled = desk.say(body, **event)
    assert handled.why
    assert (handled.order, handled.publish) == (None, False)
    assert_untouched(desk, before, changes)
    assert desk.reactions() == []


@pytest.mark.parametrize("event", NOT_ALLOWED.values(), ids=NOT_ALLOWED)
@pytest.mark.parametrize(
    ("on", "body"), [(FINDING, "/fuzz wontfix x"), (FORK, f"/fuzz run {HEAD}"), (PLAIN, "/fuzz")]
)
def test_who_may_not_write_is_told_no_and_no_more(
    desk: Desk, event: dict[str, Any], on: int, body: str
) -> None:
    before, changes = desk.kept(), desk.host.changes
    handled = desk.say(body, on, **event)
    assert "no write access" in handled.why
    assert (handled.order, handled.publish) == (None, False)
    assert_untouched(desk, before, changes)
    assert desk.reactions() == ["-1"]


@pytest.mark.parametrize("data", EVENTS.values(), ids=EVENTS)
def test_an_event_that_is_none_is_a_mistake_in_one_line(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "event.json"
    path.write_bytes(data)
    with pytest.raises(UserMistake, match="event") as mistake:
        read_event(path)
    assert "\n" not in str(mistake.value)
    assert len(str(mistake.value)) < 500


def test_a_mark_of_another_finding_moved_into_an_issue_of_somebody_is_text(desk: Desk) -> None:
    stolen = SEAL.mark(marks.ISSUE, desk.finding(OTHER_FINDING).signature, "open")
    desk.host.issues[PLAIN]["body"] = marks.part("mine", stolen)
    assert desk.say("/fuzz invalid so be it", PLAIN).publish is False
    assert desk.finding(OTHER_FINDING).state == "open"


def test_a_mark_outside_our_part_of_our_own_issue_is_text(desk: Desk) -> None:
    stolen = SEAL.mark(marks.ISSUE, desk.finding(OTHER_FINDING).signature, "open")
    body = desk.host.issues[FINDING]["body"]
    desk.host.issues[FINDING]["body"] = f"{stolen}\n{body}\n{marks.part('mine', stolen)}"
    assert desk.say("/fuzz invalid so be it").publish is True
    assert (desk.finding().state, desk.finding(OTHER_FINDING).state) == ("invalid", "open")


def test_a_mark_with_a_wrong_code_is_text(desk: Desk) -> None:
    issue = desk.host.issues[FINDING]
    other = desk.finding(OTHER_FINDING).signature
    issue["body"] = issue["body"].replace(desk.finding().signature, other)
    assert desk.say("/fuzz invalid so be it").publish is False
    assert desk.finding(OTHER_FINDING).state == "open"


def test_a_true_reply_of_ours_that_somebody_posts_again_hides_no_command(desk: Desk) -> None:
    mark = SEAL.mark(marks.REPLY, "900", "done")
    at = desk.host.at()
    copied = {"id": 5, "user": READER, "body": mark, "created_at": at, "updated_at": at}
    desk.host.comments[FINDING] = [copied]
    assert desk.say("/fuzz retest").order is not None


def test_an_event_that_comes_twice_is_done_once(desk: Desk) -> None:
    event = desk.event("/fuzz retest")
    assert desk.told(event).order is not None
    again = desk.told(event)
    assert (again.why, again.order) == ("answered before", None)
    assert len(desk.replies()) == 1


def test_a_reason_is_repeated_without_what_is_acted_on(desk: Desk) -> None:
    desk.say("/fuzz wontfix @team see #1 https://evil.example <!-- x --> </details> `a` GH-12 | ``` x")
    (said,) = desk.replies()
    assert_harmless(said.replace("`/fuzz undo`", ""))
    assert "`" not in said.replace("`/fuzz undo`", "")


def test_a_reason_is_shown_as_it_was_written_and_never_as_markup(desk: Desk) -> None:
    desk.say("/fuzz wontfix *so* [be](//evil.example) <img src=x> ![it](x)")
    (said,) = desk.replies()
    html = cmarkgfm.github_flavored_markdown_to_html(said)
    assert not re.search(r"<(?!/?(?:p|code)\b)", html), html
    assert "*so* [be](//evil.example)" in html


def test_a_head_that_moves_while_it_is_looked_at_is_refused(desk: Desk) -> None:
    moved = "d4" * 20
    desk.host.heads = [HEAD, moved]
    assert desk.say(f"/fuzz run {HEAD}", FORK).order is None
    assert f"moved to `{moved}`" in desk.replies(FORK)[0]


def test_a_command_whose_comment_was_deleted_since_stays_one(desk: Desk) -> None:
    desk.host.deleted.add("900")
    assert desk.say("/fuzz retest").order is not None


def test_a_command_on_an_issue_that_was_deleted_since_is_no_failure(desk: Desk) -> None:
    event = desk.event("/fuzz retest", 77)
    assert desk.told(event).why == "the issue has gone"
    del desk.host.issues[FINDING]
    assert desk.say("/fuzz retest").order is None


@pytest.mark.parametrize("issue", [{"locked": True}, {"state": "closed"}])
def test_a_finding_whose_issue_is_locked_or_closed_still_takes_commands(
    desk: Desk, issue: dict[str, Any]
) -> None:
    desk.host.issues[FINDING] |= issue
    assert desk.say("/fuzz retest", issue=issue).order is not None


def test_an_order_names_nothing_but_what_was_pinned_and_listed(desk: Desk) -> None:
    command = f"/fuzz run {HEAD} flowmut {CHANGED} --framework torch --build 2026-12-01 --budget 90s --seed 7"
    order = desk.say(command, FORK).order
    assert order is not None
    assert (order.head_sha, order.base_sha, order.settings_sha) == (HEAD, BASE, "c3" * 20)
    assert (order.is_fork, order.head_repository, order.paths) == (True, "rita/triage", (CHANGED,))
    assert (order.framework, order.build, order.budget, order.seed) == ("torch", "2026-12-01", 90.0, 7)
    assert (order.actor, order.pull, order.engines) == ("wanda", "5", ("flowmut",))


@pytest.mark.parametrize(
    "broken",
    [{"budget": "90s"}, {"files": [{"path": 1}]}, {"more": 1}, {"engines": "flowmut"}, {"schema": 10**6}],
)
def test_an_order_is_checked_again_where_it_is_read(tmp_path: Path, broken: dict[str, Any]) -> None:
    plain = {"verb": "run", "issue": "1", "comment": "2", "reply": "3", "actor": "wanda"}
    path = tmp_path / "order.json"
    path.write_text(json.dumps(plain))
    assert read_order(path).verb == "run"
    path.write_text(json.dumps({**plain, **broken}))
    with pytest.raises(UserMistake, match="no order"):
        read_order(path)


def test_the_table_is_long_and_its_writer_may_command(desk: Desk) -> None:
    tables = (NO_COMMANDS, MISUNDERSTOOD, REFUSED, IGNORED, NOT_ALLOWED, EVENTS)
    assert sum(map(len, tables)) >= 100
    assert desk.say("/fuzz wontfix so be it", who=WRITER).publish is True
