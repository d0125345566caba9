"""The store: suspects, findings, runs and tested builds as a folder of plain JSON.

Invariant: a suspect or a finding is there whole or not at all, once, under its own name; a file that is
not what it should be is moved to `set-aside/`, named in a message, and the rest goes on. The reason:
campaigns and triage are killed at any moment, people edit files, and stores come back from branches and
artifacts; none of that may lose a suspect or report one twice.

    suspects/<content hash>/{suspect.json,state.json}
    findings/<signature>/{evidence.json,repro.py,finding.json}     written in this order: the last one counts
    runs/<name>.json     ledger.json     holds.json     published.json     set-aside/     lock
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from bot import wire
from bot.catalogue import Catalogue
from bot.errors import MachineryFailure
from bot.files import remove_folder, utc_now, write_atomically
from bot.merge import EDITS, JOINED, Kept, groups, join_findings, join_kept, merge_findings
from bot.migrate import named_now
from bot.shelf import Shelf
from bot.states import UNFINISHED, Hold, Holds, Ledger, Publications, Published, TriageState, Trial
from fuzzers.records import Finding, Json, Suspect

OURS = frozenset({"evidence.json", "repro.py", "finding.json"})
"""The files of a finding's folder; what else is in it is somebody's."""


class Store:
    """One store folder. `warn` gets one line for each thing set aside."""

    def __init__(self, root: Path, warn: Callable[[str], None]) -> None:
        self.root = root
        self.warn = warn
        self.shelf = Shelf(root, warn)
        self.catalogue = Catalogue(self.shelf)

    # Suspects

    def add(self, suspect: Suspect) -> bool:
        """Keep a suspect; False when it is there already (same content)."""
        with self.shelf.held():
            if self.suspect(suspect.id) is not None:
                return False
            write_atomically(self.suspect_path(suspect.id), wire.text(suspect))
            return True

    def suspects(self) -> Iterator[Suspect]:
        """Every suspect, in order of its content hash."""
        for folder in self.shelf.folders("suspects", "suspect.json"):
            suspect = self.suspect(folder.name)
            if suspect is not None:
                yield suspect

    def suspect(self, ident: str) -> Suspect | None:
        """The suspect with this content hash, if it is here and readable."""
        return self.shelf.read(Suspect, self.suspect_path(ident), lambda s: s.id == ident)

    def suspect_path(self, ident: str) -> Path:
        """Where the suspect with this content hash lives."""
        return self.root / "suspects" / ident / "suspect.json"

    def state(self, ident: str) -> TriageState:
        """How far triage is with a suspect; PENDING when nothing (readable) is known."""
        return self.shelf.read(TriageState, self.state_path(ident)) or TriageState()

    def set_state(self, ident: str, state: TriageState) -> None:
        """Write down how far triage is with a suspect."""
        with self.shelf.held():
            write_atomically(self.state_path(ident), wire.text(replace(state, updated_at=utc_now())))

    def state_path(self, ident: str) -> Path:
        """Where the state of the suspect with this content hash lives."""
        return self.root / "suspects" / ident / "state.json"

    def pending(self) -> list[Suspect]:
        """Suspects that triage has not finished with, also those whose finding has gone missing."""
        names = self.catalogue.now().owner
        found = []
        for suspect in self.suspects():
            state = self.state(suspect.id)
            if state.status in UNFINISHED or (state.finding and state.finding not in names):
                found.append(suspect)
        return found

    # Findings

    def findings(self) -> Iterator[Finding]:
        """Every finding, in order of its signature."""
        return iter(self.catalogue.now().by_signature.values())

    def finding(self, name: str) -> Finding | None:
        """The finding that goes by this name, signature or alias, if it is here and readable."""
        return self.catalogue.now().named(name)

    def put_finding(self, finding: Finding, evidence: Json | None = None) -> Path:
        """Write a finding, new or changed; its folder. A `repro.py` that a person has edited stays, and so do
        aliases and suspects that somebody has added since `finding` was read.

        When another finding goes by one of its names, the two are one bug: they are joined into the one
        that `bot.merge.groups` puts first, and the folder is that one's.
        """
        with self.shelf.held():
            finding = self._caught_up(named_now(finding))
            (group,) = groups([finding, *self.catalogue.now().sharing(finding)])
            first, *others = (self._to_keep(f, evidence if f is finding else None) for f in group)
            for other in others:
                first = join_kept(first, other)
            self.write(first, write_atomically)
            for other in others:
                self.drop(other.finding.signature, first.finding.signature)
        return self.finding_folder(first.finding.signature)

    def join(self, older: str, younger: str) -> Finding:
        """Make the finding of the name `younger` an alias of the one of the name `older`; what both are
        from now on.

        The older is written with all that the younger has before the younger's folder goes, so that this
        can be killed anywhere and done again. MachineryFailure when one of them is not there.
        """
        with self.shelf.held():
            first, second = self.finding(older), self.finding(younger)
            if first is None or second is None:
                raise MachineryFailure(
                    f"finding {older if first is None else younger} has gone from the store"
                )
            if first.signature != second.signature:
                first = join_findings(first, replace(second, script=self.script(second)))
            self.put_finding(first)
            return first

    def kept(self, finding: Finding) -> Kept:
        """A finding with what its folder holds beside it."""
        return Kept(finding, self.evidence(finding.signature), self.script(finding))

    def script(self, finding: Finding) -> str:
        """The reproducer as the folder holds it, with what a person may have edited."""
        data = self.shelf.bytes(self.finding_folder(finding.signature) / "repro.py")
        return finding.script if data is None else data.decode("utf-8", "replace")

    def evidence(self, signature: str) -> Json:
        """What was put beside a finding; empty when nothing (readable) was."""
        return self.shelf.read_plain(self.finding_folder(signature) / "evidence.json") or {}

    def finding_folder(self, signature: str) -> Path:
        """Where the finding of this signature lives."""
        return self.root / "findings" / signature

    def write(self, kept: Kept, write: Callable[[Path, str], None]) -> None:
        """Have `write` replace those files of a finding's folder that are not so already."""
        for name, text in kept.files():
            path = self.finding_folder(kept.finding.signature) / name
            if self.shelf.bytes(path) != text.encode():
                write(path, text)

    def drop(self, signature: str, into: str) -> None:
        """Take away the folder of a finding that has been joined `into` another; one that holds files of
        somebody else is set aside."""
        folder = self.finding_folder(signature)
        with self.shelf.held():
            if not folder.exists():
                return
            if {path.name for path in folder.iterdir()} <= OURS:
                remove_folder(folder)
            else:
                self.shelf.set_aside(folder, f"it was joined with {into} and holds files of somebody")

    def _caught_up(self, finding: Finding) -> Finding:
        """The finding with what others have written since it was read. Aliases and suspects only grow, so
        a record that lacks some has missed something, and is merged with what is here."""
        before = self.catalogue.now().parts.get(finding.signature)
        if before is None:
            return finding
        is_missing = {*before.aliases, *before.suspects} - {*finding.aliases, *finding.suspects}
        return merge_findings(before, finding) if is_missing else finding

    def _to_keep(self, finding: Finding, evidence: Json | None) -> Kept:
        """What is to be in a finding's folder from now on. A new script replaces what was edited."""
        before = self.catalogue.now().parts.get(finding.signature)
        is_same = before is not None and before.script == finding.script
        known = self.evidence(finding.signature)
        joined = {key: known[key] for key in (JOINED, EDITS) if key in known}
        return Kept(
            finding,
            known if evidence is None else {**evidence, **joined},
            self.script(finding) if is_same else finding.script,
        )

    # Runs and builds

    def record_run(self, name: str, record: Json) -> Path:
        """One file a run of a command; `name` is unique to it."""
        path = self.root / "runs" / f"{name}.json"
        with self.shelf.held():
            write_atomically(path, wire.text(record))
        return path

    def ledger(self) -> Ledger:
        """The tested builds."""
        return self.shelf.read(Ledger, self.root / "ledger.json") or Ledger()

    def record_trial(self, trial: Trial) -> None:
        """Note what became of testing a build; replaces what was noted of the same trial before."""
        with self.shelf.held():
            known = self.ledger()
            noted = replace(known, builds={**known.builds, trial.key: trial})
            write_atomically(self.root / "ledger.json", wire.text(noted))

    def holds(self) -> list[Hold]:
        """The builds about which nothing is, or was, to be published, oldest first."""
        return sorted(self.all_holds().holds.values(), key=lambda hold: (hold.at, hold.key))

    def put_hold(self, hold: Hold) -> None:
        """Note a hold, or that a person has accepted it."""
        with self.shelf.held():
            known = self.all_holds()
            noted = replace(known, holds={**known.holds, hold.key: hold})
            write_atomically(self.root / "holds.json", wire.text(noted))

    def all_holds(self) -> Holds:
        """The holds as the file has them."""
        return self.shelf.read(Holds, self.root / "holds.json") or Holds()

    # Publications

    def publications(self) -> list[Published]:
        """What has been published where, by tracker and signature."""
        return [found for _, found in sorted(self.all_publications().records.items())]

    def published(self, tracker: str) -> dict[str, Published]:
        """What one tracker has, by the names that the findings had when it was written."""
        return {one.signature: one for one in self.publications() if one.tracker == tracker}

    def put_published(self, *records: Published) -> None:
        """Note what a tracker has now."""
        with self.shelf.held():
            known = self.all_publications()
            noted = replace(known, records={**known.records, **{one.key: one for one in records}})
            write_atomically(self.root / "published.json", wire.text(noted))

    def all_publications(self) -> Publications:
        """The publications as the file has them."""
        return self.shelf.read(Publications, self.root / "published.json") or Publications()
