"""What keeps a target's processes apart from us: their environment, their folders, and their end.

Invariant: nothing of the controller's environment but a short list of variables reaches a target, because
what runs there is hostile by construction; and a session that was killed has no live process left.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import fuzzers

ALLOWED = (
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ",
    "LD_LIBRARY_PATH", "CC", "CXX", "CUDA_HOME", "CUDA_VISIBLE_DEVICES",
)  # fmt: skip
"""The only variables that a target inherits. Never a token, never a setting of the framework."""

FLAGS = ("-P", "-s")
"""Neither the current folder nor the user's own packages are on the target's path."""


def environment(folder: Path, **extra: str) -> dict[str, str]:
    """The variables of a process in a target: the allowed ones, our tree, and a private temporary folder."""
    kept = {name: os.environ[name] for name in ALLOWED if name in os.environ}
    return {
        **kept,
        "PYTHONPATH": str(tree(folder)),
        "PYTHONHASHSEED": "0",
        "TMPDIR": str(folder / "tmp"),
        **extra,
    }


def tree(folder: Path) -> Path:
    """A folder that holds our `fuzzers` package and nothing else. Naming the folder we are installed in
    would put its other packages, numpy or another torch, before the target's own."""
    alone = folder / "tree"
    alone.mkdir(parents=True, exist_ok=True)
    (folder / "tmp").mkdir(exist_ok=True)
    source = Path(str(fuzzers.__file__)).resolve().parent
    with suppress(FileExistsError):
        (alone / "fuzzers").symlink_to(source, target_is_directory=True)
    return alone


@contextmanager
def private_folder() -> Iterator[Path]:
    """A temporary folder, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="nightfuzz-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def kill_session(leader: int) -> None:
    """Kill every process of the session that `leader` started, also when the leader is dead. The worker's
    children have process groups of their own, and compilers are in those, so a group is not enough."""
    while members := _members(leader):
        for pid in members:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _members(session: int) -> list[int]:
    """The live processes of a session: fields 3 (state) and 6 (session) of /proc/PID/stat."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] not in "ZX":
                found.append(int(entry.name))
    return found
