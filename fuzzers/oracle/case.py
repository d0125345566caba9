"""One program under examination, with what is dear to compute computed once and only when asked.

Invariant: everything here is derived from the same inputs and the same callable; the traced run happens
at most once, in one thread, and never touches the tensors of the observations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import torch._inductor.config
from torch.overrides import TorchFunctionMode

from fuzzers.oracle import compare
from fuzzers.oracle.compare import Raw
from fuzzers.oracle.execution import Observation, observe, observe_on
from fuzzers.oracle.float64 import Trace, Tracked
from fuzzers.oracle.inputs import Inputs
from fuzzers.records import Aspect


@dataclass(frozen=True)
class Drop:
    """Why a difference is none of ours."""

    reason: str


class _Names(TorchFunctionMode):
    """Notes what Python calls, which the dispatcher has long taken apart."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.add(str(getattr(func, "__name__", func)))
        return func(*args, **(kwargs or {}))


class Case:
    """A program, its inputs, and what both sides did with them."""

    def __init__(
        self,
        fn: Callable[..., Any],
        inputs: Inputs,
        eager: Observation,
        compile_again: Callable[[], Callable[..., Any]],
        *,
        gradients: bool,
        seed: int,
        captured_graphs: int,
        emulate: bool,
    ) -> None:
        self.fn, self.inputs, self.eager = fn, inputs, eager
        self.compile_again, self.gradients, self.seed = compile_again, gradients, seed
        self.captured_graphs, self.emulate = captured_graphs, emulate

    @cached_property
    def _run(self) -> tuple[Trace, Observation, set[str]]:
        trace, names = Trace(), _Names()
        args, kwargs, tensors = self.inputs.copies()
        with _one_thread():
            for tensor in tensors:
                trace.memory.take(tensor)
            with names, trace:
                seen = observe_on(self.fn, args, kwargs, tensors, self.seed, self.gradients)
        return trace, seen, names.seen

    @property
    def functions(self) -> set[str]:
        """Names of the torch functions that the program calls."""
        return self._run[2]

    @property
    def labels(self) -> frozenset[str]:
        """Every label that anything in the program carries."""
        trace = self._run[0]
        return frozenset(trace.control.union(*(s.labels for s in trace.memory.shadows.values())))

    @property
    def inputs_are_finite(self) -> bool:
        """Whether no argument holds NaN or infinity."""
        return all(
            bool(torch.isfinite(t).all())
            for t in self.inputs.tensors
            if t.is_floating_point() or t.is_complex()
        )

    def uses(self, dtypes: tuple[torch.dtype, ...]) -> bool:
        """Whether any of the dtypes occurs anywhere in the program."""
        return any(d in dtypes for d in (*self._run[0].dtypes, *(t.dtype for t in self.inputs.tensors)))

    def traced(self, raw: Raw) -> Any:
        """The traced run's counterpart of what `raw` is about; None when there is none."""
        role = raw.where.split()[0]
        group = {"output": self._run[1].leaves, "input": self._run[1].inputs, "grad": self._run[1].grads}.get(
            role, ()
        )
        return group[raw.index] if raw.index < len(group) else None

    def tracked(self, raw: Raw) -> Tracked | None:
        """What the traced run knows about the place of `raw`; None when it did not get there."""
        trace, leaf = self._run[0], self.traced(raw)
        if isinstance(leaf, torch.Tensor):
            return trace.tracked(leaf) if isinstance(raw.expected, torch.Tensor) else None
        value = compare.as_tensor(leaf)
        if value is None:
            return None
        labels = frozenset(trace.control)
        return Tracked(None, [], [], [], [], labels, "a Python number", value.is_floating_point(), None)

    def with_emulated_casts(self, raw: Raw) -> Raw | None:
        """The same difference with the compiler told to keep every cast; None when it is gone. `raw`
        itself where this check is switched off."""
        if not self.emulate:
            return raw
        with torch._inductor.config.patch(emulate_precision_casts=True):
            again = observe(self.compile_again(), self.inputs, self.seed, self.gradients)
        if again.raised is not None or again.structure != self.eager.structure:
            return None
        found = compare.differences(self.eager, again, layout=False)
        wanted = {raw.aspect, compare.VALUE_ASPECTS[raw.where.split()[0]], Aspect.NONFINITE}
        return next((r for r in found if r.where == raw.where and r.aspect in wanted), None)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Lanes are many small operators: waking threads for them costs more than it brings."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
