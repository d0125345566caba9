"""What a host refuses, loses or puts off, and the one line that a person reads; on both kinds of host."""

from __future__ import annotations

import socket
import ssl
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from bot.errors import UserMistake
from bot.settings import load
from bot.trackers import gitee, github_client
from bot.trackers.client import TRIES, Client
from bot.trackers.gitee import Gitee, gitee_client
from bot.trackers.github import GitHub
from bot.trackers.github_client import token_client
from bot.trackers.github_pulls import GitHubPulls
from bot.trackers.opening import pull_host, tracker
from bot.trackers.protocol import (
    Account,
    MissingError,
    ThrottledError,
    TrackerError,
    UncertainError,
)
from tests.unit.answering import Answering, Says, answering

TOKEN = "ghp_" + "s3cretS3cretS3cretS3cretS3cret123456"

Make = Callable[[str], GitHub | Gitee]


def hurried(client: Client) -> Client:
    client.backoff = 0.01
    return client


@pytest.fixture(params=["github", "gitee"])
def make(request: pytest.FixtureRequest) -> Make:
    if request.param == "github":
        return lambda url: GitHub(hurried(token_client(url, TOKEN, 0.0)), "o/r")
    return lambda url: Gitee(hurried(gitee_client(url, TOKEN, 0.0)), "o/r")


def message(text: str) -> dict[str, str]:
    return {"message": text}


REFUSALS = [
    (Says(401, message("Bad credentials")), "the token is wrong or has expired"),
    (Says(403, message("No"), {"X-Accepted-GitHub-Permissions": "issues=write"}), "it needs issues=write"),
    (Says(403, message("Must have admin rights")), "the token may not do this: Must have admin rights"),
    (Says(403, message("Repository was archived so is read-only.")), "the repository is archived"),
    (Says(403, message("Sorry. Your account was suspended.")), "is blocked"),
    (Says(403, message("Repository access blocked")), "is blocked"),
    (Says(404, message("Not Found")), "not there, or the token may not see it"),
    (Says(410, message("Issues are disabled for this repo")), "issues are switched off"),
    (Says(410, message("This issue was deleted")), "not there"),
    (Says(422, {"message": "Validation Failed", "errors": [{"field": "title"}]}), r'refused \(422\).*title'),
    (Says(422, "<html>"), "no reason given"),
    (Says(451, message("Repository access blocked")), "this repository has been blocked"),
    (Says(301, message("Moved Permanently"), {"Location": "/repositories/7/issues"}), "has moved to /repos"),
    (Says(307, message("Moved"), {"Location": "/repositories/7/issues"}), "has moved to /repos"),
    (Says(302, "", {}), "has moved to a place that it does not name"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "line"), REFUSALS, ids=[f"{said.status} {line[:20]}" for said, line in REFUSALS]
)
def test_a_refusal_is_one_line_asked_for_once(make: Make, said: Says, line: str) -> None:
    with answering(said) as server:
        for ask in (
            lambda: make(server.url).create("one", "text"),
            lambda: make(server.url).client.get("/repos/o/r/issues"),
        ):
            before = len(server.asked)
            with pytest.raises(TrackerError, match=line) as refused:
                ask()
            assert "\n" not in str(refused.value)
            assert refused.value.exit_code == 3
            assert not isinstance(refused.value, UncertainError), "nothing was done"
            assert len(server.asked) == before + 1, "no redirect is followed, and no refusal tried again"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of localhost, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    pem = serialization.Encoding.PEM
    path = tmp_path_factory.mktemp("tls") / "localhost.pem"
    path.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain) + made.public_bytes(pem)
    )
    return path


def tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_over_tls_a_redirected_write_goes_nowhere(
    make: Make, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    moved = Says(301, message("Moved Permanently"), {"Location": "/repositories/7/issues"})
    with answering(moved, tls=tls(certificate)) as server:
        with pytest.raises(TrackerError, match="has moved to /repositories/7/issues"):
            make(server.url).create("one", "text")
        assert len(server.asked) == 1


def test_what_is_not_there_is_told_apart(make: Make) -> None:
    with answering(Says(404, message("Not Found"))) as server, pytest.raises(MissingError):
        make(server.url).issue("1")


@pytest.mark.parametrize(
    "said",
    [Says(), Says(hangs=True), Says(500, message("oops")), Says(502, "<html>"), Says(503, ""), Says(504, "")],
    ids=["reset", "silence", "500", "502", "503", "504"],
)
def test_a_post_whose_answer_is_lost_is_uncertain_and_sent_once(
    make: Make, said: Says, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(github_client, "TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(gitee, "TIMEOUT_SECONDS", 0.3)
    with answering(said) as server:
        with pytest.raises(UncertainError) as lost:
            make(server.url).create("one", "text")
        assert len(server.asked) == 1
        assert "\n" not in str(lost.value)


@pytest.mark.parametrize("said", [Says(), Says(502, "<html>"), Says(503, "")], ids=["reset", "502", "503"])
def test_what_is_idempotent_is_tried_a_few_times_and_then_given_up(make: Make, said: Says) -> None:
    with answering(said) as server:
        with pytest.raises(TrackerError) as failed:
            make(server.url).edit("1", title="two")
        assert not isinstance(failed.value, UncertainError)
        assert server.paths == [server.paths[0]] * TRIES


def test_a_host_that_nobody_listens_at_is_no_uncertainty(make: Make) -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        url = f"http://localhost:{free.getsockname()[1]}"
    with pytest.raises(TrackerError, match="cannot be reached") as refused:
        make(url).create("one", "text")
    assert not isinstance(refused.value, UncertainError), "nothing was sent"


LIMITS = [
    Says(429, message("slow down"), {"Retry-After": "1"}),
    Says(403, message("You have exceeded a secondary rate limit."), {"Retry-After": "1"}),
    Says(403, message("API rate limit exceeded"), {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}),
]


@pytest.mark.parametrize("said", LIMITS, ids=["429", "secondary", "used up"])
def test_a_limit_is_waited_for_as_long_as_it_asks(make: Make, said: Says) -> None:
    with answering(said, Says(404, message("Not Found"))) as server:
        began = time.monotonic()
        with pytest.raises(MissingError):
            make(server.url).create("one", "text")
        assert 0.9 < time.monotonic() - began < 10
        assert len(server.asked) == 2


PUT_OFF = [
    Says(429, message("slow down"), {"Retry-After": "3600"}),
    Says(403, message("Rate Limit Exceeded"), {"Retry-After": "3600"}),
    Says(403, message("limit"), {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999"}),
]


@pytest.mark.parametrize("said", PUT_OFF, ids=["429", "secondary", "used up"])
def test_a_limit_longer_than_a_run_is_for_the_next_one(make: Make, said: Says) -> None:
    with answering(said) as server:
        with pytest.raises(ThrottledError, match="the next run goes on") as put_off:
            make(server.url).create("one", "text")
        assert put_off.value.exit_code == 4
        assert len(server.asked) == 1


@pytest.mark.parametrize("text", ["You have exceeded a secondary rate limit", "Rate Limit Exceeded"])
def test_a_limit_without_a_time_is_known_by_its_words(make: Make, text: str) -> None:
    with answering(Says(403, message(text))) as server:
        host = make(server.url)
        host.client.patience = 30.0
        with pytest.raises(ThrottledError):
            host.create("one", "text")


def test_a_password_in_netrc_does_not_go_in_place_of_the_token(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine localhost login me password mine\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with answering(Says(404, message("Not Found"))) as server:
        with pytest.raises(MissingError):
            make(server.url).issue("1")
        assert all(headers["Authorization"].endswith(TOKEN) for _, _, headers in server.asked)


def test_patience_is_for_all_requests_together(make: Make) -> None:
    wait = Says(429, message("slow down"), {"Retry-After": "1"})
    with answering(wait) as server:
        host = make(server.url)
        host.client.patience = 2.5
        with pytest.raises(ThrottledError):
            host.create("one", "text")
        assert len(server.asked) == 3


def test_writes_are_spaced_and_readings_are_not(make: Make) -> None:
    with answering(Says(404, message("Not Found"))) as server:
        host = make(server.url)
        host.client.pause = 0.3
        began = time.monotonic()
        for _ in range(3):
            with pytest.raises(MissingError):
                host.create("one", "text")
        assert time.monotonic() - began >= 0.6
        began = time.monotonic()
        for _ in range(5):
            with pytest.raises(MissingError):
                host.issue("1")
        assert time.monotonic() - began < 0.6


LEAKS = [
    Says(401, message(f"Bad credentials: {TOKEN}")),
    Says(403, {"message": f"token {TOKEN} may not", "errors": [TOKEN]}),
    Says(422, {"message": "Validation Failed", "errors": [{"value": f"Bearer {TOKEN}"}]}),
    Says(301, message("Moved"), {"Location": f"https://{TOKEN}@elsewhere/{TOKEN}"}),
    Says(),
    Says(502, TOKEN),
    Says(200, f"<html>{TOKEN}"),
    Says(200, {"token": TOKEN}),
]


@pytest.mark.parametrize("said", LEAKS)
def test_no_message_and_no_traceback_has_the_token(make: Make, said: Says) -> None:
    with answering(said) as server:
        host = make(server.url)
        with pytest.raises(TrackerError) as refused:
            host.create("one", "text")
        assert any(TOKEN in value for _, _, headers in server.asked for value in headers.values()), (
            "it was sent"
        )
    assert TOKEN not in "".join(traceback.format_exception(refused.value))
    assert TOKEN not in repr(host)


def test_an_answer_that_is_no_issue_is_uncertain(make: Make) -> None:
    for plain in ({}, {"number": 1}, {"number": 1, "title": "x", "html_url": "u", "state": "odd", "user": 3}):
        with answering(Says(201, plain)) as server, pytest.raises(UncertainError, match="no issue"):
            make(server.url).create("one", "text")


ABOUT = {"id": 7, "full_name": "o/r", "default_branch": "main", "archived": False, "has_issues": True}


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


def github(server: Answering) -> GitHub:
    return GitHub(hurried(token_client(server.url, TOKEN, 0.0)), "o/r")


@pytest.mark.parametrize("login", ["bot", "somebody"])
def test_an_issue_is_ours_by_the_number_of_its_account_not_by_its_name(login: str) -> None:
    plain = {"number": 1, "html_url": "u", "title": "t", "state": "open", "body": "b"}
    theirs, ours = plain | {"user": {"login": login, "id": 8}}, plain | {"user": {"login": "old", "id": 7}}
    me = Says(200, {"login": "bot", "id": 7})
    with answering(me, Says(200, [theirs, ours | {"number": 2}, ours | {"pull_request": {}}])) as server:
        assert [issue.number for issue in github(server).own_issues()] == ["2"]


def test_an_archived_repository_is_refused_before_anything_is_written() -> None:
    archived = Says(200, {**ABOUT, "archived": True})
    with answering(archived) as server, pytest.raises(TrackerError, match="o/r is archived"):
        github(server).repository_id()


def test_a_moved_repository_is_asked_for_its_new_name() -> None:
    moved = Says(301, message("Moved Permanently"), {"Location": "/repositories/7"})
    with answering(moved, Says(200, {**ABOUT, "full_name": "new/name"})) as server:
        with pytest.raises(TrackerError, match="o/r has moved to new/name: set `repository` to that"):
            github(server).repository_id()
        assert server.paths == ["GET /repos/o/r", "GET /repositories/7"]


def test_an_issue_that_has_moved_to_another_repository_is_none_of_this_one() -> None:
    moved = Says(301, message("Moved Permanently"), {"Location": "/repositories/8/issues/3"})
    for ask in (lambda host: host.issue("1"), lambda host: host.edit("1", body="x")):
        with answering(moved, Says(200, ABOUT)) as server, pytest.raises(MissingError, match="has moved"):
            ask(github(server))
        assert "GET /repositories/8/issues/3" not in server.paths


def test_an_app_token_that_cannot_tell_its_owner_says_what_to_set() -> None:
    said = Says(403, message("Resource not accessible by integration"))
    with answering(said) as server, pytest.raises(TrackerError, match="set `bot_login`"):
        github(server).account()


def test_an_account_is_known_by_its_number_and_told_to_be_a_bot() -> None:
    with answering(Says(200, {"login": "fuzz[bot]", "id": 41, "type": "Bot"})) as server:
        host = GitHub(hurried(token_client(server.url, TOKEN, 0.0)), "o/r", "fuzz[bot]")
        assert host.account() == Account("fuzz[bot]", "41", is_bot=True)
        assert host.account().is_bot
        assert server.paths == ["GET /users/fuzz%5Bbot%5D"]


def test_a_commit_is_asked_for_by_its_full_sha_alone() -> None:
    with answering(Says(200, {})) as server:
        pulls = GitHubPulls(hurried(token_client(server.url, TOKEN, 0.0)), "o/r")
        for name in ("main", "abc", "A" * 40, "0" * 41, "", "../x"):
            with pytest.raises(TrackerError, match="no full sha"):
                pulls.text_at("pyproject.toml", name)
        assert server.asked == []


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"tracker": "github", "token": TOKEN}, "needs `repository`"),
        ({"tracker": "github", "repository": "o/r"}, "needs a token: set NIGHTFUZZ_TOKEN"),
        ({"tracker": "gitee", "token": TOKEN}, "needs `repository`"),
        ({"tracker": "gitee", "repository": "o/r"}, "needs a token: set NIGHTFUZZ_TOKEN"),
        ({"tracker": "github", "repository": "o/r", "app_id": "7"}, "set NIGHTFUZZ_APP_KEY"),
    ],
)
def test_what_a_tracker_lacks_is_said_before_its_host_is_asked(given: dict[str, str], line: str) -> None:
    settings = load({"api": "http://localhost:9", **given})
    with pytest.raises(UserMistake, match=line) as mistake:
        tracker(settings, settings.out)
    assert mistake.value.exit_code == 2
    assert TOKEN not in str(mistake.value)


def test_an_upstream_must_be_named_and_pull_requests_need_github() -> None:
    settings = load({"tracker": "github", "repository": "o/r", "token": TOKEN})
    with pytest.raises(UserMistake, match="needs `upstream`"):
        tracker(settings, settings.out, upstream=True)
    with pytest.raises(UserMistake, match="only on GitHub"):
        pull_host(load({"tracker": "gitee", "repository": "o/r", "token": TOKEN}))
