"""What the output of a process that died tells: the line that names the fault, and where Python was.

Invariant: pure, and never fails; output that says nothing gives an empty message and no frames. A process
that is killed by a signal leaves no exception to read, but the C library, libstdc++, the sanitizers and c10
each print one line that tells two faults apart, and Python's fault handler prints its stack.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot import normalise


@dataclass(frozen=True)
class Sign:
    """One form of last words: what they look like, what is kept of them, and who prints them."""

    pattern: re.Pattern[str]
    kept: str
    printed_by: str


SIGNS: tuple[Sign, ...] = (
    Sign(
        re.compile(
            r"what\(\): +(?P<said>(?:.|\n)*?)\n+Exception raised from (?P<at>[^\n]+?) at \S+"
            r" \(most recent call first\)"
        ),
        r"\g<said> raised from \g<at>",
        "libstdc++, for an exception of c10 that nobody caught",
    ),
    Sign(
        re.compile(
            r"terminate called after throwing an instance of '(?P<type>[^']+)'\n +what\(\): +(?P<said>.+)"
        ),
        r"uncaught \g<type>: \g<said>",
        "libstdc++, for a std::exception that nobody caught",
    ),
    Sign(
        re.compile(r"terminate called after throwing an instance of '(?P<type>[^']+)'"),
        r"uncaught \g<type>",
        "libstdc++, for anything else that nobody caught",
    ),
    Sign(
        re.compile(
            r"^(?P<said>terminate called (?:without|recursively).*|pure virtual method called)$", re.MULTILINE
        ),
        r"\g<said>",
        "libstdc++",
    ),
    Sign(
        re.compile(r":\d+: (?P<at>[^\n]+?): Assertion [`'](?P<said>[^\n]+)' failed"),
        r"assertion \g<said> failed in \g<at>",
        "assert() of the C library and of libstdc++",
    ),
    Sign(
        re.compile(r":\d+:\d+: runtime error: (?P<said>.+)"),
        r"runtime error: \g<said>",
        "the undefined-behaviour sanitizer",
    ),
    Sign(
        re.compile(r"^SUMMARY: (?P<tool>\w+Sanitizer): (?P<said>[\w-]+) \S+ in (?P<at>.+)$", re.MULTILINE),
        r"\g<tool>: \g<said> in \g<at>",
        "the address and thread sanitizers",
    ),
    Sign(
        re.compile(r"^\*\*\* (?P<said>.+ detected) \*\*\*", re.MULTILINE),
        r"\g<said>",
        "the C library's fortified functions",
    ),
    Sign(
        re.compile(r"^(?:free|munmap_chunk|realloc)\(\): invalid pointer$", re.MULTILINE),
        "free of an invalid pointer",
        "the C library's heap; which function notices depends on what lies beside it",
    ),
    Sign(
        re.compile(
            r"^(?P<said>(?:free|malloc|realloc|calloc|munmap_chunk|malloc_consolidate)\(\): .+"
            r"|double free or corruption .+|corrupted (?:size|double-linked list).*)$",
            re.MULTILINE,
        ),
        r"\g<said>",
        "the C library's heap",
    ),
    Sign(
        re.compile(r"^Fatal Python error: (?P<said>.+)$", re.MULTILINE),
        r"\g<said>",
        "Python's fault handler, which only knows the signal",
    ),
)
"""The first that is found names the fault: whoever knows more comes first."""

STACK = re.compile(
    r"^(?:Current t|T)hread 0x[0-9a-f]+[^\n]*\(most recent call first\):\n(?P<lines>(?:  .*\n?)+)", re.M
)
LINE = re.compile(r'^  File "(?P<file>[^"]+)", line \d+ in (?P<function>.+)$', re.M)
INSTALLED = re.compile(r".*/site-packages/(?P<module>(?:torch|mindspore)/.+?)(?:/__init__)?\.py")
GENERATED = re.compile(r".*/[a-z2-7]{2}/c[a-z2-7]{51}\.py")
"""Inductor names a file after a hash of its source, in a folder of the hash's first letters."""


def message(log: str) -> str:
    """What the process said of its death, normalised; empty when it said nothing."""
    for sign in SIGNS:
        if found := sign.pattern.search(log):
            return normalise.message(found.expand(sign.kept))
    return ""


NAMES_OF_SIGNALS = frozenset(
    {"Aborted", "Bus error", "Floating-point exception", "Illegal instruction", "Segmentation fault"}
)
"""What the fault handler prints: two crashes that have nothing but this in common have nothing in common."""


def reason(log: str) -> str:
    """As `message`, but empty when it only names the signal."""
    said = message(log)
    return "" if said in NAMES_OF_SIGNALS else said


def frames(log: str) -> tuple[str, ...]:
    """The framework's frames as `module:function`, innermost last, of the thread that died."""
    stacks = [found["lines"] for found in STACK.finditer(log) if found[0].startswith("Current")]
    lines = LINE.finditer(stacks[0]) if stacks else iter(())
    return tuple(reversed([where for line in lines if (where := _place(line["file"], line["function"]))]))


def _place(file: str, function: str) -> str:
    if GENERATED.fullmatch(file):
        return f"<generated>:{function}"
    if found := INSTALLED.fullmatch(file):
        return f"{found['module'].replace('/', '.')}:{function}"
    return ""
