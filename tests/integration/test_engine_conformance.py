"""What every engine must do: the contract of `fuzzers.engine`, on each engine that is listed.

A new engine is added to `fuzzers.engines.ENGINES` and to nothing here. Steps run in children of a clean
server process, as in a worker: they may crash, they must not depend on what ran before them, and a child
forked from a process that has run operators on several threads would hang.
"""

from __future__ import annotations

import ast
import json
import logging
import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import pytest

from fuzzers.engine import Engine, Sighting, StepOutcome, StepStatus, StepTask, page
from fuzzers.engines import ENGINES, load
from fuzzers.records import Json, encode

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(600)]

STEPS = 3

SERVER = multiprocessing.get_context("forkserver")


def _answer(job: Callable[..., Any], args: tuple[Any, ...], sink: Connection) -> None:
    logging.disable(logging.CRITICAL)
    # As in a worker: of a graph that comes out of a cache there is nothing to be seen.
    os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = os.environ["TORCHINDUCTOR_AUTOGRAD_CACHE"] = "0"
    sink.send(json.dumps(job(*args)))


def apart(job: Callable[..., Any], *args: Any) -> Any:
    """The JSON-able result of a job, run in a process of its own."""
    source, sink = SERVER.Pipe(duplex=False)
    child = SERVER.Process(target=_answer, args=(job, args, sink))
    child.start()
    sink.close()
    try:
        return json.loads(source.recv())
    except EOFError:
        pytest.fail("the step's process died")
    finally:
        child.join()


def _step(engine: str, task: StepTask) -> Json:
    """One step: what was announced, and the outcome, as a worker would pass them on."""
    announced: list[Sighting] = []
    outcome: StepOutcome = load(engine).step(task, announced.append)
    return {"announced": [encode(s) for s in announced], "outcome": encode(outcome)}


def _compiled_before_a_fatal_announcement(engine: str, task: StepTask) -> list[str]:
    import torch

    compiled: list[str] = []
    real = torch.compile
    torch.compile = lambda *a, **k: compiled.append("compile") or real(*a, **k)

    def announce(sighting: Sighting) -> None:
        raise KeyboardInterrupt

    try:
        load(engine).step(task, announce)
    except KeyboardInterrupt:
        return compiled
    return ["the announcement was swallowed"]


def taken(engine: Engine, task: StepTask) -> Json:
    """One step in a process of its own."""
    answer: Json = apart(_step, engine.name, task)
    return answer


@pytest.fixture(scope="module", params=sorted(ENGINES))
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    return load(request.param)


@pytest.fixture(scope="module")
def chain(engine: Engine) -> list[tuple[StepTask, Json]]:
    """The first steps of a chain, each with what it answered."""
    steps: list[tuple[StepTask, Json]] = []
    state: Json | None = None
    for step in range(STEPS):
        task = StepTask(seed=3, chain=1, step=step, aspects="forward", state=state)
        steps.append((task, taken(engine, task)))
        state = steps[-1][1]["outcome"]["state"]
    return steps


@pytest.fixture(scope="module")
def payloads(chain: list[tuple[StepTask, Json]]) -> list[Json]:
    """Programs of the engine: those that it announced."""
    found = [s["program"] for _, answer in chain for s in answer["announced"] if s["program"] is not None]
    assert found, "the engine announced no program"
    return found


def test_it_says_who_it_is(engine: Engine, request: pytest.FixtureRequest) -> None:
    assert engine.name in ENGINES
    assert engine.revision
    assert engine.chain_length >= 1


def test_a_step_is_a_pure_function_of_its_task(engine: Engine, chain: list[tuple[StepTask, Json]]) -> None:
    task, answer = chain[-1]
    again = taken(engine, task)
    assert again == answer


def test_another_seed_makes_another_candidate(engine: Engine, chain: list[tuple[StepTask, Json]]) -> None:
    task, answer = chain[0]
    other = taken(engine, StepTask(task.seed + 1, task.chain, task.step, task.aspects, task.state))
    assert other["outcome"]["digest"] != answer["outcome"]["digest"]


