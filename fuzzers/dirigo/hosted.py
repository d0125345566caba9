"""A recorded host program as the kernel's side of a pair.

Invariant: a buffer that is the same tensor as an input of the reference gets that input's values and leaves
its numbers on the tape; an input that the kernel never sees gets numbers too, so that the reference can be
evaluated beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fuzzers.dirigo import host
from fuzzers.dirigo.host import Origin, Recorded
from fuzzers.dirigo.reference.graph import Traced
from fuzzers.dirigo.simt.events import Stopped

GIVEN = (Origin.ARGUMENT, Origin.PARAMETER, Origin.BUFFER)


@dataclass(frozen=True)
class Hosted:
    """A recorded forward whose kernels are compiled. `inputs[i]` is the buffer of the reference's input i
    (None: the kernel's side has none)."""

    recorded: Recorded
    traced: Traced
    kernels: host.Kernels
    inputs: tuple[int | None, ...]

    @classmethod
    def of(cls, recorded: Recorded, traced: Traced) -> Hosted | Stopped:
        """Compile and match; Stopped with the reason."""
        kernels = host.compiled(recorded)
        if isinstance(kernels, Stopped):
            return kernels
        by_name: Mapping[str, int] = {
            buffer.reference: buffer.number
            for buffer in recorded.buffers
            if buffer.reference and buffer.origin in GIVEN
        }
        return cls(recorded, traced, kernels, tuple(by_name.get(item.name) for item in traced.inputs))
