"""What a shard's artifact may do to the store: everything in it is a claim of a machine that ran foreign
code.

Invariant: an artifact adds what its own shard can have found, and what its own build says of findings that
are known; it decides nothing, publishes nothing, renames nothing, and changes no script that is there. A
file that is not what a store has is refused with a line, and so is a record that speaks of another
framework or engine. States follow from the verdicts here, never from what a shard says they are.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from bot import classify, history
from bot.branch import KEPT
from bot.confine import private_folder
from bot.defang import redact
from bot.merge import merge_findings
from bot.planning import Shard
from bot.store import Store
from bot.wire import UnreadableError, convert
from fuzzers.records import Build, Finding, Json, Suspect, Verdict, encode

LARGEST_FILE = 4 * 2**20
LARGEST_ARTIFACT = 256 * 2**20
MOST_FILES = 20_000
"""Bounds of one artifact."""

MOST_FINDINGS = 200
"""New findings of one shard: more is a broken build, or us."""

LONGEST_SCRIPT = 60_000
"""Characters of a reproducer: an issue takes 65,536."""


@dataclass
class Taken:
    """What became of the artifacts: counts, and a line for each thing refused."""

    suspects: int = 0
    findings: int = 0
    verdicts: int = 0
    trials: int = 0
    refused: list[str] = field(default_factory=list)
    builds: list[Build] = field(default_factory=list)
    """The builds that the shards' verdicts are about: their findings' states are to be settled."""


def take(store: Store, folder: Path, shards: Sequence[Shard]) -> Taken:
    """Take the artifacts `folder/<shard's name>/` into a store. A shard without one has said nothing."""
    taken = Taken()
    for shard in shards:
        place = folder / shard.name
        if not place.is_dir() or place.is_symlink():
            taken.refused.append(f"{shard.name}: there is no artifact of it")
            continue
        with private_folder() as aside:
            copied = _copied(place, aside / "store", partial(_refuse, taken, shard))
            if copied:
                other = Store(aside / "store", partial(_refuse, taken, shard))
                Claim(store, other, shard, taken).take()
    return taken


def _refuse(taken: Taken, shard: Shard, line: str) -> None:
    shown = "".join(c if c.isprintable() else "?" for c in redact(line))[:300]
    taken.refused.append(f"{shard.name}: {shown}")


def _copied(place: Path, to: Path, refuse: Callable[[str], None]) -> bool:
    """Copy an artifact's files that a store may have; False when there is too much of it to look at."""
    size = number = 0
    for path, relative in _files(place, refuse):
        number += 1
        if number > MOST_FILES:
            refuse(f"more than {MOST_FILES} files: none is taken")
            return False
        if relative == "lock" or relative.startswith("set-aside/"):
            continue
        if not KEPT.fullmatch(relative):
            refuse(f"{relative}: a store has no such file")
            continue
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        size += len(content)
        if len(content) > LARGEST_FILE:
            refuse(f"{relative}: more than {LARGEST_FILE // 2**20} MiB")
            continue
        if size > LARGEST_ARTIFACT:
            refuse(f"more than {LARGEST_ARTIFACT // 2**20} MiB: none is taken")
            return False
        target = to / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return True


def _files(place: Path, refuse: Callable[[str], None]) -> Iterator[tuple[Path, str]]:
    """The plain files below a folder, with their names from there; no link is followed."""
    waiting = [place]
    while waiting:
        here = waiting.pop()
        for entry in sorted(os.scandir(here), key=lambda entry: entry.name):
            path = Path(entry.path)
            relative = str(path.relative_to(place))
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode) and relative.count("/") < 3:
                waiting.append(path)
            elif stat.S_ISREG(mode):
                yield path, relative
            else:
                refuse(f"{relative[:200]}: neither a file nor a folder of a store")


