"""Where people see what changed between two builds: a compare link of the framework's own repository."""

from __future__ import annotations

import re

COMPARE = {
    "torch": "https://github.com/pytorch/pytorch/compare/{}...{}",
    "mindspore": "https://gitee.com/mindspore/mindspore/compare/{}...{}",
}


def compare_link(framework: str, older_sha: str, newer_sha: str) -> str:
    """The page of all commits from one build to a newer one. Empty when a commit is not known, when both
    are the same, or for a framework without a page."""
    if not older_sha or not newer_sha or older_sha == newer_sha or framework not in COMPARE:
        return ""
    return COMPARE[framework].format(older_sha, newer_sha)


def is_of_branch(framework: str, build: str) -> bool:
    """Whether a build's commit is not one of main: torch's nightlies have a branch of their own, with a
    commit a night whose subject names main's."""
    return framework == "torch" and ".dev" in build


def is_compare_link(framework: str, link: str) -> bool:
    """Whether a link is one that `compare_link` makes."""
    form = re.escape(COMPARE.get(framework, "")).replace(r"\{\}", "[0-9a-f]{7,40}")
    return bool(form) and re.fullmatch(form, link) is not None
