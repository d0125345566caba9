"""What tests of publishing share: a store, a publisher on the rig, and claims about issues."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bot import history
from bot.publishing import marks
from bot.publishing.act import Done
from bot.publishing.marks import Seal
from bot.publishing.plan import Plan
from bot.publishing.publisher import Publisher
from bot.settings import Settings, load
from bot.store import Store
from bot.trackers.github import GitHub
from bot.trackers.github_client import token_client
from fuzzers.records import Build, Finding, Verdict
from tests.rig.host import Host
from tests.unit.made import a_finding

KEY = "a long random text"


def finding(number: int, **fields: Any) -> Finding:
    """A finding of its own; the number is in its name and title."""
    given = {
        "title": f"[inductor] wrong result {number}",
        "script": f"x = {number}\nassert x == 0, x\n",
        "first_seen": f"2026-11-01T00:00:{number % 60:02}Z",
        "last_seen": "2026-11-01T00:00:00Z",
        **fields,
    }
    return a_finding(f"v2-{number:012x}", **given)


def build(day: int) -> Build:
    """A later build."""
    return Build("torch", f"2.15.0.dev202612{day:02}", "cpu", f"{day:08x}", "python3", "3.11.7")


def heard(one: Finding, day: int, verdict: Verdict) -> Finding:
    """The finding after a build of a day has had its word."""
    entry = history.entry(build(day), verdict, f"2026-12-{day:02}T01:00:00Z")
    noted = history.noted(one, entry)
    after = replace(noted, state=history.state(noted))
    if (one.state, after.state) == ("open", "gone"):
        return replace(after, detail={**after.detail, "gone": {"build": build(day).name, "at": entry["at"]}})
    if (one.state, after.state) == ("gone", "open"):
        told = {"build": build(day).name, "at": entry["at"]}
        return replace(after, detail={**after.detail, "regressed": told})
    return after


def settings(host: Host, **more: Any) -> Settings:
    """As the bot's workflow has them."""
    return load(
        {
            "tracker": "github",
            "repository": host.repository,
            "api": host.api,
            "token": host.token,
            "marker_key": KEY,
            "write_pause": 0.0,
            **more,
        }
    )


def tracker(host: Host) -> GitHub:
    """The bot's own view, in a hurry."""
    client = token_client(host.api, host.token, 0.0)
    client.backoff = 0.01
    return GitHub(client, host.repository)


@dataclass
class Site:
    """A store and its tracker."""

    host: Host
    store: Store

    @classmethod
    def at(cls, host: Host, folder: Path) -> Site:
        return cls(host, Store(folder / "store", pytest.fail))

    def put(self, *findings: Finding) -> None:
        for one in findings:
            self.store.put_finding(one)

    def publish(self, **more: Any) -> tuple[Plan, Done]:
        return self.publisher(**more).publish()

    def publisher(self, **more: Any) -> Publisher:
        return Publisher(self.store, tracker(self.host), settings(self.host, **more), hosts=())

    def by_signature(self) -> dict[str, list[dict[str, Any]]]:
        """The issues that say which finding they are of."""
        seal = Seal(KEY.encode(), tracker(self.host).repository_id())
        found: dict[str, list[dict[str, Any]]] = {}
        for issue in self.host.issues():
            for told in seal.read(marks.ISSUE, issue["body"] or ""):
                found.setdefault(told[0], []).append(issue)
        return found

    def writes(self) -> int:
        """Requests of the bot that were none for reading."""
        return sum(one.method != "GET" for one in self.host.requests)
