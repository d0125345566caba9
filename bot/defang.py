"""Text from elsewhere made harmless before it goes into an issue. The one place that does so.

Invariant: after `defang` no mention notifies anybody, no reference links an issue, no run of backticks ends
a fence, no comment opens or closes a marker, and no path, host name or secret of the machine is left; what a
person reads stays the same, because what breaks a construct is a zero-width space. Idempotent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

ZERO_WIDTH = "\u200b"

SECRETS = (
    re.compile(r"\b(?:gh[opsur]_[A-Za-z0-9]{20,}|github_pat_\w{20,})"),
    re.compile(r"\b(?:hf_[A-Za-z0-9]{20,}|sk-[\w-]{20,}|xox[abprs]-[\w-]{10,}|glpat-[\w-]{16,})"),
    re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    re.compile(r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
    re.compile(r"(?<=://)[^\s/@:]+:[^\s/@]+(?=@)"),
    re.compile(r"(?i)(?<=bearer )[\w.~+/=-]{8,}"),
    re.compile(r"(?i)(?<=basic )[\w+/]{8,}={0,2}(?![\w+/])"),
    re.compile(
        r"(?i)(?<![A-Za-z])(?:token|secret|password|passwd|(?:api|access|private)_?key)(?:\"|')?\s*[=:]\s*[^\s,;]{6,}"
    ),
    re.compile(
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL
    ),
)
"""Shapes of credentials: GitHub, other well-known vendors, cloud keys, JWTs, URLs with a password,
authorization headers, assignments."""

PATHS = (
    (re.compile(r"(?<![\w.+@~-])(?:/[\w.+@~-]+)*/(?:site|dist)-packages/"), ".../"),
    (re.compile(r"/(?:home|Users)/[\w.+@~-]+"), "~"),
    (re.compile(r"/(?:root)(?=/)"), "~"),
    (
        re.compile(
            r"(?<![\w.~>])/(?:tmp|var|private|work|mnt|opt|runner|github|data|scratch)(?:/[\w.+@~-]+)*/"
        ),
        ".../",
    ),
)
"""Where things are on this machine -> what a reader needs of it. A path is begun only where none is under
way, or a long one of somebody who means harm takes hours."""

CONTROL = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
    r"|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""What steers a terminal or the direction of writing, and halves of characters, which no file can hold."""

BREAKS = (
    (re.compile(r"@(?=[A-Za-z0-9])"), f"@{ZERO_WIDTH}"),
    (re.compile(r"#(?=\d)"), f"#{ZERO_WIDTH}"),
    (re.compile(r"(?i)\b(GH)-(?=\d)"), rf"\1-{ZERO_WIDTH}"),
    (re.compile(r"(?i)(https?|ftp):(?=//)"), rf"\1{ZERO_WIDTH}:"),
    (re.compile(r"(?i)\b(www)\."), rf"\1{ZERO_WIDTH}."),
    (re.compile(r"`(?=`)"), f"`{ZERO_WIDTH}"),
    (re.compile(r"<(?=!--)"), f"<{ZERO_WIDTH}"),
    (re.compile(r"--(?=>)"), f"--{ZERO_WIDTH}"),
    (re.compile(r"<(?=/?(?:details|summary)\b)", re.IGNORECASE), f"<{ZERO_WIDTH}"),
)
"""Constructs that GitHub acts on, with the zero-width space that stops it. A URL is broken too: GitHub turns
one that points to an issue into a reference, with a back link there."""

ESCAPED = re.compile(r"[\\*\[\]<>&~$]|(?<![^\W_])_|_(?![^\W_])|^[#+=-](?=[ #=-]|$)")
"""Characters that Markdown or HTML would act on: an underscore only at the edge of a word, where it would
begin or end an emphasis, and what makes a heading or a list only at the start of the line."""

NUMBERED = re.compile(r"^(\d{1,9})(?=[.)](?: |$))")
"""The start of a numbered list."""


HEAD = 8_192
"""Characters of a text that are looked at for one line. It ends between two words, so that no secret is cut
into a piece that looks like none."""


def redact(text: str, hosts: Iterable[str] = ()) -> str:
    """`text` without credentials, paths of this machine, and the host names given."""
    for secret in SECRETS:
        text = secret.sub("<redacted>", text)
    for path, shown in PATHS:
        text = path.sub(shown, text)
    for host in hosts:
        if len(host) > 2 and host != "localhost":
            text = re.sub(rf"(?i)(?<![\w-]){re.escape(host)}(?![\w-])", "<host>", text)
    return text


def defang(text: str, hosts: Iterable[str] = ()) -> str:
    """`text` redacted and with nothing left that GitHub or a marker's reader would act on."""
    text = redact(CONTROL.sub("", text), hosts)
    for construct, broken in BREAKS:
        text = construct.sub(broken, text)
    return text


def inline(text: str, hosts: Iterable[str] = (), longest: int = 200) -> str:
    """One defanged line for a title or a table cell: no line breaks, no backticks, no cell borders."""
    if len(text) > HEAD:
        text = "".join(text[:HEAD].rsplit(maxsplit=1)[:1])
    line = " ".join(defang(text, hosts).replace("`", "'").replace("|", "¦").split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def prose(text: str, hosts: Iterable[str] = (), longest: int = 200) -> str:
    """One defanged line that Markdown shows as it is, in a paragraph or a table cell. Not for a title or
    within backticks, where the backslashes would be read."""
    return NUMBERED.sub(r"\1\\", ESCAPED.sub(r"\\\g<0>", inline(text, hosts, longest)))


def code(text: str, hosts: Iterable[str] = (), longest: int = 200) -> str:
    """One defanged line as code; empty when there is nothing to show."""
    line = inline(text, hosts, longest)
    return f"`{line}`" if line else ""


def cut(text: str, longest: int) -> str:
    """At most `longest` characters: the head and the larger tail, with a line between that says how much
    is missing. The end of a log says most."""
    if len(text) <= longest:
        return text
    mark = "\n[... {} characters cut ...]\n"
    room = max(longest - len(mark) - 10, 0)
    head, tail = room // 3, room - room // 3
    missing = len(text) - room
    return text[:head] + mark.format(missing) + (text[-tail:] if tail else "")


def fence(text: str) -> str:
    """A run of backticks longer than any in `text`, for a block that must be shown as it is."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(3, longest + 1)
