"""The host side of a kernel pair: what ModelNew.forward does to the device, recorded once.

    pair = load(path, reference)                 two files, or a folder of pairs with `pairs`
    recorded = launches(pair, seed=0)            forward on tensors without memory: its steps in order
    executed = execute(recorded, device, values) all of it on real numbers, on the SIMT interpreter

Each of them gives a `Stopped` with the reason where it cannot, and raises nothing for what a source does. It
runs in the interpreter that has torch, in a supervised child: ModelNew is foreign code.
"""

from __future__ import annotations

from fuzzers.dirigo.host.execution import Executed, Kernels, compiled, execute
from fuzzers.dirigo.host.pair import Pair, load, of_texts, pairs
from fuzzers.dirigo.host.recording import launches
from fuzzers.dirigo.host.records import (
    Buffer,
    Copy,
    Fill,
    Launch,
    Operator,
    Origin,
    Pointer,
    Recorded,
    Scalar,
    Source,
    Struct,
    Symbol,
    View,
)

__all__ = [
    "Buffer",
    "Copy",
    "Executed",
    "Fill",
    "Kernels",
    "Launch",
    "Operator",
    "Origin",
    "Pair",
    "Pointer",
    "Recorded",
    "Scalar",
    "Source",
    "Struct",
    "Symbol",
    "View",
    "compiled",
    "execute",
    "launches",
    "load",
    "of_texts",
    "pairs",
]