def test_outcomes_are_plain_and_counted(chain: list[tuple[StepTask, Json]]) -> None:
    for _, answer in chain:
        outcome = answer["outcome"]
        assert StepStatus(outcome["status"])
        assert all(isinstance(k, str) and isinstance(v, int) for k, v in outcome["counts"].items())
        executed = outcome["status"] in (StepStatus.CHECKED, StepStatus.DROPPED)
        assert outcome["counts"].get("executed", 0) == int(executed)
        assert bool(outcome["digest"]) == executed
        assert outcome["name"]


def test_what_is_executed_is_announced_once(chain: list[tuple[StepTask, Json]]) -> None:
    for _, answer in chain:
        assert len(answer["announced"]) == answer["outcome"]["counts"].get("executed", 0)


def test_it_announces_before_executing(engine: Engine, chain: list[tuple[StepTask, Json]]) -> None:
    """An announcement that dies leaves nothing compiled behind it."""
    task = next(t for t, answer in chain if answer["announced"])

    assert apart(_compiled_before_a_fatal_announcement, engine.name, task) == []


def test_an_announced_script_is_a_reproducer(chain: list[tuple[StepTask, Json]]) -> None:
    for _, answer in chain:
        for sighting in (*answer["announced"], *answer["outcome"]["sightings"]):
            assert_is_reproducer(sighting["script"])


def assert_is_reproducer(script: str) -> None:
    body = ast.parse(script).body
    assert isinstance(body[-1], ast.Assert)
    imported = {
        alias.name.split(".")[0] for node in body if isinstance(node, ast.Import) for alias in node.names
    }
    assert imported <= {"torch", "numpy", "mindspore"}
    assert "fuzzers" not in script


def test_emit_gives_the_script_of_a_program(engine: Engine, payloads: list[Json]) -> None:
    for program in payloads:
        script = engine.emit(json.loads(json.dumps(program)))
        assert_is_reproducer(script)
        assert script == engine.emit(program)


def test_emit_gives_the_announced_script(engine: Engine, chain: list[tuple[StepTask, Json]]) -> None:
    for _, answer in chain:
        for sighting in answer["announced"]:
            assert engine.emit(sighting["program"]) == sighting["script"]


def test_candidates_are_programs_and_descending_through_them_ends(
    engine: Engine, payloads: list[Json]
) -> None:
    program, seen = payloads[0], set[str]()
    for _ in range(500):
        assert json.dumps(program, sort_keys=True) not in seen, "a candidate was had before: no order"
        seen.add(json.dumps(program, sort_keys=True))
        offered = engine.candidates(program)
        if not offered:
            return
        assert json.loads(json.dumps(offered)) == offered
        program = offered[len(seen) % len(offered)]
        assert_is_reproducer(engine.emit(program))
    pytest.fail("five hundred candidates in a row and no end")


def each_once(programs: list[Json]) -> list[str]:
    return list(dict.fromkeys(json.dumps(p, sort_keys=True) for p in programs))


def test_pages_put_together_are_the_candidates_with_their_scripts(
    engine: Engine, payloads: list[Json]
) -> None:
    program = payloads[0]
    programs: list[Json] = []
    scripts: list[str] = []
    places: list[int] = []
    after: int | None = 0
    while after is not None:
        part = page(engine, program, after, 7, ())
        programs += part.programs
        scripts += part.scripts
        places += part.places
        after = part.after
    assert each_once(programs) == each_once(engine.candidates(program))
    assert scripts == [engine.emit(p) for p in programs]
    assert places == sorted(set(places))


def test_operators_and_dtypes_are_sorted_names(engine: Engine, payloads: list[Json]) -> None:
    for program in payloads:
        for names in engine.operators(program):
            assert names == sorted(set(names))
            assert all(isinstance(n, str) and n for n in names)
