"""What each command does for somebody who may command, and how a line is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import bodies, history
from bot.commands import reply
from bot.commands.grammar import NAME, Command, MisunderstoodError, Verb, parse
from bot.commands.reply import Stage
from bot.publish_bench.world import SEAL
from bot.publishing.publisher import Publisher
from bot.states import Published
from fuzzers.records import Build, Verdict
from tests.unit.commenting import BASE, CHANGED, FINDING, HEAD, OTHER_FINDING, PLAIN, PULL, Desk

UPSTREAM = "https://github.com/pytorch/pytorch/issues/140000"

UNDERSTOOD = {
    "/fuzz": Command(Verb.RUN),
    "/fuzz \t": Command(Verb.RUN),
    "/fuzz\trun": Command(Verb.RUN),
    "/fuzz RUN": Command(Verb.RUN),
    "/fuzz help\r\nand more": Command(Verb.HELP),
    f"/fuzz run {HEAD}": Command(Verb.RUN, sha=HEAD),
    "/fuzz flowmut": Command(Verb.RUN, engines=("flowmut",)),
    "/fuzz kernels/a-b.c+d.py": Command(Verb.RUN, paths=("kernels/a-b.c+d.py",)),
    "/fuzz --budget 1h30m": Command(Verb.RUN, budget=5400.0),
    "/fuzz --budget=6h": Command(Verb.RUN, budget=21_600.0),
    "/fuzz --build 2.9.0.dev20261201+cpu": Command(Verb.RUN, build="2.9.0.dev20261201+cpu"),
    "/fuzz --build 20261201": Command(Verb.RUN, build="20261201"),
    "/fuzz --seed 0": Command(Verb.RUN, seed=0),
    "/fuzz approve 0123456789ab it breaks our model": Command(
        Verb.APPROVE, "0123456789ab", "it breaks our model"
    ),
    "/fuzz dup #12": Command(Verb.DUP, "#12"),
    f"/fuzz upstream {UPSTREAM}": Command(Verb.UPSTREAM, UPSTREAM),
    "/fuzz wontfix as  documented": Command(Verb.WONTFIX, "as documented"),
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """One repository."""
    return Desk.at(tmp_path)


def published(desk: Desk) -> Published:
    """What the ledger has of the finding upstream."""
    (one,) = (one for one in desk.store.publications() if one.tracker == "github:pytorch/pytorch")
    return one


def approval(desk: Desk) -> str:
    """What the issue asks for."""
    return bodies.approval_hash(desk.finding(), bodies.Form.GENERAL)


@pytest.mark.parametrize(("line", "command"), UNDERSTOOD.items())
def test_a_command_is_read_as_it_is_meant(line: str, command: Command) -> None:
    assert parse(line) == command


@given(
    st.text(), st.sampled_from(["", NAME, f"{NAME} ", f"{NAME} run ", f"{NAME} --budget ", f"{NAME} dup "])
)
def test_any_text_is_a_command_or_none_or_misunderstood(text: str, before: str) -> None:
    try:
        command = parse(before + text)
    except MisunderstoodError as error:
        assert "\n" not in str(error)
    else:
        assert command is None or (before + text).startswith(NAME)
        assert command is None or all(".." not in path.split("/") for path in command.paths)


@pytest.mark.parametrize("verb", ["retest", "bisect", "reduce"])
def test_work_on_a_finding_is_ordered_by_its_signature(desk: Desk, verb: str) -> None:
    order = desk.say(f"/fuzz {verb}").order
    assert order is not None
    assert (order.verb, order.signature, order.issue) == (verb, desk.finding().signature, "1")
    assert order.reply == str(desk.host.comments[FINDING][0]["id"])
    assert desk.reactions() == ["eyes", "rocket"]


def test_a_run_is_of_the_head_that_the_pull_request_has_now(desk: Desk) -> None:
    order = desk.say("/fuzz", PULL).order
    assert order is not None
    assert (order.head_sha, order.base_sha, order.is_fork) == (HEAD, BASE, False)
    assert [(file.path, file.lines) for file in order.files] == [(CHANGED, (1, 2))]


@pytest.mark.parametrize(
    ("command", "state"), [("wontfix as documented", "wontfix"), ("invalid no", "invalid")]
)
def test_a_decision_closes_and_undoing_it_opens(desk: Desk, command: str, state: str) -> None:
    assert desk.say(f"/fuzz {command}").publish is True
    assert desk.finding().state == state
    assert desk.finding().detail["decision"]["by_id"] == "21"
    assert desk.say("/fuzz undo", comment={"id": 901}).publish is True
    assert desk.finding().state == "open"
    assert "nothing to take back" in (desk.say("/fuzz undo", comment={"id": 902}) and desk.replies()[-1])


def test_a_duplicate_of_another_is_decided(desk: Desk) -> None:
    assert desk.say(f"/fuzz dup #{OTHER_FINDING}").publish is True
    assert desk.finding().state == "dup"
    assert desk.finding(OTHER_FINDING).state == "open"


def test_after_an_undo_builds_have_the_word(desk: Desk) -> None:
    desk.say("/fuzz wontfix so be it")
    finding = desk.finding()
    for day in (1, 2, 3):
        build = Build("torch", f"2.15.0.dev2026120{day}", "cpu", f"{day:08x}", "python3", "3.11.7")
        entry = history.entry(build, Verdict.GONE, f"2026-12-0{day}T01:00:00Z")
        finding = history.noted(finding, entry)
    desk.store.put_finding(finding)
    desk.say("/fuzz undo", comment={"id": 901})
    assert desk.finding().state == "gone"


def test_an_approval_is_of_the_text_as_it_is_and_can_be_taken_back(desk: Desk) -> None:
    assert desk.say(f"/fuzz approve {approval(desk)} our model breaks").publish is True
    one = published(desk)
    assert (one.approved, one.approved_by, one.words) == (approval(desk), "wanda", "our model breaks")
    assert desk.say("/fuzz undo", comment={"id": 901}).publish is True
    assert published(desk).approved == ""


def test_the_hash_that_the_issue_shows_is_the_one_that_is_taken(desk: Desk) -> None:
    assert f"/fuzz approve {approval(desk)}" in desk.host.issues[FINDING]["body"]


def test_what_is_decided_cannot_be_approved(desk: Desk) -> None:
    desk.say("/fuzz wontfix so be it")
    assert desk.say(f"/fuzz approve {approval(desk)}", comment={"id": 901}).publish is False
    assert "the finding is wontfix" in desk.replies()[-1]


def test_what_a_person_has_filed_is_noted(desk: Desk) -> None:
    assert desk.say(f"/fuzz upstream {UPSTREAM}").publish is True
    one = published(desk)
    assert (one.number, one.url) == ("140000", UPSTREAM)
    assert desk.say(f"/fuzz approve {approval(desk)}", comment={"id": 901}).publish is False
    assert "upstream already" in desk.replies()[-1]


def test_without_an_upstream_there_is_nothing_to_approve(desk: Desk) -> None:
    desk.settings = desk.settings.model_copy(update={"upstream": ""})
    assert desk.say(f"/fuzz approve {approval(desk)}").publish is False
    assert "no upstream" in desk.replies()[-1]


def test_a_cancelled_command_says_so_in_its_reply(desk: Desk) -> None:
    order = desk.say("/fuzz retest").order
    assert order is not None
    desk.say("/fuzz cancel", comment={"id": 901})
    first = reply.replies(desk.tracker, SEAL, str(FINDING))[0]
    assert (first.reply.ident, first.comment, first.stage) == (order.reply, "900", Stage.CANCELLED)
    desk.say("/fuzz cancel", comment={"id": 902})
    assert "nothing is at work" in desk.replies()[-1]


def test_status_tells_what_builds_said_and_what_is_at_work(desk: Desk) -> None:
    build = Build("torch", "2.15.0.dev20261201", "cpu", "1" * 8, "python3", "3.11.7")
    entry = history.entry(build, Verdict.REPRODUCES, "2026-12-01T01:00:00Z")
    desk.store.put_finding(history.noted(desk.finding(), entry))
    desk.say("/fuzz retest")
    desk.say("/fuzz status", comment={"id": 901})
    said = desk.replies()[-1]
    assert "| torch 2.15.0.dev20261201 | reproduces | 2026-12-01T01:00:00Z |" in said
    assert "At work on: " in said


@pytest.mark.parametrize("on", [PLAIN, PULL])
def test_status_and_help_work_everywhere(desk: Desk, on: int) -> None:
    desk.say("/fuzz status", on)
    desk.say("/fuzz help", on, comment={"id": 901})
    status, told = desk.replies(on)
    assert status.startswith("Commands here: 0 at work")
    assert all(f"/fuzz {verb}" in told for verb in Verb if verb is not Verb.RUN)


def test_a_decision_is_known_by_what_the_finding_was_joined_into(desk: Desk) -> None:
    desk.store.join(desk.finding(OTHER_FINDING).signature, desk.finding().signature)
    desk.say("/fuzz wontfix so be it")
    assert desk.finding(OTHER_FINDING).state == "wontfix"


def test_publishing_after_a_decision_closes_the_issue_and_after_an_undo_opens_it(desk: Desk) -> None:
    desk.say("/fuzz wontfix so be it")
    Publisher(desk.store, desk.tracker, desk.settings, hosts=()).publish()
    assert desk.host.issues[FINDING]["state"] == "closed"
    desk.host.wait(1)
    desk.say("/fuzz undo", comment={"id": 901})
    Publisher(desk.store, desk.tracker, desk.settings, hosts=()).publish()
    assert desk.host.issues[FINDING]["state"] == "open"


def test_an_approval_outlives_a_join(desk: Desk) -> None:
    desk.say(f"/fuzz approve {approval(desk)}")
    one = published(desk)
    desk.store.put_finding(replace(desk.finding(), aliases=("nf1-another",)))
    assert published(desk) == one
    assert approval(desk) == one.approved
