"""The PyTorch reference of a kernel: traced once, evaluated one output element at a time on a tape.

    traced = trace(source)                      source text of a file with Model, get_inputs, get_init_inputs
    values = draw(traced, seed)                 flat storages of its inputs
    bound = bind(traced, values)                integers and what follows from them become concrete
    found = slice_of(bound, output, element)    the cone behind one element, on a tape

Each of them gives a `Stopped` with the reason where it cannot, and raises nothing for what a source does.
It runs in the interpreter that has torch, in a supervised child: a reference is foreign code.
"""

from __future__ import annotations

from fuzzers.dirigo.reference.drawing import draw
from fuzzers.dirigo.reference.evaluate import Bound, Sliced, bind, slice_of
from fuzzers.dirigo.reference.graph import Input, Kind, Layout, Traced
from fuzzers.dirigo.reference.tracing import trace

__all__ = ["Bound", "Input", "Kind", "Layout", "Sliced", "Traced", "bind", "draw", "slice_of", "trace"]
