"""Publishing on a GitHub in memory: marks, what people do, caps, runs that end early, the upstream tier."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies

from bot import bodies, decisions
from bot.bodies import Form
from bot.decisions import Decision, Kind
from bot.publish_bench.faults import Fault, Faulty, Killed
from bot.publish_bench.figures import measure
from bot.publish_bench.host import BOT, REPOSITORY
from bot.publish_bench.world import SEAL, World, finding, publisher, settings
from bot.publishing import marks
from bot.publishing.act import MAKERS, Actor
from bot.publishing.plan import Plan, Planner, What
from bot.publishing.publisher import Publisher
from bot.states import Hold, Published
from bot.trackers.client import TRIES, Client
from bot.trackers.github import GitHub
from bot.trackers.outbox import Outbox
from bot.trackers.protocol import Permission, TrackerError
from fuzzers.records import Finding
from tests.unit.made import BUILD


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A world with one finding, which has its issue."""
    made = World(tmp_path)
    made.store.put_finding(finding(0, made.host.at()))
    made.publish()
    assert list(made.host.issues) == [1]
    return made


def plan_of(world: World, **given: Any) -> Plan:
    """What a publish would do under these settings."""
    return publisher(world.store, Faulty(world.host.send), settings(world.folder, **given)).plan()


def only(world: World) -> Finding:
    (one,) = world.store.findings()
    return one


def decide(world: World, kind: Kind) -> None:
    said = Decision(kind, "maintainer", "11", world.host.at(), "so it is")
    world.store.put_finding(decisions.decided(only(world), said))


# Marks

words = strategies.text(min_size=1, max_size=40)


@given(words, strategies.text(max_size=200))
def test_a_mark_is_read_back_wherever_it_stands(word: str, around: str) -> None:
    mark = SEAL.mark(marks.ISSUE, word)
    ((said,),) = SEAL.read(marks.ISSUE, f"{around}\n{mark}\n{around}")
    assert SEAL.mark(marks.ISSUE, said) == mark


@given(words)
def test_a_mark_of_another_key_or_repository_or_kind_is_text(word: str) -> None:
    for other in (marks.Seal(b"another key", SEAL.repository), marks.Seal(SEAL.key, "43")):
        assert SEAL.read(marks.ISSUE, other.mark(marks.ISSUE, word)) == []
    assert SEAL.read(marks.ISSUE, SEAL.mark(marks.TOLD, word)) == []


@given(strategies.text(), strategies.text(), words, words)
def test_rewriting_our_part_leaves_every_other_character(above: str, below: str, old: str, new: str) -> None:
    above, below = (text.replace("\r", "").replace(marks.BEGIN, "") for text in (above, below))
    first = marks.part(old, SEAL.mark(marks.ISSUE, "a"))
    second = marks.part(new, SEAL.mark(marks.ISSUE, "b"))
    assert marks.rewritten(f"{above}{first}{below}", second) == f"{above}{second}{below}"


# What people do


def test_an_issue_that_a_person_opens_again_stays_open(world: World) -> None:
    world.gone()
    world.publish()
    assert world.host.issues[1]["state"] == "closed"
    world.host.reopen(1)
    for _ in range(2):
        world.publish()
        assert world.host.issues[1]["state"] == "open"
    decide(world, Kind.WONTFIX)
    world.publish()
    assert world.host.issues[1]["state_reason"] == "not_planned", "what a person decides is another wish"


def test_one_that_was_opened_again_is_closed_when_it_is_gone_anew(world: World) -> None:
    world.gone()
    world.publish()
    world.host.reopen(1)
    world.back()
    world.publish()
    world.gone()
    world.publish()
    assert world.host.issues[1]["state"] == "closed"


@pytest.mark.parametrize(("kind", "reason"), [(Kind.INVALID, "not_planned"), (Kind.DUP, "duplicate")])
def test_a_decision_is_final(world: World, kind: Kind, reason: str) -> None:
    decide(world, kind)
    world.publish()
    assert world.host.issues[1]["state_reason"] == reason
    world.store.put_finding(world._failed(only(world)))
    world.host.wait(hours=100)
    world.publish()
    assert world.host.issues[1]["state"] == "closed"


def test_in_the_hours_after_a_persons_close_nothing_at_all_is_written(world: World) -> None:
    world.host.close(1, "completed")
    world.host.wait(hours=1)
    world.still()
    before = world.host.changes
    world.publish()
    assert world.host.changes == before
    world.host.wait(hours=48)
    world.publish()
    assert world.host.issues[1]["state"] == "open"


def test_the_mark_of_somebody_elses_issue_is_not_trusted(world: World) -> None:
    stolen = {**world.host.issues[1], "user": {**BOT, "id": 8}, "number": 0}
    world.host.issues = {0: stolen, **world.host.issues}
    assert plan_of(world).steps == ()


# What waits


