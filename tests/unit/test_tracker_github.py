"""Whose issues are whose on GitHub, and repositories, issues and accounts that are not what they were."""

from __future__ import annotations

import pytest

from bot.trackers.github_pulls import GitHubPulls
from bot.trackers.protocol import Account, MissingError, Permission, TrackerError
from tests.unit.answering import Make, Says, answering, gitee_at, github_at, message

ABOUT = {"id": 7, "full_name": "o/r", "default_branch": "main", "archived": False, "has_issues": True}


@pytest.mark.parametrize("make", [github_at, gitee_at])
@pytest.mark.parametrize(
    ("answers", "line"),
    [
        ([Says(404, message("Not Found"))], "there is no repository o/r, or the token may not see it"),
        ([Says(200, {**ABOUT, "has_issues": False})], "issues are switched off in o/r"),
        ([Says(200, {**ABOUT, "full_name": "o/new"})], "o/r has moved to o/new: set `repository` to that"),
    ],
    ids=["missing", "no issues", "renamed"],
)
def test_a_repository_that_cannot_be_used_is_one_line(make: Make, answers: list[Says], line: str) -> None:
    with answering(*answers) as server, pytest.raises(TrackerError, match=line):
        make(server.url).repository_id()


@pytest.mark.parametrize("login", ["bot", "somebody"])
def test_an_issue_is_ours_by_the_number_of_its_account_not_by_its_name(login: str) -> None:
    plain = {"number": 1, "html_url": "u", "title": "t", "state": "open", "body": "b"}
    theirs, ours = plain | {"user": {"login": login, "id": 8}}, plain | {"user": {"login": "old", "id": 7}}
    me = Says(200, {"login": "bot", "id": 7})
    with answering(me, Says(200, [theirs, ours | {"number": 2}, ours | {"pull_request": {}}])) as server:
        assert [issue.number for issue in github_at(server.url).own_issues()] == ["2"]


@pytest.mark.parametrize("make", [github_at, gitee_at])
@pytest.mark.parametrize(
    ("word", "may"),
    [
        ("admin", Permission.ADMIN),
        ("maintain", Permission.WRITE),
        ("write", Permission.WRITE),
        ("triage", Permission.READ),
        ("read", Permission.READ),
        ("none", Permission.NONE),
        ("a word of tomorrow", Permission.NONE),
    ],
)
def test_only_words_for_writing_let_an_account_command_the_bot(
    make: Make, word: str, may: Permission
) -> None:
    with answering(Says(200, {"permission": word})) as server:
        assert make(server.url).permission("wanda") is may


def test_an_archived_repository_is_refused_before_anything_is_written() -> None:
    archived = Says(200, {**ABOUT, "archived": True})
    with answering(archived) as server, pytest.raises(TrackerError, match="o/r is archived"):
        github_at(server.url).repository_id()


def test_a_moved_repository_is_asked_for_its_new_name() -> None:
    moved = Says(301, message("Moved Permanently"), {"Location": "/repositories/7"})
    with answering(moved, Says(200, {**ABOUT, "full_name": "new/name"})) as server:
        with pytest.raises(TrackerError, match="o/r has moved to new/name: set `repository` to that"):
            github_at(server.url).repository_id()
        assert server.paths == ["GET /repos/o/r", "GET /repositories/7"]


def test_an_issue_that_has_moved_to_another_repository_is_none_of_this_one() -> None:
    moved = Says(301, message("Moved Permanently"), {"Location": "/repositories/8/issues/3"})
    for ask in (lambda host: host.issue("1"), lambda host: host.edit("1", body="x")):
        with answering(moved, Says(200, ABOUT)) as server, pytest.raises(MissingError, match="has moved"):
            ask(github_at(server.url))
        assert "GET /repositories/8/issues/3" not in server.paths


def test_an_app_token_that_cannot_tell_its_owner_says_what_to_set() -> None:
    said = Says(403, message("Resource not accessible by integration"))
    with answering(said) as server, pytest.raises(TrackerError, match="set `bot_login`"):
        github_at(server.url).account()


def test_an_account_is_known_by_its_number_and_told_to_be_a_bot() -> None:
    with answering(Says(200, {"login": "fuzz[bot]", "id": 41, "type": "Bot"})) as server:
        host = github_at(server.url, "fuzz[bot]")
        assert host.account() == Account("fuzz[bot]", "41", is_bot=True)
        assert host.account().is_bot
        assert server.paths == ["GET /users/fuzz%5Bbot%5D"]


def test_a_commit_is_asked_for_by_its_full_sha_alone() -> None:
    with answering(Says(200, {})) as server:
        pulls = GitHubPulls(github_at(server.url).client, "o/r")
        for name in ("main", "abc", "A" * 40, "0" * 41, "", "../x"):
            with pytest.raises(TrackerError, match="no full sha"):
                pulls.text_at("pyproject.toml", name)
        assert server.asked == []
