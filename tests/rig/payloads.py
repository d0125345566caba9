"""Webhooks' payloads: GitHub's own examples, and ones that tell of what is on the rig.

Invariant: a payload that is made here is one that GitHub's description of the event allows, and says what the
API says.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from tests.rig.host import Host
from tests.rig.node import node_modules
from tests.rig.openapi import description
from tests.rig.service import WRITER


def examples(event: str, action: str = "", host: str = "api.github.com") -> list[dict[str, Any]]:
    """GitHub's own of an event, of one action or of all; `host` may be an Enterprise Server, as `ghes-35`."""
    found = _by_event(host)[event]
    return copy.deepcopy([one for one in found if action in ("", one.get("action"))])


def events(host: str = "api.github.com") -> list[str]:
    """The events that there are examples of."""
    return list(_by_event(host))


@cache
def _by_event(host: str) -> dict[str, list[dict[str, Any]]]:
    path = node_modules() / "@octokit/webhooks-examples" / host / "index.json"
    return {one["name"]: one["examples"] for one in json.loads(path.read_bytes())}


def commented(host: Host, number: int | str, body: str, who: str = WRITER) -> dict[str, Any]:
    """Somebody comments on an issue or a pull request: the payload that GitHub would send."""
    return issue_comment(host, number, host.ask("POST", f"/issues/{number}/comments", who, body=body))


def issue_comment(
    host: Host, number: int | str, comment: Mapping[str, Any], action: str = "created"
) -> dict[str, Any]:
    """The payload about a comment that is on the rig; its author is the sender."""
    issue = host.ask("GET", f"/issues/{number}")
    repository = host.ask("GET", "")
    made = {"action": action, "issue": issue, "comment": dict(comment), "repository": repository}
    made["sender"] = comment["user"]
    if action == "edited":
        made["changes"] = {"body": {"from": ""}}
    problems = description().event_problems("issue_comment", action, made)
    assert problems == [], problems
    return made