def test_each_cap_lets_so_many_through_and_names_itself(tmp_path: Path) -> None:
    world = World(tmp_path)
    for number in range(6):
        world.store.put_finding(finding(number, world.host.at()))
    for cap, words in (("new_a_run", "a run"), ("new_a_day", "a day"), ("open_issues", "open issues")):
        plan = plan_of(world, **{cap: 2})
        assert [step.finding.suspect.kind.severity for step in plan.steps] == [0, 0]
        assert {one.why for one in plan.waiting} == {f"the cap of 2 {_counted(words)} is reached"}
        assert len(plan.waiting) == 4


def _counted(words: str) -> str:
    return words if words.startswith("open") else f"new issues {words}"


def test_a_day_counts_what_earlier_runs_have_filed(world: World) -> None:
    world.store.put_finding(finding(1, world.host.at()))
    assert plan_of(world, new_a_day=1).steps == ()
    world.host.wait(hours=24)
    assert len(plan_of(world, new_a_day=1).steps) == 1


def test_while_a_build_is_held_nothing_is_published_of_its_framework(world: World) -> None:
    world.gone()
    world.store.put_finding(finding(1, world.host.at()))
    said = (BUILD.framework, BUILD.version, BUILD.variant, BUILD.python, BUILD.git_sha)
    hold = Hold(*said, "9 of 9 open findings changed their verdict", world.host.at())
    world.store.put_hold(hold)
    plan = plan_of(world)
    assert plan.steps == ()
    assert "9 of 9" in plan.waiting[0].why
    world.store.put_hold(replace(hold, accepted_at=world.host.at()))
    assert {str(step.what) for step in plan_of(world).steps} == {"file", "write", "tell"}


# Runs that end early


def test_a_run_ends_before_its_lease_does_and_the_next_goes_on(world: World) -> None:
    world.gone()
    one = publisher(world.store, Faulty(world.host.send), world.given)
    plan = one.plan()
    seal = marks.sealed(one.settings, one.tracker)
    late = Actor(one.tracker, world.store, seal, (), until=time.monotonic() - 1).act(plan)
    assert (late.made, late.left, late.throttled) == ([], 2, True)
    assert world.host.issues[1]["state"] == "open"
    world.publish()
    assert world.host.issues[1]["state"] == "closed"


def test_an_issue_whose_answer_was_lost_gets_no_late_comments(tmp_path: Path) -> None:
    for at in range(1, 40):
        world = World(tmp_path / str(at))
        world.new()
        world.bisected()
        world.publish(Fault.KILLED_AFTER, at)
        if world.host.issues and not world.store.publications():
            break
    else:
        pytest.fail("no kill fell between the issue and the ledger")
    world.publish()
    (record,) = world.store.publications()
    assert record.number == "1"
    assert world.host.comments == {}
    world.gone()
    world.publish()
    assert len(world.host.comments[1]) == 1


def test_an_issue_that_was_deleted_is_not_filed_again(world: World) -> None:
    del world.host.issues[1]
    deleted = Faulty(world.host.send)

    def send(method: str, path: str, parameters: Any, body: Any) -> tuple[int, Any, str]:
        if path.endswith("/issues/1"):
            return 410, {}, '{"message": "This issue was deleted"}'
        return deleted(method, path, parameters, body)

    publisher(world.store, Faulty(send), world.given).publish()
    world.publish()
    assert world.host.issues == {}
    assert "removed" in plan_of(world).waiting[0].why


# The upstream tier


class Upstream:
    """A store whose triage tracker is a folder, and an upstream on which the bot files."""

    def __init__(self, folder: Path, **given: Any) -> None:
        self.world = World(folder)
        self.here = Outbox(folder / "outbox")
        self.given = settings(folder, upstream=REPOSITORY, **{"upstream_filed_by": "bot", **given})
        self.there = self.world.host

    def found(self, number: int = 0) -> Finding:
        one = finding(number, self.there.at())
        self.world.store.put_finding(one)
        return one

    def approve(self, one: Finding) -> None:
        told = bodies.approval_hash(one, Form(self.given.upstream_form))
        self.world.store.put_published(
            Published(
                one.signature,
                f"github:{REPOSITORY}",
                approved=told,
                approved_by="maintainer",
                approved_at=self.there.at(),
                words="it matters",
            )
        )

    def publisher(self, fault: Fault | None = None, at: int = 0, tries: int = 1) -> Publisher:
        client = Client(Faulty(self.there.send, fault, at, tries), "memory", pause=0.0, backoff=0.0)
        other = GitHub(client, REPOSITORY)
        other.repository_id()  # its clock is known from here on
        return Publisher(self.world.store, self.here, self.given, other, hosts=())


def test_upstream_gets_what_a_person_approved_with_their_name_and_no_more(tmp_path: Path) -> None:
    site = Upstream(tmp_path)
    one = site.found(0)
    site.found(1)
    site.publisher().publish()
    site.approve(one)
    site.publisher().outward()
    (issue,) = site.there.issues.values()
    assert one.script in issue["body"]
    assert "it matters" in issue["body"]
    site.there.close(1, "not_planned")
    for _ in range(2):
        site.publisher().outward()
        site.publisher().homeward()
    assert len(site.there.issues) == 1
    own = {issue.title: issue for issue in site.here.own_issues()}
    told = [said.body for said in site.here.comments(own[one.title].number)]
    assert len(told) == 2
    assert "closed as not" in told[1]


