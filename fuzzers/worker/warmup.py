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
import os
import shutil
import tempfile
import threading
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

from fuzzers import framework
from fuzzers.engines import ENGINES, ON_MINDSPORE

LOCK, DONE = "warm.lock", "warm.done"


def warm_up() -> None:
    """Make this process ready to fork children that run programs of its framework."""
    _OF[framework.name()]()
    # Children would otherwise copy, and their collector walk, all that the framework made when imported.
    gc.collect()
    gc.freeze()


def _mindspore() -> None:
    """Import it and the engines, and run nothing: a child of a process that has run an operator hangs."""
    os.environ["GLOG_v"] = "4"  # noqa: SIM112 - its C++ side prints a screen for each rejection
    _import("mindspore", *ON_MINDSPORE.values())


def _torch() -> None:
    """Import it and its compiler, and compile one small program."""
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
    _import("fuzzers.judge", "fuzzers.oracle", *ENGINES.values())
    _build_header()


def _import(*places: str) -> None:
    for place in places:
        import_module(place.partition(":")[0])


_OF = {"torch": _torch, "mindspore": _mindspore}


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
