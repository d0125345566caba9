"""Makes the corpus's logs again: `PYTHONPATH=. <target's python> tests/unit/corpus/making.py torch`.

Invariant: a log holds what triage sees of a real run (message and frames of `fuzzers.script.run_script`, the
signal and output of a process that died) and nothing of the machine that it ran on: folders become those of
`Setting.shown`. Every program runs in a child forked after the import, once under each setting, so that the
logs of one kind differ in all that may differ between two occurrences of one bug.

Runs in the target's interpreter: standard library, `fuzzers` and the framework only. The logs get headers
without expectations; `UPDATE_GOLDENS=1 pytest tests/unit/test_normalise.py` adds those, to be read.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from string import Template

sys.path.insert(0, str(Path(__file__).parent))

from mindspore_programs import MINDSPORE
from native_programs import NATIVE
from programs import Program
from torch_compiler_programs import COMPILER
from torch_operator_programs import OPERATORS

from fuzzers.records import Ending, Run, encode
from fuzzers.script import run_script

TABLES: dict[str, tuple[Program, ...]] = {
    "torch": (*OPERATORS, *COMPILER, *NATIVE),
    "mindspore": MINDSPORE,
}

MOVED = {("dynamo-undefined-name", "2.14.1"): "dynamo-observed-name-error"}
"""(kind, version) -> the kind of what that version says instead, where it refuses the program elsewhere."""

LOGS = Path(__file__).parent / "logs"
SECONDS = 120


@dataclass(frozen=True)
class Setting:
    """One way to run a program: names and sizes to fill in, and the folders that the log shows instead of
    this machine's: the interpreter's, the temporary one and the compiler's cache."""

    name: str
    fill: dict[str, str]
    interpreter: str
    temporary: str
    cache: str


SETTINGS = (
    Setting(
        "a",
        {"f": "f", "x": "x", "y": "y", "a": "4", "b": "5", "c": "3", "dtype": "float32", "word": "boom"},
        "/home/me/.venv",
        "/tmp",
        "/tmp/torchinductor_me",
    ),
    Setting(
        "b",
        {
            "f": "model_step",
            "x": "hidden_states",
            "y": "w_2",
            "a": "6",
            "b": "18",
            "c": "7",
            "dtype": "float64",
            "word": "not-there",
        },
        "/opt/conda/envs/night",
        "/scratch/u1207/tmp",
        "/scratch/u1207/inductor-cache",
    ),
)


def main(framework: str, only: str) -> None:
    import_module(framework)
    version = metadata.version(framework).partition("+")[0]
    folder = LOGS / f"{framework}-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    header = tempfile.mkdtemp(prefix="corpus-")
    os.environ["TMPDIR"] = tempfile.tempdir = header
    if framework == "torch":
        quiet_torch()
    counts: dict[str, int] = {}
    for program in TABLES[framework]:
        number = counts[program.kind] = counts.get(program.kind, 0) + 1
        if not re.search(only, program.kind):
            continue
        for setting in SETTINGS:
            name = f"{program.kind}-{number}{setting.name}"
            run = in_child(Template(program.text).substitute(setting.fill), setting)
            print(f"{name}: {run.ending} {run.exception}{run.signal}: {run.message[:100]!r}", flush=True)
            path = folder / f"{name}.txt"
            path.unlink(missing_ok=True)
            if run.ending is not Ending.OK:
                path.write_text(log(program, framework, version, run, header, setting), encoding="utf-8")
    shutil.rmtree(header, ignore_errors=True)


def quiet_torch() -> None:
    """What children need of the compiler, imported. No program is compiled here: tracing a backward pass
    starts the autograd engine, which then refuses to work in children."""
    import torch
    import torch._inductor.compile_fx
    import torch._inductor.config

    torch.set_num_threads(1)
    torch._inductor.config.compile_threads = 1
    import_module("fuzzers.worker.warmup").quieten()


def in_child(script: str, setting: Setting) -> Run:
    """How the script ends in a child of its own folder, its output caught."""
    with tempfile.TemporaryDirectory(prefix="case-") as folder:
        result, output = Path(folder, "result.json"), Path(folder, "output")
        pid = os.fork()
        if pid == 0:
            _child(script, folder, result, output)
        deadline = time.monotonic() + SECONDS
        while not (done := os.waitpid(pid, os.WNOHANG))[0]:
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        told = output.read_text(errors="replace")
        if os.WIFSIGNALED(done[1]):
            run = Run(Ending.SIGNAL, signal=signal.Signals(os.WTERMSIG(done[1])).name, log=told)
        elif result.exists():
            run = Run(**json.loads(result.read_text()))
        else:
            run = Run(Ending.SIGNAL, signal=f"exit {os.WEXITSTATUS(done[1])}", log=told)
        return Run(**{**encode(run), "ending": Ending(run.ending), **_disguised(run, folder, setting)})


def _child(script: str, folder: str, result: Path, output: Path) -> None:
    """The child's whole life, ended by `_exit` whatever happens."""
    try:
        os.setpgid(0, 0)
        fd = os.open(output, os.O_CREAT | os.O_WRONLY)
        os.dup2(fd, 1)
        os.dup2(fd, 2)
        faulthandler.enable()
        os.environ["TMPDIR"] = tempfile.tempdir = f"{folder}/tmp"
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{folder}/inductor"
        Path(folder, "tmp").mkdir()
        os.chdir(folder)
        result.write_text(json.dumps(encode(run_script(script))))
    finally:
        sys.stderr.flush()
        os._exit(0)


def _disguised(run: Run, folder: str, setting: Setting) -> dict[str, object]:
    """The texts of a run with this machine's folders replaced."""
    replaced = dict(replacements(folder, setting))

    def disguise(text: str) -> str:
        for real, shown in replaced.items():
            text = text.replace(real, shown)
        return text

    return {
        "message": disguise(run.message),
        "log": disguise(run.log),
        "frames": tuple(disguise(f) for f in run.frames),
    }


def replacements(folder: str, setting: Setting) -> Iterator[tuple[str, str]]:
    """(this machine's folder, the one shown), the longest first."""
    repository = str(Path(__file__).parents[3])
    yield f"{folder}/inductor", setting.cache
    yield f"{folder}/tmp", setting.temporary
    yield folder, f"{setting.temporary}/work"
    yield tempfile.gettempdir(), setting.temporary
    yield sys.prefix, setting.interpreter
    yield repository, f"{setting.interpreter}/nightfuzz"
    yield sys.base_prefix, setting.interpreter


def log(program: Program, framework: str, version: str, run: Run, header: str, setting: Setting) -> str:
    """A file of the corpus, without expectations."""
    told = run.message if run.ending is not Ending.SIGNAL else run.log
    return "\n".join(
        [
            f"kind: {MOVED.get((program.kind, version), program.kind)}",
            f"framework: {framework}",
            f"version: {version}",
            f"ending: {run.ending}",
            f"exception: {run.exception or run.signal}",
            "message:",
            "frames:",
            "---",
            *run.frames,
            "---",
            told,
        ]
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
