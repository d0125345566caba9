"""The store: suspects, findings, runs and tested builds as a folder of plain JSON.

Invariant: a suspect or a finding is there whole or not at all, once, under its own name; a file that is
not what it should be is moved to `set-aside/`, named in a message, and the rest goes on. The reason:
campaigns and triage are killed at any moment, people edit files, and stores come back from branches and
artifacts; none of that may lose a suspect or report one twice.

    suspects/<content hash>/{suspect.json,state.json}
    findings/<signature>/{evidence.json,repro.py,finding.json}     written in this order: the last one counts
    runs/<name>.json        ledger.json        set-aside/        lock
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from bot import wire
from bot.errors import UserMistake
from bot.files import is_leftover, locked, utc_now, write_atomically
from bot.merge import merge_findings, merge_states
from bot.states import UNFINISHED, Ledger, TriageState, Trial
from fuzzers.records import Finding, Json, Suspect

T = TypeVar("T")


class Store:
    """One store folder. `warn` gets one line for each thing set aside."""

    def __init__(self, root: Path, warn: Callable[[str], None]) -> None:
        self.root = root
        self.warn = warn
        self._lock = root / "lock"

    # Suspects

    def add(self, suspect: Suspect) -> bool:
        """Keep a suspect; False when it is there already (same content)."""
        path = self._suspect_path(suspect.id)
        with locked(self._lock):
            if path.exists() and self._parsed(Suspect, path) is not None:
                return False
            write_atomically(path, wire.text(suspect))
            return True

    def suspects(self) -> Iterator[Suspect]:
        """Every suspect, in order of its content hash."""
        for folder in self._folders("suspects", "suspect.json"):
            suspect = self.suspect(folder.name)
            if suspect is not None:
                yield suspect

    def suspect(self, ident: str) -> Suspect | None:
        """The suspect with this content hash, if it is here and readable."""
        path = self._suspect_path(ident)
        return self._read(Suspect, path, lambda s: s.id == ident) if path.exists() else None

    def state(self, ident: str) -> TriageState:
        """How far triage is with a suspect; PENDING when nothing (readable) is known."""
        path = self._suspect_path(ident).with_name("state.json")
        known = self._read(TriageState, path) if path.exists() else None
        return known or TriageState()

    def set_state(self, ident: str, state: TriageState) -> None:
        """Write down how far triage is with a suspect."""
        path = self._suspect_path(ident).with_name("state.json")
        with locked(self._lock):
            write_atomically(path, wire.text(replace(state, updated_at=utc_now())))

    def pending(self) -> list[Suspect]:
        """Suspects that triage has not finished with, also those whose finding has gone missing."""
        signatures = {finding.signature for finding in self.findings()}
        found = []
        for suspect in self.suspects():
            state = self.state(suspect.id)
            if state.status in UNFINISHED or (state.finding and state.finding not in signatures):
                found.append(suspect)
        return found

    # Findings

    def findings(self) -> Iterator[Finding]:
        """Every finding, in order of its signature."""
        for folder in self._folders("findings", "finding.json"):
            finding = self.finding(folder.name)
            if finding is not None:
                yield finding

    def finding(self, signature: str) -> Finding | None:
        """The finding of this signature, if it is here and readable."""
        path = self.finding_folder(signature) / "finding.json"
        return self._read(Finding, path, lambda f: f.signature == signature) if path.exists() else None

    def put_finding(self, finding: Finding, evidence: Json | None = None) -> Path:
        """Write a finding, new or changed; its folder. A `repro.py` that a person has edited stays."""
        folder = self.finding_folder(finding.signature)
        with locked(self._lock):
            path = folder / "finding.json"
            before = self._parsed(Finding, path) if path.exists() else None
            if evidence is not None:
                write_atomically(folder / "evidence.json", json.dumps(evidence, indent=1) + "\n")
            if before is None or before.script != finding.script or not (folder / "repro.py").exists():
                write_atomically(folder / "repro.py", finding.script)
            write_atomically(path, wire.text(finding))
        return folder

    def script(self, finding: Finding) -> str:
        """The reproducer as the folder holds it, with what a person may have edited."""
        path = self.finding_folder(finding.signature) / "repro.py"
        return path.read_text(encoding="utf-8") if path.exists() else finding.script

    def evidence(self, signature: str) -> Json:
        """What was put beside a finding; empty when nothing (readable) was."""
        path = self.finding_folder(signature) / "evidence.json"
        plain = self._read_plain(path) if path.exists() else None
        return plain or {}

    def finding_folder(self, signature: str) -> Path:
        """Where the finding of this signature lives."""
        return self.root / "findings" / signature

    # Runs and builds

    def record_run(self, name: str, record: Json) -> Path:
        """One file a run of a command; `name` is unique to it."""
        path = self.root / "runs" / f"{name}.json"
        with locked(self._lock):
            write_atomically(path, json.dumps(record, indent=1) + "\n")
        return path

    def ledger(self) -> Ledger:
        """The tested builds."""
        path = self.root / "ledger.json"
        return (self._read(Ledger, path) if path.exists() else None) or Ledger()

    def record_trial(self, trial: Trial) -> None:
        """Note what became of testing a build; replaces what was noted of the same trial before."""
        path = self.root / "ledger.json"
        with locked(self._lock):
            known = (self._parsed(Ledger, path) if path.exists() else None) or Ledger()
            write_atomically(path, wire.text(replace(known, builds={**known.builds, trial.key: trial})))

    # Merging

    def merge(self, other: Store) -> None:
        """Take in all that another store has (rules: `bot.merge`)."""
        for suspect in other.suspects():
            self.add(suspect)
            ours = self.state(suspect.id)
            merged = merge_states(ours, other.state(suspect.id))
            if merged != ours:
                self.set_state(suspect.id, merged)
        for theirs in other.findings():
            known = self.finding(theirs.signature)
            evidence = {**other.evidence(theirs.signature), **self.evidence(theirs.signature)}
            self.put_finding(merge_findings(known, theirs) if known else theirs, evidence)

    # Reading what may be broken

    def set_aside(self, path: Path, why: str) -> None:
        """Move a file or folder that is not what it should be out of the way, and say so."""
        place = path.relative_to(self.root) if path.is_relative_to(self.root) else Path(path.name)
        flat = "__".join(place.parts)
        folder = self.root / "set-aside"
        folder.mkdir(parents=True, exist_ok=True)
        target = next(t for n in range(10**6) if not (t := folder / (f"{flat}.{n}" if n else flat)).exists())
        path.rename(target)
        self.warn(f"set aside {place}: {why}; it is now {target}, the rest goes on")

    def _suspect_path(self, ident: str) -> Path:
        return self.root / "suspects" / ident / "suspect.json"

    def _folders(self, kind: str, main: str) -> Iterator[Path]:
        """The record folders below `kind`. One that is empty, or holds leftovers only, is an addition
        that was cut short: whoever was adding does it again."""
        parent = self.root / kind
        for path in sorted(parent.iterdir()) if parent.is_dir() else []:
            if is_leftover(path):
                continue
            if path.is_dir() and (path / main).exists():
                yield path
            elif not path.is_dir() or any(not is_leftover(p) for p in path.iterdir()):
                with locked(self._lock):
                    if path.exists() and not (path / main).exists():
                        self.set_aside(path, f"no {kind[:-1]} (it has no {main})")

    def _read(self, kind: type[T], path: Path, is_right: Callable[[T], bool] = lambda _: True) -> T | None:
        """The record in `path`; None, and set aside, when there is none or it is another's."""
        with locked(self._lock):
            record = self._parsed(kind, path)
            if record is not None and not is_right(record):
                self.set_aside(_unit(path), "it does not belong under this name")
                return None
            return record

    def _parsed(self, kind: type[T], path: Path) -> T | None:
        """As `_read`, under a lock that the caller holds."""
        try:
            return wire.read(kind, path.read_bytes())
        except wire.TooNewError as error:
            raise UserMistake(f"{path}: {error}") from error
        except wire.UnreadableError as error:
            self.set_aside(_unit(path), f"{path.name} is {error}")
            return None

    def _read_plain(self, path: Path) -> Json | None:
        try:
            plain = json.loads(path.read_bytes())
        except ValueError as error:
            self.set_aside(path, f"not JSON ({error})")
            return None
        return plain if isinstance(plain, dict) else None


def _unit(path: Path) -> Path:
    """What is set aside together: without its main record, a suspect's or finding's folder says nothing."""
    return path.parent if path.name in ("suspect.json", "finding.json") else path
