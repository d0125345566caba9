"""The corpus's logs as records, and the name that triage would give each.

A file is a header of `field: value` lines, then `---` and the innermost framework frames of the run, one a
line, then `---` and the text: the message of what was raised, or the output of a process that died. `kind` is
the root cause or call site, decided by reading; `message` and `frames` are what normalising must give.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bot import crash_log, normalise
from fuzzers.records import Ending

LOGS = Path(__file__).parent / "logs"
FIELDS = ("kind", "framework", "version", "ending", "exception", "message", "frames")


@dataclass(frozen=True)
class Name:
    """What `bot.fingerprint` names an exception by; of a crash, the signal, what was said, and where."""

    exception: str
    message: str
    frames: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Log:
    """One file of the corpus."""

    path: Path
    header: dict[str, str]
    frames: tuple[str, ...]
    text: str

    @classmethod
    def read(cls, path: Path) -> Log:
        """ValueError when the file has another form."""
        header, frames, text = path.read_text(encoding="utf-8").split("---\n", 2)
        fields = dict(line.split(":", 1) for line in header.splitlines())
        if tuple(fields) != FIELDS:
            raise ValueError(f"{path} has the header {tuple(fields)}")
        return cls(path, {k: v.strip() for k, v in fields.items()}, tuple(frames.split()), text)

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"

    @property
    def kind(self) -> str:
        return self.header["kind"]

    @property
    def build(self) -> str:
        return f"{self.header['framework']} {self.header['version']}"

    @property
    def expected_message(self) -> str:
        return self.header["message"]

    @property
    def expected_frames(self) -> tuple[str, ...]:
        return tuple(self.header["frames"].split())

    def rewrite(self, message: str, frames: tuple[str, ...]) -> None:
        """Put what normalising gives into the file's header."""
        header = {**self.header, "message": message, "frames": " ".join(frames)}
        lines = [f"{key}: {value}".rstrip() for key, value in header.items()]
        parts = ["\n".join(lines) + "\n", "".join(f"{f}\n" for f in self.frames), self.text]
        self.path.write_text("---\n".join(parts), encoding="utf-8")


@cache
def named(log: Log) -> Name:
    """The name of a log's failure."""
    if log.header["ending"] == Ending.SIGNAL:
        return Name(
            log.header["exception"],
            crash_log.message(log.text),
            normalise.frames(crash_log.frames(log.text)),
        )
    return Name(log.header["exception"], normalise.message(log.text), normalise.frames(log.frames))


def read_corpus() -> list[Log]:
    """Every log, by path."""
    return [Log.read(path) for path in sorted(LOGS.glob("*/*.txt"))]
