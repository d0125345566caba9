"""An OpenAI-compatible endpoint as it was configured, and the key to it.

Invariant: the key is in no text: not in a `repr`, not in a message, not in what a server says back. The one
place that reads it makes the header of a request.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

Message = dict[str, str]
"""`role` and `content`."""

SHORTEST_HIDDEN = 4
"""Characters below which a key is not looked for in texts: it would be found in every word."""


class Secret:
    """A text that shows itself to nobody but who asks for it by name."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text.strip()

    def reveal(self) -> str:
        """The text."""
        return self._text

    def hide(self, text: str) -> str:
        """`text` with every copy of the secret blotted out."""
        return text.replace(self._text, "<key>") if len(self._text) >= SHORTEST_HIDDEN else text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "Secret(...)"


@dataclass(frozen=True)
class Allowance:
    """What a run may take: requests, tokens of prompts and answers together, money at the given prices for a
    million tokens (None: no bound), and the seconds of one answer."""

    calls: int = 200
    tokens: int = 1_000_000
    money: float | None = None
    price_in: float = 0.0
    price_out: float = 0.0
    seconds: float = 60.0


@dataclass(frozen=True)
class Endpoint:
    """`url` is the address below which `/chat/completions` is."""

    url: str
    model: str
    key: Secret = field(default_factory=Secret)
    allowance: Allowance = Allowance()


def flaw_of_address(url: str) -> str:
    """Why an address cannot be an endpoint's; empty when it can."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "not an address"
    if parts.scheme not in ("http", "https") or not host:
        return "not an address that begins with http:// or https://"
    if parts.username or parts.password:
        return "an address with a name or a password in it, which would be seen in messages"
    if parts.query or parts.fragment:
        return "an address with a query or a fragment"
    if any(not c.isprintable() or c.isspace() for c in url):
        return "an address with blanks or control characters"
    return ""


def flaw_of_key(key: str) -> str:
    """Why a key cannot be one, without saying it; empty when it can."""
    stripped = key.strip()
    if all("!" <= c <= "~" for c in stripped):
        return ""
    return "holds characters that no key has (blanks, line breaks, or beyond ASCII)"
