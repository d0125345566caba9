"""Whether a request is one that GitHub's own description of its API allows.

Invariant: a request is wrong if its path or method is not described, if a parameter is unknown, missing or of
another type, or if its body does not validate or has a property that is not described: GitHub ignores those
in silence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jsonschema

from tests.rig.node import node_modules

MOST_A_PAGE = 100

LONGEST_SAID = 200
"""Characters of what a validator says, from the end: a long value stands at the beginning."""


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
        self.whole = json.loads(file.read_bytes(), object_hook=_nullable)
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
        given = {name for name, _ in query}
        problems = [
            f"query parameter {name} is missing"
            for name in (one["name"] for one in described if one["in"] == "query" and one.get("required"))
            if name not in given
        ]
        for kind, pairs in (("path", list(path.items())), ("query", query)):
            for name, value in pairs:
                schema = by_name.get((kind, name))
                if schema is None:
                    problems.append(f"unknown {kind} parameter {name}")
                elif not self._fits(value, schema):
                    problems.append(f"{kind} parameter {name}: {value!r} is no {schema.get('type')}")
                elif name == "per_page" and int(value) > MOST_A_PAGE:
                    problems.append(f"per_page: {value} is more than {MOST_A_PAGE}, which is what comes")
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
        return self._against(schema, plain) + self._undescribed(plain, schema, "")

    def event_problems(self, event: str, action: str, payload: Any) -> list[str]:
        """What is wrong with a webhook's payload."""
        name = "-".join(filter(None, (event.replace("_", "-"), action)))
        described = self.whole["x-webhooks"][name]["post"]["requestBody"]
        return self._against(described["content"]["application/json"]["schema"], payload)

    def answer_problems(self, method: str, template: str, status: int, plain: Any) -> list[str]:
        """What is wrong with an answer; `template` is the path as it is described."""
        answers = self.whole["paths"][template][method.lower()]["responses"]
        described = self._resolved(answers[str(status)])
        return self._against(described["content"]["application/json"]["schema"], plain)

    def _against(self, schema: dict[str, Any], plain: Any) -> list[str]:
        whole = {**self._resolved(schema), "components": self.whole["components"]}
        return [
            f"{'/'.join(map(str, error.absolute_path)) or 'body'}: {error.message[-LONGEST_SAID:]}"
            for error in jsonschema.Draft202012Validator(whole).iter_errors(plain)
        ]

    def _undescribed(self, plain: Any, schema: dict[str, Any], where: str) -> list[str]:
        """Properties of objects that no alternative of their schema has."""
        options = list(self._options(schema))
        if isinstance(plain, list):
            items = {"anyOf": [one["items"] for one in options if "items" in one]}
            return [
                problem
                for item in plain
                for problem in self._undescribed(item, items, f"{where.rstrip('.')}[].")
            ]
        known: dict[str, Any] = {}
        for one in options:
            known = one.get("properties", {}) | known
        if (
            not isinstance(plain, dict)
            or not known
            or any(one.get("additionalProperties") for one in options)
        ):
            return []
        found = [f"{where}{name}: not described" for name in plain if name not in known]
        for name in plain.keys() & known.keys():
            found += self._undescribed(plain[name], known[name], f"{where}{name}.")
        return found

    def _options(self, schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """A schema and all that it is put together from."""
        schema = self._resolved(schema)
        yield schema
        for key in ("oneOf", "anyOf", "allOf"):
            for one in schema.get(key, ()):
                yield from self._options(one)

    def _resolved(self, plain: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in plain:
            found: Any = self.whole
            for part in plain["$ref"].removeprefix("#/").split("/"):
                found = found[part.replace("~1", "/").replace("~0", "~")]
            plain = found
        return plain


def _nullable(plain: dict[str, Any]) -> dict[str, Any]:
    """OpenAPI's way to say that null is allowed, in JSON Schema's."""
    if plain.get("nullable") is not True:
        return plain
    rest = {name: value for name, value in plain.items() if name != "nullable"}
    if isinstance(rest.get("type"), str) and not {"allOf", "oneOf", "anyOf", "$ref"} & rest.keys():
        allowed = {"enum": [*rest["enum"], None]} if "enum" in rest else {}
        return {**rest, "type": [rest["type"], "null"], **allowed}
    return {"anyOf": [rest, {"type": "null"}]}


SPANNING = frozenset({"path", "ref", "basehead"})
"""Parameters that may hold slashes."""


def _segment(found: re.Match[str]) -> str:
    return f"(?P<{found[1]}>{'.+' if found[1] in SPANNING else '[^/]+'})"


@cache
def description() -> Description:
    """GitHub's."""
    return Description(node_modules() / "@octokit/openapi/generated/api.github.com.json")
