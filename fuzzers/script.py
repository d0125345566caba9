"""Running a reproducer script in this process and reading how it ended.

Invariant: ASSERTION means that the `assert` which is the script's last statement was itself false, and
nothing else can give it; EXCEPTION means that the exception passed through the compiler. Whatever else
goes wrong says nothing about the build and is CANNOT_RUN, with a reason. Signals and time-outs are read
by whoever watches this process.

The reading goes by frames and instructions, not by messages or output, because a script may print or
raise anything, and generated code asserts sizes and strides of its own.
"""

from __future__ import annotations

import ast
import dis
import functools
import linecache
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any

from fuzzers import framework
from fuzzers.records import Ending, Run

MESSAGE_CHARS = 4096
LOG_CHARS = 8192
FRAMES = 6
"""How many of the innermost framework frames tell one failure from another."""

COMPILER: dict[str, tuple[str, ...]] = {
    "torch": ("torch._dynamo", "torch._inductor", "torch._functorch"),
    "mindspore": (
        "mindspore.graph.api:staging_specialize",  # what `ms.jit` makes of a function
        "mindspore.graph.api:compile",
        "mindspore.common.api:staging_specialize",  # the same before 2.10
        "mindspore.common.api:compile",
    ),
}
"""Framework -> modules, or functions, whose frames say that an exception came through its compiler."""

NOT_COMPILING = (
    "torch._dynamo.decorators",  # mark_dynamic and the like are called on the eager side
    "torch._dynamo.eval_frame:_fn",  # the wrapper of functions that the compiler is told to skip
    "torch._dynamo.config",
    "torch._inductor.config",
    "torch._functorch.apis",  # torch.func: vmap, grad, jvp... run eagerly
    "torch._functorch.autograd_function",
    "torch._functorch.eager_transforms",
    "torch._functorch.functional_call",
    "torch._functorch.make_functional",
    "torch._functorch.predispatch",
    "torch._functorch.pyfunctorch",
    "torch._functorch.utils",
    "torch._functorch.vmap",
)
"""What lies in those packages and runs without compiling anything."""

NO_FAULT_OF_THE_BUILD: tuple[tuple[str, str], ...] = (
    ("can't allocate memory", "out of memory"),
    ("out of memory", "out of memory"),
    ("virtual memory exhausted", "out of memory"),
    ("std::bad_alloc", "out of memory"),
    ("Cannot allocate memory", "out of memory"),
    ("No space left on device", "the disk is full"),
    ("InvalidCxxCompiler", "no C++ compiler"),
    ("No working C++ compiler found", "no C++ compiler"),
)
"""Part of an exception's text -> why it says nothing about the build, however it came about."""


@dataclass(frozen=True)
class Script:
    """A script ready to run: its code, where it is kept, and the (line, column) at which its last statement
    begins if that is an `assert`."""

    code: CodeType
    path: str
    claim: tuple[int, int] | None

    @classmethod
    def load(cls, text: str, path: str) -> Script:
        """SyntaxError or ValueError when the text is not Python."""
        tree = ast.parse(text, path)
        last = tree.body[-1] if tree.body else None
        claim = (last.lineno, last.col_offset) if isinstance(last, ast.Assert) else None
        return cls(compile(tree, path, "exec"), path, claim)


def run_script(text: str, *, backend: str | None = None, threads: int | None = None) -> Run:
    """Run a script as `__main__` and say how it ended. `backend` is forced on every `torch.compile`;
    `threads` sets the number of threads of the framework; None leaves either as the script has it."""
    with tempfile.TemporaryDirectory(prefix="script-") as folder:
        path = str(Path(folder, "repro.py"))
        Path(path).write_text(text, encoding="utf-8", errors="surrogatepass")
        began = time.monotonic()
        try:
            script = Script.load(text, path)
        except (SyntaxError, ValueError) as e:
            return Run(Ending.CANNOT_RUN, type(e).__name__, str(e)[:MESSAGE_CHARS], reason="not valid Python")
        with _settings(backend, threads):
            error = execute(script)
        return reading(error, script, time.monotonic() - began)


def execute(script: Script) -> BaseException | None:
    """Run the script; what it raised, printed as Python would print it, or None."""
    main = ModuleType("__main__")
    main.__dict__.update(__file__=script.path, __builtins__=__builtins__)
    before = sys.modules["__main__"]
    sys.modules["__main__"] = main
    try:
        exec(script.code, main.__dict__)
    except BaseException as e:  # noqa: BLE001
        # Whatever the script raises is what we are here to read.
        print(_traceback(e, script), file=sys.stderr)
        return e
    finally:
        sys.modules["__main__"] = before
        linecache.checkcache()
    return None


