"""A recorded host program as the kernel's side of a pair.

Invariant: a buffer that is the same tensor as an input of the reference gets that input's values and leaves
its numbers on the tape; an input that the kernel never sees gets numbers too, so that the reference can be
evaluated beside it. An operator between launches may only move data: one that computes is `Stopped`, because
its results would lose what they derive from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from fuzzers.dirigo import host
from fuzzers.dirigo.host.execution import Execution
from fuzzers.dirigo.host.records import Buffer, Launch, Operator, Origin, Recorded, View
from fuzzers.dirigo.reference.graph import TYPES, Array, Traced
from fuzzers.dirigo.simt.events import Stopped, Unknown
from fuzzers.dirigo.simt.launch import SECONDS, STEPS, Device
from fuzzers.dirigo.simt.tape import Full
from fuzzers.dirigo.subject import Output, Ran

Three = tuple[int, int, int]
GIVEN = (Origin.ARGUMENT, Origin.PARAMETER, Origin.BUFFER)
ELEMENTS = 1 << 26
"""Of all buffers together; more than that is not put into memory."""
WHOLE = 100_000_000
"""Instructions times lanes of a launch that runs in full; of a larger one at the end only some blocks run."""
SOME = 20_000_000
"""What those blocks may take together."""
MOVING = frozenset(
    {"clone", "copy_", "cat", "stack", "flip", "roll", "index_select", "slice", "select", "repeat", "t"}
)
"""Operators that only move elements: applied to numbers of nodes they say where each element went."""


@dataclass(frozen=True)
class Hosted:
    """A recorded forward whose kernels are compiled. `inputs[i]` is the buffer of the reference's input i
    (None: the kernel's side has none); `blocks[j]` are the blocks of launch j that run (None: all)."""

    recorded: Recorded
    traced: Traced
    kernels: host.Kernels
    inputs: tuple[int | None, ...]
    blocks: tuple[tuple[Three, ...] | None, ...]

    @classmethod
    def of(cls, recorded: Recorded, traced: Traced) -> Hosted | Stopped:
        """Compile, match, and see how much there is to do; Stopped with the reason."""
        total = sum(buffer.elements for buffer in recorded.buffers)
        if total > ELEMENTS:
            return Stopped(f"size: {total} elements in all buffers")
        kernels = host.compiled(recorded)
        if isinstance(kernels, Stopped):
            return kernels
        blocks = _planned(recorded, kernels)
        if isinstance(blocks, Stopped):
            return blocks
        return cls(recorded, traced, kernels, matched(recorded, traced), blocks)

    def run(self, values: Sequence[Array], *, taped: bool = True, reverse: bool = False) -> Ran | Stopped:
        """Every step on these values."""
        device = Device()
        given = {
            number: value for number, value in zip(self.inputs, values, strict=True) if number is not None
        }
        execution = _Taping(self, device, given, taped)
        try:
            for buffer in self.recorded.buffers:
                execution.place(buffer, {})
            for step in self.recorded.steps:
                stopped = execution.do(step, reverse, STEPS, SECONDS)
                if stopped is not None:
                    return stopped
            starts = tuple(self._start(execution, at, value) for at, value in enumerate(values))
        except (Unknown, Full) as why:
            return Stopped(str(why))
        lines = [max(0, self.recorded.sources[one.source].line) for one in self.recorded.kernel_launches()]
        return Ran(
            device.tape,
            tuple(self._output(execution, view) for view in self.recorded.outputs),
            tuple(zip(lines, execution.done.runs, strict=True)),
            starts,
            any(blocks is not None for blocks in self.blocks),
        )

    def _start(self, execution: _Taping, at: int, value: Array) -> int | None:
        """The number of the first element of an input of the reference."""
        if not self.traced.inputs[at].is_symbolic:
            return None
        number = self.inputs[at]
        if number is not None:
            return execution.leaves.get(number)
        bits = value.view(f"u{value.dtype.itemsize}")
        return execution.device.tape.add_input(self.traced.inputs[at].layout.type, bits)

    def _output(self, execution: _Taping, view: View) -> Output:
        buffer = execution.done.buffers[view.buffer]
        return Output(buffer, TYPES.get(view.dtype, view.dtype), view.sizes, view.strides, view.offset)


class _Taping(Execution):
    """An execution whose inputs are on the tape, and which runs the planned blocks."""

    def __init__(self, hosted: Hosted, device: Device, given: Mapping[int, Array], taped: bool) -> None:
        super().__init__(hosted.recorded, device, hosted.kernels, False)
        self.hosted, self.given, self.taped = hosted, given, taped
        self.leaves: dict[int, int] = {}
        self.following = False

    def place(self, buffer: Buffer, values: Mapping[str, Array]) -> None:
        """Memory for a buffer; an input's with its numbers on the tape."""
        value = self.given.get(buffer.number)
        if value is None:
            super().place(buffer, values)
            return
        symbolic = buffer.dtype in ("float16", "float32", "float64", "bfloat16")
        made = self.device.input(value, name=buffer.name, symbolic=symbolic and self.taped)
        if made.plane.leaf is not None:
            self.leaves[buffer.number] = made.plane.leaf
        elif symbolic:
            self.leaves[buffer.number] = 0
        self.done.buffers.append(made)

    def launch(self, step: Launch, reverse: bool, steps: int, seconds: float) -> Stopped | None:
        """The planned blocks of a launch."""
        run = self.device.launch(
            self.kernels.of(step),
            step.grid,
            step.block,
            [self.packed(one) for one in step.arguments],
            shared=step.shared,
            blocks=self.hosted.blocks[len(self.done.runs)],
            reverse=reverse,
            steps=steps,
            seconds=seconds,
        )
        self.done.runs.append(run)
        return run.stopped

    def operator(self, step: Operator) -> None:
        """An operator on concrete numbers as it is; one that moves data, for the nodes too."""
        views = [*_views(tuple(step.arguments.values())), *step.results]
        name = step.name.split(".")[1]
        follows = name in MOVING and any(self._holds(view.buffer) for view in views)
        self.following = follows
        super().operator(step)
        if follows:
            self._follow(step, name)
        self.following = False

    def _moved(self, buffer: int, what: str) -> None:
        """Data may be used where the nodes go the same way."""
        if not self.following:
            super()._moved(buffer, what)

    def _follow(self, step: Operator, name: str) -> None:
        """Do it once more, on the numbers of the nodes."""
        namespace, _, overload = step.name.split(".")
        function = getattr(getattr(getattr(torch.ops, namespace), name), overload)
        given = {key: self._as_nodes(value) for key, value in step.arguments.items()}
        found = function(**given)
        if name != "copy_":
            self._nodes(step.results[0]).copy_(found)

    def _as_nodes(self, value: object) -> object:
        if isinstance(value, View):
            return self._nodes(value)
        return [self._as_nodes(one) for one in value] if isinstance(value, tuple) else value

    def _holds(self, number: int) -> bool:
        plane = self.done.buffers[number].plane
        return plane.nodes is not None or plane.leaf is not None

    def _nodes(self, view: View) -> torch.Tensor:
        """The node numbers of a view, over the memory that holds them."""
        plane = self.done.buffers[view.buffer].plane
        if getattr(torch, view.dtype).itemsize != plane.unit:
            raise Unknown("host: data viewed as another type")
        return torch.as_strided(torch.from_numpy(plane.own_nodes()), view.sizes, view.strides, view.offset)


def _views(values: Sequence[object]) -> list[View]:
    found = []
    for value in values:
        found += [value] if isinstance(value, View) else _views(value) if isinstance(value, tuple) else []
    return found


def matched(recorded: Recorded, traced: Traced) -> tuple[int | None, ...]:
    """The buffer of each input of the reference: by the recording's own match, else the first free one that
    begins with the same values; what has other values is another tensor."""
    by_name = {b.reference: b.number for b in recorded.buffers if b.reference and b.origin in GIVEN}
    taken = set(by_name.values())
    found: list[int | None] = []
    for item, own in zip(traced.inputs, traced.initial, strict=True):
        number = by_name.get(item.name)
        if number is None and own is not None:
            same = [
                b.number
                for b in recorded.buffers
                if b.origin in GIVEN
                and b.number not in taken
                and b.values is not None
                and not b.reference
                and b.elements == item.elements
                and np.array_equal(b.values, own)
            ]
            number = same[0] if same else None
            taken.update(same[:1])
        found.append(number)
    return tuple(found)


def _planned(recorded: Recorded, kernels: host.Kernels) -> tuple[tuple[Three, ...] | None, ...] | Stopped:
    """Which blocks run, after one block of each launch was tried on zeros."""
    execution = Execution(recorded, Device(), kernels, False)
    plan: list[tuple[Three, ...] | None] = []
    try:
        for buffer in recorded.buffers:
            dtype = "uint16" if buffer.dtype == "bfloat16" else buffer.dtype
            given: dict[str, Array] = (
                {} if buffer.values is not None else {buffer.name: np.zeros(buffer.elements, dtype)}
            )
            execution.place(buffer, given)
        for step in recorded.kernel_launches():
            plan.append(_tried(execution, step, step is recorded.steps[-1]))
    except (Unknown, Full) as why:
        return Stopped(str(why))
    return tuple(plan)


def _tried(execution: Execution, step: Launch, last: bool) -> tuple[Three, ...] | None:
    """The blocks of one launch."""
    count = step.grid[0] * step.grid[1] * step.grid[2]
    if count == 1:
        return None
    arguments = [execution.packed(one) for one in step.arguments]
    run = execution.device.launch(
        execution.kernels.of(step),
        step.grid,
        step.block,
        arguments,
        shared=step.shared,
        blocks=((0, 0, 0),),
        seconds=SECONDS,
    )
    if run.stopped is not None:
        raise Unknown(run.stopped.reason)
    if run.lane_steps * count <= WHOLE:
        return None
    if not last:
        raise Unknown(f"size: {run.lane_steps * count:.0e} instructions in a launch that others follow")
    return _spread(step.grid, max(1, SOME // max(1, run.lane_steps)))


def _spread(grid: Three, most: int) -> tuple[Three, ...]:
    """Corners of a grid first, then blocks drawn from it."""
    corners = list(dict.fromkeys(product(*((0, size - 1) for size in grid))))
    rng = np.random.default_rng(0)
    drawn = [(int(x), int(y), int(z)) for x, y, z in rng.integers(0, grid, (8, 3))]
    ordered = [corners[0], corners[-1], *drawn, *corners[1:-1]]
    return tuple(dict.fromkeys((int(x), int(y), int(z)) for x, y, z in ordered))[:most]