@dataclass
class Claim:
    """One artifact, read as a store of its own, against ours."""

    store: Store
    other: Store
    shard: Shard
    taken: Taken

    def take(self) -> None:
        """Take what it may."""
        self._suspects()
        self._findings()
        self._trials()

    def _refuse(self, line: str) -> None:
        _refuse(self.taken, self.shard, line)

    def _suspects(self) -> None:
        for suspect in self.other.suspects():
            if why := self._is_foreign(suspect):
                self._refuse(f"suspect {suspect.id}: {why}")
                continue
            new = self.store.add(clean(Suspect, suspect))
            self.taken.suspects += new
            if new:
                self.store.set_state(suspect.id, clean_state(self.other, suspect.id))

    def _is_foreign(self, suspect: Suspect) -> str:
        """Why a suspect cannot be of this shard; empty when it can."""
        if (suspect.engine, suspect.build.framework) != (self.shard.engine, self.shard.framework):
            return f"of {suspect.engine} on {suspect.build.framework}"
        if not self._is_of_this_build(suspect.build.name):
            return f"of {suspect.build.name}"
        if len(suspect.script) > LONGEST_SCRIPT:
            return f"its script has more than {LONGEST_SCRIPT} characters"
        return ""

    def _is_of_this_build(self, name: str) -> bool:
        """Whether a build's name is the shard's; the label of a variant may be missing in one of them."""
        said = name.removeprefix(f"{self.shard.framework} ").partition("+")[0]
        return self.shard.version in ("", said) or said == self.shard.version.partition("+")[0]

    def _findings(self) -> None:
        new = 0
        for claimed in self.other.findings():
            known = self._known(claimed)
            if known is not None:
                self._heard(known, claimed)
            elif why := self._is_foreign(claimed.suspect):
                self._refuse(f"finding {claimed.signature}: {why}")
            elif new == MOST_FINDINGS:
                self._refuse(f"finding {claimed.signature}: more than {MOST_FINDINGS} new ones")
            else:
                new += 1
                self._found(claimed)

    def _known(self, claimed: Finding) -> Finding | None:
        """Our finding that it is, by its own name alone: an alias is only what the shard says."""
        return self.store.finding(claimed.signature)

    def _found(self, claimed: Finding) -> None:
        """A new finding, without what a shard may not say."""
        if len(claimed.script) > LONGEST_SCRIPT:
            self._refuse(f"finding {claimed.signature}: its script has more than {LONGEST_SCRIPT} characters")
            return
        ours = self.store.catalogue.now().owner
        detail = {k: v for k, v in claimed.detail.items() if k not in ("decision", "gone", "regressed")}
        plain = replace(
            claimed,
            state="open",
            aliases=tuple(alias for alias in claimed.aliases if alias not in ours),
            verdicts=self._own(claimed),
            detail=detail,
        )
        evidence = convert_plain(self.other.evidence(claimed.signature))
        self.store.put_finding(clean(Finding, plain), evidence)
        self.taken.findings += 1

    def _heard(self, known: Finding, claimed: Finding) -> None:
        """What the shard's build says of a finding that we have, and the suspects that led there."""
        if known.suspect.build.framework != self.shard.framework:
            self._refuse(f"finding {claimed.signature}: it is of {known.suspect.build.framework}")
            return
        verdicts = [v for v in self._own(claimed) if v not in known.verdicts]
        after = known
        for verdict in verdicts:
            after = history.noted(after, verdict)
        own = tuple(s for s in claimed.suspects if self.other.suspect(s) and self.store.suspect(s))
        after = replace(after, suspects=tuple(sorted({*after.suspects, *own})))
        if classify.standing(known).change is None and claimed.since:
            dated = clean(Finding, replace(known, since=claimed.since))
            after = replace(after, since=dated.since)
        if after != known:
            self.store.put_finding(merge_findings(known, after) if own else after)
            self.taken.verdicts += len(verdicts)

    def _own(self, claimed: Finding) -> tuple[Json, ...]:
        """The verdicts that are about the shard's build, with nothing in them but what a verdict has."""
        found = []
        for verdict in claimed.verdicts:
            name = str(verdict.get("build", ""))
            if not name.startswith(f"{self.shard.framework} ") or not self._is_of_this_build(name):
                continue
            if verdict.get("verdict") not in list(Verdict):
                continue
            version = name.partition(" ")[2]
            build = Build(
                self.shard.framework,
                version[:60],
                str(verdict.get("variant", ""))[:20],
                str(verdict.get("git_sha", ""))[:40],
                "",
                str(verdict.get("python", ""))[:20],
            )
            found.append(
                history.entry(
                    build,
                    Verdict(verdict["verdict"]),
                    str(verdict.get("at", ""))[:20],
                    changed=bool(verdict.get("changed")),
                    reason=redact(str(verdict.get("reason", "")))[:500],
                )
            )
            if build not in self.taken.builds:
                self.taken.builds.append(build)
        return tuple(found)

    def _trials(self) -> None:
        for trial in self.other.ledger().builds.values():
            told = (trial.framework, trial.engine)
            if told != (self.shard.framework, self.shard.engine):
                continue  # an artifact starts from our store, so it holds what we have
            if trial.key in self.store.ledger().builds:
                continue
            if not self._is_of_this_build(f"{trial.framework} {trial.version}"):
                self._refuse(f"trial of {trial.framework} {trial.version}: not this shard's build")
                continue
            self.store.record_trial(replace(trial, reason=redact(trial.reason)[:500]))
            self.taken.trials += 1


def clean_state(other: Store, ident: str) -> Any:
    """How far the shard's triage was with a suspect, without secrets."""
    state = other.state(ident)
    return convert(type(state), convert_plain(encode(state)))


SPARED = frozenset({"script", "program", "signature", "id"})
"""What is kept byte for byte: a reproducer that was changed is none."""


def clean(kind: Any, record: Any) -> Any:
    """A record without the secrets and paths that its texts may hold."""
    plain = convert_plain(encode(record))
    try:
        return convert(kind, plain)
    except UnreadableError:
        return record


def convert_plain(plain: Any) -> Any:
    """JSON with its texts redacted, those that are SPARED apart."""
    if isinstance(plain, dict):
        return {k: v if k in SPARED else convert_plain(v) for k, v in plain.items()}
    if isinstance(plain, list):
        return [convert_plain(item) for item in plain]
    return redact(plain) if isinstance(plain, str) else plain
