"""Everything a worker does once so that its children need not: imports, one compile, the precompiled header.

Invariant: after `warm_up` the process has one thread, the compiler's lazy tables are built, and the
precompiled header lies in the temporary folder that all workers of a campaign share.

Order matters. Thread counts are set before any operator runs, because a child that forks after the parent
ran a parallel region hangs in its first one. No backward pass runs here: the autograd engine of a build for
an accelerator would start threads, and refuses to work in children from then on. Tracing one is enough for
that, so such a build compiles its one program without gradients.
"""

from __future__ import annotations

import fcntl
import gc
import logging
import shutil
import tempfile
import threading
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

from fuzzers.engines import ENGINES

LOCK, DONE = "warm.lock", "warm.done"


def warm_up() -> None:
    """Import torch and its compiler, and compile one small program, in this process."""
    import torch

    torch.set_num_threads(1)
    import torch._dynamo
    import torch._functorch.config
    import torch._inductor.compile_fx
    import torch._inductor.config

    torch._inductor.config.compile_threads = 1
    # A cached graph would hide a bug of the pass that made it, and lookups cost more than they save here.
    torch._inductor.config.fx_graph_cache = False
    torch._functorch.config.enable_autograd_cache = False
    quieten()
    for module in (
        "fuzzers.judge",
        "fuzzers.oracle",
        *(where.partition(":")[0] for where in ENGINES.values()),
    ):
        import_module(module)
    _build_header()
    # Children would otherwise copy, and their collector walk, all that the framework made when imported.
    gc.collect()
    gc.freeze()


def _build_header() -> None:
    """Compile once, the first time alone and from nothing: what a worker killed in the middle left may be
    half a header."""
    folder = Path(tempfile.gettempdir())
    with (folder / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / DONE
        if not done.exists():
            shutil.rmtree(header_folder(), ignore_errors=True)
            _compile_one()
            done.touch()
            return
    _compile_one()


def is_for_accelerator(version: ModuleType) -> Iterator[bool]:
    """For each kind of accelerator whether the build was made for it, with or without one in the machine."""
    return (getattr(version, kind, None) is not None for kind in ("cuda", "hip", "xpu"))


def quieten() -> None:
    """No warnings and no log lines below errors: a child's output is the candidate's."""
    warnings.simplefilter("ignore")
    logging.getLogger("torch").setLevel(logging.ERROR)


def header_folder() -> Path:
    """Where this process keeps the precompiled header."""
    from torch._inductor import codecache

    return Path(codecache._HEADER_DIR)


def _compile_one() -> None:
    import torch

    def program(x: object, w: object) -> object:
        return torch.nn.functional.relu(torch.mm(x, w)).sum(dim=1)

    x = torch.ones(4, 8)
    w = torch.ones(8, 4, requires_grad=not any(is_for_accelerator(torch.version)))
    torch.compile(program)(x, w)
    torch._dynamo.reset()
    if threading.active_count() != 1:
        raise RuntimeError(f"the worker has threads of its own: {threading.enumerate()}")
