"""A store that keeps changing, a host that people work on, and publishers that meet faults.

Invariant: what is drawn follows from the seed; a publisher is the real one, with the real tracker and client,
and each has its own, as each run of the command has.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot import classify, decisions, history
from bot.bisect import Outcome
from bot.bodies import Transition
from bot.publish_bench.faults import Fault, Faulty, Killed
from bot.publish_bench.host import BOT, REPOSITORY, REPOSITORY_NUMBER, MemoryHost
from bot.publishing import marks
from bot.publishing.publisher import Publisher
from bot.publishing.wanted import wanted
from bot.settings import Settings, load
from bot.store import Store
from bot.trackers.client import Client
from bot.trackers.github import GitHub
from bot.trackers.protocol import IssueState, TrackerError
from fuzzers.records import Aspect, Build, Ending, Expect, Finding, Kind, Suspect, Verdict

KEY = "a key for marks"
FINDINGS = 12
"""Open ones that a store has at most: a plan writes the texts of them all."""

SEAL = marks.Seal(KEY.encode(), str(REPOSITORY_NUMBER))

NEAR = "\n\nSeen here, too."
"""What people write below our part of a body."""


def publisher(store: Store, send: Faulty, given: Settings) -> Publisher:
    """The real publisher over a transport, without pauses."""
    client = Client(send, "memory", pause=0.0, backoff=0.0)
    return Publisher(store, GitHub(client, REPOSITORY), given, hosts=())


def settings(folder: Path, **given: object) -> Settings:
    """Settings under which nothing waits, but for what is given."""
    wide = {"new_a_run": 10_000, "new_a_day": 10_000, "open_issues": 10_000, "quiet_hours": 48.0}
    told = {"tracker": "github", "repository": REPOSITORY, "marker_key": KEY, "upstream": "", "out": folder}
    return load({**wide, **told, **given})


def finding(number: int, at: str) -> Finding:
    """A finding, as triage leaves it."""
    script = f"import torch\n\nx = torch.arange({number + 1})\nassert torch.equal(x, x.abs())\n"
    build = Build("torch", "2.13.0+cpu", "cpu", "cf30153c", "python3", "3.11.7")
    kind = list(Kind)[number % 5]
    suspect = Suspect("toy", "1", build, kind, Aspect.VALUES, script, Expect(Ending.ASSERTION))
    return Finding(
        signature=f"nf1-{number:016x}",
        suspect=suspect,
        script=script,
        operators=(f"op{number}",),
        dtypes=("int64",),
        stage="inductor",
        label="module: inductor",
        confirmed="3 of 3",
        runs=(),
        rungs={"eager": "ok", "inductor": "assertion"},
        suspects=(suspect.id,),
        title=f"[inductor] wrong result: abs(arange({number}))",
        first_seen=at,
        last_seen=at,
    )


@dataclass
class World:
    """One store, one host. `made` counts findings; `filed` has, by number, the name that each issue was filed
    under, and `duplicates` counts those whose finding had one already; `written_near` are issues into whose
    body a person wrote."""

    folder: Path
    seed: int = 0
    host: MemoryHost = field(default_factory=MemoryHost)
    given: Settings = field(init=False)
    store: Store = field(init=False)
    draw: random.Random = field(init=False)
    made: int = 0
    duplicates: int = 0
    written_near: set[int] = field(default_factory=set)
    filed: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.given = settings(self.folder)
        self.store = Store(self.folder / "store", _never_warns)
        self.draw = random.Random(self.seed)

    # What happens between publishes

    def change(self) -> None:
        """One thing happens, if it can."""
        self.draw.choice(CHANGES)(self)

    def transition(self) -> None:
        """One thing happens that is worth a comment."""
        self.draw.choice((World.gone, World.back, World.bisected))(self)

    def new(self) -> None:
        """Triage adds a finding, unless there are enough that are open."""
        if len([one for one in self.store.findings() if one.state == "open"]) < FINDINGS:
            self.store.put_finding(finding(self.made, self.host.at()))
            self.made += 1

    def gone(self) -> None:
        """Three builds were right."""
        for one in self._drawn("open"):
            told = {"build": self._build(), "at": self.host.at()}
            self.store.put_finding(replace(one, state="gone", detail={**one.detail, "gone": told}))

    def back(self) -> None:
        """A newer build is wrong again."""
        for one in self._drawn("gone"):
            heard = self._failed(one)
            self.store.put_finding(classify.reopened(heard, self._build(), self.host.at()))

    def still(self) -> None:
        """Another build is wrong, too."""
        for one in self._drawn("open"):
            self.store.put_finding(self._failed(one))

    def bisected(self) -> None:
        """The first bad build is known."""
        for one in self._drawn("open"):
            change = classify.Change(Outcome.FIRST_BAD, "torch 2.12.0", self._build())
            where = replace(classify.standing(one), change=change)
            self.store.put_finding(classify.stand(one, where))

    def decide(self) -> None:
        """A person decides on a finding, or takes that back."""
        kind = self.draw.choice([decisions.Kind.WONTFIX, decisions.Kind.INVALID, decisions.Kind.UNDO])
        for one in self._drawn("open" if kind is not decisions.Kind.UNDO else "wontfix"):
            made = decisions.Decision(kind, "maintainer", "11", self.host.at(), "so it is")
            self.store.put_finding(decisions.decided(one, made))

    def join(self) -> None:
        """Two findings turn out to be one."""
        names = [one.signature for one in self.store.findings()]
        if len(names) > FINDINGS // 2:
            older, younger = self.draw.sample(names, 2)
            self.store.join(older, younger)

    def close(self) -> None:
        """A person closes an issue."""
        for number in self._issues("open"):
            self.host.close(number, self.draw.choice(["completed", "not_planned"]))

    def reopen(self) -> None:
        """A person opens an issue again."""
        for number in self._issues("closed"):
            self.host.reopen(number)

    def write_near(self) -> None:
        """A person writes into the body of an issue."""
        for number in self._issues("open"):
            if number not in self.written_near:
                self.host.issues[number]["body"] += NEAR
                self.written_near.add(number)

    def _drawn(self, state: str) -> list[Finding]:
        found = [one for one in self.store.findings() if one.state == state]
        return [self.draw.choice(found)] if found else []

    def _issues(self, state: str) -> list[int]:
        found = [number for number, one in self.host.issues.items() if one["state"] == state]
        return [self.draw.choice(found)] if found else []

    def _build(self) -> str:
        return f"torch 2.14.0.dev{self.host.now:%Y%m%d}"

    def _failed(self, one: Finding) -> Finding:
        build = replace(one.suspect.build, version=self._build().split()[1], git_sha=f"{self.host.now:%m%d}")
        return history.noted(one, history.entry(build, Verdict.REPRODUCES, self.host.at()))

    # Publishing

    def publish(self, fault: Fault | None = None, at: int = 0, tries: int = 1) -> Faulty:
        """One run of the command; what became of its connection."""
        send = Faulty(self.host.send, fault, at, tries)
        expected = (Killed, TrackerError) if fault is not None else ()
        with suppress(*expected):
            publisher(self.store, send, self.given).publish()
        self._look_for_duplicates()
        self.host.wait(hours=1)  # the lease of one that was killed expires
        return send

    def _look_for_duplicates(self) -> None:
        """Count issues that were filed for a finding that had one."""
        owner = self.store.catalogue.now().owner
        taken = {owner[name] for name in self.filed.values()}
        for number, one in self.host.issues.items():
            if number in self.filed:
                continue
            ((name, *_),) = SEAL.read(marks.ISSUE, one["body"])
            self.duplicates += owner[name] in taken
            self.filed[number] = name
            taken.add(owner[name])

    def settle(self) -> bool:
        """Two runs without a fault, when all quiet is over; whether a third has nothing to do."""
        self.host.wait(hours=self.given.quiet_hours)
        self.publish()
        self.publish()
        before = self.host.changes
        self.publish()
        return self.host.changes == before

    # What came of it, once settled

    def twice_told(self) -> int:
        """Comments on a transition that say the same again."""
        extra = 0
        for said in self.host.comments.values():
            told = [mark for one in said for mark in SEAL.read(marks.TOLD, one["body"])]
            extra += len(told) - len(set(told))
        return extra

    def lost(self) -> list[str]:
        """What should be on the host and is not, a line each."""
        owner = self.store.catalogue.now().owner
        by_owner: dict[str, list[int]] = {}
        for number, name in self.filed.items():
            by_owner.setdefault(owner[name], []).append(number)
        found = []
        for one in self.store.findings():
            numbers = by_owner.get(one.signature, [])
            want = wanted(one)
            if not numbers and want.may_be_filed:
                found.append(f"{one.signature} has no issue")
            elif numbers:
                found += self._wrong(one, self.host.issues[min(numbers)], want.state)
                found += self._untold(one, numbers)
        for number in self.written_near:
            if not self.host.issues[number]["body"].endswith(NEAR):
                found.append(f"what a person wrote in {number} is gone")
        return found

    def _untold(self, one: Finding, numbers: list[int]) -> list[str]:
        """A fix that the store tells of and no comment does, though the bot has closed the issue for it."""
        by = self.host.issues[min(numbers)]["closed_by"]
        if one.state != "gone" or "gone" not in one.detail or by != BOT:
            return []
        said = [comment["body"] for number in numbers for comment in self.host.comments.get(number, [])]
        told = [mark[1] for body in said for mark in SEAL.read(marks.TOLD, body)]
        is_told = any(name.startswith(Transition.FIXED) for name in told)
        return [] if is_told else [f"{one.signature}: no comment tells that it is fixed"]

    def _wrong(self, one: Finding, issue: dict[str, object], state: IssueState) -> list[str]:
        """An issue in another state than its finding wants; a person may have wanted it so."""
        by = issue["closed_by"] or {}
        is_persons = isinstance(by, dict) and by.get("login") == "maintainer"
        is_reopened = issue["state"] == "open" and issue["state_reason"] == "reopened"
        if issue["state"] == state or is_persons or is_reopened:
            return []
        return [f"{one.signature}: issue {issue['number']} is {issue['state']} and should be {state}"]


CHANGES: tuple[Callable[[World], None], ...] = (
    World.new,
    World.new,
    World.gone,
    World.back,
    World.still,
    World.bisected,
    World.decide,
    World.join,
    World.close,
    World.reopen,
    World.write_near,
)


def _never_warns(line: str) -> None:
    raise AssertionError(line)
