"""A request and its answer, as they pass through the proxy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Request:
    """`target` is the path with its query."""

    method: str
    target: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Without the query."""
        return urlsplit(self.target).path

    def parameter(self, name: str, default: str = "") -> str:
        """One of the query's."""
        return parse_qs(urlsplit(self.target).query).get(name, [default])[0]

    @property
    def plain(self) -> Any:
        """The body, parsed; None when it is not JSON."""
        return parsed(self.body)

    def get(self, target: str) -> Request:
        """Another request of the same person, for reading."""
        return Request("GET", target, b"", self.headers)


@dataclass(frozen=True)
class Reply:
    """What the caller is answered."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, status: int, plain: Any, **headers: str) -> Reply:
        """From what the body says."""
        return cls(status, b"" if plain is None else json.dumps(plain).encode(), headers)

    @property
    def plain(self) -> Any:
        """The body, parsed; None when it is not JSON."""
        return parsed(self.body)

    def saying(self, plain: Any) -> Reply:
        """The same with another body."""
        return Reply(self.status, json.dumps(plain).encode(), self.headers)


Forward: TypeAlias = Callable[[Request], Reply]
"""What `emulate` answers."""


def parsed(body: bytes) -> Any:
    """From JSON; None when it is none."""
    try:
        return json.loads(body) if body else None
    except ValueError:
        return None
