"""What `emulate` lacks of GitHub, or does otherwise, one small function each.

Invariant: what is kept here is kept for one repository and its forks; everything that `emulate` can answer is
made from its answers, so that there is one truth. GitHub's words are those of its documentation and of
answers that people have quoted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.rig.exchange import Forward, Reply, Request

LONGEST_BODY = 65_536
LONGEST_TITLE = 256
ANNOTATIONS_A_REQUEST = 50
PER_PAGE = 30

WORDS = {"push": "write", "pull": "read", "maintain": "write", "triage": "read"}
"""GitHub's older words, in which the permission is told, for the roles."""


@dataclass
class Lacking:
    """`reactions` by ("comment" or "issue", number), `annotations` by check run, `duplicates` are numbers of
    issues; `moved` from a repository's old name to (new name, number)."""

    reactions: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    annotations: dict[str, list[Any]] = field(default_factory=dict)
    duplicates: set[int] = field(default_factory=set)
    archived: set[str] = field(default_factory=set)
    moved: dict[str, tuple[str, int]] = field(default_factory=dict)

    def answer(self, request: Request, forward: Forward, here: str) -> Reply:
        """What GitHub would answer; `here` is the proxy's address."""
        for old, (_, number) in self.moved.items():
            if (request.path + "/").startswith(f"/repos/{old}/"):
                to = f"{here}/repositories/{number}{request.target.removeprefix(f'/repos/{old}')}"
                return Reply.of(301, {"message": "Moved Permanently", "url": to}, Location=to)
        if request.method != "GET" and any(request.path.startswith(f"/repos/{r}/") for r in self.archived):
            return _refused(403, "Repository was archived so is read-only.")
        for method, pattern, rule in RULES:
            if request.method in method and (found := pattern.fullmatch(request.path)):
                return rule(self, request, forward, *found.groups())
        return forward(request)

    def target(self, target: str) -> str:
        """A request's target with the repository's name where a redirect has put its number."""
        for name, number in self.moved.values():
            if found := re.match(rf"/repositories/{number}(?=/|\?|$)", target):
                return f"/repos/{name}{target[found.end() :]}"
        return target

    # Issues and comments

    def react(self, request: Request, forward: Forward, kind: str, to: str, number: str) -> Reply:
        """A reaction, which one person can have once of a kind."""
        if (found := forward(request.get(to))).status != 200:
            return found
        kept = self.reactions.setdefault((kind, number), [])
        content = str((request.plain or {}).get("content"))
        is_new = content not in kept
        kept += [content] if is_new else []
        return Reply.of(201 if is_new else 200, _reaction(request, forward, kept.index(content), content))

    def react_to_comment(self, request: Request, forward: Forward, repository: str, number: str) -> Reply:
        """On a comment."""
        return self.react(
            request, forward, "comment", f"/repos/{repository}/issues/comments/{number}", number
        )

    def react_to_issue(self, request: Request, forward: Forward, repository: str, number: str) -> Reply:
        """On an issue or a pull request."""
        issue = f"/repos/{repository}/issues/{number}"
        return self.react(request, lambda one: self.answer(one, forward, ""), "issue", issue, number)

    def written(self, request: Request, forward: Forward, *_: str) -> Reply:
        """An issue or comment: not longer than GitHub takes, and its reason kept."""
        plain = request.plain if isinstance(request.plain, dict) else {}
        for name, longest in (("body", LONGEST_BODY), ("title", LONGEST_TITLE)):
            if len(str(plain.get(name) or "")) > longest:
                return _invalid(name, "custom", f"{name} is too long (maximum is {longest} characters)")
        reply = forward(request)
        if reply.status < 300 and "state" in plain:
            number = int(reply.plain["number"])
            is_duplicate = plain.get("state_reason") == "duplicate" and plain["state"] == "closed"
            (self.duplicates.add if is_duplicate else self.duplicates.discard)(number)
        return self.with_reasons(reply)

    def read(self, request: Request, forward: Forward, *_: str) -> Reply:
        """Issues, with the reason that `emulate` does not know."""
        return self.with_reasons(forward(request))

    def with_reasons(self, reply: Reply) -> Reply:
        """With `duplicate` where it was said."""
        if not self.duplicates or reply.status >= 300:
            return reply
        plain = reply.plain
        for one in plain if isinstance(plain, list) else [plain]:
            if one.get("number") in self.duplicates and one.get("state") == "closed":
                one["state_reason"] = "duplicate"
        return reply.saying(plain)

    def issue(self, request: Request, forward: Forward, repository: str, number: str) -> Reply:
        """One issue; a pull request is one, too."""
        reply = forward(request)
        if reply.status != 404:
            return self.with_reasons(reply)
        found = forward(request.get(f"/repos/{repository}/pulls/{number}"))
        return Reply.of(200, _as_issue(found.plain)) if found.status == 200 else reply

    def said(self, request: Request, forward: Forward, repository: str) -> Reply:
        """The comments of all issues, which `emulate` takes for an issue of that name."""
        issues = f"/repos/{repository}/issues"
        found = [
            one
            for issue in _listed(request, forward, f"{issues}?state=all")
            for one in _listed(request, forward, f"{issues}/{issue['number']}/comments")
            if one["updated_at"] >= request.parameter("since")
        ]
        falling = request.parameter("direction", "desc") == "desc"
        return _page(request, sorted(found, key=lambda one: int(one["id"]), reverse=falling))

    def label(self, request: Request, forward: Forward, *_: str) -> Reply:
        """A new label; that there is one already is told in so many words."""
        reply = forward(request)
        return _invalid("name", "already_exists", resource="Label") if reply.status == 422 else reply

    # People

    def permission(self, request: Request, forward: Forward, repository: str, login: str) -> Reply:
        """GitHub's word; in a public repository everybody may read."""
        reply = forward(request)
        if reply.status == 200:
            told = reply.plain
            word = WORDS.get(told["permission"], told["permission"])
            user = {**told["user"], "role_name": told["role_name"]}
            return reply.saying({**told, "permission": word, "user": user})
        person, about = forward(request.get(f"/users/{login}")), forward(request.get(f"/repos/{repository}"))
        if person.status != 200 or about.status != 200:
            return reply
        word = "none" if about.plain["private"] else "read"
        user = {**person.plain, "role_name": word}
        return Reply.of(200, {"permission": word, "role_name": word, "user": user})

    # Git

    def ref(self, request: Request, forward: Forward, *_: str) -> Reply:
        """Moved or removed, in GitHub's words."""
        reply = forward(request)
        if reply.status == 404:
            return _refused(422, "Reference does not exist")
        if reply.status == 422 and "fast-forward" in str(reply.plain["message"]):
            return _refused(422, "Update is not a fast forward")
        return reply

    # Pull requests

    def pull(self, request: Request, forward: Forward, *_: str) -> Reply:
        """A pull request, with its head as it is now and the figures of its changes."""
        reply = forward(request)
        if reply.status != 200:
            return reply
        plain = reply.plain
        head = plain["head"]
        if plain["state"] == "open" and head["repo"]:
            ref = forward(request.get(f"/repos/{head['repo']['full_name']}/git/ref/heads/{head['ref']}"))
            head["sha"] = ref.plain["object"]["sha"]
        files = _changes(request, forward, plain)
        plain |= {
            "changed_files": len(files),
            "additions": sum(one["additions"] for one in files),
            "deletions": sum(one["deletions"] for one in files),
        }
        return reply.saying(plain)

    def files(self, request: Request, forward: Forward, repository: str, number: str) -> Reply:
        """Its files, a page."""
        found = self.pull(request.get(f"/repos/{repository}/pulls/{number}"), forward)
        if found.status != 200:
            return found
        return _page(request, _changes(request, forward, found.plain))

    def check(self, request: Request, forward: Forward, repository: str, run: str = "") -> Reply:
        """A check run, whose annotations are added to those before."""
        output = (request.plain or {}).get("output") or {}
        new = [_annotation(one) for one in output.get("annotations", [])]
        if len(new) > ANNOTATIONS_A_REQUEST:
            said = f"No more than {ANNOTATIONS_A_REQUEST} items are allowed; {len(new)} were supplied."
            return _refused(422, said)
        reply = forward(request)
        if reply.status >= 300:
            return reply
        plain = reply.plain
        kept = self.annotations.setdefault(str(plain["id"]), [])
        kept += new
        return reply.saying(self.counted(plain))

    def counted(self, run: dict[str, Any]) -> dict[str, Any]:
        """A check run with the figure of all its annotations."""
        count = len(self.annotations.get(str(run["id"]), ()))
        told = {"annotations_count": count, "annotations_url": f"{run['url']}/annotations"}
        return {**run, "output": {**run["output"], **told}}

    def checks(self, request: Request, forward: Forward, *_: str) -> Reply:
        """One check run, or a page of them."""
        reply = forward(request)
        if reply.status != 200:
            return reply
        plain = reply.plain
        if "check_runs" not in plain:
            return reply.saying(self.counted(plain))
        return reply.saying({**plain, "check_runs": [self.counted(run) for run in plain["check_runs"]]})

    def remarks(self, request: Request, forward: Forward, repository: str, run: str) -> Reply:
        """All annotations of a check run."""
        return Reply.of(200, self.annotations.get(run, []))


