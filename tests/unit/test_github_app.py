"""An App's installation as the bot: who it is, and with how few requests."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.errors import UserMistake
from bot.settings import load
from bot.trackers.opening import tracker
from bot.trackers.protocol import Account, TrackerError
from tests.unit.answering import Says, answering

INSTALLATION = Says(200, {"id": 5, "app_id": 7})
APP = Says(200, {"id": 7, "slug": "fuzz"})
TOKEN = Says(201, {"token": "ghs_" + "x" * 36, "expires_at": "2099-01-01T00:00:00Z", "permissions": {}})
LISTING = "/repos/o/r/issues?creator=fuzz%5Bbot%5D&direction=asc&page=1&per_page=100&sort=created&state=all"
BOT = Says(200, {"login": "fuzz[bot]", "id": 41, "type": "Bot"})


@pytest.fixture(scope="module")
def key() -> str:
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return made.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def test_an_app_acts_as_its_bot_under_one_token(key: str) -> None:
    with answering(INSTALLATION, APP, TOKEN, BOT, Says(200, [])) as server:
        settings = load(
            {"tracker": "github", "repository": "o/r", "api": server.url, "app_id": "7", "app_key": key}
        )
        bot = tracker(settings, settings.out)
        assert bot.account() == Account("fuzz[bot]", "41", is_bot=True)
        assert list(bot.own_issues()) == []
        assert server.paths == [
            "GET /repos/o/r/installation",
            "GET /app",
            "POST /app/installations/5/access_tokens",
            "GET /users/fuzz%5Bbot%5D",
            f"GET {LISTING}",
        ]
        assert [headers["Authorization"].split()[0] for _, _, headers in server.asked[3:]] == [
            "token",
            "token",
        ]


@pytest.mark.parametrize(
    ("answers", "line"),
    [
        ([Says(404, {"message": "Not Found"})], "GET /repos/o/r/installation: not there"),
        (
            [INSTALLATION, APP, Says(401, {"message": "suspended"})],
            "the App's installation gives no token: 401",
        ),
    ],
    ids=["not installed", "no token"],
)
def test_an_app_that_cannot_act_is_one_line(key: str, answers: list[Says], line: str) -> None:
    with answering(*answers) as server:
        settings = load(
            {"tracker": "github", "repository": "o/r", "api": server.url, "app_id": "7", "app_key": key}
        )
        with pytest.raises(TrackerError, match=line) as refused:
            tracker(settings, settings.out).account()
        assert "\n" not in str(refused.value)
        assert "PRIVATE KEY" not in str(refused.value)


def test_a_key_that_is_none_is_one_line() -> None:
    settings = load({"tracker": "github", "repository": "o/r", "app_id": "7", "app_key": "not a key"})
    with pytest.raises(UserMistake, match="NIGHTFUZZ_APP_KEY") as mistake:
        tracker(settings, settings.out)
    assert "not a key" not in str(mistake.value)
