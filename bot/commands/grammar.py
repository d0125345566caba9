"""`/fuzz ...` in a comment, as a command.

Invariant: pure, and strict: a command is the first line of a comment and begins with its first character, so
that nothing in a quote, a list, code or a hidden comment is one; arguments become enums, numbers, and paths
that cannot leave the repository; a word that is none of these makes the whole line misunderstood, with the
word that was probably meant. What a command says never reaches a shell.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

from bot.defang import code
from bot.durations import seconds

NAME = "/fuzz"

LONGEST_LINE = 1_000
"""Characters of a command; longer ones are a mistake or an attack."""

MOST_PATHS = 20
LONGEST_PATH = 200
LONGEST_REASON = 500

MOST_SECONDS = 6 * 3600.0
"""What GitHub gives a job."""

MOST_SEED = 2**31 - 1


class Verb(StrEnum):
    """What is asked for."""

    RUN = "run"
    RETEST = "retest"
    BISECT = "bisect"
    REDUCE = "reduce"
    APPROVE = "approve"
    UPSTREAM = "upstream"
    DUP = "dup"
    INVALID = "invalid"
    WONTFIX = "wontfix"
    UNDO = "undo"
    STATUS = "status"
    CANCEL = "cancel"
    HELP = "help"


ENGINES = ("flowmut", "alignguard", "dirigo", "all")
FRAMEWORKS = ("torch", "mindspore")

USAGE: dict[Verb, str] = {
    Verb.RUN: "/fuzz [run [SHA]] [flowmut|alignguard|dirigo|all] [PATH...] [--framework F] "
    "[--build latest|DATE|VERSION] [--budget 10m] [--seed N]",
    Verb.RETEST: "/fuzz retest",
    Verb.BISECT: "/fuzz bisect",
    Verb.REDUCE: "/fuzz reduce",
    Verb.APPROVE: "/fuzz approve HASH [WHY IT MATTERS]",
    Verb.UPSTREAM: "/fuzz upstream URL",
    Verb.DUP: "/fuzz dup #N or URL",
    Verb.INVALID: "/fuzz invalid REASON",
    Verb.WONTFIX: "/fuzz wontfix REASON",
    Verb.UNDO: "/fuzz undo",
    Verb.STATUS: "/fuzz status",
    Verb.CANCEL: "/fuzz cancel",
    Verb.HELP: "/fuzz help",
}
"""How each is written."""


@dataclass(frozen=True)
class Command:
    """A command that was understood. `text` is the hash of an approval, an address, a number of an issue, or
    a reason; `sha` a full commit, empty when none was given; `budget` is in seconds, None when not given."""

    verb: Verb
    text: str = ""
    words: str = ""
    sha: str = ""
    engines: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    framework: str = ""
    build: str = ""
    budget: float | None = None
    seed: int | None = None


class MisunderstoodError(ValueError):
    """It was meant for the bot, and is not a command; the message says what is wrong with it."""


def parse(comment: str) -> Command | None:
    """The command of a comment; None when it holds none. MisunderstoodError."""
    line = comment.split("\n", 1)[0].rstrip("\r").replace("\t", " ")
    rest = line.removeprefix(NAME)
    if rest == line or (rest and not rest[0].isspace()):
        return None
    if len(line) > LONGEST_LINE:
        raise MisunderstoodError(f"the command has more than {LONGEST_LINE} characters")
    if not line.isprintable():
        raise MisunderstoodError("the command holds characters that cannot be seen")
    words = rest.split()
    verb = words[0].lower() if words else ""
    if verb in list(Verb):
        found = Verb(verb)
        return PARSERS.get(found, _nothing)(found, words[1:])
    if words and SOME_SHA.fullmatch(words[0]):
        raise MisunderstoodError("a commit goes after the verb: `/fuzz run SHA`")
    if words and not _could_be_of_a_run(words[0]):
        close = difflib.get_close_matches(verb, [*Verb, *ENGINES], n=1, cutoff=0.6)
        hint = f"; did you mean `{close[0]}`?" if close else ""
        raise MisunderstoodError(f"there is no command {_shown(words[0])}{hint}")
    return _run(Verb.RUN, words)


def _could_be_of_a_run(word: str) -> bool:
    return word in ENGINES or word.startswith("--") or "/" in word or "." in word


def _nothing(verb: Verb, words: list[str]) -> Command:
    if words:
        raise MisunderstoodError(f"`{USAGE[verb]}` takes nothing more")
    return Command(verb)


def _reason(verb: Verb, words: list[str]) -> Command:
    reason = " ".join(words)
    if not reason or len(reason) > LONGEST_REASON:
        raise MisunderstoodError(f"`{USAGE[verb]}` needs a reason, of at most {LONGEST_REASON} characters")
    return Command(verb, reason)


def _approve(verb: Verb, words: list[str]) -> Command:
    if not words or not re.fullmatch(r"[0-9a-f]{12}", words[0]):
        raise MisunderstoodError(f"`{USAGE[verb]}` needs the twelve digits that the issue shows")
    said = " ".join(words[1:])
    if len(said) > LONGEST_REASON:
        raise MisunderstoodError(f"say in at most {LONGEST_REASON} characters why it matters")
    return Command(verb, words[0], words=said)


def _address(verb: Verb, words: list[str]) -> Command:
    if len(words) != 1 or not ISSUE_ADDRESS.fullmatch(words[0]):
        raise MisunderstoodError(f"`{USAGE[verb]}` needs the address of an issue")
    return Command(verb, words[0])


def _issue(verb: Verb, words: list[str]) -> Command:
    if len(words) != 1 or not (NUMBER.fullmatch(words[0]) or ISSUE_ADDRESS.fullmatch(words[0])):
        raise MisunderstoodError(f"`{USAGE[verb]}` needs the number or the address of an issue")
    return Command(verb, words[0])


ISSUE_ADDRESS = re.compile(r"https://[a-z0-9.-]{1,100}/[\w.-]{1,100}/[\w.-]{1,100}/issues/\w{1,20}", re.ASCII)
NUMBER = re.compile(r"#\d{1,10}", re.ASCII)
SHA = re.compile(r"[0-9a-f]{40}")
SOME_SHA = re.compile(r"(?=[a-f]*\d)[0-9a-f]{7,64}", re.ASCII | re.IGNORECASE)
"""What is meant for a commit, whole or not."""
PATH = re.compile(r"[\w][\w.+-]*(?:/[\w.+-]+)*", re.ASCII)
DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{8}", re.ASCII)
BUILD = re.compile(rf"latest|{DATE.pattern}|\d+(?:\.\d+){{1,3}}[\w.+]{{0,40}}", re.ASCII)


def _run(verb: Verb, words: list[str]) -> Command:
    command = Command(verb)
    left = list(words)
    if left and SHA.fullmatch(left[0]):
        command = replace(command, sha=left.pop(0))
    elif left and SOME_SHA.fullmatch(left[0]):
        raise MisunderstoodError("a commit is named by all its 40 digits, in lower case")
    while left:
        word = left.pop(0)
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            if name not in OPTIONS:
                close = difflib.get_close_matches(name, OPTIONS, n=1, cutoff=0.5)
                hint = f"; did you mean `{close[0]}`?" if close else ""
                raise MisunderstoodError(f"there is no option {_shown(name)}{hint}")
            if not equals:
                if not left:
                    raise MisunderstoodError(f"`{name}` needs a value")
                value = left.pop(0)
            command = OPTIONS[name](command, value)
        elif word in ENGINES:
            command = replace(command, engines=(*command.engines, word))
        else:
            command = replace(command, paths=(*command.paths, _path(word)))
    if len(command.paths) > MOST_PATHS:
        raise MisunderstoodError(f"at most {MOST_PATHS} paths")
    return command


def _path(word: str) -> str:
    is_good = PATH.fullmatch(word) and ".." not in word.split("/") and len(word) <= LONGEST_PATH
    if not is_good:
        raise MisunderstoodError(f"{_shown(word)} is not a path in this repository")
    return word


def _framework(command: Command, value: str) -> Command:
    if value not in FRAMEWORKS:
        raise MisunderstoodError(f"`--framework` is one of {', '.join(FRAMEWORKS)}")
    return replace(command, framework=value)


def _build(command: Command, value: str) -> Command:
    if not BUILD.fullmatch(value) or not _is_a_date_if_it_looks_like_one(value):
        raise MisunderstoodError("`--build` is `latest`, a date as 2026-12-01, or a version")
    return replace(command, build=value)


def _is_a_date_if_it_looks_like_one(value: str) -> bool:
    if not DATE.fullmatch(value):
        return True
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _budget(command: Command, value: str) -> Command:
    try:
        budget = seconds(value)
    except (ValueError, OverflowError):
        raise MisunderstoodError("`--budget` is a duration, such as 90s or 10m") from None
    if not budget <= MOST_SECONDS:
        raise MisunderstoodError(f"`--budget` is at most {MOST_SECONDS / 3600:.0f}h")
    return replace(command, budget=budget)


def _seed(command: Command, value: str) -> Command:
    if not re.fullmatch(r"\d{1,10}", value, re.ASCII) or int(value) > MOST_SEED:
        raise MisunderstoodError(f"`--seed` is a number from 0 to {MOST_SEED}")
    return replace(command, seed=int(value))


OPTIONS: dict[str, Callable[[Command, str], Command]] = {
    "--framework": _framework,
    "--build": _build,
    "--budget": _budget,
    "--seed": _seed,
}

PARSERS: dict[Verb, Callable[[Verb, list[str]], Command]] = {
    Verb.RUN: _run,
    Verb.APPROVE: _approve,
    Verb.UPSTREAM: _address,
    Verb.DUP: _issue,
    Verb.INVALID: _reason,
    Verb.WONTFIX: _reason,
}
"""What reads the words after a verb; one that is not here takes none."""


def _shown(word: str) -> str:
    """A word as a message shows it: short, in code, harmless."""
    return code(word, longest=40)
