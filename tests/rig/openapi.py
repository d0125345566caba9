"""Whether a request is one that GitHub's own description of its API allows.

Invariant: a request is wrong if its path or method is not described, if a parameter is unknown or of
another type, or if its body does not validate or has a property that is not described: GitHub ignores those
in silence.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jsonschema

from tests.rig.node import node_modules


@dataclass(frozen=True)
class Described:
    """One operation of the description."""

    path: re.Pattern[str]
    template: str
    operation: dict[str, Any]
    shared: tuple[dict[str, Any], ...]


class Description:
    """The description, indexed by method."""

    def __init__(self, file: Path) -> None:
        self.whole = json.loads(file.read_bytes())
        self.by_method: dict[str, list[Described]] = {}
        for template, item in self.whole["paths"].items():
            pattern = re.compile(re.sub(r"\\{(\w+)\\}", _segment, re.escape(template)) + "$")
            for method, operation in item.items():
                if method in ("get", "post", "put", "patch", "delete"):
                    shared = tuple(item.get("parameters", ()))
                    described = Described(pattern, template, operation, shared)
                    self.by_method.setdefault(method.upper(), []).append(described)

    def problems(self, method: str, url: str, body: bytes) -> list[str]:
        """What is wrong with a request, a line each."""
        address = urlsplit(url)
        fitting = [one for one in self.by_method.get(method, []) if one.path.match(address.path)]
        # The most literal template: `issues/comments/{id}` before `issues/{number}/{x}`.
        fitting.sort(key=lambda one: (one.template.count("{"), -len(one.template)))
        if not fitting:
            return [f"{method} {address.path}: not described"]
        found = fitting[0]
        match = found.path.match(address.path)
        assert match is not None
        problems = [
            *self._parameters(found, match.groupdict(), parse_qsl(address.query, keep_blank_values=True))
        ]
        if method != "GET":
            problems += self._body(found, body)
        return [f"{method} {found.template}: {problem}" for problem in problems]

    def _parameters(self, found: Described, path: dict[str, str], query: list[tuple[str, str]]) -> list[str]:
        described = [self._resolved(one) for one in (*found.shared, *found.operation.get("parameters", ()))]
        by_name = {(one["in"], one["name"]): self._resolved(one["schema"]) for one in described}
        problems = []
        for kind, pairs in (("path", list(path.items())), ("query", query)):
            for name, value in pairs:
                schema = by_name.get((kind, name))
                if schema is None:
                    problems.append(f"unknown {kind} parameter {name}")
                elif not self._fits(value, schema):
                    problems.append(f"{kind} parameter {name}: {value!r} is no {schema.get('type')}")
        return problems

    def _fits(self, value: str, schema: dict[str, Any]) -> bool:
        if schema.get("type") == "integer":
            return value.isdigit()
        if schema.get("type") == "boolean":
            return value in ("true", "false")
        if schema.get("format") == "date-time":
            return re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", value) is not None
        return "enum" not in schema or value in schema["enum"]

    def _body(self, found: Described, body: bytes) -> list[str]:
        content = found.operation.get("requestBody", {})
        content = self._resolved(content).get("content", {}) if content else {}
        schema = content.get("application/json", {}).get("schema")
        if schema is None:
            return ["a body that is not described"] if body.strip() else []
        try:
            plain = json.loads(body or b"{}")
        except ValueError:
            return ["the body is not JSON"]
        whole = {**self._resolved(schema), "components": self.whole["components"]}
        problems = [
            f"{'/'.join(map(str, error.absolute_path)) or 'body'}: {error.message[:200]}"
            for error in jsonschema.Draft202012Validator(whole).iter_errors(plain)
        ]
        return problems + self._undescribed(plain, whole, "")

    def _undescribed(self, plain: Any, schema: dict[str, Any], where: str) -> list[str]:
        """Properties of objects that no alternative of their schema has."""
        schema = self._resolved(schema)
        options = [self._resolved(one) for key in ("oneOf", "anyOf", "allOf") for one in schema.get(key, ())]
        if isinstance(plain, list):
            items = [one["items"] for one in (schema, *options) if "items" in one]
            return [
                p for item in plain for kind in items[:1] for p in self._undescribed(item, kind, f"{where}[]")
            ]
        if not isinstance(plain, dict):
            return []
        known: dict[str, Any] = {}
        for one in (*options, schema):
            known |= one.get("properties", {})
        if not known:
            return []
        found = [f"{where}{name}: not described" for name in plain if name not in known]
        for name, value in plain.items():
            if name in known:
                found += self._undescribed(value, known[name], f"{where}{name}.")
        return found

    def _resolved(self, plain: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in plain:
            found: Any = self.whole
            for part in plain["$ref"].removeprefix("#/").split("/"):
                found = found[part.replace("~1", "/").replace("~0", "~")]
            plain = found
        return plain


SPANNING = frozenset({"path", "ref", "basehead"})
"""Parameters that may hold slashes."""


def _segment(found: re.Match[str]) -> str:
    return f"(?P<{found[1]}>{'.+' if found[1] in SPANNING else '[^/]+'})"


@cache
def description() -> Description:
    """GitHub's."""
    return Description(node_modules() / "@octokit/openapi/generated/api.github.com.json")
