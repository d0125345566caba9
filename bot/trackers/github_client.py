"""The connection to GitHub. The one module that imports PyGithub.

Invariant: PyGithub's requester is used, for authentication (tokens, App installations) and the connection;
its own retries, which repeat a POST after a 502, are off, and its objects, which fetch what they lack on
access, are left alone: calls are counted, and each is one that `bot.trackers` has made. Redirects are
answers: PyGithub would send writes along, and drop the parameters of a listing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import urllib3
from github import Auth, Consts, GithubException
from github.Requester import (
    HTTPRequestsConnectionClass,
    HTTPSRequestsConnectionClass,
    Requester,
    RequestsResponse,
)
from jwt import InvalidKeyError

from bot.errors import UserMistake
from bot.trackers.client import PER_PAGE, TIMEOUT_SECONDS, WRITE_PAUSE_SECONDS, Client
from bot.trackers.protocol import TrackerError

API = Consts.DEFAULT_BASE_URL
MOVED = "x-moved-to"
"""The name under which an answer's `location` gets past PyGithub."""


def client(api: str, auth: Auth.Auth, pause: float = WRITE_PAUSE_SECONDS) -> Client:
    """A client of the API at an address; empty: GitHub's."""
    requester = _requester(api, auth)
    connection = _connection(api or API)

    def transport(
        method: str, path: str, parameters: Mapping[str, Any], body: Mapping[str, Any] | None
    ) -> tuple[int, Mapping[str, str], str]:
        try:
            status, headers, text = requester.requestJson(
                method, path, parameters=dict(parameters), input=body, cnx=connection
            )
        except GithubException as error:
            # Only from getting an installation's token: everything else comes as an answer.
            raise TrackerError(f"the App's installation gives no token: {error.status}") from None
        if MOVED in headers:
            headers = {**headers, "location": headers[MOVED]}
        return status, headers, text

    return Client(transport, api or API, pause)


def token_client(api: str, token: str, pause: float = WRITE_PAUSE_SECONDS) -> Client:
    """A client that acts as the owner of a token."""
    return client(api, Auth.Token(token), pause)


def app_client(
    api: str, app_id: str, key: str, repository: str, pause: float = WRITE_PAUSE_SECONDS
) -> tuple[Client, str]:
    """A client that acts as an App's installation in a repository, and the App's slug."""
    app = Auth.AppAuth(app_id, key)
    try:
        app.create_jwt()
    except InvalidKeyError:
        raise UserMistake(
            "the App's key is no private key: set NIGHTFUZZ_APP_KEY to the text of its .pem file"
        ) from None
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


def _connection(api: str) -> HTTPRequestsConnectionClass | HTTPSRequestsConnectionClass:
    address = urlsplit(api)
    kind = _Secure if address.scheme == "https" else _Plain
    retry = urllib3.Retry(total=0, redirect=0)
    return kind(address.hostname or "", address.port, timeout=TIMEOUT_SECONDS, retry=retry)


class _Secure(HTTPSRequestsConnectionClass):
    def getresponse(self) -> RequestsResponse:
        return _without_location(super().getresponse())


class _Plain(HTTPRequestsConnectionClass):
    def getresponse(self) -> RequestsResponse:
        return _without_location(super().getresponse())


def _without_location(response: RequestsResponse) -> RequestsResponse:
    """An answer that PyGithub does not follow."""
    if "location" in response.headers and 300 <= response.status < 400:
        response.headers[MOVED] = response.headers.pop("location")
    return response
