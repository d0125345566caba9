"""A twin's kernel as the subject of an examination, launched without host code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from kernels.emulate import compiled_text
from kernels.twins import Twin

from fuzzers.dirigo.examine import Limits, examine
from fuzzers.dirigo.reference import trace
from fuzzers.dirigo.reference.graph import Array, Traced
from fuzzers.dirigo.replay import Reference
from fuzzers.dirigo.simt.events import Stopped
from fuzzers.dirigo.simt.launch import Device, pointer, scalar
from fuzzers.dirigo.subject import Output, Ran
from fuzzers.dirigo.verdict import Report


class Plain:
    """One launch of `k` on the reference's inputs and one output of its shape."""

    def __init__(self, twin: Twin, wrong: bool, traced: Traced) -> None:
        self.twin, self.traced = twin, traced
        self.program, _ = compiled_text(twin.kernel(wrong), "k", ())
        self.grid = twin.launched(wrong)

    def run(self, values: Sequence[Array], *, taped: bool = True, reverse: bool = False) -> Ran | Stopped:
        device = Device()
        buffers = [device.input(value, symbolic=None if taped else False) for value in values]
        (layout,) = self.traced.output_layouts()
        out = device.empty(layout.count)
        given = [*map(pointer, buffers), pointer(out), *map(scalar, self.twin.extra)]
        run = device.launch(self.program, self.grid, self.twin.block, given, reverse=reverse)
        if run.stopped:
            return run.stopped
        strides = tuple(int(np.prod(layout.shape[axis + 1 :])) for axis in range(len(layout.shape)))
        output = Output(out, layout.type, layout.shape, strides)
        return Ran(device.tape, (output,), ((0, run),), tuple(buffer.plane.leaf for buffer in buffers))


def examined(twin: Twin, *, wrong: bool, locations: int = 4) -> Report:
    """The report of one of a twin's kernels."""
    traced = trace(twin.reference)
    assert isinstance(traced, Traced), traced
    model = Reference.made(traced)
    assert isinstance(model, Reference), model
    return examine(Plain(twin, wrong, traced), traced, model, Limits(locations, 60.0))
