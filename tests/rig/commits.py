"""Commits that are the same in git and in `emulate`.

Invariant: a commit is made with git, in a bare repository that a workflow can fetch from, and then given to
`emulate` object by object; that the names agree is checked. One bare repository holds a repository and its
forks, as GitHub's does.
"""

from __future__ import annotations

import base64
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Ask = Callable[..., Any]
"""(method, path, **body) to `emulate`, as the repositories' owner; the parsed answer."""

MAIN = "main"


class Commits:
    """The commits of `repository`. The bare repository is made at `place`, its `main` that of `emulate`."""

    def __init__(self, place: Path, repository: str, ask: Ask) -> None:
        self.place = place
        self.repository = repository
        self.ask = ask
        self.given: set[tuple[str, str]] = set()
        """(repository, name of an object) that `emulate` has."""
        subprocess.run(["git", "init", "--quiet", "--bare", "-b", MAIN, str(place)], check=True)
        self._take_over()

    def commit(self, files: Mapping[str, str | None], parent: str, message: str = "a change") -> str:
        """A commit whose files are its parent's with these (None: removed) for those of the same path."""
        with tempfile.TemporaryDirectory() as folder:
            index = {"GIT_INDEX_FILE": f"{folder}/index"}
            self._git("read-tree", parent, env=index)
            entries = [f"{self._entry(text)}\t{path}\n" for path, text in files.items()]
            self._git("update-index", "--index-info", given="".join(entries).encode(), env=index)
            tree = self._git("write-tree", env=index)
        return self._git("commit-tree", tree, "-p", parent, "-m", message, env=_person("rig", "1796083200"))

    def _entry(self, text: str | None) -> str:
        """Mode and blob of an index's entry; mode 0 removes it."""
        if text is None:
            return f"0 {'0' * 40}"
        return f"100644 {self._git('hash-object', '-w', '--stdin', given=text.encode())}"

    def find(self, ref: str) -> str:
        """The commit that a ref is at; empty when there is no such ref."""
        return self._git("for-each-ref", "--format=%(objectname)", ref)

    def set(self, ref: str, sha: str) -> None:
        """Move a ref of the bare repository, or make it."""
        self._git("update-ref", ref, sha)

    def give(self, sha: str, repository: str = "") -> None:
        """Let `emulate` have a commit and all behind it."""
        where = repository or self.repository
        for one in reversed(self._git("rev-list", "--topo-order", sha).split()):
            if (where, one) not in self.given:
                self._give(one, where)
                self.given.add((where, one))

    def _give(self, sha: str, where: str) -> None:
        entries = []
        for line in self._git("ls-tree", "-r", "-z", sha).split("\0"):
            if not line:
                continue
            about, path = line.split("\t")
            mode, kind, blob = about.split()
            if (where, blob) not in self.given:
                content = base64.b64encode(self._raw("cat-file", "blob", blob)).decode()
                self.ask("POST", f"/repos/{where}/git/blobs", content=content, encoding="base64")
                self.given.add((where, blob))
            entries.append({"path": path, "mode": mode, "type": kind, "sha": blob})
        tree = self.ask("POST", f"/repos/{where}/git/trees", tree=entries)["sha"]
        told = self._git("show", "-s", "--format=%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B", sha)
        parents, name, email, date, other, other_email, other_date, message = told.split("\0")
        made = self.ask(
            "POST",
            f"/repos/{where}/git/commits",
            message=message,
            tree=tree,
            parents=parents.split(),
            author={"name": name, "email": email, "date": date},
            committer={"name": other, "email": other_email, "date": other_date},
        )
        assert made["sha"] == sha, (made, sha)

    def _take_over(self) -> None:
        """`emulate`'s first commit, which is its own."""
        root = f"/repos/{self.repository}/git"
        first = self.ask("GET", f"{root}/ref/heads/{MAIN}")["object"]["sha"]
        commit = self.ask("GET", f"{root}/commits/{first}")
        assert commit["parents"] == []
        listing = ""
        for entry in self.ask("GET", f"{root}/trees/{commit['tree']['sha']}")["tree"]:
            content = base64.b64decode(self.ask("GET", f"{root}/blobs/{entry['sha']}")["content"])
            self._git("hash-object", "-w", "--stdin", given=content)
            listing += f"{entry['mode']} blob {entry['sha']}\t{entry['path']}\n"
        tree = self._git("mktree", given=listing.encode())
        person = commit["author"]
        env = _person(person["name"], person["date"], person["email"])
        assert self._git("commit-tree", tree, "-m", commit["message"], env=env) == first
        self.set(f"refs/heads/{MAIN}", first)
        self.given.add((self.repository, first))

    def _git(self, *arguments: str, given: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        return self._raw(*arguments, given=given, env=env).decode().strip("\n")

    def _raw(self, *arguments: str, given: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        done = subprocess.run(
            ["git", "--git-dir", str(self.place), *arguments],
            input=given,
            env={**os.environ, **(env or {})},
            stdout=subprocess.PIPE,
            check=True,
        )
        return done.stdout


def _person(name: str, date: str, email: str = "rig@example.invalid") -> dict[str, str]:
    """Who commits, and when: whole seconds."""
    when = date.partition(".")[0] + ("Z" if "." in date else "")
    moment = f"@{when} +0000" if when.isdigit() else when
    told = {"NAME": name, "EMAIL": email, "DATE": moment}
    return {f"GIT_{role}_{what}": text for role in ("AUTHOR", "COMMITTER") for what, text in told.items()}
