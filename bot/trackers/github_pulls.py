"""GitHub's pull requests and check runs.

Invariant: as `bot.trackers.pulls` says. Lines are read from the patches that GitHub gives; of a file without
one (binary, or too long) no line counts as changed.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from bot.defang import cut
from bot.trackers.client import Client
from bot.trackers.github import number_in_path
from bot.trackers.protocol import MissingError, TrackerError
from bot.trackers.pulls import Annotation, ChangedFile, Conclusion, Pull

MOST_FILES = 3_000
ANNOTATIONS_A_REQUEST = 50
LONGEST_SUMMARY = 65_535
LONGEST_TITLE = 255
SHA = re.compile(r"[0-9a-f]{40}")
HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass
class GitHubPulls:
    """The pull requests of one repository, `owner/name`."""

    client: Client
    repository: str

    @property
    def root(self) -> str:
        """The path of the repository's part of the API."""
        return f"/repos/{self.repository}"

    def pull(self, number: str) -> Pull:
        """One pull request, with the commit that it branched from."""
        plain = self.client.get(f"{self.root}/pulls/{number_in_path(number)}").data
        head, base = plain["head"], plain["base"]
        origin = head.get("repo") or {}
        return Pull(
            number=str(plain["number"]),
            head_sha=_sha(head["sha"]),
            base_sha=self._merge_base(_sha(base["sha"]), _sha(head["sha"])),
            base_ref=str(base["ref"]),
            head_repository=str(origin.get("full_name") or ""),
            is_fork=str(origin.get("full_name") or "").lower() != self.repository.lower(),
            is_open=plain["state"] == "open",
            title=str(plain.get("title") or ""),
        )

    def _merge_base(self, base: str, head: str) -> str:
        try:
            compared = self.client.get(f"{self.root}/compare/{base}...{head}", per_page=1).data
            return _sha(compared["merge_base_commit"]["sha"])
        except MissingError:
            return base

    def changed_files(self, number: str) -> list[ChangedFile]:
        """The files that it adds or changes."""
        found = []
        for plain in self.client.pages(f"{self.root}/pulls/{number_in_path(number)}/files"):
            if plain["status"] != "removed":
                lines = tuple(added_lines(str(plain.get("patch") or "")))
                found.append(ChangedFile(str(plain["filename"]), str(plain["status"]), lines))
            if len(found) == MOST_FILES:
                break
        return found

    def default_branch(self) -> tuple[str, str]:
        """(name, sha of its head)."""
        name = str(self.client.get(self.root).data["default_branch"])
        head = self.client.get(f"{self.root}/branches/{quote(name, safe='')}").data
        return name, _sha(head["commit"]["sha"])

    def text_at(self, path: str, sha: str) -> str | None:
        """A file's text at a commit."""
        try:
            plain = self.client.get(f"{self.root}/contents/{quote(path)}", ref=_sha(sha)).data
        except MissingError:
            return None
        if not isinstance(plain, dict) or plain.get("encoding") != "base64":
            return None
        try:
            return base64.b64decode(plain["content"]).decode()
        except (ValueError, KeyError):
            return None

    def check_started(self, sha: str, name: str, external: str) -> str:
        """A check run in progress; the one of that name and command if there is one."""
        listed = self.client.pages(f"{self.root}/commits/{_sha(sha)}/check-runs", check_name=name)
        for plain in listed:
            if plain.get("external_id") == external:
                return str(plain["id"])
        body = {"name": name, "head_sha": _sha(sha), "status": "in_progress", "external_id": external}
        made = self.client.send("POST", f"{self.root}/check-runs", body=body, idempotent=False).data
        return str(made["id"])

    def check_done(
        self, ident: str, conclusion: Conclusion, title: str, summary: str, annotations: Sequence[Annotation]
    ) -> None:
        """Complete it. GitHub adds the annotations of each request to those before."""
        for part in _parts(annotations):
            output = {
                "title": cut(title, LONGEST_TITLE),
                "summary": cut(summary, LONGEST_SUMMARY),
                "annotations": [_annotation(one) for one in part],
            }
            body: dict[str, Any] = {"status": "completed", "conclusion": conclusion, "output": output}
            self.client.send(
                "PATCH", f"{self.root}/check-runs/{number_in_path(ident)}", body=body, idempotent=False
            )


def added_lines(patch: str) -> Iterator[int]:
    """The numbers that a unified diff's added lines have in the new file."""
    line = 0
    for text in patch.split("\n"):
        if hunk := HUNK.match(text):
            line = int(hunk[1])
        elif text.startswith("+"):
            yield line
            line += 1
        elif text.startswith(" ") or text == "":
            line += 1


def _parts(annotations: Sequence[Annotation]) -> list[Sequence[Annotation]]:
    starts = range(0, len(annotations), ANNOTATIONS_A_REQUEST)
    return [annotations[at : at + ANNOTATIONS_A_REQUEST] for at in starts] or [()]


def _annotation(one: Annotation) -> dict[str, Any]:
    return {
        "path": one.path,
        "start_line": one.start_line,
        "end_line": one.end_line,
        "annotation_level": one.level,
        "title": cut(one.title, LONGEST_TITLE),
        "message": cut(one.message, LONGEST_SUMMARY),
    }


def _sha(text: object) -> str:
    found = str(text)
    if not SHA.fullmatch(found):
        raise TrackerError(f"{found[:50]!r} is no full sha of a commit")
    return found
