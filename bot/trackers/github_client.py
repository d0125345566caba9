"""The connection to GitHub. The one module that imports PyGithub.

Invariant: PyGithub's requester is used, for authentication (tokens, App installations) and the connection;
its own retries, which repeat a POST after a 502, are off, and its objects, which fetch what they lack on
access, are left alone: calls are counted, and each is one that `bot.trackers` has made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import urllib3
from github import Auth, Consts, GithubException
from github.Requester import Requester

from bot.defang import redact
from bot.trackers.client import PER_PAGE, TIMEOUT_SECONDS, WRITE_PAUSE_SECONDS, Client
from bot.trackers.protocol import TrackerError

API = Consts.DEFAULT_BASE_URL


def client(api: str, auth: Auth.Auth, pause: float = WRITE_PAUSE_SECONDS) -> Client:
    """A client of the API at an address; empty: GitHub's."""
    requester = _requester(api, auth)

    def transport(
        method: str, path: str, parameters: Mapping[str, Any], body: Mapping[str, Any] | None
    ) -> tuple[int, Mapping[str, str], str]:
        try:
            return requester.requestJson(method, path, parameters=dict(parameters), input=body)
        except GithubException as error:
            # Only from getting an installation's token: everything else comes as an answer.
            raise TrackerError(f"the App's installation gives no token: {error.status}") from None
        except RuntimeError as error:  # PyGithub's, of a redirect that leaves the host
            raise TrackerError(f"{method} {path}: {redact(str(error))}") from None

    return Client(transport, api or API, pause)


def token_client(api: str, token: str, pause: float = WRITE_PAUSE_SECONDS) -> Client:
    """A client that acts as the owner of a token."""
    return client(api, Auth.Token(token), pause)


def app_client(
    api: str, app_id: str, key: str, repository: str, pause: float = WRITE_PAUSE_SECONDS
) -> tuple[Client, str]:
    """A client that acts as an App's installation in a repository, and the App's slug."""
    app = Auth.AppAuth(app_id, key)
    as_app = client(api, app, pause)
    installation = as_app.get(f"/repos/{repository}/installation").data["id"]
    slug = str(as_app.get("/app").data["slug"])
    inside = app.get_installation_auth(int(installation), requester=_requester(api, app))
    made = client(api, inside, pause)
    made.calls = as_app.calls
    return made, slug


def _requester(api: str, auth: Auth.Auth) -> Requester:
    return Requester(
        auth=auth,
        base_url=api or API,
        timeout=TIMEOUT_SECONDS,
        user_agent="nightfuzz",
        per_page=PER_PAGE,
        verify=True,
        retry=urllib3.Retry(total=0, redirect=0),
        pool_size=None,
    )
