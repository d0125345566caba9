"""The worker and the controller's side of it, with a real torch and an engine that misbehaves on request."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from bot.errors import MachineryFailure
from bot.target import GRACE_SECONDS, Pool, Worker
from fuzzers.records import Build, Ending, Json, Limits
from fuzzers.worker.protocol import Reply

TOY = "tests.integration.toy:ENGINE"
SHORT = Limits(seconds=2.0, memory_mib=512, output_kib=64)

COMPILING = """
import torch

def f(x):
    return (x * 3 + 1).relu().sum()

x = torch.ones(7)
expected = f(x)
actual = torch.compile(f)(x)
assert torch.equal(actual, expected)
"""


def step(state: Json) -> Json:
    return {"engine": TOY, "seed": 0, "chain": 0, "step": 0, "aspects": "forward", "state": state}


def do(pool: Pool | Worker, deed: str, journal: Path | None = None, limits: Limits = SHORT) -> Reply:
    return pool.call("engine.step", step({"deed": deed}), limits, journal)


def wait_for(claim: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def assert_no_process_is_left_of(pool: Pool) -> None:
    """No live descendant of a worker, and no stray one that a worker should have taken in."""
    for pid in pool.pids:
        assert psutil.Process(pid).children(recursive=True) == []
    assert sleepers() == []


def sleepers() -> list[int]:
    wanted = [sys.executable, "-c", "import time; time.sleep(1000)"]
    return [p.pid for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == wanted]


def assert_works(pool: Pool) -> None:
    for _ in range(2 * pool.size):
        reply = do(pool, "nothing")
        assert reply.ended is Ending.OK
        assert reply.value["name"] == "nothing"


ENDINGS: dict[str, tuple[Ending, str, str]] = {
    "nothing": (Ending.OK, "", ""),
    "null": (Ending.SIGNAL, "SIGSEGV", ""),
    "SIGSEGV": (Ending.SIGNAL, "SIGSEGV", ""),
    "abort": (Ending.SIGNAL, "SIGABRT", ""),
    "SIGFPE": (Ending.SIGNAL, "SIGFPE", ""),
    "SIGKILL": (Ending.SIGNAL, "SIGKILL", ""),
    "hang": (Ending.TIMEOUT, "", "TimeLimit"),
    "hang-with-offspring": (Ending.TIMEOUT, "", "TimeLimit"),
    "hoard": (Ending.EXCEPTION, "", "MemoryError"),
    "flood": (Ending.CANNOT_RUN, "", "OutputLimit"),
    "raise": (Ending.EXCEPTION, "", "ValueError"),
    "exit": (Ending.CANNOT_RUN, "", "NoResult"),
}


@pytest.mark.parametrize("deed", ENDINGS)
def test_what_a_step_does_to_its_process_is_read_and_the_worker_goes_on(pool: Pool, deed: str) -> None:
    before = pool.pids
    reply = do(pool, deed)
    assert (reply.ended, reply.signal, (reply.error or {}).get("type", "")) == ENDINGS[deed]
    assert pool.pids == before, "a child's end must not cost a worker"
    assert_no_process_is_left_of(pool)
    assert_works(pool)


@pytest.mark.parametrize("deed", ["null", "hang", "SIGKILL", "hoard"])
def test_the_journal_survives_the_step_that_it_announces(pool: Pool, tmp_path: Path, deed: str) -> None:
    journal = tmp_path / "step.json"
    do(pool, deed, journal)
    assert json.loads(journal.read_text())["program"] == {"deed": deed}
    assert list(tmp_path.iterdir()) == [journal], "no half-written file beside it"


def test_a_limit_that_is_over_before_the_child_has_begun_is_a_time_out(pool: Pool) -> None:
    for _ in range(5):
        assert do(pool, "hang-with-offspring", limits=Limits(seconds=0.0)).ended is Ending.TIMEOUT
    assert_no_process_is_left_of(pool)


def test_a_crash_shows_where_it_was(pool: Pool) -> None:
    assert "in step" in do(pool, "null").log


def test_a_hang_shows_where_it_was(pool: Pool) -> None:
    assert "in step" in do(pool, "hang").log


def test_a_worker_killed_while_it_compiles_leaves_no_compiler_process(pool: Pool) -> None:
    compilers: list[psutil.Process] = []

    def shoot(worker: int) -> None:
        wait_for(lambda: compiling_below(worker) != [], 60.0)
        compilers.extend(compiling_below(worker))
        os.kill(worker, signal.SIGKILL)

    with pool.borrow() as worker:
        shooter = threading.Thread(target=shoot, args=(worker.pid,))
        shooter.start()
        reply = worker.call("script.run", {"script": COMPILING.replace("* 3", "* 97")})
        shooter.join()
    assert (reply.error or {})["type"] == "WorkerDied"
    assert compilers
    assert not any(alive(compiler) for compiler in compilers)
    assert_works(pool)


def alive(process: psutil.Process) -> bool:
    """A dead process may still be listed, where nobody waits for orphans."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def compiling_below(worker: int) -> list[psutil.Process]:
    return [p for p in psutil.Process(worker).children(recursive=True) if p.name() in ("g++", "cc1plus")]


def test_a_result_beyond_the_cap_is_a_failure_of_the_machinery(
    pool: Pool,
) -> None:
    reply = pool.call("engine.step", step({"size": 17 * 1024**2}))
    assert reply.ended is Ending.EXCEPTION
    assert (reply.error or {})["type"] == "BrokenFrame"


def test_a_large_result_and_a_large_request_come_through_whole(pool: Pool) -> None:
    reply = pool.call("engine.step", step({"size": 4_000_000, "padding": "y" * 1_000_000}))
    assert len(reply.value["state"]["big"]) == 4_000_000