def _page(request: Request, items: list[Any]) -> Reply:
    """The page of a listing that was asked for."""
    size, page = int(request.parameter("per_page", str(PER_PAGE))), int(request.parameter("page", "1"))
    more = f'<http://localhost{request.path}?per_page={size}&page={page + 1}>; rel="next"'
    headers = {"Link": more} if page * size < len(items) else {}
    return Reply.of(200, items[(page - 1) * size : page * size], **headers)


def _listed(request: Request, forward: Forward, target: str) -> Iterator[Any]:
    """All items of a listing."""
    size, page = 100, 1
    joined = "&" if "?" in target else "?"
    while True:
        items = forward(request.get(f"{target}{joined}per_page={size}&page={page}")).plain
        yield from items
        if len(items) < size:
            return
        page += 1


def _refused(status: int, message: str) -> Reply:
    return Reply.of(status, {"message": message, "documentation_url": "https://docs.github.com/rest"})


def _invalid(name: str, code: str, message: str = "", resource: str = "Issue") -> Reply:
    error = {"resource": resource, "code": code, "field": name} | ({"message": message} if message else {})
    said = {"message": "Validation Failed", "errors": [error]}
    return Reply.of(422, {**said, "documentation_url": "https://docs.github.com/rest"})


def _reaction(request: Request, forward: Forward, at: int, content: str) -> dict[str, Any]:
    user = forward(request.get("/user")).plain
    made = {"id": at + 1, "node_id": f"R{at}", "user": user, "content": content}
    return {**made, "created_at": "2026-12-01T00:00:00Z"}


