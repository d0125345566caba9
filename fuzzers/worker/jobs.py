"""What a worker can be asked to do in a child: the jobs, in one list.

Invariant: a job takes and returns plain JSON values, runs in a child that nobody else shares, and leaves
nothing behind but its result and the journal.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from fuzzers.engine import Batched, FromFile, Sighting, StepTask, page
from fuzzers.engines import load
from fuzzers.records import Ending, Json, Limits, encode


@dataclass(frozen=True)
class Context:
    """What a job is given besides its arguments."""

    journal: str | None = None

    def announce(self, sighting: Sighting) -> None:
        """Write what is about to run, so that it is known should this process die. Whole or not at all."""
        if self.journal is None:
            return
        target = Path(self.journal)
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        with part.open("w") as out:
            json.dump(encode(sighting), out)
            out.flush()
            os.fsync(out.fileno())
        part.replace(target)
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)


Job: TypeAlias = Callable[[Json, Context], Any]


def engine_about(args: Json, context: Context) -> Json:
    """What a campaign must know of an engine before it starts."""
    engine = load(args["engine"])
    batch = engine.batch if isinstance(engine, Batched) else 1
    return {
        "name": engine.name,
        "revision": engine.revision,
        "chain_length": engine.chain_length,
        "batch": batch,
    }


def engine_step(args: Json, context: Context) -> Json:
    """One step of a chain; announces its candidate in the journal."""
    return encode(load(args["engine"]).step(_task(args), context.announce))


def engine_steps(args: Json, context: Context) -> Json:
    """One step of each of several chains."""
    engine = load(args["engine"])
    if not isinstance(engine, Batched):
        raise TypeError(f"the engine {args['engine']!r} takes no batches")
    return {"outcomes": [encode(outcome) for outcome in engine.steps([_task(t) for t in args["tasks"]])]}


def _task(args: Json) -> StepTask:
    given = {k: v for k, v in args.items() if k != "engine"}
    return StepTask(**{**given, "seeds": tuple(given.get("seeds") or ())})


def engine_read(args: Json, context: Context) -> Json:
    """What a user's file does, and pieces of it."""
    return encode(_taking_files(args["engine"]).read(args["path"], args["lines"]))


def engine_check_file(args: Json, context: Context) -> Json:
    """A user's file as it stands; announced in the journal."""
    engine = _taking_files(args["engine"])
    return encode(engine.check_file(args["path"], args["aspects"], context.announce))


def engine_check_piece(args: Json, context: Context) -> Json:
    """A piece of one as it stands; announced in the journal."""
    engine = _taking_files(args["engine"])
    return encode(engine.check_piece(args["program"], args["aspects"], context.announce))


def _taking_files(name: str) -> FromFile:
    engine = load(name)
    if not isinstance(engine, FromFile):
        raise TypeError(f"the engine {name!r} takes no files")
    return engine


def engine_candidates(args: Json, context: Context) -> Json:
    """Smaller programs than the one given."""
    return {"programs": load(args["engine"]).candidates(args["program"])}


def engine_page(args: Json, context: Context) -> Json:
    """Some of the smaller programs, with their scripts."""
    engine = load(args["engine"])
    return encode(page(engine, args["program"], args["start"], args["count"], args["hints"]))


def engine_emit(args: Json, context: Context) -> Json:
    """The script of a program."""
    return {"script": load(args["engine"]).emit(args["program"])}


def engine_emit_all(args: Json, context: Context) -> Json:
    """The scripts of several programs."""
    engine = load(args["engine"])
    return {"scripts": [engine.emit(program) for program in args["programs"]]}


def engine_operators(args: Json, context: Context) -> Json:
    """The operator and dtype names of a program."""
    operators, dtypes = load(args["engine"]).operators(args["program"])
    return {"operators": operators, "dtypes": dtypes}


def alignguard_seeds(args: Json, context: Context) -> Json:
    """A block of seeds from the build's own operator tests."""
    from fuzzers.alignguard import opinfo

    return opinfo.block(int(args["seed"]), int(args["start"]), int(args["size"]))


def flowmut_figures(args: Json, context: Context) -> Json:
    """How legal and how diverse FlowMuT's programs are."""
    from fuzzers.flowmut.figures import figures

    return figures(int(args["seed"]), int(args["programs"]))


def dirigo_check(args: Json, context: Context) -> Json:
    """A kernel's file against its reference's."""
    from fuzzers.dirigo.check import check
    from fuzzers.dirigo.examine import Limits as Most

    return encode(check(args["kernel"], args["reference"], Most(args["locations"], args["seconds"])))


def script_run(args: Json, context: Context) -> Json:
    """Run a script to its end."""
    from fuzzers.script import run_script

    return encode(run_script(args["script"], backend=args.get("backend"), threads=args.get("threads")))


def script_judge(args: Json, context: Context) -> Json:
    """Run a script; when it fails, also under the rung before, and have the oracle look at its call."""
    from fuzzers.judge import judge

    return judge(args["script"], before=args.get("backend_before"), examine=bool(args.get("examine")))


def script_ablate(args: Json, context: Context) -> Json:
    """Run a script once for each list in `without`, with those parts of the compiler switched off. The first
    run that does not end in time is the last: of a program that hangs, each would take all of its time."""
    from fuzzers.ablate import ablate
    from fuzzers.worker.apart import apart

    limits = Limits(seconds=args["seconds"])
    done: list[Json] = []
    for without in args["without"]:
        done.append(apart(partial(ablate, args["script"], args.get("backend"), without), limits))
        if done[-1]["run"]["ending"] == Ending.TIMEOUT:
            break
    return {"ablations": done}


def compiler_switches(args: Json, context: Context) -> Json:
    """The parts that `script.ablate` can switch off besides those that a run shows to be used."""
    from fuzzers.ablate import switches

    return {"switches": switches()}


def script_bisect(args: Json, context: Context) -> Json:
    """What torch's own bisector says of a script."""
    from fuzzers.ablate import bisect
    from fuzzers.script import run_script
    from fuzzers.worker.apart import apart

    limits = Limits(seconds=args["seconds"])

    def is_right() -> bool:
        ended = apart(lambda: {"run": encode(run_script(args["script"]))}, limits)
        return bool(ended["run"]["ending"] == Ending.OK)

    return bisect(is_right)


JOBS: dict[str, Job] = {
    "engine.about": engine_about,
    "engine.step": engine_step,
    "engine.steps": engine_steps,
    "engine.read": engine_read,
    "engine.check_file": engine_check_file,
    "engine.check_piece": engine_check_piece,
    "engine.candidates": engine_candidates,
    "engine.page": engine_page,
    "engine.emit": engine_emit,
    "engine.emit_all": engine_emit_all,
    "engine.operators": engine_operators,
    "alignguard.seeds": alignguard_seeds,
    "flowmut.figures": flowmut_figures,
    "dirigo.check": dirigo_check,
    "script.run": script_run,
    "script.judge": script_judge,
    "script.ablate": script_ablate,
    "script.bisect": script_bisect,
    "compiler.switches": compiler_switches,
}