def test_an_unknown_job_is_said_to_be_unknown(pool: Pool) -> None:
    reply = pool.call("engine.fly", {})
    assert reply.ended is Ending.EXCEPTION
    assert "engine.fly" in (reply.error or {})["message"]


def test_each_engine_job_reaches_the_engine(pool: Pool) -> None:
    program = {"engine": TOY, "program": {"deed": "a"}}
    assert pool.call("engine.candidates", program).value == {"programs": [{"deed": "nothing"}]}
    assert pool.call("engine.emit", program).value == {"script": "# a\n"}
    assert pool.call(
        "engine.emit_all", {"engine": TOY, "programs": [{"deed": "a"}, {"deed": "b"}]}
    ).value == {"scripts": ["# a\n", "# b\n"]}
    assert pool.call("engine.operators", program).value == {"operators": ["a"], "dtypes": ["float32"]}


def test_a_worker_killed_in_the_middle_is_answered_for_and_replaced(pool: Pool, tmp_path: Path) -> None:
    restarts, journal = pool.restarts, tmp_path / "j.json"
    with pool.borrow() as worker:
        victim = threading.Thread(
            target=lambda: (wait_for(journal.exists), os.kill(worker.pid or 0, signal.SIGKILL))
        )
        victim.start()
        reply = do(worker, "hang-with-offspring", journal, Limits(seconds=60.0))
        victim.join()
    assert (reply.ended, reply.signal) == (Ending.SIGNAL, "SIGKILL")
    assert (reply.error or {})["type"] == "WorkerDied"
    assert reply.seconds < 30
    assert journal.exists()
    assert_works(pool)
    assert pool.restarts == restarts + 1
    for left in sleepers():  # the one that left the session of a worker that was shot is beyond reach
        os.kill(left, signal.SIGKILL)


def test_a_worker_that_stops_answering_is_killed_at_the_deadline(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.target.GRACE_SECONDS", 1.0)
    assert GRACE_SECONDS > 1.0
    with pool.borrow() as worker:
        os.kill(worker.pid or 0, signal.SIGSTOP)
        reply = worker.call("engine.step", step({"padding": "x" * 500_000}), Limits(seconds=0.5))
    assert reply.ended is Ending.SIGNAL
    assert "no reply within 1.5 s" in (reply.error or {})["message"]
    assert_works(pool)


def test_children_killed_at_random_moments_of_a_compile_leave_a_cache_that_works(pool: Pool) -> None:
    for number in range(6):
        script = COMPILING.replace("* 3", f"* {number + 11}")
        reply = pool.call("script.run", {"script": script}, Limits(seconds=0.15 + 0.15 * number))
        assert reply.ended in (Ending.TIMEOUT, Ending.OK)
        assert_no_process_is_left_of(pool)
        again = pool.call("script.run", {"script": script}, Limits(seconds=60.0))
        assert (again.ended, (again.value or {}).get("ending")) == (Ending.OK, Ending.OK)


def test_closing_ends_a_call_that_waits_and_refuses_the_next(
    build: Build, warm_folder: Path, tmp_path: Path
) -> None:
    worker = Worker(build, tmp_path / "cold", cold=True, extra={"PYTHONPATH": str(Path(__file__).parents[2])})
    journal = tmp_path / "j.json"
    closing = threading.Thread(target=lambda: (wait_for(journal.exists), worker.close()))
    closing.start()
    began = time.monotonic()
    reply = do(worker, "hang", journal, Limits(seconds=60.0))
    closing.join()
    assert reply.ended is Ending.SIGNAL
    assert time.monotonic() - began < 20
    with pytest.raises(MachineryFailure, match="closed"):
        do(worker, "nothing")


CONTROLLER = """
import sys
from pathlib import Path
from bot.target import Worker, probe
from fuzzers.records import Limits
from tests.integration.test_worker import do

worker = Worker(probe(sys.executable), Path(sys.argv[1]), cold=True, extra={"PYTHONPATH": sys.argv[3]})
worker.start()
print(worker.pid, flush=True)
do(worker, "hang-with-offspring", Path(sys.argv[2]), Limits(seconds=600.0))
"""


def test_a_worker_whose_controller_is_killed_ends_with_all_that_it_started(tmp_path: Path) -> None:
    tree, journal = str(Path(__file__).parents[2]), tmp_path / "j.json"
    command = [sys.executable, "-c", CONTROLLER, str(tmp_path / "w"), str(journal), tree]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, cwd=tree, env={**os.environ, "PYTHONPATH": tree}
    ) as controller:
        assert controller.stdout is not None
        worker = int(controller.stdout.readline())
        wait_for(lambda: journal.exists() and len(sleepers()) == 2)
        controller.kill()
    wait_for(lambda: not psutil.pid_exists(worker) and sleepers() == [])


def test_a_target_sees_no_token_and_none_of_our_packages(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, build: Build, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_secret")
    monkeypatch.setenv("NIGHTFUZZ_TOKEN", "secret")
    script = "import os\nprint(sorted(os.environ))\nassert not any('TOKEN' in name for name in os.environ)\n"
    with Worker(build, tmp_path, cold=True) as worker:
        reply = worker.call("script.run", {"script": script})
    assert reply.value["ending"] == Ending.OK, reply.log
    assert [path.name for path in (tmp_path / "tree").iterdir()] == ["fuzzers"]


def test_two_workers_that_start_at_once_share_one_precompiled_header(pool: Pool, warm_folder: Path) -> None:
    assert len(list(warm_folder.glob("tmp/torchinductor_*/precompiled_headers/*.gch"))) == 1


def test_nothing_is_left_in_the_temporary_folder(pool: Pool, warm_folder: Path) -> None:
    do(pool, "null")
    assert list((warm_folder / "tmp").glob("job-*")) == []
