"""A store as large as years make it: opened with validation in two seconds, merged in ten.

Times are of this process's own work on a file system in memory, so that what else the machine does and how
slow its disk is do not decide; the bounds are those that a whole machine has to keep.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bot import wire
from bot.files import Batch
from bot.merging import Merged, merge
from bot.states import Status, TriageState
from bot.store import Store
from fuzzers.records import Ending, Run
from tests.unit.made import a_finding, a_suspect

FINDINGS, SUSPECTS = 2000, 5000
OPEN_SECONDS, MERGE_SECONDS = 2.0, 10.0

SCRIPT = "".join(f"line_{n} = {n}\n" for n in range(14)) + "assert False  # {}\n"
RUN = Run(Ending.ASSERTION, "AssertionError", log="a line of output\n" * 90)
EVIDENCE = wire.text({"log": [f"line {n} of what the compiler said" for n in range(500)]})


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory."""
    if not Path("/dev/shm").is_dir():
        pytest.skip("this machine has no file system in memory at /dev/shm")
    with TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def large(root: Path, tag: str) -> Store:
    """A store with findings named after `tag`, written as a merge writes."""
    store = Store(root, pytest.fail)
    with Batch(root) as batch:
        for n in range(SUSPECTS):
            suspect = a_suspect(SCRIPT.format(f"{tag} {n}"), detail={"values": [x / 7 for x in range(100)]})
            signature = f"v2-{tag}{n % FINDINGS:04}"
            state = TriageState(Status.DUPLICATE_OF, signature, stages={"confirm": {"log": "x" * 900}})
            batch.write(store.suspect_path(suspect.id), wire.text(suspect))
            batch.write(store.state_path(suspect.id), wire.text(state))
            if n < FINDINGS:
                made = replace(a_finding(signature), suspect=suspect, script=suspect.script, runs=(RUN,) * 3)
                folder = store.finding_folder(signature)
                batch.write(folder / "evidence.json", EVIDENCE)
                batch.write(folder / "repro.py", made.script)
                batch.write(folder / "finding.json", wire.text(made))
    return store


def test_two_thousand_findings_open_in_two_seconds_and_merge_in_ten(memory: Path) -> None:
    store, other = large(memory / "ours", "a"), large(memory / "theirs", "b")
    began = time.process_time()
    assert len(list(store.findings())) == FINDINGS
    assert store.pending() == []
    assert time.process_time() - began < OPEN_SECONDS
    began = time.process_time()
    assert merge(store, other) == Merged(suspects=SUSPECTS, findings=FINDINGS)
    assert time.process_time() - began < MERGE_SECONDS
    assert len(list(store.findings())) == 2 * FINDINGS
