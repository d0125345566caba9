"""From settings to the tracker that they mean.

Invariant: what is missing for a tracker is said in one line before anything is asked of its host.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bot.errors import UserMistake
from bot.settings import Settings
from bot.trackers.client import Client
from bot.trackers.gitee import Gitee, gitee_client
from bot.trackers.github import GitHub
from bot.trackers.github_pulls import GitHubPulls
from bot.trackers.outbox import Outbox
from bot.trackers.protocol import Tracker
from bot.trackers.pulls import PullHost


def tracker(settings: Settings, out: Path, *, upstream: bool = False) -> Tracker:
    """The triage repository, or with `upstream` that one."""
    return OPENERS[settings.tracker](settings, out, _repository(settings, upstream=upstream))


def pull_host(settings: Settings) -> PullHost:
    """The triage repository's pull requests."""
    if settings.tracker != "github":
        raise UserMistake(f"pull requests are only on GitHub, and tracker is {settings.tracker!r}")
    repository = _repository(settings, upstream=False)
    return GitHubPulls(_client(settings, repository)[0], repository)


def _github(settings: Settings, out: Path, repository: str) -> Tracker:
    client, login = _client(settings, repository)
    return GitHub(client, repository, login)


def _gitee(settings: Settings, out: Path, repository: str) -> Tracker:
    client = gitee_client(settings.api, _token(settings), settings.write_pause)
    return Gitee(client, repository)


def _outbox(settings: Settings, out: Path, repository: str) -> Tracker:
    return Outbox(out / "outbox" / repository if repository else out / "outbox")


OPENERS: dict[str, Callable[[Settings, Path, str], Tracker]] = {
    "outbox": _outbox,
    "github": _github,
    "gitee": _gitee,
}


def _client(settings: Settings, repository: str) -> tuple[Client, str]:
    """A client, and the bot's login where it is not the token's owner."""
    # Not at the top: PyGithub takes a tenth of a second to import, which every other command would pay too.
    from bot.trackers.github_client import app_client, token_client

    if not settings.app_id:
        return token_client(settings.api, _token(settings), settings.write_pause), settings.bot_login
    key = settings.app_key.get_secret_value()
    if not key:
        raise UserMistake("app_id without the App's key: set NIGHTFUZZ_APP_KEY to it")
    client, slug = app_client(settings.api, settings.app_id, key, repository, settings.write_pause)
    return client, f"{slug}[bot]"


def _token(settings: Settings) -> str:
    token = settings.token.get_secret_value()
    if not token:
        raise UserMistake(f"tracker {settings.tracker!r} needs a token: set NIGHTFUZZ_TOKEN to one")
    return token


def _repository(settings: Settings, *, upstream: bool) -> str:
    name = settings.upstream if upstream else settings.repository
    if not name and (upstream or settings.tracker != "outbox"):
        setting = "upstream" if upstream else "repository"
        raise UserMistake(f"tracker {settings.tracker!r} needs `{setting}`: set it to owner/name")
    return name
