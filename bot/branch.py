"""The store on a branch of its own, by git: fetched, merged, pushed.

Invariant: a push never throws away what somebody else pushed: what is on the branch is merged in first, and
a push that comes too late does all of it again. What is fetched is hostile until it was looked at: only
plain files of a store's names and of bounded size are read, by their content and never by a checkout. A
token goes to git by its environment, so that it stands in no command line and no file.
"""

from __future__ import annotations

import base64
import os
import random
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from bot.confine import private_folder
from bot.defang import redact
from bot.errors import MachineryFailure
from bot.merging import merge
from bot.store import Store

LARGEST_FILE = 8 * 2**20
LARGEST_STORE = 512 * 2**20
MOST_FILES = 200_000
"""Bounds of what is read from a branch."""

TRIES = 12
"""Pushes before giving up: each that fails means that another one got through."""

KEPT = re.compile(
    r"(?:suspects/[0-9a-f]{16}/(?:suspect|state)\.json"
    r"|findings/[\w-]{1,64}/(?:finding\.json|evidence\.json|repro\.py)"
    r"|runs/[\w.+-]{1,120}\.json"
    r"|(?:ledger|holds|published)\.json)",
    re.ASCII,
)
"""A store's files; the lock, and what was set aside, stay where they are."""

PLAIN = "100644"
"""The mode of a file that is nothing but a file."""

BACKOFF_SECONDS = 0.5

GIT_SECONDS = 600


@dataclass(frozen=True)
class Branch:
    """A branch of a repository at an address or path. `warn` gets a line for each file that is not read."""

    remote: str
    name: str
    token: str = field(default="", repr=False)
    warn: Callable[[str], None] = lambda line: None

    def fetch(self, store: Store) -> bool:
        """Take what the branch has into a store; False when there is no such branch yet."""
        with private_folder() as folder:
            git = Git(folder, self._environment())
            tip = self._tip(git)
            if tip:
                self._read(git, tip, store, folder)
            return bool(tip)

    def push(self, store: Store, message: str) -> bool:
        """Bring the branch and the store to what both have; False when the branch had all of it."""
        for attempt in range(TRIES):
            with private_folder() as folder:
                git = Git(folder, self._environment())
                tip = self._tip(git)
                if tip:
                    self._read(git, tip, store, folder)
                commit = self._commit(git, store, tip, message)
                if not commit:
                    return False
                if self._push(git, commit):
                    return True
            time.sleep(BACKOFF_SECONDS * (attempt + 1) * random.random())
        raise MachineryFailure(f"{self._place}: others push all the time; {TRIES} tries came too late")

    @property
    def _place(self) -> str:
        return f"branch {self.name} of {redact(self.remote)}"

    @property
    def _ref(self) -> str:
        return f"refs/heads/{self.name}"

    def _environment(self) -> dict[str, str]:
        """What git may know: nothing of this machine's settings, and the token for this host alone."""
        settings = {
            "core.hooksPath": os.devnull,
            "gc.auto": "0",
            "user.name": "nightfuzz",
            "user.email": "nightfuzz@localhost",
            "protocol.ext.allow": "never",
        }
        host = urlsplit(self.remote)
        if self.token and host.scheme in ("http", "https"):
            code = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
            settings[f"http.{host.scheme}://{host.netloc}/.extraheader"] = f"Authorization: Basic {code}"
        told = {"GIT_CONFIG_COUNT": str(len(settings))}
        for place, (key, value) in enumerate(settings.items()):
            told |= {f"GIT_CONFIG_KEY_{place}": key, f"GIT_CONFIG_VALUE_{place}": value}
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": os.devnull,
            "LC_ALL": "C",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            **told,
        }

    def _tip(self, git: Git) -> str:
        """The branch's last commit, fetched; empty when there is no branch."""
        listed = git("ls-remote", "--", self.remote, self._ref)
        if not listed.strip():
            return ""
        git("fetch", "--quiet", "--depth=1", "--no-tags", "--", self.remote, self._ref)
        return git("rev-parse", "FETCH_HEAD").strip()

    def _read(self, git: Git, tip: str, store: Store, folder: Path) -> None:
        """Merge what a commit holds into a store."""
        copy = folder / "store"
        for path, content in git.files(tip, self.warn):
            place = copy / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        merge(store, Store(copy, self.warn))

    def _commit(self, git: Git, store: Store, tip: str, message: str) -> str:
        """A commit of the store after `tip`; empty when it would be the same as that."""
        paths = [path for path in _paths(store.root) if KEPT.fullmatch(path)]
        large = [path for path in paths if (store.root / path).stat().st_size > LARGEST_FILE]
        if large:
            raise MachineryFailure(
                f"{large[0]} is larger than {LARGEST_FILE // 2**20} MiB: nobody would read it from the branch"
            )
        # Not by `git add`: it would obey a .gitignore or .gitattributes that has come to lie in the store.
        asked = "".join(f"{store.root.resolve() / path}\n" for path in paths)
        blobs = git("hash-object", "-w", "--no-filters", "--stdin-paths", text=asked).split()
        entries = (f"{PLAIN} {blob}\t{path}\0" for blob, path in zip(blobs, paths, strict=True))
        git("update-index", "-z", "--index-info", text="".join(entries))
        tree = git("write-tree").strip()
        if tip and git("rev-parse", f"{tip}^{{tree}}").strip() == tree:
            return ""
        parents = ["-p", tip] if tip else []
        return git("commit-tree", tree, *parents, text=message).strip()

    def _push(self, git: Git, commit: str) -> bool:
        """Whether it got through: git takes it only if it comes after what is there now."""
        try:
            git("push", "--quiet", "--", self.remote, f"{commit}:{self._ref}")
        except GitError as refusal:
            if LATE.search(str(refusal)):
                return False
            raise
        return True


