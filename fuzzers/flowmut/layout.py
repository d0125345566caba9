"""Lays out a statement as `ruff format` would, for the few forms that emission writes.

Invariant: only statements that end in a bracket pair are ever broken, and at that pair (a subscript of a
call keeps to the call's closing bracket); everything that
emission writes otherwise fits one line. The reason: the worker's interpreter has no formatter.
"""

from __future__ import annotations

WIDTH = 88
"""Ruff's default line length: what a maintainer's paste is measured with."""

INDENT = "    "
_CLOSES = {"(": ")", "[": "]"}


def _outer_pair(line: str) -> int:
    """Where the bracket opens that closes at the end of the line."""
    depth = 0
    for at in range(len(line) - 1, -1, -1):
        depth += (line[at] in ")]") - (line[at] in "([")
        if depth == 0:
            return at
    raise ValueError(f"unbalanced: {line!r}")


def split_commas(text: str) -> list[str]:
    """The parts between top-level commas, outside of strings."""
    parts, depth, start, quoted = [], 0, 0, False
    for at, char in enumerate(text):
        quoted ^= char == '"'
        depth += 0 if quoted else (char in "([") - (char in ")]")
        if char == "," and depth == 0 and not quoted:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def fits(line: str, indent: str = "") -> bool:
    """Whether it fits one line."""
    return len(indent) + len(line) <= WIDTH


def lay_out(line: str, indent: str = "", tail: str = "") -> list[str]:
    """The statement, or a part of one followed by `tail`, on as few lines as the formatter would use."""
    bare = line.lstrip(" ")
    indent, line = indent + line[: len(line) - len(bare)], bare
    if not fits(line, indent) and line.startswith("return ") and len(split_commas(line)) > 1:
        line = f"return ({line.removeprefix('return ')})"
    if fits(line + tail, indent) or line[-1] not in ")]:":
        return [indent + line + tail]
    if line.endswith("):"):
        line, tail = line[:-1], ":"
    at = _outer_pair(line)
    if line[at] == "[" and line[at - 1 : at] == ")":
        line, tail = line[:at], line[at:] + tail
        at = _outer_pair(line)
    opening, content = line[at], line[at + 1 : -1]
    parts = split_commas(content)
    inner = indent + INDENT
    is_call = opening == "(" and line[at - 1 : at].strip() not in ("", "=", ",", "(", "[")
    if is_call and fits(content, inner):
        body = [inner + content]
    elif len(parts) == 1 and is_call:
        body = lay_out(parts[0], inner)
    else:
        body = [row for part in parts for row in lay_out(part, inner, ",")]
    return [indent + line[: at + 1], *body, indent + _CLOSES[opening] + tail]