def reading(error: BaseException | None, script: Script, seconds: float) -> Run:
    """How a script that raised `error` ended. A table of rules, the first that applies."""
    if error is None:
        return Run(Ending.OK, seconds=seconds)
    steps, text = list(_steps(error)), _text(error)
    facts: dict[str, Any] = {
        "exception": type(error).__name__,
        "message": text[:MESSAGE_CHARS],
        "compiled_side": any(is_compiling(where) for where in steps),
        "frames": tuple([w for w in steps if is_framework(w)][-FRAMES:]),
        "log": _traceback(error, script)[-LOG_CHARS:],
        "seconds": seconds,
    }
    if is_claim(error, script):
        return Run(Ending.ASSERTION, **facts)
    if reason := _no_fault(error, text):
        return Run(Ending.CANNOT_RUN, **facts, reason=reason)
    if facts["compiled_side"]:
        return Run(Ending.EXCEPTION, **facts)
    first_line = facts["message"].partition("\n")[0]
    return Run(Ending.CANNOT_RUN, **facts, reason=f"{facts['exception']}: {first_line}"[:300])


def is_claim(error: BaseException, script: Script) -> bool:
    """Whether `error` was raised by the last statement's `assert` itself: the only frame below us is the
    script's own, stopped at a raise instruction that lies within the statement."""
    frames = [tb for tb in _walk(error.__traceback__) if tb.tb_frame.f_code.co_filename != __file__]
    if script.claim is None or type(error) is not AssertionError or len(frames) != 1:
        return False
    (tb,) = frames
    if tb.tb_frame.f_code is not script.code:
        return False
    raised = script.code.co_code[tb.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    line, _, column, _ = next(islice(script.code.co_positions(), tb.tb_lasti // 2, None))
    return raised and (line or 0, column or 0) >= script.claim


def is_framework(where: str) -> bool:
    """Whether a `module:function` lies in a framework or in code that it generated."""
    return where.startswith("<generated>") or _within(where, COMPILER)


def is_compiling(where: str) -> bool:
    """Whether a `module:function` is the compiler at work (module-level frames are imports)."""
    if where.startswith("<generated>"):
        return True
    inside = any(_within(where, parts) for parts in COMPILER.values())
    return inside and not _within(where, NOT_COMPILING) and not where.endswith(":<module>")


def _within(where: str, parts: Iterable[str]) -> bool:
    """Whether a `module:function` is one of some functions, or lies in one of some modules."""
    return any(where == part or where.startswith((f"{part}.", f"{part}:")) for part in parts)


def place(frame: FrameType) -> str:
    """`module:function` of a frame, the module from its path, so that it means the same on every machine."""
    code = frame.f_code
    return f"{_module(code.co_filename)}:{code.co_name}"


def _module(filename: str) -> str:
    _, found, inside = filename.rpartition("/site-packages/")
    if found:
        return inside.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    cache = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if "torchinductor_" in filename or (cache and filename.startswith(cache)):
        return "<generated>"
    return Path(filename).stem


def _steps(error: BaseException) -> Iterator[str]:
    """Every frame of the exception and of those it was raised from, outermost first, the cause's last."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        for tb in _walk(link.__traceback__):
            yield place(tb.tb_frame)
        link = link.__cause__


def _walk(tb: TracebackType | None) -> Iterator[TracebackType]:
    while tb is not None:
        yield tb
        tb = tb.tb_next


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as e:  # noqa: BLE001
        # An exception of the script's own class may not even be printable, or end the process if it is asked.
        return f"<no text: {type(e).__name__}>"


def _traceback(error: BaseException, script: Script) -> str:
    """The traceback as Python would print it for the script: without our own frame and its folder."""
    below = error.__traceback__.tb_next if error.__traceback__ else None
    text = "".join(traceback.format_exception(type(error), error, below))
    return text.replace(f"{Path(script.path).parent}/", "")


def _no_fault(error: BaseException, message: str) -> str:
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, SystemExit):
        return "the script exits by itself"
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    told = f"{type(error).__name__}: {message}"
    return next((reason for part, reason in NO_FAULT_OF_THE_BUILD if part in told), "")


@contextmanager
def _settings(backend: str | None, threads: int | None) -> Iterator[None]:
    if backend is None and threads is None:
        yield
        return
    if framework.name() == "mindspore":
        with _level(backend):
            yield
        return
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    stock = torch.compile
    if backend is not None:
        torch.compile = with_backend(stock, backend)
    try:
        yield
    finally:
        torch.compile = stock


@contextmanager
def _level(level: str | None) -> Iterator[None]:
    """While inside, every `ms.jit` compiles at this level. Its threads are not ours to set."""
    import mindspore

    stock = mindspore.jit

    def at_level(function: Any = None, **settings: Any) -> Any:
        return stock(function, **{**settings, "jit_level": level})

    if level is not None:
        mindspore.jit = at_level
    try:
        yield
    finally:
        mindspore.jit = stock


def with_backend(stock: Callable[..., Any], backend: str) -> Callable[..., Any]:
    """`torch.compile` with its backend fixed; `mode` and `options` go to inductor alone."""

    @functools.wraps(stock)
    def compile_with(model: Any = None, **settings: Any) -> Any:
        kept = (
            settings
            if backend == "inductor"
            else {k: v for k, v in settings.items() if k not in ("mode", "options")}
        )
        return stock(model, **{**kept, "backend": backend})

    return compile_with