def _annotation(given: dict[str, Any]) -> dict[str, Any]:
    empty = dict.fromkeys(("start_column", "end_column", "title", "raw_details"))
    return {**empty, "blob_href": "", **given}


def _changes(request: Request, forward: Forward, pull: dict[str, Any]) -> list[Any]:
    where = f"/repos/{pull['base']['repo']['full_name']}/compare"
    compared = forward(request.get(f"{where}/{pull['base']['sha']}...{pull['head']['sha']}"))
    return list(compared.plain["files"])


SHARED = (
    "id", "node_id", "number", "title", "user", "labels", "state", "locked", "assignee", "assignees",
    "milestone", "comments", "created_at", "updated_at", "closed_at", "author_association", "body",
    "html_url",
)  # fmt: skip
"""What a pull request has in common with the issue that it is."""


REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def _as_issue(pull: dict[str, Any]) -> dict[str, Any]:
    issue = {name: pull[name] for name in SHARED if name in pull}
    url = pull["issue_url"]
    issue |= {
        "url": url,
        "repository_url": url.rpartition("/issues/")[0],
        **{f"{name}_url": f"{url}/{name}" for name in ("comments", "events")},
        "labels_url": f"{url}/labels{{/name}}",
        "draft": pull["draft"],
        "reactions": {"url": f"{url}/reactions", "total_count": 0, **dict.fromkeys(REACTIONS, 0)},
        "active_lock_reason": None,
        "state_reason": None,
        "closed_by": None,
    }
    parts = ("url", "html_url", "diff_url", "patch_url", "merged_at")
    return {**issue, "pull_request": {name: pull[name] for name in parts}}


REPOSITORY = "/repos/([^/]+/[^/]+)"


def _rule(
    methods: str, path: str, answer: Callable[..., Reply]
) -> tuple[frozenset[str], re.Pattern[str], Callable[..., Reply]]:
    return frozenset(methods.split()), re.compile(REPOSITORY + path), answer


RULES = (
    _rule("POST", r"/issues/comments/(\d+)/reactions", Lacking.react_to_comment),
    _rule("POST", r"/issues/(\d+)/reactions", Lacking.react_to_issue),
    _rule("POST PATCH", r"/issues(?:/\d+)?(?:/comments)?", Lacking.written),
    _rule("PATCH", r"/issues/comments/\d+", Lacking.written),
    _rule("GET", "/issues", Lacking.read),
    _rule("GET", "/issues/comments", Lacking.said),
    _rule("GET", r"/issues/(\d+)", Lacking.issue),
    _rule("POST", "/labels", Lacking.label),
    _rule("GET", "/collaborators/([^/]+)/permission", Lacking.permission),
    _rule("PATCH DELETE", "/git/refs/.+", Lacking.ref),
    _rule("GET", r"/pulls/(\d+)", Lacking.pull),
    _rule("GET", r"/pulls/(\d+)/files", Lacking.files),
    _rule("POST PATCH", r"/check-runs(?:/(\d+))?", Lacking.check),
    _rule("GET", r"/check-runs/\d+", Lacking.checks),
    _rule("GET", "/commits/.+/check-runs", Lacking.checks),
    _rule("GET", r"/check-runs/(\d+)/annotations", Lacking.remarks),
)
