"""pip, as a supervised child, with the configuration of whoever runs nightfuzz.

Invariant: pip's failures come in two kinds that never mix: the package's own, told in one line, and the
network's or the disk's, which is a MachineryFailure and says nothing of a build. pip dies with us, also when
we are killed: what it was writing is a leftover, and a leftover that is still written to cannot be removed.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from bot.confine import FLAGS, environment, kill_session
from bot.errors import MachineryFailure

PIP_SECONDS = 3600.0
"""torch for CUDA is five gibibytes."""

QUIET = ("--no-input", "--no-color", "--disable-pip-version-check")

_CONFIGURATION = re.compile(
    r"PIP_\w+|(https?|all|no|ftp)_proxy|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE|NETRC|XDG_CONFIG_(HOME|DIRS)"
    r"|XDG_CACHE_HOME",
    re.IGNORECASE,
)
"""Variables that pip reads, besides those that every child of ours gets."""

_NOT_THE_PACKAGE = re.compile(
    r"No space left on device|Disk quota exceeded|Errno (5|12|13|24|28|30|122)\b|MemoryError\b|"
    r"ConnectionError|ConnectTimeout|ReadTimeout|"
    r"NewConnectionError|Connection (refused|reset|broken|aborted)|Max retries exceeded|"
    r"HTTP error (429|5\d\d)|HTTPError: 5\d\d|ProxyError|SSLError|name resolution|"
    r"IncompleteRead|ProtocolError|Read timed out|"
    r"THESE PACKAGES DO NOT MATCH THE HASHES|No module named pip\b"
)
"""What pip says when the network, the disk or an index failed."""

_UNREACHED = re.compile(r"Could not fetch URL (?!.* (401|403|404|410) Client Error).*")
"""In pip's own log: an index that failed. What pip shows then is that the package has no such version; it is
only in order of an index that it does not have a package."""

# Ends pip with the process that started it: prctl(PR_SET_PDEATHSIG, SIGKILL).
_RUN = (
    "import ctypes, runpy, sys; ctypes.CDLL(None).prctl(1, 9); "
    "del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
)


@dataclass(frozen=True)
class Told:
    """How pip ended. `reason` is its error in one line, empty when there was none."""

    output: str
    reason: str = ""


@dataclass(frozen=True)
class Pip:
    """pip for the environment of the interpreter `python`, which need not have a pip of its own.
    Temporary files go below `folder`; `stopped` is asked while it runs."""

    python: str
    folder: Path
    seconds: float = PIP_SECONDS
    stopped: Callable[[], bool] = lambda: False

    def __call__(self, command: str, *arguments: str, **variables: str) -> Told:
        """Run one command of pip. MachineryFailure when it failed for a reason that is not the package's."""
        log = self.folder / "pip.log"
        log.unlink(missing_ok=True)
        line = [self.python, *FLAGS, "-c", _RUN, _runner(), command, "--log", str(log), *QUIET, *arguments]
        with tempfile.TemporaryFile(dir=self.folder) as shown:
            code = self._ended(line, {**variables_of(self.folder), **variables}, shown.fileno())
            shown.seek(0)
            said = shown.read().decode(errors="replace")
        if code == 0:
            return Told(said)
        reason = _reason(said, code)
        if failed := _failure(said, log):
            raise MachineryFailure(f"pip {command} failed: {failed}")
        if code < 0:
            raise MachineryFailure(f"pip {command} was ended by signal {-code}")
        return Told(said, reason)

    def _ended(self, line: Sequence[str], variables: dict[str, str], log: int) -> int:
        """pip's exit status, once nothing of its session is left."""
        end = time.monotonic() + self.seconds
        process = subprocess.Popen(
            line, env=variables, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
        try:
            while time.monotonic() < end:
                if self.stopped():
                    raise KeyboardInterrupt  # the person's Ctrl-C, which was only written down when it came
                try:
                    return process.wait(0.1)
                except subprocess.TimeoutExpired:
                    continue
            raise MachineryFailure(f"pip did not end within {self.seconds:g} s")
        finally:
            kill_session(process.pid)
            process.wait()


def variables_of(folder: Path) -> dict[str, str]:
    """The environment of pip: as every child's, without our tree, with what pip is configured by."""
    kept = {name: value for name, value in os.environ.items() if _CONFIGURATION.fullmatch(name)}
    given = {name: value for name, value in environment(folder).items() if name != "PYTHONPATH"}
    return {**given, **kept, "PIP_PROGRESS_BAR": "off"}


def _runner() -> str:
    """pip's own way to run in an interpreter that has none (it is what `pip --python` runs)."""
    # By the metadata: looking for the module makes setuptools, in this process, believe that pip runs it.
    try:
        return str(distribution("pip").locate_file("pip/__pip-runner__.py"))
    except PackageNotFoundError as error:
        said = "nightfuzz's own interpreter has no pip; `python -m ensurepip` gets it"
        raise MachineryFailure(said) from error


def _failure(said: str, log: Path) -> str:
    """The line that tells that pip failed for a reason which is not the package's; empty when none does."""
    for line in said.splitlines():
        if _NOT_THE_PACKAGE.search(line):
            return line.strip()
    told = log.read_text(errors="replace") if log.exists() else ""
    found = _UNREACHED.search(told)
    return found[0] if found else ""


def _reason(said: str, code: int) -> str:
    """pip's first error, which the later ones follow from; the end of its traceback when it fell over it."""
    lines = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    if errors and errors[0] != "Exception:":
        return errors[0]
    return f"pip fell over it: {(lines or [f'exit status {code}'])[-1]}"