def _changes_its_script(one: Finding, site: Upstream) -> None:
    site.world.store.put_finding(replace(one, script=one.script + "# changed\n"))


def _is_gone(one: Finding, site: Upstream) -> None:
    site.world.gone()


def _loses_its_person(one: Finding, site: Upstream) -> None:
    record = site.world.store.published(f"github:{REPOSITORY}")[one.signature]
    site.world.store.put_published(replace(record, approved_by="stranger"))
    may = {"stranger": Permission.READ}
    site.here.permission = lambda login: may.get(login, Permission.WRITE)  # type: ignore[method-assign]


def _is_old(one: Finding, site: Upstream) -> None:
    site.there.wait(hours=25)


@pytest.mark.parametrize(
    ("happens", "why"),
    [
        (_changes_its_script, "has changed"),
        (_is_gone, "it is gone"),
        (_is_old, "a retest must say"),
        (_loses_its_person, "may no longer write"),
    ],
)
def test_an_approval_does_not_reach_what_it_was_not_for(
    tmp_path: Path, happens: Callable[[Finding, Upstream], None], why: str
) -> None:
    site = Upstream(tmp_path)
    one = site.found()
    site.approve(one)
    happens(one, site)
    plan, _ = site.publisher().outward()
    assert site.there.issues == {}
    assert why in plan.waiting[0].why


def test_a_few_a_day_go_upstream(tmp_path: Path) -> None:
    site = Upstream(tmp_path, upstream_a_day=2)
    for number in range(4):
        site.approve(site.found(number))
    for _ in range(2):
        plan, _ = site.publisher().outward()
    assert len(site.there.issues) == 2
    assert {one.why for one in plan.waiting} == {"the cap of 2 upstream a day is reached"}


@pytest.mark.parametrize("fault", [Fault.KILLED_AFTER, Fault.LOST, Fault.GARBLED])
def test_a_lost_answer_makes_no_second_issue_upstream(tmp_path: Path, fault: Fault) -> None:
    for at in range(2, 25):
        site = Upstream(tmp_path / str(at))
        site.approve(site.found())
        with suppress(Killed, TrackerError):
            site.publisher(fault, at, TRIES).outward()
        site.there.wait(hours=1)
        site.publisher().outward()
        site.publisher().outward()
        assert len(site.there.issues) == 1, f"request {at}"


def test_where_a_person_files_the_bot_writes_nothing_upstream(tmp_path: Path) -> None:
    site = Upstream(tmp_path, upstream_filed_by="person")
    one = site.found()
    site.publisher().publish()
    site.approve(one)
    for _ in range(2):
        site.publisher().outward()
        site.publisher().homeward()
    assert (site.there.issues, site.there.changes) == ({}, 0)
    (issue,) = site.here.own_issues()
    (said,) = site.here.comments(issue.number)
    assert f"https://github.com/{REPOSITORY}/issues/new?" in said.body


# The benchmark


def test_the_benchmark_finds_nothing_where_nothing_is_wrong() -> None:
    figures = measure(publishes=40, known=20)
    assert figures["faults"] == 40
    assert (figures["duplicates"], figures["lost"], figures["unsettled"]) == (0, 0, 0), figures
    assert figures["noop_calls"] <= 10


def test_the_benchmark_sees_a_publisher_that_does_not_know_its_issues(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Planner, "_by_name", lambda planner, findings: {})
    monkeypatch.setattr(Planner, "_record", lambda planner, one: Published(one.signature, "github"))
    assert measure(publishes=10, known=1)["duplicates"] > 0


def killed_while_it_tells(folder: Path) -> int:
    """Comments that say the same again, over a kill after each request of a run that tells of a fix."""
    again = 0
    for at in range(1, 25):
        world = World(folder / str(at))
        world.new()
        world.publish()
        world.gone()
        world.publish(Fault.KILLED_AFTER, at)
        world.settle()
        assert world.host.comments[1], "the fix was told"
        again += world.twice_told()
    return again


def test_a_kill_makes_no_second_comment(tmp_path: Path) -> None:
    assert killed_while_it_tells(tmp_path) == 0


def test_the_benchmark_sees_a_publisher_that_repeats_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Actor, "_has_said", lambda actor, number, mark: False)
    assert killed_while_it_tells(tmp_path) > 0


def test_the_benchmark_sees_a_publisher_that_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MAKERS, What.FILE, lambda actor, step: None)
    assert measure(publishes=5, known=1)["lost"] > 0


def test_the_benchmark_sees_a_publisher_that_keeps_a_fix_to_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(MAKERS, What.TELL, lambda actor, step: None)
    world = World(tmp_path)
    world.new()
    world.publish()
    world.gone()
    world.settle()
    assert "tells that it is fixed" in world.lost()[0]
