"""Whether a request is one that Gitee's description of its API has.

Invariant: what is described is read from `gitee-client`, which somebody else made from Gitee's own
description: each of its methods has one path, one verb, and the names of its parameters. A request is wrong
if its path is not described, if it has a parameter that is not, or lacks one that must be there.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import gitee_client

VERBS = {"_get": "GET", "_post": "POST", "_put": "PUT", "_patch": "PATCH", "_delete": "DELETE"}
MUST_BE = "(**必填**)"


@dataclass(frozen=True)
class Described:
    """One operation: its path below the API's address, and its parameters beside those in the path."""

    verb: str
    path: re.Pattern[str]
    template: str
    names: frozenset[str]
    needed: frozenset[str]


def problems(verb: str, path: str, given: Mapping[str, Any]) -> list[str]:
    """What is wrong with a request, a line each. `path` begins with `/repos` or `/user`."""
    fitting = [one for one in described() if one.verb == verb and one.path.fullmatch(path)]
    if not fitting:
        return [f"{verb} {path}: not described"]
    # The most literal template: `issues/comments/{id}` before `issues/{number}/{x}`.
    found = min(fitting, key=lambda one: one.template.count("{"))
    return [
        *(f"{verb} {found.template}: {name} is not described" for name in sorted(given.keys() - found.names)),
        *(f"{verb} {found.template}: {name} must be there" for name in sorted(found.needed - given.keys())),
    ]


@cache
def described() -> tuple[Described, ...]:
    """Every operation."""
    folder = Path(gitee_client.__file__).parent / "api"
    return tuple(one for file in sorted(folder.glob("*.py")) for one in _of_module(file))


def _of_module(file: Path) -> Iterator[Described]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its docstrings have escapes that are none
        parsed = ast.parse(file.read_text())
    for node in ast.walk(parsed):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield from _of_method(node)


def _of_method(node: ast.FunctionDef) -> Iterator[Described]:
    """The operation of a method: `url = build_url("", template, ...)`, then `self._verb(url, data={...})`."""
    template, verb, names = "", "", set()
    for part in ast.walk(node):
        if not isinstance(part, ast.Call):
            continue
        if isinstance(part.func, ast.Name) and part.func.id == "build_url":
            literal = part.args[1]
            template = str(literal.value).removeprefix("/v5") if isinstance(literal, ast.Constant) else ""
        if isinstance(part.func, ast.Attribute) and part.func.attr in VERBS:
            verb = VERBS[part.func.attr]
            for given in part.keywords:
                if isinstance(given.value, ast.Dict):
                    names |= {ast.literal_eval(key) for key in given.value.keys if key is not None}
    if template and verb:
        told = ast.get_docstring(node) or ""
        needed = {name for name in names if re.search(rf"^\s*{name}: .*{re.escape(MUST_BE)}", told, re.M)}
        template = template.replace("(/{path})", "/{path}")
        pattern = re.sub(r"\\{(\w+)\\}", _segment, re.escape(template))
        yield Described(verb, re.compile(pattern), template, frozenset(names), frozenset(needed))


def _segment(found: re.Match[str]) -> str:
    return ".+" if found[1] == "path" else "[^/]+"
