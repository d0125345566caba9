"""Requests to an OpenAI-compatible endpoint. The one place of the engine that opens a connection.

Invariant: `ask` ends within its time, its tries and the client's patience, with a reply, with `Unanswered`
(this request has none) or with `Unusable` (no later one will have one; it is said once and holds). Messages
are one line, name no header and hold no key; a redirect is not followed, since the key would go along.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import requests
import urllib3
from requests.auth import AuthBase

from fuzzers.alignguard.llm.cache import Cache
from fuzzers.alignguard.llm.endpoint import Endpoint, Message, Secret
from fuzzers.alignguard.llm.spending import Spending, estimated
from fuzzers.records import Json

TRIES = 3
BACKOFF_SECONDS = 1.0
"""Before the second try; twice as long before the third."""

CONNECT_SECONDS = 10.0
LARGEST_ANSWER = 2**20
"""Bytes. A program has a fiftieth of it."""

LONGEST_SAID = 200
"""Characters of what a server says about a refusal."""

ANSWER_TOKENS = 1_500
"""Tokens of one answer: five times a long program."""

NO_RETRY_AFTER_SECONDS = 10.0
"""After a rate limit that says no time."""

MOST_WAITS = 6
"""Waits that a server may ask for on one request, however short they are."""

FAILURES_IN_A_ROW = 3
"""Requests without an answer, each with all its tries, after which the endpoint counts as down."""

TEMPERATURE = 0.9

DISPENSABLE = ("seed", "temperature", "max_tokens")
"""Parameters that some models refuse; the request is sent again without the one that the refusal names."""

REFUSALS: dict[int, str] = {
    401: "it refuses the key ({status}); set NIGHTFUZZ_LLM_KEY to one that it takes",
    402: "it wants to be paid ({status})",
    403: "it refuses the key ({status}); set NIGHTFUZZ_LLM_KEY to one that may use this model",
    404: "it has no such address or model ({status}); see llm_url and llm_model",
    405: "it takes no chat requests there ({status}); see llm_url",
    410: "it has no such address or model any more ({status}); see llm_url and llm_model",
}
"""What ends the endpoint's use, where the status alone tells."""


class Unanswered(Exception):
    """This request has no answer that can be used; the message says why."""


class Unusable(Exception):
    """The endpoint cannot be used (any more) in this run; the message is one line for people."""


class _Passing(Exception):
    """What may be otherwise at the next try, in `wait` seconds if the server said so."""

    def __init__(self, said: str, wait: float | None = None) -> None:
        super().__init__(said)
        self.wait = wait


@dataclass(frozen=True)
class Reply:
    """What the model said."""

    text: str
    cached: bool = False


@dataclass(frozen=True)
class _Bearer(AuthBase):
    """Sets the header itself, so that no netrc sets another one."""

    key: Secret

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self.key:
            request.headers["Authorization"] = f"Bearer {self.key.reveal()}"
        return request


