"""The reduced script as it will be published, with its own evidence: fresh runs, ladder, oracle, operators.

Invariant: everything here is about one and the same script, byte for byte, because that is what people
will run. If the reduced script does not fail every time, the suspect's own, which did, takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot import reading, source_passes
from bot.asking import Asker
from bot.confirm import UNEXAMINED, Confirmed, Fresh, in_fresh_processes, way
from bot.evidence import difference
from bot.localise import Place, localise
from bot.shorten import Shortened
from fuzzers.records import Expect, Json, Run, Suspect, Verdict


@dataclass(frozen=True)
class Written:
    """A script and what was seen of it. `runs` are the fresh ones, all failing in the same way."""

    script: str
    runs: tuple[Run, ...]
    place: Place
    rungs: dict[str, Run]
    operators: tuple[str, ...]
    dtypes: tuple[str, ...]
    evidence: Json


def write_up(
    suspect: Suspect, confirmed: Confirmed, shortened: Shortened, fresh: Fresh, asker: Asker
) -> Written:
    """Confirm the reduced script once more in fresh processes and take its evidence."""
    seen = confirmed.slip.way
    expect = Expect(seen.ending, seen.exception, seen.message, seen.signal)
    found, _, runs = in_fresh_processes(expect, shortened.script, fresh, asker.at_once)
    if found is not Verdict.REPRODUCES or not all(seen.is_still(way(run)) for run in runs):
        return Written(
            source_passes.formatted(suspect.script),
            confirmed.runs,
            confirmed.place,
            confirmed.rungs,
            *named_by(suspect, suspect.script, suspect.program, asker),
            confirmed.evidence,
        )
    place, rungs = localise(suspect.kind, shortened.script, asker.runs, suspect.build.framework)
    return Written(
        shortened.script,
        tuple(runs),
        place if place.rung == confirmed.slip.rung else confirmed.place,
        rungs,
        *named_by(suspect, shortened.script, shortened.program, asker),
        evidence(suspect, confirmed, shortened.script, asker),
    )


def named_by(
    suspect: Suspect, script: str, program: Json | None, asker: Asker
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Operators and dtypes: by the engine if it has the program, else read from the script."""
    if program is None:
        return reading.operators(script), reading.dtypes(script)
    return asker.operators(suspect.engine, program)


def evidence(suspect: Suspect, confirmed: Confirmed, script: str, asker: Asker) -> Json:
    """The oracle's difference on the reduced script; that of the suspect where there is none to take."""
    if suspect.kind in UNEXAMINED:
        return confirmed.evidence
    (judged,) = asker.judge([script], None, examine=True)
    return difference(judged.report, suspect.kind, suspect.aspect) or confirmed.evidence
