"""What a host refuses, loses or puts off, and the one line that a person reads; on both kinds of host."""

from __future__ import annotations

import socket
import ssl
import traceback
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
from bot.trackers.client import TRIES
from bot.trackers.opening import pull_host, tracker
from bot.trackers.protocol import MissingError, TrackerError, UncertainError
from tests.unit.answering import TOKEN, Make, Says, answering, gitee_at, github_at, message


@pytest.fixture(params=[github_at, gitee_at])
def make(request: pytest.FixtureRequest) -> Make:
    made: Make = request.param
    return made


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


def test_a_password_in_netrc_does_not_go_in_place_of_the_token(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine localhost login me password mine\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with answering(Says(404, message("Not Found"))) as server:
        with pytest.raises(MissingError):
            make(server.url).issue("1")
        assert all(headers["Authorization"].endswith(TOKEN) for _, _, headers in server.asked)


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
