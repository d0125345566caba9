"""Our own kernels, run in two ways that share nothing: g++ with fibers, and the interpreter."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import numpy as np

from fuzzers.dirigo import nvrtc, prelude, slicing
from fuzzers.dirigo.ptx import parser
from fuzzers.dirigo.simt.launch import STEPS, Buffer, Device, Run, pointer
from fuzzers.dirigo.simt.program import Program, program

HERE = Path(__file__).parent
DYNAMIC = re.compile(r"extern\s+__shared__\s+(\w+)\s+(\w+)\[\];")
COMPILER = ("g++", "-std=c++20", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-w")
EXACT = ("--fmad=false",)

Three = tuple[int, int, int]
Argument = np.ndarray | np.generic
"""An array is a buffer; a numpy number or record is passed by value."""


@dataclass(frozen=True)
class Launch:
    """One launch of one of our kernels. `arrays` and numbers in the order of the kernel's parameters."""

    file: str
    kernel: str
    grid: Three
    block: Three
    arguments: tuple[Argument, ...]
    shared: int = 0


def compiled(file: str, kernel: str, flags: Sequence[str] = EXACT) -> tuple[Program, str]:
    """A kernel's program and its PTX."""
    return compiled_text((HERE / file).read_text(), kernel, flags)


@cache
def compiled_text(source: str, kernel: str, flags: Sequence[str] = EXACT) -> tuple[Program, str]:
    """The same from a source text."""
    sliced = slicing.slice_device(source)
    given = prelude.text(sliced.device, sliced.includes)
    result = nvrtc.compile_device(sliced.device, [kernel], prelude=given, flags=flags)
    assert isinstance(result, nvrtc.Compiled), result
    return program(parser.parse(result.ptx), result.entries[kernel]), result.ptx


@dataclass(frozen=True)
class Interpreted:
    """What an interpreted launch left behind."""

    run: Run
    device: Device
    buffers: tuple[Buffer, ...]

    def arrays(self) -> list[np.ndarray]:
        return [buffer.numbers() for buffer in self.buffers]


def interpreted(
    launch: Launch, *, reverse: bool = False, steps: int = STEPS, blocks: tuple[Three, ...] | None = None
) -> Interpreted:
    """Run a launch in the interpreter, all blocks or some together; floats that are all no numbers stand for
    memory that nobody has written."""
    kernel, _ = compiled(launch.file, launch.kernel)
    device = Device()
    buffers = []
    given = []
    for argument in launch.arguments:
        if isinstance(argument, np.ndarray):
            buffers.append(_buffer(device, argument))
            given.append(pointer(buffers[-1]))
        else:
            given.append(argument.tobytes())
    run = device.launch(
        kernel,
        launch.grid,
        launch.block,
        given,
        shared=launch.shared,
        reverse=reverse,
        steps=steps,
        blocks=blocks,
    )
    return Interpreted(run, device, tuple(buffers))


def _buffer(device: Device, argument: np.ndarray) -> Buffer:
    if argument.dtype.kind == "f" and np.isnan(argument).all():
        return device.empty(argument.size, argument.dtype.name)
    return device.input(argument)


def emulated(launch: Launch, kernels: tuple[str, ...]) -> list[np.ndarray]:
    """Run a launch as g++ compiled it; gives every buffer as it is afterwards. `kernels` are those of the
    launch's file that a test runs: they are compiled together, once."""
    library = _library(launch.file, kernels)
    arrays = [
        np.nan_to_num(a).copy() if a.dtype.kind == "f" else a.copy()
        for a in launch.arguments
        if isinstance(a, np.ndarray)
    ]
    held = iter(arrays)
    cells = [
        np.array([next(held).ctypes.data], np.uint64) if isinstance(a, np.ndarray) else np.array([a])
        for a in launch.arguments
    ]
    given = (ctypes.c_void_p * len(cells))(*(cell.ctypes.data for cell in cells))
    shape = (ctypes.c_uint * 7)(*launch.grid, *launch.block, launch.shared)
    library[f"run{kernels.index(launch.kernel)}"](shape, given)
    return [array.reshape(-1) for array in arrays]


@cache
def _library(file: str, kernels: tuple[str, ...]) -> ctypes.CDLL:
    text = DYNAMIC.sub(r"\1* \2 = (\1*)emulated::dynamic();", (HERE / file).read_text())
    text = re.sub(r"#include <cuda\w*\.h>", "", text)
    entries = "".join(
        f'extern "C" void run{number}(const unsigned* shape, void** given)'
        f" {{ emulated::launch({kernel}, shape, given); }}\n"
        for number, kernel in enumerate(kernels)
    )
    folder = Path(mkdtemp(prefix="emulated-"))
    (folder / "kernel.cpp").write_text(f'#include "{HERE / "emulation.h"}"\n{text}\n{entries}')
    subprocess.run([*COMPILER, "-o", folder / "kernel.so", folder / "kernel.cpp"], check=True)
    library = ctypes.CDLL(str(folder / "kernel.so"))
    rmtree(folder)
    return library