@dataclass
class Client:
    """One run's requests. `backoff` is before the second try, `rest` after a rate limit without a time,
    `patience` what waiting for rate limits may take, all in all; `stopped`, once set, ends every
    wait."""

    endpoint: Endpoint
    cache: Cache
    backoff: float = BACKOFF_SECONDS
    rest: float = NO_RETRY_AFTER_SECONDS
    patience: float = 300.0
    stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.spending = Spending(self.endpoint.allowance)
        self.unusable = ""
        self._failures = 0
        self._left_out: set[str] = set()

    def ask(self, messages: Sequence[Message], seed: int) -> Reply:
        """The model's answer to a conversation; the same one for the same conversation and seed."""
        asked = {
            "url": self.endpoint.url,
            "model": self.endpoint.model,
            "messages": list(messages),
            "seed": seed,
        }
        kept = self.cache.find(asked)
        if kept is not None:
            self.spending.cached += 1
            return Reply(kept["text"], cached=True)
        if self.unusable:
            raise Unusable(self.unusable)
        try:
            text = self._patiently(messages, seed)
        except Unanswered as failure:
            self._failures += 1
            if self._failures >= FAILURES_IN_A_ROW:
                self._give_up(f"{self._failures} requests in a row had no answer; the last: {failure}")
            raise
        self._failures = 0
        self.cache.keep(asked, {"text": text})
        return Reply(text)

    def _give_up(self, why: str) -> Unusable:
        self.unusable = f"the model at {self.endpoint.url} is not asked any more: {why}"
        return Unusable(self.unusable)

    def _patiently(self, messages: Sequence[Message], seed: int) -> str:
        tries, waits = 0, 0
        while True:
            try:
                return self._once(messages, seed)
            except _Passing as failure:
                said, wait = str(failure), failure.wait
            if wait is None:
                wait = self.backoff * 2**tries
                tries += 1
            else:
                self.patience -= wait
                waits += 1
                if self.patience < 0:
                    raise self._give_up(f"{said}, and asks to wait {wait:.0f} s")
            if tries == TRIES or waits > MOST_WAITS:
                raise Unanswered(said)
            if self.stopped.wait(wait):
                raise self._give_up("the run was stopped")

    def _once(self, messages: Sequence[Message], seed: int) -> str:
        prompt = sum(estimated(message["content"]) for message in messages)
        if over := self.spending.exceeded_by(prompt, ANSWER_TOKENS):
            raise self._give_up(over)
        self.spending.calls += 1
        status, headers, body = self._send(self._body(messages, seed))
        said = self._said(body)
        if status in REFUSALS:
            raise self._give_up(REFUSALS[status].format(status=status) + (f": {said}" if said else ""))
        if 300 <= status < 400:
            raise self._give_up(f"it answers {status} and points elsewhere; see llm_url")
        if status == requests.codes.too_many_requests:
            raise _Passing("it answers 429, too many requests", _asked_to_wait(headers, self.rest))
        if status >= 500 or status == requests.codes.request_timeout:
            raise _Passing(f"it answers {status}", _asked_to_wait(headers, None))
        if status != requests.codes.ok:
            self._leave_out(said)
            raise Unanswered(f"it answers {status}: {said}")
        return self._content(body, prompt)

    def _body(self, messages: Sequence[Message], seed: int) -> Json:
        body: Json = {"model": self.endpoint.model, "messages": list(messages), "stream": False}
        extra: Json = {"seed": seed, "temperature": TEMPERATURE, "max_tokens": ANSWER_TOKENS}
        body |= {name: value for name, value in extra.items() if name not in self._left_out}
        if "max_tokens" in self._left_out:
            body["max_completion_tokens"] = ANSWER_TOKENS
        return body

    def _leave_out(self, said: str) -> None:
        """Try once more without a parameter that the refusal names."""
        named = [name for name in DISPENSABLE if name in said and name not in self._left_out]
        if named:
            self._left_out.update(named)
            raise _Passing(f"it does not take {', '.join(named)}", 0.0)

    def _send(self, body: Json) -> tuple[int, Mapping[str, str], bytes]:
        allowed = self.endpoint.allowance.seconds
        end = time.monotonic() + allowed
        within = (min(CONNECT_SECONDS, allowed), allowed)
        url = f"{self.endpoint.url.rstrip('/')}/chat/completions"
        try:
            with (
                requests.Session() as session,
                closing(
                    session.post(
                        url,
                        json=body,
                        auth=_Bearer(self.endpoint.key),
                        timeout=within,
                        allow_redirects=False,
                        stream=True,
                    )
                ) as answer,
            ):
                return answer.status_code, answer.headers, _read(answer, end)
        except (requests.Timeout, urllib3.exceptions.TimeoutError):
            raise Unanswered(f"no answer within {allowed:g} s") from None  # the next would take as long
        except (requests.ConnectionError, urllib3.exceptions.HTTPError) as error:
            raise _Passing(f"the connection failed ({type(error).__name__})") from None
        except (requests.RequestException, ValueError) as error:
            raise self._give_up(f"the request cannot be made ({type(error).__name__}); see llm_url") from None

    def _content(self, body: bytes, prompt: int) -> str:
        try:
            plain = json.loads(body)
            content = plain["choices"][0]["message"]["content"]
        except (ValueError, LookupError, TypeError, RecursionError):
            raise Unanswered("its answer is no chat completion") from None
        if isinstance(content, list):  # in parts
            content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
        if not isinstance(content, str):
            raise Unanswered("its answer has no text")
        usage = plain.get("usage")
        counts = usage if isinstance(usage, dict) else {}
        self.spending.tokens_in += _count(counts.get("prompt_tokens"), prompt)
        self.spending.tokens_out += _count(counts.get("completion_tokens"), estimated(content))
        return self.endpoint.key.hide(content)

    def _said(self, body: bytes) -> str:
        """What a refusal says, in one line without the key."""
        text = body.decode("utf-8", "replace")
        try:
            plain: Any = json.loads(body)
            error = plain.get("error", plain)
            text = str(error.get("message", text)) if isinstance(error, dict) else str(error)
        except (ValueError, AttributeError, RecursionError):
            pass
        shown = "".join(c if c.isprintable() else " " for c in self.endpoint.key.hide(text))
        return " ".join(shown.split())[:LONGEST_SAID]


def _read(answer: requests.Response, end: float) -> bytes:
    """The body, of at most LARGEST_ANSWER bytes, by `end`: a server that sends a byte a second never
    runs into a read time-out."""
    parts: list[bytes] = []
    size = 0
    while chunk := answer.raw.read1(1 << 16, decode_content=True):
        size += len(chunk)
        if size > LARGEST_ANSWER:
            raise _Passing(f"its answer has more than {LARGEST_ANSWER} bytes")
        if time.monotonic() > end:
            raise Unanswered("its answer does not end in time")
        parts.append(chunk)
    return b"".join(parts)


def _count(told: object, otherwise: int) -> int:
    return told if isinstance(told, int) and not isinstance(told, bool) and told >= 0 else otherwise


def _asked_to_wait(headers: Mapping[str, str], otherwise: float | None) -> float | None:
    """Seconds that `Retry-After` asks for, given as a number or as a date."""
    told = headers.get("Retry-After", "").strip()
    try:
        return max(0.0, float(told)) if told else otherwise
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(told) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return otherwise