LATE = re.compile(
    r"fetch first|non-fast-forward|updates were rejected|cannot lock ref|failed to update ref|already exists",
    re.IGNORECASE,
)
"""What git says to a push that another one has overtaken."""


class GitError(MachineryFailure):
    """git refused; what it said, in one line."""


@dataclass(frozen=True)
class Git:
    """git in a repository of our own that lives as long as one exchange."""

    folder: Path
    environment: dict[str, str]

    def __post_init__(self) -> None:
        self("init", "--quiet", "--bare", ".")

    def __call__(self, *arguments: str, text: str = "") -> str:
        """Run a command; what it printed."""
        return self._run(arguments, text.encode()).decode("utf-8", "replace")

    def files(self, commit: str, warn: Callable[[str], None]) -> Iterator[tuple[str, bytes]]:
        """A commit's files that are a store's, with their content."""
        wanted, size = [], 0
        for line in self("ls-tree", "-r", "-l", "-z", commit).split("\0"):
            about, _, path = line.partition("\t")
            if not about:
                continue
            mode, _, blob, length = about.split()
            if mode != PLAIN or not KEPT.fullmatch(path) or int(length) > LARGEST_FILE:
                warn(f"not read from the branch: {path[:100]!r}")
                continue
            size += int(length)
            wanted.append((path, blob))
        if len(wanted) > MOST_FILES or size > LARGEST_STORE:
            raise MachineryFailure(
                f"the branch holds {len(wanted)} files of {size} bytes: too much for a store"
            )
        asked = "".join(f"{blob}\n" for _, blob in wanted).encode()
        answer = self._run(("cat-file", "--batch"), asked) if wanted else b""
        at = 0
        for path, _ in wanted:
            end = answer.index(b"\n", at)
            told = answer[at:end].split()[2]
            start = end + 1
            at = start + int(told) + 1
            yield path, answer[start : at - 1]

    def _run(self, arguments: tuple[str, ...], data: bytes) -> bytes:
        command = ["git", *arguments]
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                env={**self.environment, "GIT_DIR": str(self.folder.resolve())},
                input=data,
                capture_output=True,
                timeout=GIT_SECONDS,
                check=False,
            )
        except FileNotFoundError:
            raise MachineryFailure("git is not installed: install it") from None
        except subprocess.TimeoutExpired:
            raise GitError(f"git {arguments[0]} did not end within {GIT_SECONDS} s") from None
        if done.returncode:
            said = " ".join(redact(done.stderr.decode("utf-8", "replace")).split())
            raise GitError(f"git {arguments[0]}: {said[-400:]}")
        return done.stdout


def _paths(root: Path) -> Iterator[str]:
    """The store's files, relative, in order; links are left out."""
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            path = Path(folder) / name
            if not path.is_symlink():
                yield str(path.relative_to(root))
