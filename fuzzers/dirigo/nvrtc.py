"""NVRTC: from the device part of a CUDA source to PTX, without a GPU and without a toolkit.

Invariant: what comes back is a PTX that holds every kernel that was asked for, or the compiler's messages
with the source's own lines; never an empty PTX, which NVRTC gives for a template that nobody instantiates.
A library that is not there or fails in itself is an exception: no source can cause that.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ARCHITECTURE = "compute_80"
"""The oldest that has every instruction of AI-written kernels (bf16, async copies): newer ones add no
meaning."""
SOURCE = "kernel.cu"
PRELUDE = "prelude.cuh"
MESSAGE = re.compile(rf"^(?:{re.escape(SOURCE)}|(?P<other>[^\s(]+))\((?P<line>\d+)\): (?P<text>.*error.*)$")
OPTIONS = (
    f"--gpu-architecture={ARCHITECTURE}",
    "--std=c++17",
    "--generate-line-info",
    "--relocatable-device-code=true",
    "--device-as-default-execution-space",
    "--disable-warnings",
)


class Unavailable(Exception):
    """NVRTC is not installed or fails in itself: the machinery's failure, never a source's."""


@dataclass(frozen=True)
class Message:
    """What the compiler says about a line of the source; line 0 where it names none of ours."""

    line: int
    text: str


@dataclass(frozen=True)
class Refused:
    """The source does not compile, or an entry that was asked for is not in it."""

    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Compiled:
    """PTX, and for each name expression that was asked for the entry's name in it."""

    ptx: str
    entries: Mapping[str, str] = field(default_factory=dict)


def compile_device(
    source: str, names: Sequence[str], *, prelude: str = "", flags: Sequence[str] = ()
) -> Compiled | Refused:
    """Compile `source` (its line numbers are those of the messages and of the PTX) for the entries `names`.

    `names` are C++ expressions (`kernel`, `kernel<float, 4>`); `prelude` comes before the source and counts
    no lines. `flags` are the source's own nvcc flags; those that NVRTC does not know are left out.
    """
    whole = f'#line 1 "{PRELUDE}"\n{prelude}\n#line 1 "{SOURCE}"\n{source}'
    library = _library()
    program = ctypes.c_void_p()
    _must(library.nvrtcCreateProgram(ctypes.byref(program), whole.encode(), SOURCE.encode(), 0, None, None))
    try:
        for name in names:
            _must(library.nvrtcAddNameExpression(program, name.encode()))
        options = [*OPTIONS, *(f"-I{path}" for path in _headers()), *understood(flags)]
        given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        if library.nvrtcCompileProgram(program, len(options), given):
            return Refused(messages(_text(library, program, "ProgramLog")))
        ptx = _text(library, program, "PTX")
        entries = {name: _lowered(library, program, name) for name in names}
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
    return _with_entries(ptx, entries)


def _with_entries(ptx: str, entries: Mapping[str, str]) -> Compiled | Refused:
    """The PTX when every entry is in it."""
    there = set(re.findall(r"\.entry ([\w$]+)", ptx))
    missing = [name for name, lowered in entries.items() if lowered not in there]
    if not there:
        return Refused(
            (Message(0, "no kernel comes out of this source: nothing instantiates its templates"),)
        )
    if missing:
        return Refused((Message(0, f"not a kernel of this source: {', '.join(missing)}"),))
    return Compiled(ptx, entries)


KNOWN = re.compile(r"^(--?use_fast_math|-D\S+|--?(ftz|prec-div|prec-sqrt|fmad)=(true|false))$")


def understood(flags: Sequence[str]) -> list[str]:
    """Of nvcc's flags, those that change what the device code means."""
    return [flag for flag in flags if KNOWN.match(flag)]


def messages(log: str) -> tuple[Message, ...]:
    """The errors of a compiler's log, first ones first; the whole log as one message where none is found."""
    found = [
        Message(0 if match["other"] else int(match["line"]), match["text"])
        for match in map(MESSAGE.match, log.splitlines())
        if match
    ]
    return tuple(found) or (Message(0, log.strip()),)


@cache
def _library() -> ctypes.CDLL:
    """NVRTC, with its builtins library loaded first: NVRTC finds that one only among global symbols."""
    files = [path for folder in _packages() for path in sorted(folder.glob("**/lib/libnvrtc*.so*"))]
    builtins = [path for path in files if "builtins" in path.name]
    libraries = [path for path in files if re.fullmatch(r"libnvrtc\.so\.\d+", path.name)]
    if not builtins or not libraries:
        raise Unavailable("NVRTC is not installed: pip install 'nightfuzz[dirigo]'")
    ctypes.CDLL(str(builtins[0]), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(libraries[0]))


def _packages() -> list[Path]:
    spec = importlib.util.find_spec("nvidia")
    return [Path(place) for place in spec.submodule_search_locations or ()] if spec else []


@cache
def _headers() -> tuple[str, ...]:
    """The include folders of the header wheels."""
    found = [path for folder in _packages() for path in sorted(folder.glob("**/include/cuda_fp16.h"))]
    return tuple(place for path in found for place in (str(path.parent), str(path.parent / "cccl")))


def _text(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    size = ctypes.c_size_t()
    _must(library[f"nvrtcGet{what}Size"](program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _must(library[f"nvrtcGet{what}"](program, buffer))
    return buffer.value.decode(errors="replace")


def _lowered(library: ctypes.CDLL, program: ctypes.c_void_p, name: str) -> str:
    lowered = ctypes.c_char_p()
    _must(library.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(lowered)))
    return (lowered.value or b"").decode()


def _must(status: int) -> None:
    if status:
        raise Unavailable(f"NVRTC answers with status {status}")
